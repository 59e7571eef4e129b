/** The options of both stages that tests start from: few shards, of a few thousand rows. @module */
import type { ProbeRowsOptions } from "../../../lib/data/probe_rows/probe_rows.ts";
import type { ShardOptions } from "../../../lib/data/probe_rows/shard.ts";

const COMMON = {
  groupBy: "src_addr",
  seed: 0,
  maxRejectRatio: 0.05,
  memoryLimitBytes: 2e9,
  overwrite: false,
} as const;

/** Of `shardMeasurements()`. */
export const SHARD_OPTIONS: Omit<ShardOptions, "inputs" | "output"> = {
  ...COMMON,
  splitBy: "probe",
  ratios: [0.8, 0.1, 0.1],
  numShards: [5, 2, 2],
};

/** Of `buildProbeRows()`. */
export const PROBE_ROWS_OPTIONS: Omit<ProbeRowsOptions, "inputs" | "output"> = {
  ...COMMON,
  splits: { plan: { mode: "probe", ratios: [0.8, 0.1, 0.1], seed: 0 } },
  numShards: [4, 1, 1],
  maxRowSizeBytes: 8e6,
  compression: "zstd",
};
