import { command } from "../lib/cli/command.ts";
import { option } from "../lib/cli/options.ts";
import * as uses from "../lib/cli/path_uses.ts";
import { questionOptions } from "../lib/cli/question_options.ts";
import { likelihood } from "../lib/query/questions/likelihood.ts";
import { formatOptions, modelOptions, noPool, overwriteOther } from "./shared_options.ts";

export const queryLikelihoodCommand = command({
  name: "query likelihood",
  summary: "how many bits given measurements take, per block and token, in every order of the fields",
  reads: "a checkpoint, measurements Parquet",
  writes: "bits of each row and block in every order of the fields, as JSON lines",
  example: "--checkpoint runs/demo/train --input data/synth.parquet",
  main: ["checkpoint", "input", "output", "order"],
  options: {
    ...modelOptions,
    ...questionOptions(likelihood, true),
    ...formatOptions,
    input: option.paths(
      uses.inputs,
      "measurements Parquet instead of one measurement: files, folders, globs; each row is computed independently",
    ),
    withoutTime: option.switch("ignore the times of the rows"),
    noPool,
    output: option.path(
      uses.outputFile(),
      "write a JSON line for each row of --input to this file (default: standard output)",
    ),
    overwrite: overwriteOther,
  },
});
