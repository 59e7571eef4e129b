import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { FormatError } from "../../../lib/base/errors.ts";
import { inspect } from "../../../lib/cli/inspect/inspect.ts";
import { describeReports, type InspectOptions, reportsAsJson } from "../../../lib/cli/inspect/report.ts";
import { TokenParquetWriter } from "../../../lib/data/loader/pretokenize/token_shards.ts";
import { TemporaryFolder } from "../../io/files/temporary_folder.ts";

const OPTIONS: InspectOptions = { samples: 2, sequenceLength: 64, seed: 0, onCorrupt: "error" };

function write(path: string, vocabulary: string, sequences: number[][]): void {
  using writer = new TokenParquetWriter(path, {
    vocabSize: 267,
    metadata: { "ping_llm.vocabulary": vocabulary, "ping_llm.rtt_encoding": "log" },
  });
  for (const tokens of sequences) writer.append(Uint16Array.from(tokens));
  writer.close();
}

Deno.test("inspect() sums up the token files of pretokenize", async () => {
  using folder = new TemporaryFolder();
  write(folder.at("out/train/tokens-00000.parquet"), "v1", [[0, 9, 10, 265], [0, 1]]);
  write(folder.at("out/train/tokens-00001.parquet"), "v1", [[0, 2, 3]]);
  const reports = await inspect([folder.at("out")], OPTIONS);
  const { bytes: _bytes, lengthTokens, ...json } = reportsAsJson(reports);
  assertEquals(json, {
    stage: "inspect",
    kind: "tokens",
    path: folder.at("out"),
    files: 2,
    sequences: 3,
    tokens: 9,
    metadata: { vocabulary: "v1", rtt_encoding: "log" },
    samples: ["MeasurementStart MsmIdStart 0 255", "MeasurementStart SrcIpStart"],
  });
  assertEquals((lengthTokens as Record<string, number>).max, 4);
  const text = describeReports(reports);
  assertStringIncludes(text, "rtt encoding");
  assertStringIncludes(text, "3 in 2 files");

  write(folder.at("out/val/tokens-00000.parquet"), "v2", [[0]]);
  await assertRejects(
    () => inspect([folder.at("out")], OPTIONS),
    FormatError,
    "not of the same kind as the first file",
  );
});

Deno.test("inspect() names a token file that is cut short", async () => {
  using folder = new TemporaryFolder();
  const path = folder.at("a.parquet");
  write(path, "v2", [[0, 10, 11]]);
  Deno.truncateSync(path, Deno.statSync(path).size - 20);
  await assertRejects(() => inspect([path], OPTIONS), FormatError, path);
});
