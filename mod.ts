/**
 * The library behind ping-llm: programs can do everything that its stages do.
 *
 * ```ts ignore
 * import { loadModel, plotRttDistribution, rttBetweenPrefixes } from "@ping-llm/ping-llm";
 *
 * using model = await loadModel("runs/demo/train");
 *
 * // Between two addresses: exact.
 * const rtt = await model.rttDistribution({ src: "192.0.2.1", dst: "198.51.100.7", time: "2025-11-01T12:00Z" });
 * console.log(rtt.quantileMs(0.5), rtt.pFailed, rtt.cdf(100), rtt.probabilityOf(12.5));
 *
 * // Given earlier measurements.
 * const context = [{ src: "192.0.2.1", dst: "198.51.100.9", time: "2025-11-01T11:00Z", rtt: 12.5 }];
 * const known = await model.rttDistribution({ src: "192.0.2.1", dst: "198.51.100.7", context });
 * await plotRttDistribution(known, { title: "192.0.2.1 -> 198.51.100.7", quantiles: [0.05, 0.5, 0.95] });
 *
 * // Between prefixes of any length: a mixture with standard errors.
 * const question = { src: "192.0.2.1", dst: "198.51.100.0/22" };
 * const { mixture, destinationProbability } = await rttBetweenPrefixes(model, question, { numDraws: 64, seed: 0 });
 * console.log(mixture.distribution.quantileMs(0.5), mixture.quantileErrorMs(0.5), destinationProbability);
 * ```
 *
 * Other questions: which destinations fit an RTT, how many bits a measurement takes, and measurements drawn
 * from the model.
 *
 * ```ts ignore
 * import { formatAddress, formatPrefix, parsePrefix, parseQuestion } from "@ping-llm/ping-llm";
 * import { decodeRttCode, encodeRttCode, rankDestinations, rankDestinationsFrom } from "@ping-llm/ping-llm";
 * import { loadModel, measurementBits, sampleMeasurements } from "@ping-llm/ping-llm";
 *
 * using model = await loadModel("runs/demo/train");
 * const ends = parseQuestion({ src: "192.0.2.1", dst: "198.51.100.7" });
 * const [source, destination] = [ends.source.bytes, ends.destination.bytes];
 * const any = { source, timeS: null, context: [] };
 *
 * const [{ destinations: [first] }] = await rankDestinations(model, [{ ...any, rttMs: [20, 25] }], { top: 1 });
 * const near = { ...any, source: parsePrefix("192.0.2.0/24"), rttMs: [20, 25] } as const;
 * const { destinations: [likeliest] } = await rankDestinationsFrom(model, near, { top: 1, numDraws: 2 });
 * console.log(formatPrefix(first.prefix), first.probability + likeliest.probability);
 *
 * const measurement = { source, destination, rttCode: encodeRttCode(21.5), timeS: null };
 * const [{ totalBits }] = await measurementBits(model, [{ measurement, context: [] }]);
 * for await (const { destination, rttCode } of sampleMeasurements(model, any, { count: 1, seed: 0 })) {
 *   console.log(totalBits, formatAddress(destination), rttCode === null ? "no reply" : decodeRttCode(rttCode));
 * }
 * ```
 *
 * Many questions at once, as `query rtt --queries` answers them, corrected by the calibration of an evaluation.
 *
 * ```ts ignore
 * import { answerQueries, loadModel, readCalibration, readQueries } from "@ping-llm/ping-llm";
 *
 * const calibration = readCalibration("runs/demo/eval/report.json");
 * using model = await loadModel("runs/demo/train", { calibration });
 * async function* lines() {
 *   yield* ["src,dst", "192.0.2.1,198.51.100.7", "192.0.2.1,198.51.0.0/16"].map((text) => ({ text }));
 * }
 * const options = { context: [], numDraws: 8, seed: 0 };
 * const queries = readQueries(lines(), "queries.csv");
 * for await (const line of answerQueries(model, queries, options, ({ answer }) => answer.mixture.distribution.copy())) {
 *   if ("error" in line) console.error(line.line, line.error);
 *   else console.log(line.pFailed, line.quantileMs(0.5));
 * }
 * ```
 *
 * The nearest of several servers, the RTTs between all of them, how surprising a measurement is, and alarms.
 * Maps need a model trained with `--geo`, and advice needs one with coordinates, as `demo` trains it.
 *
 * ```ts ignore
 * import { adviseOn, DEFAULT_WATCH_OPTIONS, encodeRttCode, loadModel, matrixNodes } from "@ping-llm/ping-llm";
 * import { nearestOf, PairWatch, parsePrefix, readQueries, RttMaps, RttMatrix } from "@ping-llm/ping-llm";
 * import { scoreResults } from "@ping-llm/ping-llm";
 *
 * using model = await loadModel("runs/demo/train");
 * async function* servers() {
 *   yield* ["198.51.100.7", "203.0.113.5"].map((text) => ({ text }));
 * }
 * const shared = { src: "192.0.2.1", time: undefined };
 * const queries = await Array.fromAsync(readQueries(servers(), "servers.txt", shared));
 * const asked = { context: [], numDraws: 8, seed: 0 };
 * const ranking = { by: "median", top: 5, maxCandidates: 100, counted: "line", onProgress() {} } as const;
 * const { nearest: [first] } = await nearestOf(model, queries, { ...asked, ...ranking });
 * const nodes = await matrixNodes(queries, "line", model.names);
 * const wanted = { nodes, destinations: nodes, timeS: null, quantiles: [0.9], numSamples: 0 };
 * const matrix = new RttMatrix(model, { ...asked, ...wanted });
 * const { median_ms } = matrix.row(0, await matrix.block(0));
 * console.log(first.median_ms, first.p_nearest, median_ms[1]);
 *
 * const [source, destination] = ["192.0.2.1", "198.51.100.7"].map((text) => parsePrefix(text).bytes);
 * const measurement = { source, destination, rttCode: encodeRttCode(21.5), timeS: 1.76e9 };
 * const scored = await scoreResults(model, [{ measurement, context: [], number: 0 }], { seed: 0 });
 * const watch = new PairWatch({ ...DEFAULT_WATCH_OPTIONS, maxPairs: 1000 });
 * console.log(scored.scores[0].pValue, watch.add(measurement).length);
 *
 * if (model.places) {
 *   const maps = new RttMaps(model);
 *   const from = maps.source("192.0.2.1");
 *   const countries = maps.areas("country", from);
 *   for await (const { name, median_ms } of maps.rtts(countries, await maps.origin(from))) {
 *     console.error(name, median_ms);
 *   }
 * }
 * if (model.config.coordinates) {
 *   const candidates = queries.flatMap((query) => "error" in query ? [] : [query]);
 *   for (const { dst, reduction_ms } of await adviseOn(model, { candidates }, { ...asked, budget: 1 })) {
 *     console.error(dst, reduction_ms);
 *   }
 * }
 * ```
 *
 * Measurements as Parquet: from a synthetic Internet, from RIPE Atlas, and your own.
 *
 * ```ts ignore
 * import { FAILED_RTT_MS, importMeasurements, MeasurementParquetWriter, parseAddress } from "@ping-llm/ping-llm";
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
 *   console.log(batch.numRows, numReplies, parseAddress(batch.srcAddr[0])?.length);
 *   writer.append(batch);
 * }
 * writer.close();
 * ```
 *
 * How a model compares with baselines on measurements that `probe-rows` held out.
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
 * Training on the output of `probe-rows`. Mistakes of the caller throw a `UserError` with a one-line message.
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
export type { InterruptedError, KernelError, UsageError } from "./lib/base/errors.ts";
export type { TensorArray } from "./lib/base/safetensors_header.ts";
export { formatAddress, parseAddress } from "./lib/data/addresses/ip.ts";
export type {
  Basis,
  BasisJson,
  BasisKind,
  DataSummary,
  KnownAddress,
  KnownAddresses,
  KnownColumns,
  Measured,
  MeasuredData,
  Moment,
  RememberedRtt,
  Seen,
  SeenJson,
  TrainingData,
} from "./lib/data/addresses/known_addresses.ts";
export {
  formatPrefix,
  type IpPrefix,
  parsePrefix,
  type PrefixMixture,
} from "./lib/data/addresses/ip_prefix.ts";
export { decodeRttCode, encodeRttCode } from "./lib/data/tokens/rtt_code.ts";
export type { DecodedMeasurement, Field, TokenMeasurement } from "./lib/data/tokens/vocab_v2.ts";
export type { RttEncodingName } from "./lib/data/tokens/vocab_v1.ts";
export { FAILED_RTT_MS, type MeasurementBatch } from "./lib/data/formats/batch.ts";
export type { AddressNames } from "./lib/data/addresses/address_names.ts";
export type { Place } from "./lib/data/addresses/place_table.ts";
export type { PlaceIndex, PlacePrefix } from "./lib/data/addresses/place_index.ts";
export type { ReadingOptions, RttChoice, SourceChoice } from "./lib/data/formats/format.ts";
export {
  importMeasurements,
  type ImportOptions,
  type ImportSummary,
} from "./lib/data/import/import_measurements.ts";
export type { RowCounts } from "./lib/data/import/row_sink.ts";
export {
  type CodedBatch,
  readMeasurements,
  type ReadOptions,
  type SourcedBatch,
} from "./lib/data/measurement_files/parquet_reader.ts";
export type { TextPool } from "./lib/io/parquet/text_pool.ts";
export {
  MeasurementParquetWriter,
  type OptionalColumn,
} from "./lib/data/measurement_files/parquet_writer.ts";
export {
  type RejectedRow,
  RejectLog,
  type RejectReason,
  type RejectSnapshot,
} from "./lib/data/measurement_files/rejects.ts";
export { synthesize, type SynthOptions } from "./lib/data/synth/synthesize.ts";
export type { WorldOptions } from "./lib/data/synth/world.ts";
export type { SamplingConfig } from "./lib/data/tokens/contexts.ts";
export type { CheckedOutputs } from "./lib/io/files/checked_outputs.ts";
export type { Gpu, GpuInfo } from "./lib/tensor/device.ts";
export type { EngineChoice, EngineName, MatrixUnits } from "./lib/tensor/engine.ts";
export type { Binding, KernelInterface, ParamField } from "./lib/tensor/kernels.ts";
export type { ProfileRow } from "./lib/tensor/program.ts";
export type { Kernel, KernelRegistry, RowLayout } from "./lib/tensor/registry.ts";
export type { DType, Tensor } from "./lib/tensor/tensor.ts";
export type { EmbeddingsConfig, ModelConfig, PairEmbeddingsConfig } from "./lib/model/model_config.ts";
export type { CoordinatesConfig } from "./lib/model/node_coordinates.ts";
export type { PlacesConfig } from "./lib/model/embedding_table.ts";
export type { AdamWConfig, GroupConfig, MuonConfig, OptimConfig } from "./lib/train/optim/optim_config.ts";
export type { ScheduleShape } from "./lib/train/optim/schedule.ts";
export { type AutosizeConfig, loadConfig, type RunConfig, type TrainConfig } from "./lib/train/run_config.ts";
export type { RunOptions } from "./lib/train/resolved_run.ts";
export type { DataOptions } from "./lib/train/run_data.ts";
export type { StartOptions } from "./lib/train/run_start.ts";
export type { Communicator } from "./lib/train/mpi/communicator.ts";
export { train, type TrainOptions, type TrainProgress, type TrainResult } from "./lib/train/trainer.ts";
export { type AnsweredQuery, type AnswerOptions, answerQueries } from "./lib/query/rtt/answer_queries.ts";
export type { DestinationQuery } from "./lib/query/destinations/destination_ranking.ts";
export {
  type LikelyDestination,
  type PrefixDestinationQuery,
  rankDestinations,
  rankDestinationsFrom,
  type RankedDestinations,
  type RankOptions,
} from "./lib/query/destinations/destination_ranking.ts";
export {
  type BlockBits,
  type MeasurementBits,
  measurementBits,
  type MeasurementInContext,
  type OrderBits,
} from "./lib/query/likelihood/likelihood.ts";
export type { Adaptation, AdaptOptions } from "./lib/query/adapt/adapt.ts";
export type { FitOptions } from "./lib/query/adapt/fit.ts";
export type { AdaptedParts } from "./lib/query/adapt/free_rows.ts";
export type { EmbeddingUpdate, NodeUpdate } from "./lib/model/embedding_update.ts";
export { type AdviceOptions, type AdvisedMeasurement, adviseOn } from "./lib/query/destinations/advise.ts";
export {
  type Nearest,
  type NearestCandidate,
  nearestOf,
  type NearestOptions,
} from "./lib/query/destinations/nearest.ts";
export {
  type MapArea,
  type MapLevel,
  type MapMoment,
  type MapOrigin,
  type MapRtt,
  RttMaps,
} from "./lib/query/rtt/rtt_map.ts";
export {
  type MatrixNode,
  matrixNodes,
  type MatrixOptions,
  type MatrixRow,
  RttMatrix,
} from "./lib/query/rtt/rtt_matrix.ts";
export {
  type Score,
  type ScoreCase,
  type ScoreOptions,
  scoreResults,
} from "./lib/query/score/score_results.ts";
export type {
  Alarm,
  AlarmCause,
  AlarmChoice,
  AlarmEvent,
  AlarmGroup,
  Alarms,
  Calibration,
  Departure,
  EndReason,
  Finding,
  NeededEvidence,
  SharedEnd,
} from "./lib/query/changes/alarms.ts";
export {
  DEFAULT_WATCH_OPTIONS,
  PairWatch,
  type WatchedPair,
  type WatchedPlace,
  type WatchOptions,
} from "./lib/query/changes/pair_watch.ts";
export type { TimedMeasurement } from "./lib/query/files/arriving.ts";
export type { FileMeasurement } from "./lib/query/files/measurement_files.ts";
export type { ChangeOptions, Level } from "./lib/query/changes/change_detector.ts";
export { type EvalSummary, evaluateModel, type ModelEvaluation } from "./lib/eval/evaluate_model.ts";
export type { EvalAnswer } from "./lib/eval/page/summary.ts";
export { loadModel, readCalibration } from "./lib/query/files/load_model.ts";
export type { PingModel, PingModelOptions } from "./lib/query/ping_model.ts";
export type { CheckpointIdentity, QuantileCalibration } from "./lib/query/rtt/quantile_calibration.ts";
export {
  type AddressDrawOptions,
  type AddressDraws,
  type DrawnPair,
  type PrefixAnswer,
  rttBetweenPrefixes,
  type RttMixture,
  type RttMixtureOptions,
} from "./lib/query/rtt/prefix_query.ts";
export type { LikelyOptions, TakeDistribution } from "./lib/query/rtt/rtt_distributions.ts";
export { plotRttDistribution, type RttPlotOptions } from "./lib/query/rtt/rtt_plot.ts";
export type { TextLine } from "./lib/query/text_lines.ts";
export { type BadLine, type FileQuery, readQueries, type SharedEnds } from "./lib/query/rtt/query_file.ts";
export {
  type ParsedQuestion,
  parseQuestion,
  type QuestionMeasurement,
  type RttQuestion,
} from "./lib/query/rtt/rtt_question.ts";
export type { PrefixQuery, RttQuery } from "./lib/query/query_tokens.ts";
export {
  type Sample,
  sampleMeasurements,
  type SampleOptions,
  type SampleQuery,
} from "./lib/query/likelihood/sample.ts";
export type {
  HistogramBar,
  LikeliestRtt,
  RttArrays,
  RttDistribution,
} from "./lib/query/rtt/rtt_distribution.ts";
export { VERSION } from "./lib/base/version.ts";

// The package as a command: deno run -A jsr:@ping-llm/ping-llm STAGE
if (import.meta.main) await import("./tasks/registry_main.ts");
