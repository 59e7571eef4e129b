/**
 * Fits address embeddings to measurements by AdamW; all other weights are frozen. The rows that the
 * measurements use are copied into a table of their own, free ones first, so memory and time do not depend on
 * the number of rows of the model.
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

/** The most tokens of a sequence: attention over longer ones costs more, shorter ones have more padding. */
const MAX_SEQUENCE = 128;
/** The most sequences of a batch. */
const MAX_BATCH = 32;

interface FitExtent {
  readonly batchSize: number;
  readonly sequenceLength: number;
}

/** A batch whose loss counts only at the bytes of RTTs. */
interface FitBatch {
  readonly batch: ModelBatch;
  /** From `rowsOfBatch`: rows of the model's table. */
  readonly rows: Uint32Array<ArrayBuffer>;
}

/** Chooses the size of the batches. */
function fitExtent(measurements: readonly TokenMeasurement[], sequenceLength: number): FitExtent {
  const length = Math.min(sequenceLength, MAX_SEQUENCE);
  return { sequenceLength: length, batchSize: Math.min(MAX_BATCH, sequencesOf(measurements, length).length) };
}

/** Packs replies; `timeS` is null if the time is not shown. @throws {UserError} If one does not fit the sequence. */
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
        `Cannot adapt: a measurement takes ${length} tokens, the model's sequence of ${sequenceLength} or fewer were ` +
          "wanted; use a model with longer sequences",
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
      // RttStart and the code's first byte, after which its two bytes are predicted.
      batch.lossMask.fill(1, at + length - 3, at + length - 1);
      at += length;
    }
    batch.segmentStart.fill(at - begin, at, begin + sequenceLength);
  }
  return batch;
}

/** How rows are fitted. */
export interface FitOptions {
  /** Steps, each over all measurements, or over a part of them in turn where they are many, see `fitFreeRows`. */
  readonly steps: number;
  /** Learning rate at the start; it falls linearly. */
  readonly learningRate: number;
  /** The largest Euclidean distance that a row known to training may move. */
  readonly maxDrift: number;
  /** Checked between steps. */
  readonly signal?: AbortSignal | undefined;
  /** Called with the number of steps done. */
  readonly onProgress?: (steps: number) => void;
}

interface FittedRows {
  /** (free rows, C). */
  readonly values: Float32Array;
  /** Mean loss of an RTT's two bytes before the fit, nats; of many measurements that of the first part. */
  readonly lossBefore: number;
  /** The same after the fit. */
  readonly lossAfter: number;
}

const ADAMW = { kind: "adamw", beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0 } as const;
const SCHEDULE: ScheduleShape = { schedule: "wsd", warmupShare: 0, decayShare: 1, finalRatio: 0.1 };
/**
 * The most batches of a step. So the time of the fit does not grow with the number of measurements: some 20 s for a model
 * of 1 M parameters on two cores.
 */
const MAX_STEP_BATCHES = 3;
/** About how many IPv4 measurements a step takes at most: 7 fit a sequence of a batch of 32. */
export const MAX_STEP_MEASUREMENTS = 7 * 32 * MAX_STEP_BATCHES;
/** The limit for rows that training did not know. */
const NO_LIMIT = 1e30;

/**
 * Fits the free rows to the loss of the RTTs' bytes; each measurement is a context of its own. In each step half of the
 * measurements have their times, in the next step the other half. In half of the steps pairs have no rows, so that the
 * address embeddings are also fitted for use without them. Of more than {@link MAX_STEP_BATCHES} batches each step takes
 * a part, one after the other.
 *
 * @param plan At least one free row.
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

/** @param options `own`: takes what is destroyed after the fit. */
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
  /** The batches of a part, evenly spread. */
  const partOf = (batches: readonly FitBatch[], part: number) =>
    batches.filter((_, i) => i % numParts === part % numParts);
  const accumulate = (batches: readonly FitBatch[]) => {
    // Two bytes of each RTT count.
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
    // Each part meets each variant, also where the number of one divides that of the other.
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

/** A table of the rows that the measurements use, free ones first. */
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

  /** Translates rows of the model's table into rows of this one. */
  translate(rows: Uint32Array): Uint32Array<ArrayBuffer> {
    return Uint32Array.from(rows, (row) => {
      if (row === NO_ROW) return NO_ROW;
      const number = this.#numbers.get(row) ?? this.#numbers.size;
      this.#numbers.set(row, number);
      return number;
    });
  }

  /** The model with this table in place of its own. Call it after all rows are translated. */
  config(): ModelConfig {
    const prefixVectors = { rows: this.#numbers.size, seed: 0, dropShare: 0 };
    return { ...this.model.config, prefixVectors, pairVectors: null, coordinates: null };
  }

  /** The weights of that model. */
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

/** The batches of the steps. Step i uses entry i modulo their number. */
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
