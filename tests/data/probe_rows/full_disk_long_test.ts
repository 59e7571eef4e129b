/**
 * A full disk under `synth` and `pretokenize` in real processes; fault_long_test.ts has the stages that spill.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { refused, runStageProcess, succeeded } from "../../cli/process.ts";
import { SmallDisk } from "../../io/files/small_disk.ts";
import { TemporaryFolder } from "../../io/files/temporary_folder.ts";
import { folderHashes, unfinishedHashes } from "./folder_hashes.ts";
import { sampleBatch, writeParquet } from "./sample_parquet.ts";

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
