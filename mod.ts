/**
 * The library behind ping-llm: programs can do everything that its stages do.
 *
 * ```ts ignore
 * import { loadModel } from "@ping-llm/ping-llm";
 *
 * using model = await loadModel("runs/demo/train");
 * const [src, dst, other] = ["192.0.2.1", "198.51.100.7", "203.0.113.5"];
 *
 * const { median_ms, p_failed, quantiles_ms } = await model.ask("rtt", { src, dst, quantiles: [0.9] });
 * const { nearest } = await model.ask("nearest", { src, candidates: [dst, other] });
 * const { destinations } = await model.ask("destinations", { src, rtt: [20, 25], top: 1 });
 * console.log(median_ms, p_failed, quantiles_ms[0.9]);
 * console.log(nearest[0].p_nearest, destinations[0].prefix);
 * ```
 *
 * `ask()` takes the questions of the HTTP API and returns its answers. `rtt`, `nearest`, `advise` and `matrix`
 * also take prefixes, and places if the model knows them; `map` and `place` need a model trained with `--geo`,
 * and `advise` one with coordinates. `nearest` also takes many `sources` in place of `src`.
 *
 * ```ts ignore
 * import { loadModel } from "@ping-llm/ping-llm";
 *
 * using model = await loadModel("runs/demo/train", { calibration: "runs/demo/eval/time/report.json" });
 * const [src, dst] = ["192.0.2.1", "198.51.100.7"];
 * const context = [{ src, dst: "198.51.100.9", time: "2025-11-01T11:00Z", rtt: 12.5 }];
 * const time = "2025-11-01T12:00Z";
 *
 * const { drawn } = await model.ask("rtt", { src, dst: "198.51.100.0/22", time, context, draws: 8 });
 * const { rows } = await model.ask("matrix", { nodes: [src, dst], samples: 2 });
 * console.log(drawn?.standard_errors.median_ms, rows[0].median_ms[1]);
 *
 * const stopping = AbortSignal.timeout(600_000);
 * const onProgress = (done: number) => console.error(`${done} measurements drawn`);
 * const { measurements } = await model.ask("sample", { src, count: 2 }, { signal: stopping, onProgress });
 * const { mean_bits } = await model.ask("likelihood", { src, dst, rtt: 21.5 });
 * const { answers: [score] } = await model.ask("score", { measurements: [{ src, dst, time, rtt: 21.5 }] });
 * console.log(mean_bits, measurements.length, "error" in score ? NaN : score.p_value);
 * ```
 *
 * The exact distribution of the RTT between two addresses. Notebooks display it and its plot as pictures.
 *
 * ```ts ignore
 * import { loadModel, plotRttDistribution } from "@ping-llm/ping-llm";
 *
 * using model = await loadModel("runs/demo/train");
 * const rtt = await model.rttDistribution({ src: "192.0.2.1", dst: "198.51.100.7", time: 1762000000 });
 * console.log(rtt.quantileMs(0.5), rtt.pFailed);
 * console.log(rtt.cdf(100), rtt.probabilityOf(12.5));
 * const { svg } = await plotRttDistribution(rtt, { title: "192.0.2.1 -> 198.51.100.7" });
 * await Deno.writeTextFile("rtt.svg", svg);
 * ```
 *
 * Alarms when a pair stops replying or its RTTs leave their usual level. They need no model.
 *
 * ```ts ignore
 * import { PairWatch } from "@ping-llm/ping-llm";
 *
 * const watch = new PairWatch({ alarmsPerDay: 1 });
 * for (let minute = 0; minute < 60; minute++) {
 *   const time = 1762000000 + 60 * minute;
 *   const events = watch.add({ src: "192.0.2.1", dst: "198.51.100.7", time, rtt: minute < 40 ? 21.5 : 80 });
 *   for (const { kind, alarm: { now } } of events) console.error(kind, now.medianMs);
 * }
 * console.log(watch.numPairs, watch.numMeasurements);
 * console.log(watch.alarms.numAlarms, [...watch.finish()].length);
 * ```
 *
 * Measurements as Parquet: from a synthetic Internet, from RIPE Atlas, or your own.
 *
 * ```ts ignore
 * import { FAILED_RTT_MS, importMeasurements, MeasurementParquetWriter } from "@ping-llm/ping-llm";
 * import { readMeasurements, RejectLog, synthesize } from "@ping-llm/ping-llm";
 *
 * const world = { seed: 0, probes: 20, destinations: 10, ipv6Share: 0.4 };
 * await synthesize("synth.parquet", { ...world, rows: 1000, days: 7 });
 * const choices = { source: "auto", rtt: "min", maxRejectRatio: 0.05 } as const;
 * const limits = { memoryLimitBytes: 2 ** 28, rejectsPath: "rejects.jsonl" };
 * await importMeasurements(["atlas.jsonl"], "atlas.parquet", { ...choices, ...limits });
 *
 * using writer = MeasurementParquetWriter.create("both.parquet");
 * const rejects = new RejectLog();
 * for await (const batch of readMeasurements(["synth.parquet", "atlas.parquet"], { rejects })) {
 *   const numReplies = batch.rttMs.filter((rttMs) => rttMs !== FAILED_RTT_MS).length;
 *   console.log(batch.numRows, numReplies, batch.rttMs.length);
 *   writer.append(batch);
 * }
 * writer.close();
 * ```
 *
 * Comparing a model with baselines on measurements that `probe-rows` held out.
 *
 * ```ts ignore
 * import { evaluateModel } from "@ping-llm/ping-llm";
 *
 * const rows = { dataDir: "data/rows", split: "val", history: "all" } as const;
 * const { answers, lines } = await evaluateModel({ checkpoint: "runs/demo/train", ...rows, maxMeasurements: 20 });
 * for (const { question, model, bestMethod, best } of answers) console.error(question, model, bestMethod, best);
 * console.log(answers[0].model, answers[0].best);
 * console.log(lines.length, answers.length);
 * ```
 *
 * Training on the output of `probe-rows`. A caller's mistake throws a `UserError` with a one-line message.
 *
 * ```ts ignore
 * import { ConfigError, FormatError, loadConfig, train, UserError, VERSION } from "@ping-llm/ping-llm";
 *
 * const config = loadConfig("demo", ["train.steps=2", "autosize=null"]);
 * const { step, trainLoss } = await train({ config, seed: 0, dataDir: "data/rows", runDir: "runs/first" });
 * console.log(step, trainLoss);
 * try {
 *   loadConfig("demo", ["train.steps=none"]);
 * } catch (error) {
 *   if (!(error instanceof UserError)) throw error;
 *   console.log(VERSION, error.exitCode);
 *   if (error instanceof ConfigError) console.error(error.keyPath, error.message);
 *   if (error instanceof FormatError) console.error(error.path, error.message);
 * }
 * ```
 *
 * @module
 */
export { ConfigError, FormatError, UserError } from "./lib/base/errors.ts";
export type { Fault, UsageError } from "./lib/base/errors.ts";
export { VERSION } from "./lib/base/version.ts";
export { FAILED_RTT_MS, type MeasurementBatch } from "./lib/data/formats/batch.ts";
export {
  importMeasurements,
  type ImportOptions,
  type ImportSummary,
} from "./lib/data/import/import_measurements.ts";
export type { ReadingOptions } from "./lib/data/formats/format.ts";
export { readMeasurements, type ReadOptions } from "./lib/data/measurement_files/parquet_reader.ts";
export { MeasurementParquetWriter } from "./lib/data/measurement_files/parquet_writer.ts";
export { RejectLog } from "./lib/data/measurement_files/rejects.ts";
export { synthesize, type SynthOptions } from "./lib/data/synth/synthesize.ts";
export { type EvalSummary, evaluateModel, type ModelEvaluation } from "./lib/eval/evaluate_model.ts";
export type { EvalAnswer } from "./lib/eval/page/summary.ts";
export type { Adaptation, AdaptOptions } from "./lib/query/adapt/adapt.ts";
export type { Alarm, AlarmEvent } from "./lib/query/changes/alarms.ts";
export { PairWatch, type WatchOptions } from "./lib/query/changes/pair_watch.ts";
export type { LoadOptions } from "./lib/query/files/load_model.ts";
export { loadModel, type Model } from "./lib/query/files/model.ts";
export type { AskOptions } from "./lib/query/questions/question.ts";
export type { AnswerOf, QuestionKind, QuestionOf } from "./lib/query/questions/questions.ts";
export type { RttDistribution } from "./lib/query/rtt/rtt_distribution.ts";
export { plotRttDistribution, type RttPlot, type RttPlotOptions } from "./lib/query/rtt/rtt_plot.ts";
export type { QuestionMeasurement, RttQuestion } from "./lib/query/rtt/rtt_question.ts";
export { loadConfig, type RunConfig } from "./lib/train/run_config.ts";
export { train, type TrainOptions, type TrainProgress, type TrainResult } from "./lib/train/trainer.ts";

// The package as a command: deno run -A jsr:@ping-llm/ping-llm STAGE
if (import.meta.main) await import("./tasks/registry_main.ts");
