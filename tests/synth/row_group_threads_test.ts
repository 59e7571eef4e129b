import { assertEquals, assertRejects } from "@std/assert";
import { toFileUrl } from "@std/path";
import { createHash } from "node:crypto";
import { type Campaign, makeCampaign } from "../../lib/synth/campaign.ts";
import { makeRowGroups } from "../../lib/synth/row_group_threads.ts";
import { synthesize } from "../../lib/synth/synthesize.ts";
import { makeWorld } from "../../lib/synth/world.ts";
import { TemporaryFolder } from "../files/temporary_folder.ts";

/** Four row groups, the last one short. */
const NUM_ROWS = 400_000;

function campaign(): Campaign {
  const world = makeWorld({
    seed: 5,
    probes: 70,
    destinations: 40,
    ipv6Share: 0.4,
    startTimeS: 1_750_723_200,
    endTimeS: 1_750_723_200 + 5 * 86_400,
  });
  return makeCampaign(world, NUM_ROWS);
}

async function rowsMadeBy(module: URL, signal?: AbortSignal): Promise<number> {
  let numRows = 0;
  const options = { numThreads: 2, module, ...(signal ? { signal } : {}) };
  for await (const { group } of makeRowGroups(campaign(), options)) numRows += group.numRows;
  return numRows;
}

function writeModule(folder: TemporaryFolder, code: string): URL {
  Deno.writeTextFileSync(folder.at("worker.js"), code);
  return toFileUrl(folder.at("worker.js"));
}

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

Deno.test("makeRowGroups() ends with the failure of a worker that dies, at its start or at work", async () => {
  using folder = new TemporaryFolder();
  const atStart = writeModule(folder, "throw new Error('out of luck');");
  await assertRejects(
    () => rowsMadeBy(atStart),
    Error,
    "a worker thread of synth died",
  );
  const atWork = `let left = 1;
    self.onmessage = ({ data }) => {
      if (typeof data !== "number") return;
      if (left-- === 0) throw new Error("worn out");
      self.postMessage({ group: { numRows: 1, bytes: new Uint8Array(0), chunks: [] }, numFailed: 0 });
    };`;
  await assertRejects(() => rowsMadeBy(writeModule(folder, atWork)), Error, "Error: worn out");
});

Deno.test("makeRowGroups() ends at a signal though no worker answers", async () => {
  using folder = new TemporaryFolder();
  const controller = new AbortController();
  const silent = rowsMadeBy(writeModule(folder, "self.onmessage = () => {};"), controller.signal);
  setTimeout(() => controller.abort(new Error("enough")), 100);
  await assertRejects(() => silent, Error, "enough");
});
