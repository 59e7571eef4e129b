import { command } from "../lib/cli/command.ts";
import { option } from "../lib/cli/options.ts";
import * as uses from "../lib/cli/path_uses.ts";
import { questionOptions } from "../lib/cli/question_options.ts";
import { rtt } from "../lib/query/questions/rtt.ts";
import { distributionOptions, formatOptions, overwriteOther } from "./shared_options.ts";

export const queryRttCommand = command({
  name: "query rtt",
  summary:
    "the distribution of the RTT between two addresses, prefixes or places, or for each line of a file",
  reads:
    "a checkpoint, two addresses or prefixes, optionally a time and recent measurements; or a file of such queries " +
    "(`--queries`)",
  writes: "the RTT distribution; with `--plot` as SVG, with `--table` as Parquet; JSON lines",
  example: "--checkpoint runs/demo/train --src 192.0.2.1 --dst 198.51.100.0/24",
  main: ["checkpoint", "src", "dst", "time", "queries"],
  options: {
    ...distributionOptions,
    ...questionOptions(rtt, true),
    ...formatOptions,
    queries: option.path(
      uses.input,
      "answer each line of this file with a JSON line, in order: JSON lines or CSV with src, dst and " +
        "optionally time and probe; JSON lines may also have their own context, an array of {src, dst, time, rtt in " +
        "ms or null}, none after the query's time. For a line that cannot be answered, the output contains its number " +
        "and the reason, and the exit code is 1",
    ),
    keepGoing: option.switch("exit with 0 even if lines of --queries cannot be answered"),
    output: option.path(
      uses.outputFile(),
      "write the answers to --queries to this file (default: standard output)",
    ),
    adapt: option.path(
      uses.input,
      "measurements in any format that import reads: first fit the embeddings of the queried addresses to them; " +
        "with --queries those of all addresses that were not in the training data",
    ),
    plot: option.path(uses.outputFile(), "write the density as SVG"),
    table: option.path(
      uses.outputFile(),
      "write the whole distribution: columns rtt_ms, low_ms, high_ms and probability, a row for each RTT code " +
        "and one for no reply, whose RTT is NaN",
      { value: "F.parquet" },
    ),
    overwrite: option.switch(`${overwriteOther.help}; --table replaces only the table of another answer`),
  },
});
