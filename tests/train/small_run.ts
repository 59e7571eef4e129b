/** A small configuration for tests of runs, without anything that is off by default. @module */
import { fromFileUrl } from "@std/path";

export const SMALL_RUN = fromFileUrl(new URL("./small_run.json", import.meta.url));

// Settings that make training fast enough for a test.

export type Settings = Record<string, number | string | null>;

export const SMALL: Settings = {
  "model.numLayers": 1,
  "model.width": 32,
  "model.numHeads": 1,
  "model.headDim": 32,
  "model.mlpWidth": 64,
  "model.sequenceLength": 128,
  "train.batchSize": 2,
  "train.microBatchSize": 2,
  "train.evalSequences": 2,
};

/** The options of `train` for a small model. @param settings Added to {@link SMALL}, with precedence. */
export function smallSettings(settings: Settings = {}): string[] {
  return Object.entries({ ...SMALL, ...settings }).flatMap(([key, value]) => ["--set", `${key}=${value}`]);
}
