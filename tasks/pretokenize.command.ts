import { command } from "../lib/cli/command.ts";
import { option } from "../lib/cli/options.ts";
import * as uses from "../lib/cli/path_uses.ts";
import type { MAX_MEASUREMENT_TOKENS } from "../lib/data/tokens/contexts.ts";
import type { RttEncodingName } from "../lib/data/tokens/vocab_v1.ts";
import {
  maxRejectRatio,
  memoryLimitGb,
  onCorrupt,
  outputFolder,
  overwriteFolder,
  verify,
} from "./shared_options.ts";

export const pretokenizeCommand = command({
  name: "pretokenize",
  summary: "write token sequences as Parquet, for other trainers",
  reads: "probe rows, or measurements Parquet with `--vocab v1`",
  writes: "Parquet with `tokens` list<uint16> and `length`, for other trainers",
  example: "--input data/rows --output data/tokens --vocab v2",
  options: {
    input: option.paths(
      uses.inputs,
      "probe rows for v2, measurements Parquet for v1: files, globs or folders; train, val and test stay separate",
      { required: true },
    ),
    output: outputFolder,
    vocab: option.choice(["v1", "v2"], "v1: a sequence is a measurement; v2: a context of probe rows", {
      default: "v2",
    }),
    sequenceLength: option.integer(
      "v2: T, the number of inputs in a sequence; a context has up to T + 1 tokens",
      {
        default: 1024,
        min: 47 satisfies typeof MAX_MEASUREMENT_TOKENS,
        max: 0xffff,
      },
    ),
    epoch: option.integer("v2: epoch of the loader's contexts", { default: 0, min: 0, max: 2 ** 32 - 1 }),
    onCorrupt: { ...onCorrupt, help: `v2: ${onCorrupt.help}` },
    rttEncoding: option.choice<RttEncodingName>(
      ["float64", "fixed", "log", "clipped"],
      "v1: encoding of RTTs",
      { default: "float64" },
    ),
    rttClipQuantile: option.number("v1, clipped: the quantile of the input's RTTs to clip at", {
      default: 0.99,
      min: 0,
      max: 1,
    }),
    rttClipMs: option.number("v1, clipped: the RTT to clip at in ms, instead of a quantile", {
      min: 0.001,
      max: 1e9,
    }),
    maxRejectRatio: { ...maxRejectRatio, help: `v1: ${maxRejectRatio.help}` },
    sequencesPerFile: option.integer("sequences per output file; a rerun keeps finished files", {
      default: 200_000,
      min: 1,
    }),
    verify,
    overwrite: overwriteFolder,
    // A row group of tokens and a batch of rows and addresses take 0.36 GB with 100 M rows, which fits the
    // smallest limit.
    memoryLimitGb: option.number(`${memoryLimitGb.help}; about 0.4 GB are used for any input`, {
      default: 2,
      min: 0.5,
    }),
  },
});
