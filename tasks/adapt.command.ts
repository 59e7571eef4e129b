import { command } from "../lib/cli/command.ts";
import { option } from "../lib/cli/options.ts";
import * as uses from "../lib/cli/path_uses.ts";
import { ADAPT_DEFAULTS } from "../lib/query/adapt/adapt_defaults.ts";
import { engine, geoOfModel, names, overwriteFolder, readingOptions, verify } from "./shared_options.ts";

export const adaptCommand = command({
  name: "adapt",
  summary: "fit a model to a few measurements of addresses that it does not know",
  details:
    "Answers about other addresses, including neighbours in the same network, stay bit-identical. If an address is " +
    "adapted again, only the new measurements determine its coordinates.",
  reads: "a checkpoint, a few measurements of addresses that it does not know",
  writes: "an adapted checkpoint: the changed embeddings of these addresses; with `--merge` a whole one",
  example: "--checkpoint runs/demo/train --input data/new.parquet --output runs/adapted",
  main: ["checkpoint", "input", "output", "merge", "follow"],
  options: {
    checkpoint: option.path(uses.run, "a run directory, one of its checkpoints or an adapted one", {
      required: true,
    }),
    input: option.paths(
      uses.inputs,
      "measurements in any format that import reads (required without --follow)",
    ),
    ...readingOptions,
    names,
    output: option.path(uses.outputFolder, "the folder of the adapted checkpoint", { required: true }),
    addresses: option.text("fit only these addresses (default: all that were not in the training data)", {
      value: "A,B,…",
    }),
    steps: option.integer(
      "number of steps; each uses about 672 of the measurements in turn, or all if there are fewer",
      { default: ADAPT_DEFAULTS.steps, min: 1, max: 10_000 },
    ),
    learningRate: option.number("initial learning rate", {
      default: ADAPT_DEFAULTS.learningRate,
      min: 1e-6,
      max: 10,
    }),
    maxDrift: option.number("maximum distance that the embedding of a known address may move", {
      default: ADAPT_DEFAULTS.maxDrift,
      min: 0,
      max: 1e6,
    }),
    maxMeasurements: option.integer("fit at most this many of the newest measurements", {
      default: 10_000,
      min: 1,
      max: 1_000_000,
    }),
    geo: {
      ...geoOfModel,
      help: `${geoOfModel.help}; requires --merge, because changed embeddings alone do not contain places`,
    },
    merge: option.switch(
      "write a whole checkpoint, which does not need its base, instead of the changed embeddings",
    ),
    follow: option.switch(
      "read JSON lines from standard input as they arrive, and publish the checkpoint after each group of them",
    ),
    everyLines: option.integer("with --follow: publish after this many measurements", {
      default: 100,
      min: 1,
    }),
    everySeconds: option.number(
      "with --follow: publish this many seconds after the first new measurement, if earlier",
      {
        default: 10,
        min: 0.1,
        max: 86_400,
      },
    ),
    engine,
    verify,
    overwrite: overwriteFolder,
  },
});
