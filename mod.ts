/**
 * ping-llm as a library: everything that a stage does can be done from a program.
 *
 * ```ts ignore
 * import { parseAddress, PingModel } from "@ping-llm/ping-llm";
 *
 * using model = await PingModel.load("runs/demo/train");
 * const source = parseAddress("192.0.2.1");
 * const destination = parseAddress("198.51.100.7");
 * if (source && destination) {
 *   const rtt = await model.rttDistribution({ source, destination, timeS: null, context: [] });
 *   console.log(rtt.quantileMs(0.5));
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
} from "./lib/errors.ts";

export { formatAddress, parseAddress } from "./lib/tokens/ip.ts";
export {
  CANONICAL_RTT_CODES,
  decodeRttCode,
  encodeRttCode,
  isCanonicalRttCode,
  rttCodeBounds,
} from "./lib/tokens/rtt_code.ts";
export {
  type DecodedMeasurement,
  decodeTokens,
  type Field,
  measurementLength,
  TokenError,
  type TokenMeasurement,
  tokenName,
  TokenWriter,
  VOCAB_SIZE,
} from "./lib/tokens/vocab_v2.ts";

export { ArrayRecordReader } from "./lib/records/array_record_reader.ts";
export { ArrayRecordWriter } from "./lib/records/array_record_writer.ts";
export { decodeProbeRow, encodeProbeRow, type ProbeRow, probeRowSrcId } from "./lib/records/probe_row.ts";

export { FAILED_RTT_MS, type MeasurementBatch } from "./lib/measurement/batch.ts";
export { importAtlas, type ImportOptions, type ImportSummary } from "./lib/measurement/atlas_import.ts";
export { readMeasurements, type ReadOptions, type SourcedBatch } from "./lib/measurement/parquet_reader.ts";
export { MeasurementParquetWriter } from "./lib/measurement/parquet_writer.ts";
export { RejectLog } from "./lib/measurement/rejects.ts";
export { synthesize, type SynthOptions } from "./lib/measurement/synth/synthesize.ts";
export { SyntheticTruth } from "./lib/measurement/synth/truth.ts";

export { type Batch, BatchLoader, type DataPosition, validationBatches } from "./lib/loader/batches.ts";
export { openProbeRows, type ProbeRowSource } from "./lib/loader/row_source.ts";

export { Gpu, type GpuInfo } from "./lib/gpu/device.ts";
export { KernelRegistry } from "./lib/gpu/registry.ts";
export { type ModelConfig, numParameters } from "./lib/model/config.ts";
export { type ModelBatch, Transformer } from "./lib/model/transformer.ts";
export { Optimizer } from "./lib/optim/optimizer.ts";
export { loadCheckpoint, type LoadedCheckpoint } from "./lib/train/checkpoint.ts";
export { loadConfig, type RunConfig } from "./lib/train/config.ts";
export { train, type TrainOptions, type TrainProgress, type TrainResult } from "./lib/train/trainer.ts";

export { PingModel, type RttQuery } from "./lib/query/ping_model.ts";
export { type HistogramBar, RttDistribution } from "./lib/query/rtt_distribution.ts";
export { VERSION } from "./lib/version.ts";
