/**
 * The result of an evaluation as one JSON object: `report.json`, which `report.html` is drawn from.
 *
 * Each part of an evaluation is a section, defined next to the code that computes it. Sections that were not
 * computed are absent.
 *
 * @module
 */
import type { EngineName } from "../tensor/engine.ts";
import type { AdaptSection } from "./sections/adapt_section.ts";
import type { BitsSection } from "./sections/bits_section.ts";
import type { CalibrationSection } from "./sections/calibration_section.ts";
import type { DestinationSection } from "./sections/destination_section.ts";
import type { FailureSection } from "./sections/failure_section.ts";
import type { PartsSection } from "./sections/parts_section.ts";
import type { PlaceSection } from "./sections/place_section.ts";
import type { RankingSection } from "./sections/ranking_section.ts";
import type { RttSection } from "./sections/rtt_section.ts";
import type { TruthSection } from "./sections/truth_section.ts";

export interface EvalRun {
  version: string;
  /** The checkpoint as the user named it, and its optimizer steps. */
  checkpoint: string;
  step: number;
  /** SHA-256 of the checkpoint's `model.safetensors`, which identifies the model. */
  modelSha256: string;
  isPooled: boolean;
  numParameters: number;
  sequenceLength: number;
  /** The folder of the predicted probe rows, and its split. */
  data: string;
  dataFingerprint: string;
  split: string;
  /** How the data was split: `time`, `pair`, `probe`, `row`, …; null if unknown. */
  splitBy: string | null;
  /** The folder whose training rows the baselines learned from. */
  train: string;
  trainFingerprint: string;
  /** Fingerprint of the model's training data. */
  modelFingerprint: string;
  /** Earlier measurements that may be known: all, or only the training set. */
  history: "all" | "train";
  seed: number;
  /** Measurements in the split, and how many of them were predicted. */
  numHeldOut: number;
  numMeasurements: number;
  /** Context sizes, and whether each measurement was predicted with every one. */
  contexts: number[];
  isEveryContext: boolean;
  adapter: string;
  /** The WebGPU implementation. */
  engine: EngineName;
  seconds: number;
}

/** Plain JSON without NaN. */
export interface EvalReport {
  run: EvalRun;
  rtt?: RttSection;
  /** Addresses never seen, after a few measurements of their own; only on request. */
  adapted?: AdaptSection;
  /** Distributions corrected by the validation split, if there is one. */
  calibration?: CalibrationSection;
  failures?: FailureSection;
  bits?: BitsSection;
  /** What the network and each forecast of the pool add; only with a pool. */
  parts?: PartsSection;
  /** By distance, country and AS, and what embeddings know about geography; only if places are known. */
  places?: PlaceSection;
  /** Which of a source's destinations is the nearest; absent if no source has several in one time window. */
  ranking?: RankingSection;
  destinations?: DestinationSection;
  /** Comparison with the truth of a synthetic Internet. */
  truth?: TruthSection;
}
