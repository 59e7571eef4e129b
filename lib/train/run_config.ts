/**
 * The run configuration, from a preset or a file and from `--set` options. Its sections `model`, `data`,
 * `optim`, `train` and `autosize` determine the losses of a run, and when it is logged, evaluated and saved;
 * the command line names inputs and outputs. Numbers derived from the configuration are computed here and
 * nowhere else.
 *
 * @module
 */
import * as z from "zod";
import base20m from "../../configs/20m.json" with { type: "json" };
import base300m from "../../configs/300m.json" with { type: "json" };
import base680m from "../../configs/680m.json" with { type: "json" };
import base95m from "../../configs/95m.json" with { type: "json" };
import campaign from "../../configs/campaign.json" with { type: "json" };
import demo from "../../configs/demo.json" with { type: "json" };
import synth from "../../configs/synth.json" with { type: "json" };
import v1100m from "../../configs/v1-100m.json" with { type: "json" };
import { isObject } from "../base/collections.ts";
import { ConfigError, UsageError } from "../base/errors.ts";
import { didYouMean, formatCount } from "../base/text.ts";
import { applySet, parseConfig } from "../base/config_file.ts";
import { readJsonObject } from "../io/files/inputs.ts";
import {
  checkModelConfig,
  type ModelConfig,
  modelConfigSchema,
  type ModelExtent,
  type ModelShapes,
  modelShapes,
} from "../model/model_config.ts";
import { DEFAULT_SAMPLING, type SamplingConfig, samplingSchema } from "../data/tokens/contexts.ts";
import { type OptimConfig, optimConfigSchema } from "./optim/optim_config.ts";

/**
 * Maximum number of tokens of a step, and of the validation set: 0.5 GB each. Models are trained with smaller
 * batches (Brown et al., Language Models are Few-Shot Learners, 2020, table 2.1: 3.2 million).
 */
const MAX_TOKENS = 2 ** 26;

const count = z.int().min(1).max(1e9);
const weight = z.number().min(0).max(1e6);

/** @internal The section `train`. Counts are 1 to 1,000,000,000 unless stated otherwise. */
export type TrainConfig = z.infer<typeof trainConfigSchema>;
const trainConfigSchema = z.strictObject({
  /** Optimizer steps of the whole run, which the learning rate's schedule spans. */
  steps: count,
  /**
   * The run may end after this many steps, and after 2, 4, 8, ... times as many; each time validation decides
   * whether it continues (see step_choice.ts). The schedule then spans the steps to the next of these ends.
   * Null: the run ends only after `steps`.
   */
  firstSteps: count.nullable().default(null),
  /** Sequences per optimizer step (the effective batch); at most {@link MAX_TOKENS} tokens in total. */
  batchSize: count.default(256),
  /** Sequences that pass through the model at once; divides `batchSize`. */
  microBatchSize: count.default(8),
  /** Keep only one block's activations and recompute the others: less memory, a third more work. */
  checkpointActivations: z.boolean().default(false),
  /**
   * Storage format of activations, their gradients and the operands of matrix products. Sums, weights and
   * optimizer state are always f32.
   */
  dtype: z.enum(["f32", "f16"]).default("f32"),
  /**
   * Weights, at the first and the second byte of an RTT code, of an extra gradient term: the Wasserstein-1
   * distance between predicted and true byte in units of 255. For example [0.5, 0.1]; 0 to 1,000,000 each;
   * null for none. Reported losses do not include it.
   */
  rttDistanceWeights: z.tuple([weight, weight]).nullable().default(null),
  /**
   * Weight of the two bytes of an RTT code in the gradient, 1e-6 to 1e6; other tokens have weight 1. Reported
   * losses are not weighted.
   */
  rttByteWeight: z.number().min(1e-6).max(1e6).default(1),
  /** The teacher's share of the gradient at an RTT code's two bytes, 0 to 1; the rest is the data's. */
  teacherWeight: z.number().min(0).max(1).default(0.5),
  /** Format in which ranks exchange gradients or weights; i8 only for weights (`syncEverySteps` > 1). */
  exchangeDtype: z.enum(["f32", "f16", "i8"]).default("f32"),
  /**
   * Steps between exchanges. With 1, ranks sum gradients; with more, they train independently between
   * exchanges, for slow networks (DiLoCo).
   */
  syncEverySteps: count.default(1),
  /** Learning rate of the step along the ranks' mean change if `syncEverySteps` is above 1; 0 to 10. */
  outerLearningRate: z.number().min(0).max(10).default(0.7),
  /** Nesterov momentum of that step, 0 to 0.999999. */
  outerMomentum: z.number().min(0).max(0.999999).default(0.6),
  /** Steps between lines of metrics.jsonl. */
  logEverySteps: count.default(1),
  /** Steps between evaluations on the validation batches. */
  evalEverySteps: count.default(200),
  /** Sequences for validation: a multiple of `microBatchSize`, at most {@link MAX_TOKENS} tokens. */
  evalSequences: count.default(64),
  /** Steps between checkpoints. */
  checkpointEverySteps: count.default(200),
  /** How many of the latest checkpoints to keep, in addition to the one with the best validation loss. */
  keepCheckpoints: count.default(3),
  /** Consecutive steps with a non-finite loss or gradient after which the run stops. */
  maxSkippedSteps: count.default(10),
});

/** @internal The section `autosize`, which fits one configuration to data of any size. It lowers steps and rows. */
export type AutosizeConfig = z.infer<typeof autosizeConfigSchema>;
const autosizeConfigSchema = z.strictObject({
  /** How many epochs suffice, 0.01 to 10,000. Lowers `train.steps` and `model.pairVectors.dropShare`. */
  passes: z.number().min(0.01).max(10_000),
  /**
   * Maximum number of epochs while validation improves, 0.01 to 10,000; null: always `passes`. Lowers
   * `train.steps`; `passes` then sets `train.firstSteps`.
   */
  maxPasses: z.number().min(0.01).max(10_000).nullable().default(null),
  /** Table rows per prefix and per pair of the data, 1 to 8. Lowers the row counts of `model`. */
  rowsPerKey: z.number().min(1).max(8).default(1.25),
  /**
   * Spare rows for addresses and pairs that the model is adapted to later, 0 to 64 times the number that the
   * data need, as far as the section `model` and the buffer size of any adapter allow.
   */
  spareRows: z.number().min(0).max(64).default(1),
});

// The run configurations of configs/, by name. One may extend another and state only differences.

type Json = Record<string, unknown>;

/** Preset name -> its configuration as parsed from JSON, which may extend another. */
export const PRESETS: ReadonlyMap<string, Json> = new Map<string, Json>([
  ["demo", demo],
  ["campaign", campaign],
  ["synth", synth],
  ["20m", base20m],
  ["95m", base95m],
  ["300m", base300m],
  ["680m", base680m],
  ["v1-100m", v1100m],
]);

/** Returns a preset's complete configuration. @throws {UsageError} Without such a preset; suggests a name. */
function presetOf(name: string): Json {
  const preset = PRESETS.get(name);
  if (preset) return extended(preset);
  const hint = didYouMean(name, [...PRESETS.keys()]);
  throw new UsageError(`Cannot use --config ${name}: no preset has that name${hint}`);
}

/**
 * Merges a configuration into the preset that it extends, as a JSON merge patch (RFC 7396): null removes a
 * key of the preset.
 *
 * @throws {ConfigError} If `extends` is not the name of a preset.
 */
function extended(config: Json): Json {
  const { extends: base, ...changes } = config;
  if (base === undefined) return structuredClone(config);
  if (typeof base !== "string" || !PRESETS.has(base)) {
    const hint = typeof base === "string" ? didYouMean(base, [...PRESETS.keys()]) : "";
    throw new ConfigError("extends", `found ${JSON.stringify(base)}, expected the name of a preset${hint}`);
  }
  return mergePatch(presetOf(base), changes) as Json;
}

function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const merged = new Map(Object.entries(isObject(target) ? target : {}));
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) merged.delete(key);
    else merged.set(key, mergePatch(merged.get(key), value));
  }
  return Object.fromEntries(merged);
}

/** A complete run configuration. */
export interface RunConfig {
  /** Sizes and options of the model. */
  model: ModelConfig;
  /** How contexts are drawn from probe rows. */
  data: SamplingConfig;
  /** How parameters are updated. */
  optim: OptimConfig;
  /** How long, in which batches, and when to log, evaluate and save. */
  train: TrainConfig;
  /** How steps and numbers of rows follow from the data (see `autosizer`); null if they do not. */
  autosize: AutosizeConfig | null;
}

/** Settings that a run, its ranks and its checkpoints must agree on. */
export interface RunIdentity {
  readonly config: RunConfig;
  readonly seed: number;
  /** See `dataFingerprint`. */
  readonly data: string;
  /** SHA-256 of the teacher's weights; undefined without a teacher. */
  readonly teacher?: string | undefined;
}

const runConfigSchema: z.ZodType<RunConfig> = z.strictObject({
  model: modelConfigSchema,
  data: samplingSchema.default(DEFAULT_SAMPLING),
  optim: optimConfigSchema,
  train: trainConfigSchema,
  autosize: autosizeConfigSchema.nullable().default(null),
});

/** A run configuration and all that follows from it, immutable; see {@link planRun}. */
export interface RunPlan {
  /** The run of all ranks together. */
  readonly config: RunConfig;
  /** How many ranks share a batch. */
  readonly numRanks: number;
  readonly shapes: ModelShapes;
  /** How a rank trains; `batchSize` is its micro-batch size. */
  readonly extent: ModelExtent;
  /** How a teacher runs: forward only, on the rank's micro-batches. It is stored in f32, as for queries. */
  readonly teacherExtent: ModelExtent;
  /** See {@link tokensPerStep}. */
  readonly tokensPerStep: number;
  /** Micro-batches per optimizer step on each rank. */
  readonly microBatchesPerStep: number;
}

/**
 * Loads and checks a configuration.
 *
 * @param nameOrFile A preset's name, or a JSON file (anything with a slash or ending in `.json`), which may
 *   extend a preset.
 * @param sets `KEY=VALUE` strings, applied in order. A value that is not JSON is a string.
 * @throws {ConfigError} If a key is unknown, missing or has a wrong value.
 * @throws {UsageError} If the preset is unknown or a string has no `=`.
 * @throws {UserError} If the file cannot be read.
 */
export function loadConfig(nameOrFile: string, sets: readonly string[] = []): RunConfig {
  const raw = loadRaw(nameOrFile);
  for (const text of sets) applySet(raw, text);
  return parseRunConfig(raw);
}

/**
 * Checks a configuration as parsed from JSON.
 *
 * @throws {ConfigError} If a key is unknown, missing or has a wrong value, or two keys are inconsistent.
 */
export function parseRunConfig(value: unknown): RunConfig {
  const config = parseConfig(runConfigSchema, value);
  checkModelConfig(config.model);
  const { train } = config;
  const { sequenceLength } = config.model;
  for (const key of ["batchSize", "evalSequences"] as const) {
    if (train[key] * sequenceLength > MAX_TOKENS) {
      const wanted = `expected at most ${Math.floor(MAX_TOKENS / sequenceLength)}`;
      throw new ConfigError(
        `train.${key}`,
        `found ${train[key]}, ${wanted} for sequences of ${sequenceLength} tokens`,
      );
    }
    if (train[key] % train.microBatchSize !== 0) {
      const wanted = `expected a multiple of train.microBatchSize (${train.microBatchSize})`;
      throw new ConfigError(`train.${key}`, `found ${train[key]}, ${wanted}`);
    }
  }
  if (train.exchangeDtype === "i8" && train.syncEverySteps === 1) {
    throw new ConfigError(
      "train.exchangeDtype",
      "found i8 for gradients, expected f32 or f16; or set train.syncEverySteps",
    );
  }
  const isWeighted = {
    rttDistanceWeights: train.rttDistanceWeights !== null,
    rttByteWeight: train.rttByteWeight !== 1,
  };
  for (const [key, isUsed] of Object.entries(isWeighted)) {
    if (isUsed && config.model.vocabulary !== "v2") {
      throw new ConfigError(`train.${key}`, "needs vocabulary v2, found v1; use v2, or leave it out");
    }
  }
  return config;
}

/** Positions per optimizer step of all ranks, including padding. */
export function tokensPerStep({ model, train }: RunConfig): number {
  return train.batchSize * model.sequenceLength;
}

/**
 * Computes what follows from a configuration. The micro-batch size of a rank is the largest divisor of its
 * share of a batch that does not exceed the configured size. All ranks together see the configured batch, so
 * they learn the same.
 *
 * @param numRanks How many ranks share a batch.
 * @throws {ConfigError} If they cannot share it.
 */
export function planRun(config: RunConfig, numRanks = 1): RunPlan {
  const { model, train } = config;
  const { batchSize, checkpointActivations, dtype, rttDistanceWeights, rttByteWeight } = train;
  if (batchSize % numRanks !== 0) {
    throw new ConfigError(
      "train.batchSize",
      `found ${batchSize}, expected a multiple of the number of ranks (${numRanks})`,
    );
  }
  const ofRank = batchSize / numRanks;
  let microBatchSize = Math.min(train.microBatchSize, ofRank);
  while (ofRank % microBatchSize !== 0) microBatchSize--;
  const passes = { batchSize: microBatchSize, sequenceLength: model.sequenceLength };
  return Object.freeze({
    config: frozen(structuredClone(config)),
    numRanks,
    shapes: modelShapes(model),
    extent: frozen({
      ...passes,
      sequencesPerStep: batchSize,
      training: true,
      checkpointActivations,
      dtype,
      rttByteWeight,
      ...(rttDistanceWeights && { rttDistanceWeights }),
    }),
    teacherExtent: frozen({ ...passes, training: false }),
    tokensPerStep: tokensPerStep(config),
    microBatchesPerStep: ofRank / microBatchSize,
  });
}

/** Freezes a JSON value and all that it contains. */
function frozen<T>(value: T): T {
  if (typeof value === "object" && value !== null) Object.values(value).forEach(frozen);
  return Object.freeze(value);
}

/**
 * Sets the steps of a configuration to see at least this many tokens (positions, including padding).
 *
 * @throws {ConfigError} If it takes more steps than a run may have.
 */
export function withTotalTokens(config: RunConfig, totalTokens: number): RunConfig {
  const steps = Math.ceil(totalTokens / tokensPerStep(config));
  return parseRunConfig({ ...config, train: { ...config.train, steps } });
}

/** Describes for the user what will be trained. */
export function describePlan(plan: RunPlan): string[] {
  const { config: { model, train }, numRanks, shapes, extent, tokensPerStep, microBatchesPerStep } = plan;
  const { numParameters } = shapes;
  return [
    `model: ${formatCount(numParameters)} parameters, ${model.numLayers} layers of width ${model.width}, ` +
    `${model.numHeads} heads of ${model.headDim}, sequences of ${model.sequenceLength} tokens`,
    `run: ${train.steps} steps of ${train.batchSize} sequences (${formatCount(tokensPerStep)} tokens, ` +
    `${numRanks > 1 ? `${numRanks} ranks x ` : ""}${microBatchesPerStep} x ${extent.batchSize}), ` +
    `${formatCount(train.steps * tokensPerStep)} tokens in all`,
  ];
}

/** Keys of `train` that do not change the losses, only logging, saving or memory. */
const OBSERVING_KEYS: readonly string[] = [
  "train.checkpointActivations",
  "train.logEverySteps",
  "train.evalEverySteps",
  "train.evalSequences",
  "train.checkpointEverySteps",
  "train.keepCheckpoints",
  "train.maxSkippedSteps",
];

/** A key whose values differ between two configurations. */
export interface ConfigDifference {
  keyPath: string;
  /** Value in the first configuration, as JSON. */
  a: string;
  /** Value in the second configuration, as JSON. */
  b: string;
}

/**
 * Keys that a run may change when it continues. Its sizes stay, though a new run with these keys would derive
 * others from the data.
 */
const LENGTH_KEYS: readonly string[] = ["train.steps", "autosize.passes", "autosize.maxPasses"];

/** A configuration as text, without keys that a run may change when it continues. */
export function lastingText(config: RunConfig): string {
  const isLasting = ([key]: [string, string]) => !OBSERVING_KEYS.includes(key) && !LENGTH_KEYS.includes(key);
  return JSON.stringify([...flattenConfig(config)].filter(isLasting));
}

/** Finds the keys in which two configurations would train differently; empty if both give the same losses. */
export function differences(a: RunConfig, b: RunConfig): ConfigDifference[] {
  const flatA = flattenConfig(a);
  const flatB = flattenConfig(b);
  const keys = [...new Set([...flatA.keys(), ...flatB.keys()])];
  // The results of `autosize` (steps and rows) are compared, not the section itself.
  const isCompared = (key: string) => !OBSERVING_KEYS.includes(key) && !/^autosize\b/.test(key);
  const different = keys.filter((key) => isCompared(key) && flatA.get(key) !== flatB.get(key));
  return different.map((keyPath) => ({
    keyPath,
    a: flatA.get(keyPath) ?? "nothing",
    b: flatB.get(keyPath) ?? "nothing",
  }));
}

/** Dotted path of every leaf of a configuration -> its JSON. */
export function flattenConfig(config: RunConfig): Map<string, string> {
  return flatten(config, "", new Map());
}

function flatten(value: unknown, path: string, into: Map<string, string>): Map<string, string> {
  if (isObject(value)) {
    for (const [key, inner] of Object.entries(value)) flatten(inner, path ? `${path}.${key}` : key, into);
  } else if (value !== undefined) {
    into.set(path, JSON.stringify(value));
  }
  return into;
}

function loadRaw(nameOrFile: string): Record<string, unknown> {
  if (!/[/\\]|\.json$/.test(nameOrFile)) return presetOf(nameOrFile);
  return extended(readJsonObject(nameOrFile, "a run configuration"));
}
