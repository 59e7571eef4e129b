/**
 * An input that is replaced while a real process reads it: the run fails in one line, and the next makes what there
 * is to make of the new file.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { exists } from "../../../lib/io/files/inputs.ts";
import { outputOf, refused, runStageProcess, spawnStage, succeeded } from "../../cli/process.ts";
import { TemporaryFolder } from "../../io/files/temporary_folder.ts";
import { untilAtWork } from "../../until.ts";
import { folderHashes } from "./folder_hashes.ts";
import { sampleBatch, writeParquet } from "./sample_parquet.ts";

/** The arguments of each stage, and the first file that it writes of its own while it reads. */
const STAGES: Record<string, { args: string[]; firstFile: string }> = {
  "shard": { args: [], firstFile: ".work/spill/rows-0.bin" },
  "probe-rows": { args: [], firstFile: ".work/spill/rows-0.bin" },
  "pretokenize": {
    args: ["--vocab", "v1", "--sequences-per-file", "1000"],
    firstFile: ".work/next/tokens-00000.parquet",
  },
};

for (const [stage, { args, firstFile }] of Object.entries(STAGES)) {
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
