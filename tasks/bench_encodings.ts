/**
 * `bench encodings`: models of the same size trained on RTTs in each of the encodings, and how well each predicts.
 *
 * @module
 */
import { configFlags, flag } from "../lib/cli/flags.ts";
import { defineStage, type Stage } from "../lib/cli/stage.ts";
import { describeEncodings } from "../lib/evaluate/encoding_section.ts";
import { studyEncodings } from "../lib/evaluate/encodings/study.ts";
import { loadConfig } from "../lib/train/config.ts";
import { VERSION } from "../lib/version.ts";

/** The stage `bench encodings`. */
export const encodingsBench: Stage = defineStage({
  name: "bench encodings",
  purpose:
    "the RTT encodings of v1 and that of v2: trains a small model on each, writes their losses on one scale",
  example: "--data data/rows --output runs/encodings --steps 300 --set model.numLayers=2",
  flags: {
    data: flag.requiredText("folder of probe rows with train and test", { placeholder: "DIR" }),
    output: flag.requiredText("folder of encodings.json; a study that is there goes on", {
      placeholder: "DIR",
    }),
    ...configFlags,
    steps: flag.optionalInteger("optimizer steps of each model (default: the configuration's)", { min: 1 }),
    maxMeasurements: flag.integer("held-out measurements to predict", { default: 2000, min: 10, max: 1e6 }),
    rttClipQuantile: flag.number("clipped: the quantile of the training RTTs to clip at", {
      default: 0.99,
      min: 0,
      max: 1,
    }),
    overwrite: flag.boolean("replace what another study wrote to the output folder"),
  },
  async run(options, context) {
    const startMs = performance.now();
    const steps = options.steps === undefined ? [] : [`train.steps=${options.steps}`];
    const section = await studyEncodings({
      dataDir: options.data,
      outputDir: options.output,
      overwrite: options.overwrite,
      config: loadConfig(options.config, [...options.set, ...steps]),
      seed: options.seed,
      numCases: options.maxMeasurements,
      clipQuantile: options.rttClipQuantile,
    }, context);
    const seconds = (performance.now() - startMs) / 1000;
    return {
      text: describeEncodings(section),
      json: { stage: "bench encodings", version: VERSION, ...section, seconds },
    };
  },
});
