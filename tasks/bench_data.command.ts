/** The commands `bench preprocess`, `bench loader` and `bench child`. @module */
import { command } from "../lib/cli/command.ts";
import { option } from "../lib/cli/options.ts";
import * as uses from "../lib/cli/path_uses.ts";
import type { MAX_MEASUREMENT_TOKENS } from "../lib/data/tokens/contexts.ts";
import { memoryLimitGb } from "./shared_options.ts";

const dataOptions = {
  probes: option.integer("sources", { default: 500, min: 2, max: 100_000 }),
  destinations: option.integer("destinations", { default: 200, min: 2, max: 100_000 }),
  folder: option.path(
    uses.workFolder,
    "parent folder of the temporary files, about 150 bytes per row, removed at the end",
  ),
  memoryLimitGb,
  compare: option.path(uses.input, "an earlier --json output; adds the ratios to it"),
};

export const benchPreprocessCommand = command({
  name: "bench preprocess",
  summary: "the speed and memory of synth, import, shard and probe-rows at several sizes",
  example: "--rows 1_000_000,10_000_000,100_000_000",
  options: {
    rows: option.text("measurements to make and process, one number or several", {
      default: "1_000_000,10_000_000",
      value: "N,N",
    }),
    ...dataOptions,
    importRows: option.integer(
      "largest number of results to import (default: a tenth of the rows); a result has about 500 bytes",
      { min: 1 },
    ),
    repeats: option.integer("runs of each stage, whose median is reported", { default: 1, min: 1, max: 100 }),
  },
  needs: { deno: true },
  module: "bench_data",
});

export const benchLoaderCommand = command({
  name: "bench loader",
  summary: "the speed, padding and memory of the loader by worker threads and sizes of rows",
  example: "--rows 1_000_000 --sequence-length 1024",
  options: {
    rows: option.integer("measurements to make and load", { default: 1_000_000, min: 1000, max: 2 ** 40 }),
    ...dataOptions,
    sequenceLength: option.integer("tokens per sequence", {
      default: 1024,
      min: 47 satisfies typeof MAX_MEASUREMENT_TOKENS,
      max: 65_535,
    }),
    batchSize: option.integer("sequences per batch", { default: 32, min: 1, max: 65_536 }),
    loaderWorkers: option.text("threads of the loader, one number or several; 0 for none", {
      default: "0,1,2,4",
      value: "N,N",
    }),
    seconds: option.number("seconds to load after the first epoch", { default: 1, min: 0.1, max: 3600 }),
  },
  needs: { deno: true },
  module: "bench_data",
});

// Reading the peak memory from the kernel needs all permissions.
export const benchChildCommand = command({
  name: "bench child",
  summary: "one part of the others, in a separate process (for internal use)",
  example: "shard --input data/synth.parquet --output data/shards",
  positionals: { value: "STAGE …", min: 1 },
  options: {},
  isRaw: true,
  needs: { everything: true },
  module: "bench_data",
});
