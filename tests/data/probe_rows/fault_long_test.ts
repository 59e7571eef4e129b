/**
 * Faults of the data stages as users see them: exit code and a one-line error.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { exists } from "../../../lib/io/files/inputs.ts";
import { outputOf, refused, runStageProcess, spawnStage, succeed } from "../../cli/process.ts";
import { SmallDisk } from "../../io/files/small_disk.ts";
import { TemporaryFolder } from "../../io/files/temporary_folder.ts";
import { untilAtWork } from "../../until.ts";
import { sampleBatch, writeParquet } from "./sample_parquet.ts";
import { folderHashes, unfinishedHashes } from "./stage_fixtures.ts";

Deno.test("shard and probe-rows fail with a one-line error and an exit code for bad input", async () => {
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
  const args = (name: string) => ["--input", folder.at(name), "--output", folder.at("out")];
  for (
    const [name, message, stage = "shard"] of [
      ["none.parquet", "none.parquet: no such file"],
      ["empty", "it contains no .parquet file"],
      ["text.parquet", "it does not start with PAR1, expected a Parquet file"],
      ["cut.parquet", "cut.parquet", "probe-rows"],
      ["flipped.parquet", "flipped.parquet"],
    ]
  ) await refused(runStageProcess([stage, ...args(name)]), 1, message);
  // None of these left anything that prevents a good run.
  const { stdout } = await succeed("shard", ...args("good.parquet"), "--json");
  const { splits, rejected, rows_per_second, peak_memory_bytes } = JSON.parse(stdout);
  assertEquals(splits.train.rows + splits.val.rows + splits.test.rows, 2000);
  assertEquals([splits.train.shards, splits.val.shards, splits.test.shards], [200, 25, 25]);
  assertEquals(rejected, {});
  assert(rows_per_second > 0 && peak_memory_bytes > 1e7);
  await refused(runStageProcess(["shard", ...args("good.parquet"), "--seed", "1"]), 1, "--overwrite");
  await refused(
    runStageProcess(["shard", ...args("good.parquet"), "--ratios", "80,20"]),
    2,
    "--ratios 80,20",
  );
});

for (
  const [stage, firstFile, ...options] of [
    ["probe-rows", ".work/spill/rows-0.bin"],
    ["pretokenize", ".work/next/tokens-00000.parquet", "--vocab", "v1", "--sequences-per-file", "1000"],
  ]
) {
  Deno.test(`${stage} fails with a one-line error when its input is replaced meanwhile`, async () => {
    using folder = new TemporaryFolder();
    const [input, other] = [folder.at("in.parquet"), folder.at("other.parquet")];
    writeParquet(input, sampleBatch({ numRows: 60_000 }));
    writeParquet(other, sampleBatch({ numRows: 30_000, seed: 1 }));
    const command = [stage, "--input", input, ...options, "--workers", "1", "--output"];
    const output = folder.at("out");
    const child = spawnStage([...command, output]);
    const ended = outputOf(child);
    await untilAtWork(child, firstFile, () => exists(`${output}/${firstFile}`));
    Deno.renameSync(other, input);
    await refused(ended, 1, "changed while it was read");
    await succeed(...command, output, "--overwrite");
    await succeed(...command, folder.at("whole"));
    assertEquals(folderHashes(output), folderHashes(folder.at("whole")));
  });
}

const SYNTH = ["synth", "--rows", "300_000", "--probes", "50", "--destinations", "20"];

/** Runs of stages on disks that are too small: first for intermediate files, then for all outputs. */
const SMALL_DISKS: { args: string[]; sizes: string[]; file?: string }[] = [
  {
    args: ["shard", "--train-shards", "20", "--val-shards", "2", "--test-shards", "2"],
    sizes: ["700k", "1300k"],
  },
  { args: ["probe-rows", "--shards", "16"], sizes: ["300k", "2000k"] },
  { args: ["pretokenize", "--vocab", "v1", "--sequences-per-file", "2000"], sizes: ["100k", "500k"] },
  { args: [...SYNTH, "--workers", "1"], sizes: ["300k", "2500k"], file: "/f.parquet" },
  { args: [...SYNTH, "--workers", "2"], sizes: ["300k", "2500k"], file: "/f.parquet" },
];

const ignore = !await SmallDisk.isPossible();

for (const { args, sizes, file = "" } of SMALL_DISKS) {
  Deno.test(`${args.join(" ")} reports a full disk, and resumes once there is room`, {
    ignore,
  }, async () => {
    using folder = new TemporaryFolder();
    writeParquet(folder.at("in.parquet"), sampleBatch({ numRows: 20_000 }));
    const input = args[0] === "synth" ? [] : ["--input", folder.at("in.parquet")];
    const command = [...args, ...input, "--output"];
    await succeed(...command, folder.at("whole") + file);
    const wanted = folderHashes(folder.at("whole"));
    await using disk = await SmallDisk.mount(folder.at("small"), sizes[0]);
    const output = `${disk.path}/out`;
    for (const size of sizes) {
      await disk.resize(size);
      // A slow machine would also print progress.
      await refused(runStageProcess([...command, output + file, "--quiet"]), 1, "no space left");
      for (const [name, hash] of Object.entries(unfinishedHashes(output))) {
        if (/\.(parquet|arrayrecord|truth\.json)$/.test(name)) assertEquals(hash, wanted[name], name);
      }
    }
    await disk.resize("64m");
    await succeed(...command, output + file);
    assertEquals(folderHashes(output), wanted);
  });
}
