/**
 * Faults as a user meets them: exit code and one line on standard error.
 *
 * @module
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { exists } from "../../../lib/io/files/inputs.ts";
import { outputOf, refused, runStageProcess, spawnStage, succeeded } from "../../cli/process.ts";
import { SmallDisk } from "../../io/files/small_disk.ts";
import { TemporaryFolder } from "../../io/files/temporary_folder.ts";
import { untilAtWork } from "../../until.ts";
import { folderHashes, unfinishedHashes } from "./stage_fixtures.ts";
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
  // None of these left anything that prevents a good run.
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

// An input that is replaced while a real process reads it: the run fails in one line, and the next makes what there
// is to make of the new file.

/** The arguments of each stage, and the first file that it writes of its own while it reads. */
const READING_STAGES: Record<string, { args: string[]; firstFile: string }> = {
  "shard": { args: [], firstFile: ".work/spill/rows-0.bin" },
  "probe-rows": { args: [], firstFile: ".work/spill/rows-0.bin" },
  "pretokenize": {
    args: ["--vocab", "v1", "--sequences-per-file", "1000"],
    firstFile: ".work/next/tokens-00000.parquet",
  },
};

for (const [stage, { args, firstFile }] of Object.entries(READING_STAGES)) {
  Deno.test(`${stage} fails in one line when its input is replaced under way`, async () => {
    using folder = new TemporaryFolder();
    const [input, other] = [folder.at("in.parquet"), folder.at("other.parquet")];
    writeParquet(input, sampleBatch({ numRows: 60_000 }));
    writeParquet(other, sampleBatch({ numRows: 30_000, seed: 1 }));
    const command = [stage, "--input", input, ...args, "--workers", "1", "--output"];
    const output = folder.at("out");
    const child = spawnStage([...command, output]);
    const ended = outputOf(child);
    await untilAtWork(child, firstFile, () => exists(`${output}/${firstFile}`));
    Deno.renameSync(other, input);
    await refused(ended, 1, "changed while it was read");
    await succeeded(runStageProcess([...command, output, "--overwrite"]));
    await succeeded(runStageProcess([...command, folder.at("whole")]));
    assertEquals(folderHashes(output), folderHashes(folder.at("whole")));
  });
}

// A full disk under `synth` and `pretokenize` in real processes.

/** Runs a stage on a disk that is too small twice, then on one with room: it ends as on a large disk. */
async function assertGoesOn(
  folder: TemporaryFolder,
  argumentsFor: (output: string) => string[],
  { sizes, isFinal }: { sizes: [string, string]; isFinal: RegExp },
): Promise<void> {
  await using disk = await SmallDisk.mount(folder.at("small"), sizes[0]);
  await succeeded(runStageProcess(argumentsFor(folder.at("whole"))));
  const wanted = folderHashes(folder.at("whole"));
  const output = `${disk.path}/out`;
  for (const size of sizes) {
    await disk.resize(size);
    // A slow machine would also print progress.
    await refused(runStageProcess([...argumentsFor(output), "--quiet"]), 1, "no space left");
    for (const [name, hash] of Object.entries(unfinishedHashes(output))) {
      if (isFinal.test(name)) assertEquals(hash, wanted[name], `${name} is half-written`);
    }
  }
  await disk.resize("64m");
  await succeeded(runStageProcess(argumentsFor(output)));
  assertEquals(folderHashes(output), wanted);
}

const ignore = !await SmallDisk.isPossible();

for (const workers of ["1", "2"]) {
  Deno.test(`synth --workers ${workers} says what a full disk means and ends when there is room`, {
    ignore,
  }, async () => {
    using folder = new TemporaryFolder();
    const rows = ["--rows", "300_000", "--probes", "50", "--destinations", "20", "--workers", workers];
    await assertGoesOn(folder, (output) => ["synth", "--output", `${output}/f.parquet`, ...rows], {
      sizes: ["300k", "2500k"],
      isFinal: /\.(parquet|truth\.json)$/,
    });
  });
}

Deno.test("pretokenize says what a full disk means and goes on when there is room", { ignore }, async () => {
  using folder = new TemporaryFolder();
  const input = folder.at("in.parquet");
  writeParquet(input, sampleBatch({ numRows: 20_000 }));
  const options = ["--input", input, "--vocab", "v1", "--sequences-per-file", "2000"];
  await assertGoesOn(folder, (output) => ["pretokenize", ...options, "--output", output], {
    sizes: ["100k", "500k"],
    isFinal: /\.parquet$/,
  });
});
