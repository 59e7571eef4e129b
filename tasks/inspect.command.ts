import { command } from "../lib/cli/command.ts";
import { option } from "../lib/cli/options.ts";
import * as uses from "../lib/cli/path_uses.ts";
import { onCorrupt, overwriteOther, verify } from "./shared_options.ts";

export const inspectCommand = command({
  name: "inspect",
  summary: "summarise any file or folder of the chain",
  details: "Shows counts, ranges, violations and samples; writes nothing except a picture.",
  reads: "any file or folder of the chain",
  writes: "a summary; with `--plot` histograms as SVG",
  example: "data/rows --samples 3",
  positionals: { value: "PATH…", min: 1, use: uses.inputs },
  options: {
    samples: option.integer("number of rows, records and token samples to show", {
      default: 5,
      min: 0,
      max: 1000,
    }),
    sequenceLength: option.integer("sequence length for the trial packing of probe rows, in tokens", {
      default: 1024,
      min: 64,
      max: 0xffff,
    }),
    vocab: option.choice(
      ["v1", "v2"],
      "vocabulary for token samples of measurements; probe rows use v2",
      { default: "v2" },
    ),
    plot: option.path(uses.outputFile(), "draw histograms of measurements or probe rows to this file", {
      value: "F.svg",
    }),
    overwrite: overwriteOther,
    onCorrupt,
    verify,
  },
});
