/**
 * The run configuration, from a preset or a file and from `--set` options: the sections `model`, `data`, `optim`, `train`
 * and `autosize`. Numbers derived from it are computed here and nowhere else.
 *
 * @module
 */
import { isObject } from "../base/collections.ts";
import * as z from "zod";
import { applySet, parseConfig } from "../base/config_file.ts";
import { readJsonObject } from "../io/files/inputs.ts";
import { formatCount } from "../base/text.ts";
import { ConfigError } from "../base/errors.ts";
import {
  checkModelConfig,
  type ModelConfig,
  modelConfigSchema,
  type ModelExtent,
  modelShapes,
} from "../model/model_config.ts";
import { DEFAULT_SAMPLING, type SamplingConfig, samplingSchema } from "../data/tokens/contexts.ts";
import { type OptimConfig, optimConfigSchema } from "./optim/optim_config.ts";
import { extended, presetOf } from "./presets.ts";
import {
  type AutosizeConfig,
  autosizeConfigSchema,
  MAX_TOKENS,
  type TrainConfig,
  trainConfigSchema,
} from "./schema.ts";

/** A whole run configuration. */
export interface RunConfig {
  /** The model's extents and options. */
  model: ModelConfig;
  /** How contexts are drawn from probe rows. */
  data: SamplingConfig;
  /** How parameters are updated. */
  optim: OptimConfig;
  /** How long, in which batches, and when to log, evaluate and save. */
  train: TrainConfig;
  /** How steps and numbers of rows follow from the data, see `autosized`; null: they do not. */
  autosize: AutosizeConfig | null;
}

/** The settings that a run, its ranks and its checkpoints must agree on. */
export interface RunIdentity {
  config: RunConfig;
  seed: number;
  /** See `dataFingerprint`. */
  data: string;
  /** SHA-256 of the teacher's weights; undefined without a teacher. */
  teacher?: string | undefined;
}

const runConfigSchema: z.ZodType<RunConfig> = z.strictObject({
  model: modelConfigSchema,
  data: samplingSchema.default(DEFAULT_SAMPLING),
  optim: optimConfigSchema,
  train: trainConfigSchema,
  autosize: autosizeConfigSchema.nullable().default(null),
});

/** Numbers derived from a run configuration. */
export interface DerivedConfig {
  /** Parameters of the model. */
  numParameters: number;
  /** Positions of one optimizer step, padding included. */
  tokensPerStep: number;
  /** Positions of the whole run. */
  totalTokens: number;
  /** Micro-batches that one optimizer step averages over. */
  microBatchesPerStep: number;
}

/**
 * Loads and checks a configuration.
 *
 * @param nameOrFile A preset's name, or a JSON file (anything with a slash or ending in `.json`), which may extend a preset.
 * @param sets `KEY=VALUE` texts, applied in order; a value is JSON or else a text.
 * @throws {ConfigError} If a key is unknown, missing or of a wrong value.
 * @throws {UsageError} If the preset is unknown or a text has no `=`.
 * @throws {UserError} If the file cannot be read.
 */
export function loadConfig(nameOrFile: string, sets: readonly string[] = []): RunConfig {
  const raw = loadRaw(nameOrFile);
  for (const text of sets) applySet(raw, withPresentKey(text));
  return parseRunConfig(raw);
}

/**
 * Checks a configuration as parsed from JSON.
 *
 * @throws {ConfigError} If a key is unknown, missing or of a wrong value, or two keys do not fit together.
 */
export function parseRunConfig(value: unknown): RunConfig {
  const config = parseConfig(runConfigSchema, withPresentKeys(value));
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
      "found i8 for gradients, expected f32 or f16; or set --sync-every-steps",
    );
  }
  const isWeighted = {
    rttDistanceWeights: train.rttDistanceWeights !== null,
    rttByteWeight: train.rttByteWeight !== 1,
  };
  for (const [key, isUsed] of Object.entries(isWeighted)) {
    if (isUsed && config.model.vocabulary !== "v2") {
      throw new ConfigError(`train.${key}`, "found vocabulary v1, expected v2, or no weights");
    }
  }
  return config;
}

/** Computes what follows from a configuration. */
export function deriveConfig({ model, train }: RunConfig): DerivedConfig {
  const tokensPerStep = train.batchSize * model.sequenceLength;
  return {
    numParameters: modelShapes(model).numParameters,
    tokensPerStep,
    totalTokens: train.steps * tokensPerStep,
    microBatchesPerStep: train.batchSize / train.microBatchSize,
  };
}

/** How a run's model runs in training. */
export function trainingExtent({ model, train }: RunConfig): ModelExtent {
  const { checkpointActivations, dtype, rttDistanceWeights, rttByteWeight } = train;
  const extent: ModelExtent = {
    batchSize: train.microBatchSize,
    sequencesPerStep: train.batchSize,
    sequenceLength: model.sequenceLength,
    training: true,
    checkpointActivations,
    dtype,
    rttByteWeight,
  };
  return rttDistanceWeights ? { ...extent, rttDistanceWeights } : extent;
}

/**
 * The configuration with enough steps to see at least this many tokens (positions, padding included).
 *
 * @throws {ConfigError} If these are more steps than a run may have.
 */
export function withTotalTokens(config: RunConfig, totalTokens: number): RunConfig {
  const steps = Math.ceil(totalTokens / deriveConfig(config).tokensPerStep);
  return parseRunConfig({ ...config, train: { ...config.train, steps } });
}

/** Describes for the user what will be trained. @param numRanks How many ranks share a batch. */
export function describeConfig(config: RunConfig, numRanks = 1): string[] {
  const { model, train } = config;
  const derived = deriveConfig(config);
  return [
    `model: ${
      formatCount(derived.numParameters)
    } parameters, ${model.numLayers} layers of width ${model.width}, ` +
    `${model.numHeads} heads of ${model.headDim}, sequences of ${model.sequenceLength} tokens`,
    `run: ${train.steps} steps of ${train.batchSize} sequences (${
      formatCount(derived.tokensPerStep)
    } tokens, ` +
    `${numRanks > 1 ? `${numRanks} ranks x ` : ""}${
      derived.microBatchesPerStep / numRanks
    } x ${train.microBatchSize}), ${formatCount(derived.totalTokens)} tokens in all`,
  ];
}

/** Keys of `train` that do not change the losses: they decide when a run is logged or saved, or what memory it takes. */
const OBSERVING_KEYS: readonly string[] = [
  "train.checkpointActivations",
  "train.logEverySteps",
  "train.evalEverySteps",
  "train.evalSequences",
  "train.checkpointEverySteps",
  "train.keepCheckpoints",
  "train.maxSkippedSteps",
];

/** A key whose values differ in two configurations. */
export interface ConfigDifference {
  /** The dotted path. */
  keyPath: string;
  /** The value in the first, as JSON. */
  a: string;
  /** The value in the second, as JSON. */
  b: string;
}

/**
 * The keys in which two configurations would train differently.
 *
 * @returns One entry per key; none if runs of both have the same losses.
 */
export function differences(a: RunConfig, b: RunConfig): ConfigDifference[] {
  const flatA = flattenConfig(a);
  const flatB = flattenConfig(b);
  const keys = [...new Set([...flatA.keys(), ...flatB.keys()])];
  // The results of `autosize`, steps and rows, are compared, not the section itself.
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
  return extended(withPresentKeys(readJsonObject(nameOrFile, "a run configuration")));
}

/** Former key -> the last part of its present one. Both are accepted. */
const RENAMED_KEYS: ReadonlyMap<string, string> = new Map([
  ["fit", "autosize"],
  ["data.staleRecallShare", "staleHistoryShare"],
]);

/** A configuration with the present names of its keys. @throws {ConfigError} If a key is there under both names. */
function withPresentKeys<T>(config: T): T {
  for (const [former, present] of RENAMED_KEYS) {
    config = renameKey(config, former.split("."), { former, present });
  }
  return config;
}

function renameKey<T>(
  value: T,
  [key, ...rest]: string[],
  names: { former: string; present: string },
): T {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return value;
  const { [key as keyof T]: inner, ...others } = value;
  if (rest.length > 0) return { ...value, [key]: renameKey(inner, rest, names) };
  if (Object.hasOwn(value, names.present)) {
    throw new ConfigError(
      names.former,
      `found it beside ${names.present}, its present name; leave one of them out`,
    );
  }
  return { ...others, [names.present]: inner } as T;
}

/** A text of `--set` with the present name of its key. */
function withPresentKey(text: string): string {
  for (const [former, present] of RENAMED_KEYS) {
    const rest = text.slice(former.length);
    if (!text.startsWith(former) || !/^[.=\s]/.test(rest)) continue;
    return [...former.split(".").slice(0, -1), present].join(".") + rest;
  }
  return text;
}
