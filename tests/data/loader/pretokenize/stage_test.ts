/** `pretokenize` as users run it: exit codes and one-line errors. @module */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { refused, runStageProcess, succeed } from "../../../cli/process.ts";
import { TemporaryFolder } from "../../../io/files/temporary_folder.ts";
import { sampleBatch, writeParquet } from "../../probe_rows/sample_parquet.ts";
import { syntheticRows, writeProbeRows } from "../synthetic_rows.ts";
import { readSequences } from "./token_files.ts";

Deno.test("pretokenize prints its counts as one JSON object, and a one-line error for unusable input and options", async () => {
  using folder = new TemporaryFolder();
  writeParquet(folder.at("in.parquet"), sampleBatch({ numRows: 1000, numBad: 2 }));
  await writeProbeRows(folder.at("rows.arrayrecord"), syntheticRows(1, 3, 20));
  const args = (name: string, ...more: string[]) => {
    return ["pretokenize", "--input", folder.at(name), "--output", folder.at("out"), ...more];
  };
  const v1 = ["--vocab", "v1"];
  const { stdout } = await succeed(...args("in.parquet", ...v1, "--json", "--quiet"));
  const { stage, vocab, sequences, tokens, seconds, rejected } = JSON.parse(stdout);
  assertEquals([stage, vocab, sequences, rejected], ["pretokenize", "v1", 998, { unparseableAddress: 2 }]);
  const found = await readSequences([folder.at("out/tokens-00000.parquet")]);
  assertEquals(tokens, found.reduce((sum, { length }) => sum + length, 0));
  assert(seconds > 0);
  assertStringIncludes((await succeed(...args("in.parquet", ...v1))).stdout, "is already complete");
  const wrong: [args: string[], code: number, message: string][] = [
    [args("in.parquet", ...v1, "--rtt-encoding", "log"), 1, "--overwrite"],
    [args("in.parquet"), 2, "make them with probe-rows, or add --vocab v1"],
    [args("rows.arrayrecord", ...v1), 2, "probe rows have no msm_id"],
    [args("rows.arrayrecord", "--rtt-encoding", "log"), 2, "vocabulary v2: it has only one encoding"],
  ];
  for (const [args, code, message] of wrong) await refused(runStageProcess(args), code, message);
});
