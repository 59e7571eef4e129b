/**
 * Fits address embeddings to measurements by AdamW with all other weights frozen. The rows used by the
 * measurements are copied into a compact table, free rows first, so memory and time do not depend on the size
 * of the model's table.
 *
 * @module
 */
import { named, UserError } from "../../base/errors.ts";
import { type TensorArray, tensorOf } from "../../base/safetensors_header.ts";
import type { AddressEmbeddings } from "../../model/address_embeddings.ts";
import { type ModelBatch, rowsOfBatch } from "../../model/batch_rows.ts";
import {
  measurementLength,
  QUERY_ORDER,
  type TokenMeasurement,
  TokenWriter,
} from "../../data/tokens/vocab_v2.ts";
import { addLimitRows } from "../../tensor/ops/embedding.ts";
import { Program } from "../../tensor/program.ts";
import type { KernelRegistry } from "../../tensor/registry.ts";
import { EMBEDDING_KEYS, type ModelConfig, modelShapes } from "../../model/model_config.ts";
import { faultOfTensors, WEIGHT_LIMIT } from "../../model/finite.ts";
import { EMBEDDING_VALUES } from "../../model/embedding_update.ts";
import { NO_ROW } from "../../model/embedding_table.ts";
import { Transformer } from "../../model/transformer.ts";
import { AdamWRowsRule } from "../../train/optim/rules.ts";
import { learningRateFactor, type ScheduleShape } from "../../train/optim/schedule.ts";
import type { FreeRows, RowModel } from "./free_rows.ts";

/** Maximum sequence length, tokens: longer ones slow down attention, shorter ones have more padding. */
const MAX_SEQUENCE = 128;
const MAX_BATCH = 32;

interface FitExtent {
  readonly batchSize: number;
  readonly sequenceLength: number;
}

/** A batch whose loss counts only the bytes of RTTs. */
interface FitBatch {
  readonly batch: ModelBatch;
  /** Rows of the model's table, from `rowsOfBatch`. */
  readonly rows: Uint32Array<ArrayBuffer>;
}

function fitExtent(measurements: readonly TokenMeasurement[], sequenceLength: number): FitExtent {
  const length = Math.min(sequenceLength, MAX_SEQUENCE);
  return { sequenceLength: length, batchSize: Math.min(MAX_BATCH, sequencesOf(measurements, length).length) };
}

/** Packs replies; a null `timeS` hides the time. @throws {UserError} If a reply does not fit the sequence. */
function fitBatches(
  measurements: readonly TokenMeasurement[],
  addressEmbeddings: AddressEmbeddings,
  { batchSize, sequenceLength }: FitExtent,
): FitBatch[] {
  const sequences = sequencesOf(measurements, sequenceLength);
  const batches: FitBatch[] = [];
  for (let first = 0; first < sequences.length; first += batchSize) {
    const batch = batchOf(sequences.slice(first, first + batchSize), { batchSize, sequenceLength });
    batches.push({
      batch,
      rows: rowsOfBatch(batch, addressEmbeddings, { sequenceLength, isTraining: false }),
    });
  }
  return batches;
}

function sequencesOf(
  measurements: readonly TokenMeasurement[],
  sequenceLength: number,
): TokenMeasurement[][] {
  const sequences: TokenMeasurement[][] = [];
  let room = 0;
  for (const measurement of measurements) {
    const length = measurementLength(measurement, null);
    if (length > sequenceLength) {
      throw new UserError(
        `Cannot adapt: a measurement takes ${length} tokens, more than the model's sequence of ` +
          `${sequenceLength}; use a model with longer sequences`,
      );
    }
    if (length > room) {
      sequences.push([]);
      room = sequenceLength;
    }
    sequences[sequences.length - 1].push(measurement);
    room -= length;
  }
  return sequences;
}

function batchOf(
  sequences: readonly TokenMeasurement[][],
  { batchSize, sequenceLength }: FitExtent,
): ModelBatch {
  const numTokens = batchSize * sequenceLength;
  const batch = {
    tokens: new Uint16Array(numTokens),
    targets: new Uint16Array(numTokens),
    lossMask: new Uint8Array(numTokens),
    segmentStart: new Uint16Array(numTokens),
  };
  for (let sequence = 0; sequence < batchSize; sequence++) {
    const begin = sequence * sequenceLength;
    let at = begin;
    for (const measurement of sequences[sequence] ?? []) {
      const length = new TokenWriter(batch.tokens, at).write(measurement, QUERY_ORDER);
      batch.segmentStart.fill(at - begin, at, at + length);
      batch.targets.set(batch.tokens.subarray(at + 1, at + length), at);
      // The loss counts at RttStart and the code's first byte, which predict the code's two bytes.
      batch.lossMask.fill(1, at + length - 3, at + length - 1);
      at += length;
    }
    batch.segmentStart.fill(at - begin, at, begin + sequenceLength);
  }
  return batch;
}

/** @internal Options of a fit. */
export interface FitOptions {
  /** Number of steps. Each covers all measurements or, if they are many, one part: see `fitFreeRows`. */
  readonly steps: number;
  /** Initial learning rate; it decays linearly. */
  readonly learningRate: number;
  /** The largest Euclidean distance by which a row known to training may move. */
  readonly maxDrift: number;
  /** Checked between steps. */
  readonly signal?: AbortSignal | undefined;
  /** Called after each step with the number of steps done. */
  readonly onProgress?: (steps: number) => void;
}

interface FittedRows {
  /** (free rows, C). */
  readonly values: Float32Array;
  /** Mean loss over the two bytes of an RTT before the fit, nats; of the first part if there are several. */
  readonly lossBefore: number;
  /** As `lossBefore`, after the fit. */
  readonly lossAfter: number;
}

const ADAMW = { kind: "adamw", beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0 } as const;
const SCHEDULE: ScheduleShape = { schedule: "wsd", warmupShare: 0, decayShare: 1, finalRatio: 0.1 };
/**
 * Maximum number of batches per step. It bounds the duration of a fit whatever the number of measurements:
 * some 20 s for a model of 1 M parameters on two cores.
 */
const MAX_STEP_BATCHES = 3;
/** Approximate maximum number of IPv4 measurements per step: 7 fit in a sequence, 32 sequences in a batch. */
export const MAX_STEP_MEASUREMENTS = 7 * 32 * MAX_STEP_BATCHES;
/** The drift limit of rows unknown to training. */
const NO_LIMIT = 1e30;

/**
 * Fits the free rows to minimise the loss of the RTT bytes; each measurement is a separate context. Steps
 * alternately hide the times of one half of the measurements and of the other. Half of the steps leave out
 * the rows of pairs, so that the address embeddings also work without them. If there are more than {@link
 * MAX_STEP_BATCHES} batches, steps take turns with parts of them.
 *
 * @param plan Must have at least one free row.
 * @throws {UserError} If memory does not suffice, or the rows do not stay finite.
 */
export async function fitFreeRows(
  registry: KernelRegistry,
  model: RowModel,
  plan: FreeRows,
  options: FitOptions,
): Promise<FittedRows> {
  const owned: { destroy(): void }[] = [];
  try {
    return await fitWith(registry, model, plan, { ...options, own: (resource) => owned.push(resource) });
  } finally {
    for (const resource of owned) resource.destroy();
  }
}

/** @param options `own`: registers what to destroy after the fit. */
async function fitWith(
  registry: KernelRegistry,
  model: RowModel,
  plan: FreeRows,
  { own, ...options }: FitOptions & { own: (resource: { destroy(): void }) => void },
): Promise<FittedRows> {
  const { gpu } = registry;
  const { width, sequenceLength } = model.config;
  const numFree = plan.free.length;
  const extent = fitExtent(plan.measurements, sequenceLength);
  const table = new CompactTable(plan, model);
  const variants = variantsOf(plan, extent, table);
  const fitted = await Transformer.create(registry, table.config(), {
    ...extent,
    training: true,
    freeRows: numFree,
  });
  own(fitted);
  fitted.load(table.weights());
  const parameter = named(fitted.parameters, EMBEDDING_VALUES);
  const gradient = named(fitted.gradients, EMBEDDING_VALUES);
  const rule = new AdamWRowsRule(
    gpu,
    { ...ADAMW, learningRate: options.learningRate },
    [{ name: EMBEDDING_VALUES, parameter, gradient }],
    fitted.slotRows,
  );
  const anchors = gpu.tensorFrom("anchors", [numFree, width], table.starts);
  const limits = gpu.tensorFrom(
    "largest drifts",
    [numFree],
    Float32Array.from(plan.free, ({ isKnown }) => isKnown ? options.maxDrift : NO_LIMIT),
  );
  const clip = gpu.tensorFrom("no clipping", [4], Float32Array.of(1, 0, 0, 0));
  for (const { buffer } of [anchors, limits, clip, ...rule.state.values()]) {
    own(buffer);
  }
  const update = new Program(registry, "update of rows");
  rule.add(update, clip);
  addLimitRows(update, { table: parameter, anchors, limits, rows: numFree, width });
  await registry.ready();

  const numParts = Math.ceil(variants[0].length / MAX_STEP_BATCHES);
  /** The batches of a part, spread evenly. */
  const partOf = (batches: readonly FitBatch[], part: number) =>
    batches.filter((_, i) => i % numParts === part % numParts);
  const accumulate = (batches: readonly FitBatch[]) => {
    const numRtts = batches.reduce(
      (sum, { batch }) => sum + batch.lossMask.reduce((a, b) => a + b, 0) / 2,
      0,
    );
    fitted.zeroGradients();
    for (const { batch, rows } of batches) fitted.accumulate(batch, 1 / (2 * numRtts), rows);
    return numRtts;
  };
  const meanLoss = async () => {
    const numRtts = accumulate(partOf(variants[0], 0));
    return (await gpu.read(fitted.lossSum))[0][0] / numRtts;
  };
  const lossBefore = await meanLoss();
  for (let step = 0; step < options.steps; step++) {
    options.signal?.throwIfAborted();
    // Each part meets each variant, even if one number is a multiple of the other.
    const variant = numParts === 1 ? step : step + Math.floor(step / numParts);
    accumulate(partOf(variants[variant % variants.length], step));
    const learningRate = learningRateFactor(step, options.steps, SCHEDULE);
    rule.prepare(step, { learningRate, weightDecay: 0 });
    update.run();
    await gpu.finish();
    options.onProgress?.(step + 1);
  }
  const lossAfter = await meanLoss();
  const values = (await gpu.read(parameter))[0].slice(0, numFree * width);
  const fault = faultOfTensors(new Map([[EMBEDDING_VALUES, values]]), WEIGHT_LIMIT);
  if (fault) throw new UserError(`Cannot adapt: after the fit ${fault}; lower --learning-rate`);
  return { values, lossBefore, lossAfter };
}

/** Table of the rows that the measurements use, free rows first. */
class CompactTable {
  /** (free rows, C). */
  readonly starts: Float32Array;
  readonly #numbers = new Map<number, number>();

  constructor({ free }: FreeRows, readonly model: RowModel) {
    const { width } = model.config;
    this.starts = new Float32Array(free.length * width);
    free.forEach(({ row, start }, i) => {
      this.#numbers.set(row, i);
      this.starts.set(start, i * width);
    });
  }

  /** Translates rows of the model's table to rows of this one. */
  translate(rows: Uint32Array): Uint32Array<ArrayBuffer> {
    return Uint32Array.from(rows, (row) => {
      if (row === NO_ROW) return NO_ROW;
      const number = this.#numbers.get(row) ?? this.#numbers.size;
      this.#numbers.set(row, number);
      return number;
    });
  }

  /** The model's configuration with this table. Call it after all rows have been translated. */
  config(): ModelConfig {
    const prefixVectors = { rows: this.#numbers.size, seed: 0, dropShare: 0 };
    return { ...this.model.config, prefixVectors, pairVectors: null, coordinates: null };
  }

  /** Weights for {@link config}. */
  weights(): Map<string, TensorArray> {
    const { config: { width }, weights } = this.model;
    const all = tensorOf(weights, EMBEDDING_VALUES, "F32");
    const values = new Float32Array(this.#numbers.size * width);
    for (const [row, number] of this.#numbers) {
      values.set(all.subarray(row * width, (row + 1) * width), number * width);
    }
    values.set(this.starts);
    const keys = new Uint32Array(this.#numbers.size);
    const changed = new Map(weights).set(EMBEDDING_VALUES, values).set(EMBEDDING_KEYS, keys);
    const kept = modelShapes(this.config()).entries;
    return new Map([...changed].filter(([name]) => kept.has(name)));
  }
}

/** The batches of each variant of a step. Step i uses entry i modulo their number. */
function variantsOf(plan: FreeRows, extent: FitExtent, table: CompactTable): FitBatch[][] {
  const { measurements, addressEmbeddings } = plan;
  const firstPair = addressEmbeddings.config.prefixVectors?.rows ?? 0;
  const hasTimes = measurements.some(({ timeS }) => timeS !== null);
  const turns = (hasTimes ? [0, 1] : [0]).map((turn) => {
    const shown: TokenMeasurement[] = measurements.map((measurement, i) =>
      i % 2 === turn ? measurement : { ...measurement, timeS: null }
    );
    return fitBatches(shown, addressEmbeddings, extent).map(({ batch, rows }) => ({
      batch,
      rows: table.translate(rows),
      withoutPairs: table.translate(rows.map((row) => row >= firstPair ? NO_ROW : row)),
    }));
  });
  if (!addressEmbeddings.config.pairVectors || firstPair === 0) return turns;
  return [
    ...turns,
    ...turns.map((batches) => batches.map(({ batch, withoutPairs }) => ({ batch, rows: withoutPairs }))),
  ];
}
