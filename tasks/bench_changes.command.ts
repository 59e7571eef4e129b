import { command } from "../lib/cli/command.ts";
import { option } from "../lib/cli/options.ts";
import * as uses from "../lib/cli/path_uses.ts";
import { overwriteOther } from "./shared_options.ts";

export const benchChangesCommand = command({
  name: "bench changes",
  summary: "how well the change detector of watch agrees with people who labelled series of RTTs",
  details:
    "A series is a CSV file with the columns epoch;rtt;cp (ms; cp is 1 where people saw a change). A " +
    "detection is right if it can be paired with a label at most two rows away.",
  example: "--input data/changes --output changes.jsonl",
  options: {
    input: option.paths(uses.inputs, "series: files, folders, globs", { required: true }),
    output: option.path(
      uses.outputFile(),
      "also write the rows of the changes, a line for each series",
      { value: "F.jsonl" },
    ),
    overwrite: overwriteOther,
    delay: option.integer(
      "how many later rows are seen before a clear change is reported (default: 5); others need up to 20",
      { min: 0, max: 10_000 },
    ),
    settings: option.integer(
      "also cross-validate: pick the best of N random settings, scoring each on series held out from the choice",
      { min: 2, max: 100_000 },
    ),
    folds: option.integer("with --settings: parts of the series, each held out once", {
      default: 5,
      min: 2,
      max: 1000,
    }),
  },
});
