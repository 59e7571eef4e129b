/**
 * `pretokenize` as users run it: exit codes and one line on standard error.
 *
 * @module
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { ArrayRecordWriter } from "../../../../lib/io/array_record/writer.ts";
import { encodeProbeRow } from "../../../../lib/data/probe_rows/probe_row.ts";
import { refused, runStageProcess, succeeded } from "../../../cli/process.ts";
import { TemporaryFolder } from "../../../io/files/temporary_folder.ts";
import { syntheticRows } from "../synthetic_rows.ts";
import { sampleBatch, writeParquet } from "../../probe_rows/sample_parquet.ts";
import { readSequences } from "./token_files.ts";

async function assertFails(
  args: string[],
  { code, message }: { code: number; message: string },
): Promise<void> {
  await refused(runStageProcess(["pretokenize", ...args]), code, message);
}

Deno.test("pretokenize prints its counts as one JSON object", async () => {
  using folder = new TemporaryFolder();
  writeParquet(folder.at("in.parquet"), sampleBatch({ numRows: 1000, numBad: 2 }));
  const args = ["--input", folder.at("in.parquet"), "--output", folder.at("out"), "--vocab", "v1"];
  const { code, stdout, stderr } = await runStageProcess(["pretokenize", ...args, "--json", "--quiet"]);
  assertEquals([code, stderr], [0, ""]);
  const { stage, vocab, sequences, tokens, seconds, rejected } = JSON.parse(stdout);
  assertEquals([stage, vocab, sequences, rejected], ["pretokenize", "v1", 998, { unparseableAddress: 2 }]);
  const found = await readSequences([folder.at("out/tokens-00000.parquet")]);
  assertEquals(tokens, found.reduce((sum, { length }) => sum + length, 0));
  assert(seconds > 0);
  const again = await succeeded(runStageProcess(["pretokenize", ...args]));
  assertStringIncludes(again.stdout, "is already complete");
  await assertFails([...args, "--rtt-encoding", "log"], { code: 1, message: "--overwrite" });
  await succeeded(runStageProcess(["pretokenize", ...args, "--overwrite"]));
});

Deno.test("pretokenize ends with 1 on bad input and with 2 on a wrong command line", async () => {
  using folder = new TemporaryFolder();
  writeParquet(folder.at("in.parquet"), sampleBatch({ numRows: 100, numBad: 50 }));
  using writer = await ArrayRecordWriter.create(folder.at("rows.arrayrecord"));
  for (const row of syntheticRows(1, 3, 20)) writer.write(encodeProbeRow(row));
  writer.close();
  Deno.writeTextFileSync(folder.at("text.parquet"), "no Parquet");
  Deno.writeTextFileSync(folder.at("text.arrayrecord"), "no ArrayRecord");
  const args = (name: string, ...more: string[]) => [
    ...["--input", folder.at(name), "--output", folder.at("out")],
    ...more,
  ];
  const v1 = ["--vocab", "v1"];
  await assertFails(args("none.parquet", ...v1), { code: 1, message: "none.parquet: no such file" });
  await assertFails(args("text.parquet", ...v1), {
    code: 1,
    message: "it does not start with PAR1, expected a Parquet file",
  });
  await assertFails(args("text.arrayrecord"), { code: 1, message: "text.arrayrecord" });
  await assertFails(args("in.parquet", ...v1), { code: 1, message: "50 of 100 rows were rejected" });
  const wrong: [string[], string][] = [
    [args("in.parquet"), "make them with probe-rows, or add --vocab v1"],
    [args("rows.arrayrecord", ...v1), "probe rows have no msm_id"],
    [args("rows.arrayrecord", "--rtt-encoding", "log"), "vocabulary v2: it has only one encoding"],
    [args("in.parquet", "--vocab", "v3"), "expected v1 | v2"],
    [args("in.parquet", ...v1, "--rtt-encoding", "logs"), "expected float64 | fixed | log | clipped"],
    [args("rows.arrayrecord", "--sequence-length", "10"), "expected 47 to 65535"],
    [args("rows.arrayrecord", "--vocabs", "v2"), "did you mean vocab?"],
  ];
  for (const [args, message] of wrong) await assertFails(args, { code: 2, message });
});
