/**
 * The result of an evaluation as one JSON object: `report.json`, from which `report.html` is drawn.
 *
 * Each part of an evaluation is a section of its own, defined beside the code that computes it. A section that was not
 * computed is absent, and the page leaves it out.
 *
 * @module
 */
import type { EngineName } from "../tensor/engine.ts";
import type { AdaptSection } from "./sections/adapt_section.ts";
import type { BitsSection } from "./sections/bits_section.ts";
import type { CalibrationSection } from "./sections/calibration_section.ts";
import type { DestinationSection } from "./sections/destination_section.ts";
import type { FailureSection } from "./sections/failure_section.ts";
import type { PlaceSection } from "./sections/place_section.ts";
import type { RankingSection } from "./sections/ranking_section.ts";
import type { RttSection } from "./sections/rtt_section.ts";
import type { TruthSection } from "./sections/truth_section.ts";

/** The evaluated model and data, and the settings. */
export interface EvalRun {
  /** Software version. */
  version: string;
  /** The checkpoint as the user named it, and the optimizer steps it had. */
  checkpoint: string;
  step: number;
  /** SHA-256 of the checkpoint's `model.safetensors`: what tells it from every other model. */
  modelSha256: string;
  /** Whether its pool counted. */
  isPooled: boolean;
  /** Size of the model. */
  numParameters: number;
  sequenceLength: number;
  /** The folder of probe rows whose rows were predicted, and which split of it. */
  data: string;
  dataFingerprint: string;
  split: string;
  /** How the data was split: `time`, `pair`, `probe`, `row`, …; null where nothing says so. */
  splitBy: string | null;
  /** The folder whose training rows baselines learned from. */
  train: string;
  trainFingerprint: string;
  /** Fingerprint of the data the model was trained on. */
  modelFingerprint: string;
  /** The earlier measurements that might be used: all, or those of the training rows only. */
  history: "all" | "train";
  seed: number;
  /** Measurements of the split, and how many of them were drawn to be predicted. */
  numHeldOut: number;
  numMeasurements: number;
  /** Counts of context measurements, and whether each measurement was predicted with every one of them. */
  contexts: number[];
  isEveryContext: boolean;
  /** The GPU or software driver. */
  adapter: string;
  /** The WebGPU implementation; absent in reports of older versions. */
  engine?: EngineName;
  seconds: number;
}

/** Everything an evaluation says; plain JSON without NaN. */
export interface EvalReport {
  run: EvalRun;
  /** RTTs, beside baselines. */
  rtt?: RttSection;
  /** Addresses never seen, after a few measurements of their own; only where that was asked for. */
  adapted?: AdaptSection;
  /** Distributions corrected by the validation split, where there is one. */
  calibration?: CalibrationSection;
  /** Whether a reply comes. */
  failures?: FailureSection;
  /** Bits by token type and position. */
  bits?: BitsSection;
  /** By distance, country and AS, and what embeddings know of geography; only where places are known. */
  places?: PlaceSection;
  /** Which of a source's destinations is the nearest; absent where no source has several in one window of time. */
  ranking?: RankingSection;
  /** The destination that fits. */
  destinations?: DestinationSection;
  /** Beside the truth, where the measurements are those of a synthetic Internet. */
  truth?: TruthSection;
}
