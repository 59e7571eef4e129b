import { command } from "../lib/cli/command.ts";
import { option } from "../lib/cli/options.ts";
import * as uses from "../lib/cli/path_uses.ts";
import { checkpoint, engine } from "./shared_options.ts";

export const benchSurpriseCommand = command({
  name: "bench surprise",
  summary: "the share of planted outages, level shifts and spikes that p-values of score find",
  details:
    "Also shows the shares found by watch and by the distance from the median in interquartile ranges, all with the same " +
    "number of false alarms among the unmodified rows.",
  example: "--checkpoint runs/first --history data/shards/train --input data/shards/test --seeds 1,2,3",
  options: {
    checkpoint,
    input: option.paths(uses.inputs, "measurements Parquet in which events are planted", { required: true }),
    history: option.paths(uses.inputs, "earlier measurements Parquet of the same pairs", { required: true }),
    context: option.integer("largest number of earlier measurements in the context of each row", {
      default: 20,
      min: 0,
      max: 1000,
    }),
    seeds: option.text("seeds of the planted events; the reported shares are medians over them", {
      default: "1,2,3",
      value: "N,N",
    }),
    rowsPerFalseAlarm: option.text("normal rows per false alarm, one number or several", {
      default: "1000,100",
      value: "N,N",
    }),
    engine,
  },
});
