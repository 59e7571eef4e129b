import { command } from "../lib/cli/command.ts";
import { option } from "../lib/cli/options.ts";
import * as uses from "../lib/cli/path_uses.ts";
import {
  checkpoint,
  engine,
  geoOfModel,
  groupBy,
  maxRejectRatio,
  memoryLimitGb,
  names,
  noPool,
  overwriteFile,
  readingOptions,
  verify,
} from "./shared_options.ts";

export const scoreCommand = command({
  name: "score",
  summary: "add log-likelihoods and anomaly p-values to measurements",
  reads: "a checkpoint, measurements of any format",
  writes: "the same rows with `log_likelihood`, `p_value` and `loss_run_p_value`",
  example: "--checkpoint runs/demo/train --input data/new.parquet --output scored.parquet",
  main: ["checkpoint", "input", "output", "report", "context"],
  options: {
    checkpoint,
    input: option.paths(
      uses.inputs,
      "measurements in any order, Parquet or any other format that import reads: files, folders, globs",
      { required: true },
    ),
    ...readingOptions,
    output: option.path(uses.outputFile(".rejects.jsonl"), "the Parquet file to write", {
      value: "F.parquet",
      required: true,
    }),
    report: option.path(uses.outputFile(), "write a page with pictures of the scores to this file", {
      value: "F.html",
    }),
    context: option.integer(
      "maximum number of earlier measurements from the same source in the context of each row",
      { default: 20, min: 0, max: 1000 },
    ),
    history: option.paths(uses.inputs, "further measurements Parquet, used only as context"),
    calibration: option.path(
      uses.input,
      "an output of score for measurements considered normal: each p-value becomes the share of these with a lower one",
    ),
    geo: geoOfModel,
    names,
    noPool,
    groupBy: { ...groupBy, help: `${groupBy.help}, as in probe-rows` },
    engine,
    maxRejectRatio,
    verify,
    overwrite: option.switch(`${overwriteFile.help}; and any file at --report`),
    memoryLimitGb,
  },
});
