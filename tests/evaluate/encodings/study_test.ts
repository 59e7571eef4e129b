import { assert, assertEquals, assertRejects } from "@std/assert";
import { join } from "@std/path";
import { Progress } from "../../../lib/cli/progress.ts";
import type { StageContext } from "../../../lib/cli/stage.ts";
import { ConfigError, InterruptedError } from "../../../lib/errors.ts";
import { describeEncodings, readEncodingSection } from "../../../lib/evaluate/encoding_section.ts";
import { studyEncodings } from "../../../lib/evaluate/encodings/study.ts";
import { exists } from "../../../lib/files/inputs.ts";
import { ArrayRecordWriter } from "../../../lib/records/array_record_writer.ts";
import { encodeProbeRow } from "../../../lib/records/probe_row.ts";
import { parseRunConfig } from "../../../lib/train/config.ts";
import { syntheticRows } from "../../loader/synthetic_rows.ts";

const CONFIG = parseRunConfig({
  model: { numLayers: 1, width: 32, numHeads: 1, headDim: 32, mlpWidth: 64, sequenceLength: 128 },
  optim: {
    groups: {
      embedding: { kind: "adamw", learningRate: 0.1 },
      head: { kind: "adamw", learningRate: 0.004 },
      matrices: { kind: "muon", learningRate: 0.02 },
    },
  },
  train: { steps: 12, batchSize: 2, microBatchSize: 2, evalSequences: 2 },
});

const folder = Deno.makeTempDirSync();
const DATA = join(folder, "rows");
Deno.test.beforeAll(async () => {
  for (const [split, numRows] of [["train", 30], ["val", 4], ["test", 10]] as const) {
    const path = join(DATA, split, `${split}-00000-of-00001.arrayrecord`);
    const writer = await ArrayRecordWriter.create(path);
    for (const row of syntheticRows(split.length, numRows, 20)) writer.write(encodeProbeRow(row));
    writer.close();
  }
});
Deno.test.afterAll(() => Deno.removeSync(folder, { recursive: true }));

/** A stage's context that is interrupted when a phase begins. */
function contextUpTo(phase: string): StageContext {
  const controller = new AbortController();
  return {
    signal: controller.signal,
    log: () => {},
    progress(label, shown) {
      if (label === phase) controller.abort(new InterruptedError("SIGINT"));
      return new Progress(label, { ...shown, quiet: true });
    },
  };
}

const optionsOf = (outputDir: string) => ({
  ...{ dataDir: DATA, outputDir, overwrite: false, config: CONFIG, seed: 1, numCases: 30, clipQuantile: 0.9 },
});

Deno.test("studyEncodings() compares all encodings, goes on after a signal, and gives the same again", async () => {
  const output = join(folder, "study");
  const interrupted = studyEncodings(optionsOf(output), contextUpTo("training fixed"));
  await assertRejects(() => interrupted, InterruptedError);
  const first = JSON.parse(Deno.readTextFileSync(join(output, ".work/runs/float64.json")));
  const section = await studyEncodings(optionsOf(output), contextUpTo("none"));

  assertEquals(section.rows.map(({ encoding }) => encoding), [
    "float64",
    "fixed",
    "log",
    "clipped",
    "v2",
    "v2",
  ]);
  assertEquals(section.rows[0], first);
  for (const row of section.rows) {
    assertEquals(row.tokensPerRtt, row.encoding === "v2" ? 3 : 9);
    for (const value of Object.values(row)) assert(typeof value === "string" || Number.isFinite(value));
    // Twelve steps teach the failures of this world and the first byte, no more: no one is near the truth or lost.
    assert(row.bitsPerRtt > 2 && row.bitsPerRtt < 60, `${row.name}: ${row.bitsPerRtt} bits`);
  }
  const [float64, fixed, , , v2, asMany] = section.rows;
  assertEquals(float64.measurementsSeen, fixed.measurementsSeen);
  assert(
    v2.measurementsSeen > float64.measurementsSeen && v2.tokensPerMeasurement < float64.tokensPerMeasurement,
  );
  assertEquals([v2.steps, asMany.steps < v2.steps], [12, true]);
  // As many, and what the last step has above that: steps differ in how many measurements they have.
  const excess = asMany.measurementsSeen - float64.measurementsSeen;
  assert(excess >= 0 && excess <= 2 * asMany.measurementsSeen / asMany.steps, `${excess} more`);

  assert(!exists(join(output, "runs")));
  assertEquals(readEncodingSection(join(output, "encodings.json")), section);
  assertEquals(describeEncodings(section).split("\n").length, 1 + 7 + 1);
  // A finished study is read, and nothing is trained.
  assertEquals(await studyEncodings(optionsOf(output), contextUpTo("training float64")), section);

  const again = join(folder, "again");
  const other = studyEncodings(optionsOf(again), contextUpTo("training fixed"));
  await assertRejects(() => other, InterruptedError);
  assertEquals(JSON.parse(Deno.readTextFileSync(join(again, ".work/runs/float64.json"))), first);
});

Deno.test("studyEncodings() refuses what not all encodings can be trained with, naming the key", async () => {
  const refused: [string, unknown][] = [
    ["model.vocabulary", { ...CONFIG, model: { ...CONFIG.model, vocabulary: "v1" } }],
    ["model.sequenceLength", { ...CONFIG, model: { ...CONFIG.model, sequenceLength: 52 } }],
    ["train.rttByteWeight", { ...CONFIG, train: { ...CONFIG.train, rttByteWeight: 8 } }],
    ["train.rttDistanceWeights", { ...CONFIG, train: { ...CONFIG.train, rttDistanceWeights: [1, 1] } }],
  ];
  for (const [key, config] of refused) {
    const options = { ...optionsOf(join(folder, "refused")), config: config as typeof CONFIG };
    const error = await assertRejects(() => studyEncodings(options, contextUpTo("none")), ConfigError);
    assertEquals((error as ConfigError).keyPath, key);
  }
});
