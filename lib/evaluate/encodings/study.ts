/**
 * The study of RTT encodings: the same model trained on the same measurements in each encoding, and what each then says
 * of the same held-out measurements.
 *
 * All models have the tokens of vocabulary v2 but for the bytes of RTTs, see scheme_tokens.ts, and the same number of
 * steps. As v2's measurements are shorter, it then has seen more of them; so one more model of v2 is trained, on as many
 * measurements as the others saw. The models are deleted in the end: no other command could read their RTTs.
 *
 * @module
 */
import { join } from "@std/path";
import type { StageContext } from "../../cli/stage.ts";
import { ConfigError, ensure } from "../../errors.ts";
import { writeJsonAtomic } from "../../files/atomic.ts";
import { exists } from "../../files/inputs.ts";
import { StagedOutput } from "../../files/staged_output.ts";
import { Gpu } from "../../gpu/device.ts";
import { KernelRegistry } from "../../gpu/registry.ts";
import { openProbeRows, type ProbeRowSource } from "../../loader/row_source.ts";
import { RttCodeCounts } from "../../tokens/rtt_code_counts.ts";
import { loadCheckpoint } from "../../train/checkpoint.ts";
import { deriveConfig, type RunConfig } from "../../train/config.ts";
import { dataFingerprint } from "../../train/data_fingerprint.ts";
import { train } from "../../train/trainer.ts";
import { type EncodingRow, type EncodingSection, readEncodingSection } from "../encoding_section.ts";
import { meanOf, meanWithError } from "../means.ts";
import { quantileOfSample } from "../quantile.ts";
import { predictCases, type SchemePrediction } from "./predictions.ts";
import { type RttScheme, rttSchemes } from "./rtt_scheme.ts";
import { MAX_SCHEME_MEASUREMENT_TOKENS, schemeBatchMaker, SchemeSequences } from "./scheme_batches.ts";
import { drawSchemeCases, type SchemeCase } from "./scheme_cases.ts";
import { resultLength } from "./scheme_tokens.ts";

/** What is studied, on what. */
export interface EncodingStudyOptions {
  /** A folder of probe rows with `train` and `test`. */
  dataDir: string;
  /** Where `encodings.json` goes, and the runs while they are in the making. */
  outputDir: string;
  /** Delete what another study left there. */
  overwrite: boolean;
  /** Of every run. */
  config: RunConfig;
  seed: number;
  /** How many held-out measurements are predicted. */
  numCases: number;
  /** The quantile of the training RTTs that `clipped` clips at. */
  clipQuantile: number;
}

/** One of the runs. */
interface Arm {
  name: string;
  scheme: RttScheme;
  steps: number;
  /** Its folder's name. */
  slug: string;
}

const SECTION = "encodings.json";

/**
 * Trains and compares; run again, it goes on where it stopped.
 *
 * @param options What to study.
 * @param context Progress, log and signal.
 * @throws {ConfigError} If the configuration is none that all encodings can be trained with.
 * @throws {InterruptedError} On the signal, with everything saved.
 * @throws {UserError} If the data or the folder cannot be used, or there is no WebGPU adapter.
 */
export async function studyEncodings(
  options: EncodingStudyOptions,
  context: StageContext,
): Promise<EncodingSection> {
  const { dataDir, outputDir, overwrite, config, seed, numCases, clipQuantile } = options;
  checkConfig(config);
  const data = await dataFingerprint(dataDir);
  using rows = await openProbeRows(dataDir, "train");
  using heldOut = await openProbeRows(dataDir, "test");
  using output = StagedOutput.openFolder(outputDir, {
    stage: "bench encodings",
    inputs: [...rows.files, ...heldOut.files],
    options: { config, seed, data, numCases, clipQuantile },
    overwrite,
  });
  if (output.isComplete) return readEncodingSection(join(outputDir, SECTION));
  const clipUs = clipOf(rows, clipQuantile, context);
  const schemes = rttSchemes(clipUs);
  const sampling = config.data;
  const { sequenceLength } = config.model;
  const cases = drawSchemeCases(heldOut, {
    count: numCases,
    seed,
    sequenceLength,
    sampling,
    longest: schemes[0],
  });
  const runsDir = output.workPath("runs");
  const results: EncodingRow[] = [];
  for (const arm of armsOf(schemes, rows, options)) {
    results.push(await runArm(arm, options, { runsDir, rows, cases, context }));
  }
  const section: EncodingSection = {
    dataFingerprint: data,
    seed,
    numParameters: deriveConfig(config).numParameters,
    sequenceLength,
    batchSize: config.train.batchSize,
    numCases,
    numAnswered: cases.filter(({ rttMs }) => rttMs !== null).length,
    meanContext: meanOf(cases.map(({ measurements }) => measurements.length - 1)) ?? NaN,
    clipMs: clipUs / 1000,
    rows: results,
  };
  writeJsonAtomic(join(output.folder, SECTION), section);
  await output.record(SECTION);
  output.publish();
  return section;
}

function checkConfig({ model, train }: RunConfig): void {
  if (model.vocabulary !== "v2") {
    throw new ConfigError(
      "model.vocabulary",
      "found v1, v2 was wanted: encodings are compared in its sequences",
    );
  }
  if (train.rttDistanceWeights) {
    throw new ConfigError(
      "train.rttDistanceWeights",
      "found weights, null was wanted: only v2 has such codes",
    );
  }
  if (train.rttByteWeight !== 1) {
    throw new ConfigError(
      "train.rttByteWeight",
      `found ${train.rttByteWeight}, 1 was wanted: the encodings have other bytes to weigh`,
    );
  }
  if (model.sequenceLength < MAX_SCHEME_MEASUREMENT_TOKENS) {
    throw new ConfigError(
      "model.sequenceLength",
      `found ${model.sequenceLength}, at least ${MAX_SCHEME_MEASUREMENT_TOKENS} was wanted`,
    );
  }
}

/** The quantile of the training RTTs, whole microseconds. */
function clipOf(rows: ProbeRowSource, quantile: number, context: StageContext): number {
  using progress = context.progress("finding the clip of RTTs", { total: rows.numRows, unit: "rows" });
  const counts = new RttCodeCounts();
  for (let row = 0; row < rows.numRows; row++) {
    for (const rttMs of rows.row(row).rttMs) if (rttMs >= 0) counts.add(rttMs);
    context.signal.throwIfAborted();
    progress.update(row + 1);
  }
  return counts.total === 0 ? 1 : Math.max(1, Math.round(counts.quantileMs(quantile) * 1000));
}

function armsOf(
  schemes: readonly RttScheme[],
  rows: ProbeRowSource,
  { config, seed }: EncodingStudyOptions,
): Arm[] {
  const { steps, batchSize } = config.train;
  const { sequenceLength } = config.model;
  const arms = schemes.map((scheme) => ({
    name: scheme.name as string,
    slug: scheme.name as string,
    scheme,
    steps,
  }));
  const v2 = schemes.find(({ name }) => name === "v2");
  ensure(v2, "v2 is among the encodings");
  const options = { seed, sequenceLength, sampling: config.data };
  const wanted = countOf(new SchemeSequences(rows, schemes[0], options), steps * batchSize).numMeasurements;
  let [numSequences, numMeasurements] = [0, 0];
  for (const counts of new SchemeSequences(rows, v2, options).count()) {
    numMeasurements += counts.numMeasurements;
    numSequences++;
    if (numMeasurements >= wanted) break;
  }
  const fewerSteps = Math.min(steps, Math.ceil(numSequences / batchSize));
  return [...arms, {
    name: "v2, as many measurements",
    slug: "v2-fewer-steps",
    scheme: v2,
    steps: fewerSteps,
  }];
}

function countOf(
  sequences: SchemeSequences,
  numSequences: number,
): { numMeasurements: number; numTokens: number } {
  const total = { numMeasurements: 0, numTokens: 0 };
  for (const { numMeasurements, numTokens } of sequences.count().take(numSequences)) {
    total.numMeasurements += numMeasurements;
    total.numTokens += numTokens;
  }
  return total;
}

/** Trains and evaluates one model, unless that was done before. */
async function runArm(
  { name, scheme, steps, slug }: Arm,
  options: EncodingStudyOptions,
  { runsDir, rows, cases, context }: {
    runsDir: string;
    rows: ProbeRowSource;
    cases: readonly SchemeCase[];
    context: StageContext;
  },
): Promise<EncodingRow> {
  const { dataDir, seed, config: { model, data, train: { batchSize } } } = options;
  const rowPath = join(runsDir, `${slug}.json`);
  if (exists(rowPath)) return JSON.parse(Deno.readTextFileSync(rowPath)) as EncodingRow;
  const config = { ...options.config, train: { ...options.config.train, steps } };
  const runDir = join(runsDir, slug);
  {
    using progress = context.progress(`training ${name}`, { total: steps, unit: "steps" });
    await train({
      ...{ config, seed, dataDir, runDir, signal: context.signal },
      batchMaker: schemeBatchMaker(scheme),
      autotuneCache: join(runsDir, "autotune.json"),
      onProgress: ({ step, loss }) => progress.update(step, `loss ${loss?.toFixed(4) ?? "not finite"}`),
    });
  }
  const predictions = await predict(runDir, { name, scheme }, { cases, context });
  const sequences = new SchemeSequences(rows, scheme, {
    ...{ seed, sequenceLength: model.sequenceLength, sampling: data },
  });
  const { numMeasurements, numTokens } = countOf(sequences, steps * batchSize);
  const row: EncodingRow = {
    ...{ name, encoding: scheme.name, steps, tokensSeen: numTokens, measurementsSeen: numMeasurements },
    tokensPerMeasurement: numTokens / numMeasurements,
    tokensPerRtt: resultLength(false, scheme),
    ...summaryOf(predictions, cases),
  };
  writeJsonAtomic(rowPath, row);
  return row;
}

async function predict(
  runDir: string,
  { name, scheme }: Pick<Arm, "name" | "scheme">,
  { cases, context }: { cases: readonly SchemeCase[]; context: StageContext },
): Promise<SchemePrediction[]> {
  const { config, weights } = loadCheckpoint(runDir);
  using gpu = await Gpu.open();
  const model = { config: config.model, registry: new KernelRegistry(gpu), weights };
  using progress = context.progress(`predicting with ${name}`, { total: cases.length, unit: "measurements" });
  return await predictCases(model, { scheme, cases }, {
    onProgress(done) {
      context.signal.throwIfAborted();
      progress.update(done);
    },
  });
}

function summaryOf(
  predictions: readonly SchemePrediction[],
  cases: readonly SchemeCase[],
): Pick<
  EncodingRow,
  | "bitsPerRtt"
  | "bitsPerRttError"
  | "bitsPerResult"
  | "bitsPerOwnCode"
  | "meanAbsoluteErrorMs"
  | "medianAbsoluteErrorMs"
> {
  const rttBits = predictions.flatMap((prediction) => prediction.rttBits ?? []);
  const errorsMs = predictions.flatMap(({ medianMs }, i) => {
    const { rttMs } = cases[i];
    return rttMs === null ? [] : [Math.abs(medianMs - rttMs)];
  });
  const mean = (values: readonly number[]) => meanOf(values) ?? NaN;
  const bitsPerRtt = meanWithError(rttBits);
  return {
    bitsPerRtt: bitsPerRtt.mean ?? NaN,
    bitsPerRttError: bitsPerRtt.standardError ?? NaN,
    bitsPerResult: mean(predictions.map(({ resultBits }) => resultBits)),
    bitsPerOwnCode: mean(predictions.map(({ codeBits }) => codeBits)),
    meanAbsoluteErrorMs: mean(errorsMs),
    medianAbsoluteErrorMs: quantileOfSample(errorsMs, 0.5),
  };
}
