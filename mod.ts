/**
 * ping-llm as a library: everything that a stage does can be done from a program.
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
 * // After measurements that were made before.
 * const context = [{ src: "192.0.2.1", dst: "198.51.100.9", time: "2025-11-01T11:00Z", rtt: 12.5 }];
 * const known = await model.rttDistribution({ src: "192.0.2.1", dst: "198.51.100.7", context });
 * await plotRttDistribution(known, { title: "192.0.2.1 -> 198.51.100.7", quantiles: [0.05, 0.5, 0.95] });
 *
 * // Between prefixes of any length: a mixture, and its standard errors.
 * const question = { src: "192.0.2.1", dst: "198.51.100.0/22" };
 * const { mixture, destinationProbability } = await rttBetweenPrefixes(model, question, { numDraws: 64, seed: 0 });
 * console.log(mixture.distribution.quantileMs(0.5), mixture.quantileErrorMs(0.5), destinationProbability);
 * ```
 *
 * Other questions: the destinations that fit an RTT, the bits of a measurement, measurements that the model draws.
 *
 * ```ts ignore
 * import { formatAddress, formatPrefix, parseQuestion } from "@ping-llm/ping-llm";
 * import { decodeRttCode, encodeRttCode } from "@ping-llm/ping-llm";
 * import { loadModel, measurementBits, rankDestinations, sampleMeasurements } from "@ping-llm/ping-llm";
 *
 * using model = await loadModel("runs/demo/train");
 * const ends = parseQuestion({ src: "192.0.2.1", dst: "198.51.100.7" });
 * const [source, destination] = [ends.source.bytes, ends.destination.bytes];
 * const any = { source, timeS: null, context: [] };
 *
 * const [{ destinations }] = await rankDestinations(model, [{ ...any, rttMs: [20, 25] }], { top: 1 });
 * console.log(formatPrefix(destinations[0].prefix), destinations[0].probability);
 *
 * const measurement = { source, destination, rttCode: encodeRttCode(21.5), timeS: null };
 * const [{ totalBits }] = await measurementBits(model, [{ measurement, context: [] }]);
 * for await (const { destination, rttCode } of sampleMeasurements(model, any, { count: 1, seed: 0 })) {
 *   console.log(totalBits, formatAddress(destination), rttCode === null ? "no reply" : decodeRttCode(rttCode));
 * }
 * ```
 *
 * Measurements as Parquet, here of a synthetic Internet.
 *
 * ```ts ignore
 * import { readMeasurements, RejectLog, synthesize } from "@ping-llm/ping-llm";
 *
 * const world = { seed: 0, probes: 20, destinations: 10, ipv6Share: 0.4 };
 * await synthesize("pings.parquet", { ...world, rows: 1000, days: 7 });
 * const rejects = new RejectLog();
 * for await (const { numRows, srcAddr, rttMs } of readMeasurements(["pings.parquet"], { rejects })) {
 *   console.log(numRows, rttMs[0]);
 *   console.log(srcAddr[0]);
 * }
 * ```
 *
 * @module
 */
export {
  ConfigError,
  FormatError,
  InterruptedError,
  KernelError,
  UsageError,
  UserError,
} from "./lib/base/errors.ts";
export { formatAddress, parseAddress } from "./lib/data/addresses/ip.ts";
export type {
  Basis,
  DataSummary,
  KnownAddress,
  KnownAddresses,
  KnownColumns,
  Measured,
  MeasuredData,
  Seen,
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
export { FAILED_RTT_MS, type MeasurementBatch } from "./lib/data/measurement/batch.ts";
export type { AddressNames } from "./lib/data/addresses/address_names.ts";
export type { PlaceIndex } from "./lib/data/addresses/place_index.ts";
export type { ReadingOptions } from "./lib/data/import/atlas_pieces.ts";
export { importAtlas, type ImportOptions, type ImportSummary } from "./lib/data/import/atlas_import.ts";
export type { RttChoice, SourceChoice } from "./lib/data/measurement/atlas_result.ts";
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
export type { SamplingConfig } from "./lib/data/tokens/sampling_config.ts";
export type { CheckedOutputs } from "./lib/io/files/checked_outputs.ts";
export { Gpu, type GpuInfo } from "./lib/tensor/device.ts";
export type { Binding, KernelInterface, ParamField } from "./lib/tensor/kernel_source.ts";
export type { ProfileRow } from "./lib/tensor/program.ts";
export { type Kernel, KernelRegistry } from "./lib/tensor/registry.ts";
export type { DType, Tensor } from "./lib/tensor/tensor.ts";
export type { EmbeddingsConfig, ModelConfig, PairEmbeddingsConfig } from "./lib/model/model_config.ts";
export type { CoordinatesConfig } from "./lib/model/node_coordinates.ts";
export type { PlacesConfig } from "./lib/model/place_keys.ts";
export type { AdamWConfig, GroupConfig, MuonConfig, OptimConfig } from "./lib/train/optim/optim_config.ts";
export type { ScheduleShape } from "./lib/train/optim/schedule.ts";
export { loadConfig, type RunConfig } from "./lib/train/run_config.ts";
export type { DataOptions } from "./lib/train/run_data.ts";
export type { StartOptions } from "./lib/train/run_start.ts";
export type { AutosizeConfig, TrainConfig } from "./lib/train/schema.ts";
export { Communicator } from "./lib/train/mpi/communicator.ts";
export { train, type TrainOptions, type TrainProgress, type TrainResult } from "./lib/train/trainer.ts";
export { type AnsweredQuery, type AnswerOptions, answerQueries } from "./lib/query/rtt/answer_queries.ts";
export type { DestinationQuery } from "./lib/query/destinations/destination_query.ts";
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
export { loadModel } from "./lib/query/files/load_model.ts";
export { readCalibration } from "./lib/query/files/load_model.ts";
export { PingModel, type PingModelOptions } from "./lib/query/ping_model.ts";
export { type CheckpointIdentity, QuantileCalibration } from "./lib/query/rtt/quantile_calibration.ts";
export {
  type AddressDrawOptions,
  type AddressDraws,
  type DrawnPair,
  type PrefixAnswer,
  rttBetweenPrefixes,
  type RttMixture,
  type RttMixtureOptions,
} from "./lib/query/rtt/prefix_query.ts";
export type { LikelyOptions } from "./lib/query/rtt/rtt_distributions.ts";
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
export { type HistogramBar, type LikeliestRtt, RttDistribution } from "./lib/query/rtt/rtt_distribution.ts";
export { VERSION } from "./lib/base/version.ts";
