/** The commands `shard` and `probe-rows`, which divide measurements into splits. @module */
import { command } from "../lib/cli/command.ts";
import { option } from "../lib/cli/options.ts";
import * as uses from "../lib/cli/path_uses.ts";
import type { SplitMode } from "../lib/data/probe_rows/splits.ts";
import {
  groupBy,
  maxRejectRatio,
  memoryLimitGb,
  outputFolder,
  overwriteFolder,
  verify,
} from "./shared_options.ts";

const SPLIT_MODE_HELP: Record<SplitMode, string> = {
  probe: "all measurements of a source together",
  time: "the latest rows are test, those before them val",
  row: "each (msm_id, event_time); without msm_id each (src_addr, dst_addr, event_time)",
  pair: "all measurements between two addresses together, in both directions",
  destination: "all measurements to an address together",
  node: "by addresses: a measurement is test if either endpoint is, else val if either is, else train",
};

function splitBy(help: string) {
  const modes = Object.entries(SPLIT_MODE_HELP).map(([mode, meaning]) => `  ${mode}: ${meaning}`);
  return option.choice(Object.keys(SPLIT_MODE_HELP) as SplitMode[], [help, ...modes].join("\n"), {
    default: "probe",
  });
}

const splitOptions = {
  ratios: option.text(
    "shares of train, val, test (shares of addresses if split by node); 0,0,100 puts everything in test",
    { default: "80,10,10", value: "A,B,C" },
  ),
  groupBy,
  maxRejectRatio,
  task: option.text(
    "number of this task and of all tasks that share the work and the output folder, such as 2/4",
    { default: "1/1", value: "I/N" },
  ),
  overwrite: overwriteFolder,
  // The runtime and one row group of the input already take 0.3 GB.
  memoryLimitGb: option.number(memoryLimitGb.help, { default: 2, min: 0.5 }),
};

export const shardCommand = command({
  name: "shard",
  summary: "divide measurements into Parquet shards of train, val and test",
  reads: "measurements Parquet",
  writes: "Parquet shards of `train`, `val`, `test`; every source in exactly one shard",
  example: "--input measurements.parquet --output data/shards --split-by probe",
  main: ["input", "output", "splitBy", "ratios"],
  options: {
    input: option.paths(uses.inputs, "Parquet files, folders or globs", { required: true }),
    output: outputFolder,
    splitBy: splitBy("the unit that stays together in one of train, val and test"),
    trainShards: option.integer("number of train files", { default: 200, min: 1, max: 10_000 }),
    valShards: option.integer("number of val files", { default: 25, min: 1, max: 10_000 }),
    testShards: option.integer("number of test files", { default: 25, min: 1, max: 10_000 }),
    verify,
    ...splitOptions,
  },
  module: "split_stages",
});

export const probeRowsCommand = command({
  name: "probe-rows",
  summary: "group measurements by source into ArrayRecord shards",
  reads: "measurements Parquet, sharded or not",
  writes: "ArrayRecord shards: one record per source, its history in time order",
  example: "--input data/shards --output data/rows",
  main: ["input", "output", "splitBy", "ratios"],
  options: {
    input: option.paths(
      uses.inputs,
      "Parquet files, globs or folders; a folder that contains train, val, test is already split",
      { required: true },
    ),
    output: outputFolder,
    splitBy: splitBy("how to split input that is not split yet: the unit that stays together"),
    maxRowSizeMb: option.number("maximum record size in MB (10^6 bytes); longer histories are cut", {
      default: 8,
      min: 0,
    }),
    compression: option.choice(["zstd", "brotli", "none"], "compression of records", { default: "zstd" }),
    shards: option.integer("number of train files; val and test have an eighth as many", {
      default: 16,
      min: 1,
      max: 10_000,
    }),
    verify,
    ...splitOptions,
  },
  module: "split_stages",
});
