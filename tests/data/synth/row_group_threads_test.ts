import { assertEquals } from "@std/assert";
import { createHash } from "node:crypto";
import { synthesize } from "../../../lib/data/synth/synthesize.ts";
import { TemporaryFolder } from "../../io/files/temporary_folder.ts";

/** Four row groups, the last one short. */
const NUM_ROWS = 400_000;

Deno.test("synthesize() writes the same bytes with any number of workers", async () => {
  using folder = new TemporaryFolder();
  const hashes = new Set<string>();
  for (const workers of [1, 2, 5]) {
    const path = folder.at(`${workers}.parquet`);
    const options = {
      seed: 1,
      rows: NUM_ROWS,
      probes: 70,
      destinations: 40,
      days: 3,
      ipv6Share: 0.4,
      workers,
    };
    const { rows, failed } = await synthesize(path, options);
    const sha256 = createHash("sha256").update(Deno.readFileSync(path)).digest("hex");
    hashes.add(`${rows} rows, ${failed} failed: ${sha256}`);
  }
  assertEquals(hashes.size, 1, [...hashes].join("\n"));
});
