/**
 * Faults as a user meets them: exit code and one line on standard error.
 *
 * @module
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { exists } from "../../../lib/io/files/inputs.ts";
import { refused, runStageProcess, spawnStage, succeeded } from "../../cli/process.ts";
import { SmallDisk } from "../../io/files/small_disk.ts";
import { TemporaryFolder } from "../../io/files/temporary_folder.ts";
import { untilAtWork } from "../../until.ts";
import { folderHashes, unfinishedHashes } from "./folder_hashes.ts";
import { sampleBatch, writeParquet } from "./sample_parquet.ts";

const STAGES = ["shard", "probe-rows"] as const;

async function assertFails(
  args: string[],
  { code, message, stage = "shard" }: { code: number; message: string; stage?: "shard" | "probe-rows" },
): Promise<void> {
  await refused(runStageProcess([stage, ...args]), code, message);
}

Deno.test("shard and probe-rows end with one line and an exit code when the input is bad", async () => {
  using folder = new TemporaryFolder();
  const good = folder.at("good.parquet");
  writeParquet(good, sampleBatch({ numRows: 2000 }));
  const bytes = Deno.readFileSync(good);
  Deno.writeFileSync(folder.at("cut.parquet"), bytes.subarray(0, bytes.length >> 1));
  const flipped = bytes.slice();
  flipped[200] ^= 0x10;
  Deno.writeFileSync(folder.at("flipped.parquet"), flipped);
  Deno.writeTextFileSync(folder.at("text.parquet"), "src_addr,dst_addr\n");
  Deno.mkdirSync(folder.at("empty"));
  const out = ["--output", folder.at("out")];
  const input = (name: string) => ["--input", folder.at(name)];
  await Promise.all([
    assertFails([...input("none.parquet"), ...out], { code: 1, message: "none.parquet: no such file" }),
    assertFails([...input("empty"), ...out], { code: 1, message: "no .parquet file in it" }),
    assertFails([...input("text.parquet"), ...out], {
      code: 1,
      message: "it does not start with PAR1, expected a Parquet file",
    }),
  ]);
  await assertFails([...input("cut.parquet"), ...out], {
    code: 1,
    message: "cut.parquet",
    stage: "probe-rows",
  });
  await assertFails([...input("flipped.parquet"), ...out], { code: 1, message: "flipped.parquet" });
  // None of these left anything that stands in the way of a good run.
  const { stdout } = await succeeded(runStageProcess(["shard", ...input("good.parquet"), ...out, "--json"]));
  const { splits, rejected, rowsPerSecond, peakMemoryBytes } = JSON.parse(stdout);
  assertEquals(splits.train.rows + splits.val.rows + splits.test.rows, 2000);
  assertEquals([splits.train.shards, splits.val.shards, splits.test.shards], [200, 25, 25]);
  assertEquals(rejected, {});
  assert(rowsPerSecond > 0 && peakMemoryBytes > 1e7);
  await assertFails([...input("good.parquet"), ...out, "--seed", "1"], { code: 1, message: "--overwrite" });
});

Deno.test("shard and probe-rows end with exit code 2 when the command line is wrong", async () => {
  using folder = new TemporaryFolder();
  writeParquet(folder.at("good.parquet"), sampleBatch({ numRows: 100 }));
  const paths = ["--input", folder.at("good.parquet"), "--output", folder.at("out")];
  await Promise.all([
    assertFails([...paths, "--ratios", "80,20"], { code: 2, message: "--ratios 80,20" }),
    assertFails([...paths, "--split-by", "prefix"], {
      code: 2,
      message: "expected probe | time | row | pair | destination | node",
    }),
    assertFails([...paths, "--train-shard", "3"], { code: 2, message: "did you mean train-shards?" }),
  ]);
  const stage = "probe-rows";
  await assertFails([...paths, "--max-row-size-mb", "0"], { code: 2, message: "--max-row-size-mb 0", stage });
  await assertFails(["--input", folder.at("good.parquet")], {
    code: 2,
    message: "--output DIR is missing",
    stage,
  });
  assertEquals([...Deno.readDirSync(folder.path)].map(({ name }) => name), ["good.parquet"]);
});

Deno.test("shard and probe-rows say what a full disk means and go on when there is room", {
  ignore: !await SmallDisk.isPossible(),
}, async () => {
  using folder = new TemporaryFolder();
  await using disk = await SmallDisk.mount(folder.at("small"), "300k");
  writeParquet(folder.at("in.parquet"), sampleBatch({ numRows: 20_000 }));
  for (const stage of STAGES) {
    const shards = stage === "shard"
      ? ["--train-shards", "20", "--val-shards", "2", "--test-shards", "2"]
      : ["--shards", "16"];
    const args = ["--input", folder.at("in.parquet"), ...shards];
    await succeeded(runStageProcess([stage, ...args, "--output", folder.at(stage)]));
    const output = `${disk.path}/${stage}`;
    // First too small for the spill file, then for the shards beside it.
    const tooSmall = stage === "shard" ? "700k" : "300k";
    for (const size of [tooSmall, stage === "shard" ? "1300k" : "2000k"]) {
      await disk.resize(size);
      await assertFails([...args, "--output", output], { code: 1, message: "no space left", stage });
      const finished = Object.entries(unfinishedHashes(output));
      const wanted = folderHashes(folder.at(stage));
      for (const [name, hash] of finished) assertEquals(hash, wanted[name]);
      if (size === tooSmall) assertEquals(finished.length, 0);
    }
    await disk.resize("64m");
    await succeeded(runStageProcess([stage, ...args, "--output", output]));
    assertEquals(folderHashes(output), folderHashes(folder.at(stage)));
    Deno.removeSync(output, { recursive: true });
  }
});

Deno.test("shard and probe-rows end with one line when a worker thread meets a damaged file", async () => {
  using folder = new TemporaryFolder();
  const inputs = [0, 1, 2].map((i) => folder.at(`${i}.parquet`));
  inputs.forEach((path, seed) => writeParquet(path, sampleBatch({ numRows: 3000, seed })));
  const damaged = Deno.readFileSync(inputs[2]);
  for (let at = 4; at < damaged.length - 4000; at += 997) damaged[at] ^= 0x40;
  Deno.writeFileSync(inputs[2], damaged);
  for (const stage of STAGES) {
    const output = folder.at(stage);
    const args = ["--input", ...inputs, "--output", output, "--workers", "3"];
    await assertFails(args, { code: 1, message: "2.parquet", stage });
    assertEquals([...Deno.readDirSync(output)], []);
  }
});

Deno.test("probe-rows ends with 75 after SIGTERM and goes on in the next run", async () => {
  using folder = new TemporaryFolder();
  writeParquet(folder.at("in.parquet"), sampleBatch({ numRows: 60_000, numProbes: 500 }));
  const args = ["--input", folder.at("in.parquet"), "--shards", "24"];
  await succeeded(runStageProcess(["probe-rows", ...args, "--output", folder.at("whole")]));
  const output = folder.at("stopped");
  const child = spawnStage(["probe-rows", ...args, "--output", output]);
  await untilAtWork(child, "its spill file", () => exists(`${output}/.work/spill/rows-0.bin`));
  child.kill("SIGTERM");
  const { code, stderr } = await child.output();
  assertStringIncludes(new TextDecoder().decode(stderr), "error: stopped by SIGTERM");
  assertEquals(code, 75);
  await succeeded(runStageProcess(["probe-rows", ...args, "--output", output]));
  assertEquals(folderHashes(output), folderHashes(folder.at("whole")));
});
