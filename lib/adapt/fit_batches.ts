/**
 * The measurements of a fit as batches, each a context of its own.
 *
 * @module
 */
import { UserError } from "../errors.ts";
import type { AddressRows } from "../model/address_rows.ts";
import { type ModelBatch, rowsOfBatch } from "../model/batch_rows.ts";
import { measurementLength, QUERY_ORDER, type TokenMeasurement, TokenWriter } from "../tokens/vocab_v2.ts";

/** The most tokens of a sequence: attention over longer ones costs more, shorter ones have more padding. */
const MAX_SEQUENCE = 128;
/** The most sequences of a batch. */
const MAX_BATCH = 32;

/** The size of the batches. */
export interface FitExtent {
  readonly batchSize: number;
  readonly sequenceLength: number;
}

/** A batch whose loss counts only at the bytes of RTTs. */
export interface FitBatch {
  readonly batch: ModelBatch;
  /** From `rowsOfBatch`: rows of the model's table. */
  readonly rows: Uint32Array<ArrayBuffer>;
}

/** Chooses the size of the batches. @param sequenceLength The model's. */
export function fitExtent(measurements: readonly TokenMeasurement[], sequenceLength: number): FitExtent {
  const length = Math.min(sequenceLength, MAX_SEQUENCE);
  return { sequenceLength: length, batchSize: Math.min(MAX_BATCH, sequencesOf(measurements, length).length) };
}

/**
 * Packs measurements.
 *
 * @param measurements Replies only; `timeS` is null if the time is not shown.
 * @throws {UserError} If one does not fit the model's sequence.
 */
export function fitBatches(
  measurements: readonly TokenMeasurement[],
  addressRows: AddressRows,
  { batchSize, sequenceLength }: FitExtent,
): FitBatch[] {
  const sequences = sequencesOf(measurements, sequenceLength);
  const batches: FitBatch[] = [];
  for (let first = 0; first < sequences.length; first += batchSize) {
    const batch = batchOf(sequences.slice(first, first + batchSize), { batchSize, sequenceLength });
    batches.push({ batch, rows: rowsOfBatch(batch, addressRows, { sequenceLength, isTraining: false }) });
  }
  return batches;
}

/** Divides measurements into sequences, in order. */
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
