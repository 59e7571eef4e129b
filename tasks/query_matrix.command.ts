import { command } from "../lib/cli/command.ts";
import { option } from "../lib/cli/options.ts";
import * as uses from "../lib/cli/path_uses.ts";
import { questionOptions } from "../lib/cli/question_options.ts";
import { matrix } from "../lib/query/questions/matrix.ts";
import { distributionOptions, formatOptions, memoryLimitGb, overwriteFile } from "./shared_options.ts";

export const queryMatrixCommand = command({
  name: "query matrix",
  summary:
    "the RTTs between all pairs of nodes, or from nodes to destinations, as a table or a graph for Shadow",
  reads: "a checkpoint, a file of addresses or prefixes, optionally another one of destinations",
  writes:
    "median RTT, loss, availability, jitter, quantiles and samples of each pair: CSV, Parquet, JSON, or GML for Shadow",
  example: "--checkpoint runs/demo/train --nodes servers.txt --output matrix.gml",
  main: ["checkpoint", "nodes", "destinations", "output", "quantiles"],
  options: {
    ...distributionOptions,
    ...questionOptions(matrix),
    ...formatOptions,
    output: option.path(
      uses.outputFile(),
      "the file to write, for any number of pairs: .csv, .parquet, .json; or .gml, where the latency of a direction is half " +
        "the median RTT and its jitter that of the RTT divided by sqrt(2), and the hosts in Shadow's configuration " +
        "have to set bandwidths; jitter is the mean difference of successive measured RTTs, empty without any " +
        "(default: a table of medians)",
    ),
    overwrite: overwriteFile,
    memoryLimitGb: option.number(memoryLimitGb.help, { default: 2, min: 1 }),
  },
});
