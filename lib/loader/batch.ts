/**
 * The arrays of a batch, and how sequences become them.
 *
 * Sequences are written as arrays once, a whole block at a time ({@link SequenceBlock}), so that a block can be
 * handed over by a worker; a batch is copies of rows of blocks.
 *
 * @module
 */
import { TokenWriter } from "../tokens/vocab_v2.ts";
import type { Sequence } from "./packing.ts";

/** Arrays of sequences, row-major; N is the number of sequences, T their length. */
interface SequenceArrays {
  /** (N, T) input tokens; 0 on padding. */
  tokens: Uint16Array<ArrayBuffer>;
  /** (N, T) the token after each input token; 0 where there is none. */
  targets: Uint16Array<ArrayBuffer>;
  /** (N, T) 1 where the target is to be learned: 0 on padding and where the target opens the next context. */
  lossMask: Uint8Array<ArrayBuffer>;
  /** (N, T) first position that each position may attend to: where its context starts; itself on padding. */
  segmentStart: Uint16Array<ArrayBuffer>;
}

/** Sequences for one step, as arrays (B, T) row-major. */
export interface Batch extends SequenceArrays {
  /** B. */
  batchSize: number;
  /** T. */
  sequenceLength: number;
  /** How many positions are padding. */
  numPaddingTokens: number;
  /** How many positions have lossMask 1. */
  numTargets: number;
}

/** The sequences of a block, as arrays (N, T) row-major. */
export interface SequenceBlock extends SequenceArrays {
  /** N. */
  numSequences: number;
  /** T. */
  sequenceLength: number;
  /** (N) how many positions of a sequence are not padding. */
  numInputs: Uint32Array<ArrayBuffer>;
  /** (N) how many positions of a sequence have lossMask 1. */
  numTargets: Uint32Array<ArrayBuffer>;
}

/**
 * Writes sequences as arrays.
 *
 * @param sequences Each of at most T + 1 tokens; the last of T + 1 is a target only.
 * @param sequenceLength T.
 */
export function writeSequences(sequences: readonly Sequence[], sequenceLength: number): SequenceBlock {
  const numSequences = sequences.length;
  const block: SequenceBlock = {
    ...paddingOf(numSequences, sequenceLength),
    numSequences,
    sequenceLength,
    numInputs: new Uint32Array(numSequences),
    numTargets: new Uint32Array(numSequences),
  };
  // One sequence and the token after it.
  const stream = new Uint16Array(sequenceLength + 1);
  sequences.forEach((sequence, index) => writeSequence(block, index, { sequence, stream }));
  return block;
}

function writeSequence(
  block: SequenceBlock,
  index: number,
  { sequence, stream }: { sequence: Sequence; stream: Uint16Array },
): void {
  const { sequenceLength } = block;
  const base = index * sequenceLength;
  const writer = new TokenWriter(stream);
  for (const context of sequence.contexts) {
    const start = writer.at;
    writer.previousTimeS = null;
    for (const measurement of context.measurements) writer.write(measurement, measurement.order);
    const numInputs = Math.min(writer.at, sequenceLength) - start;
    // The context's last token has no target, unless it is the token after the sequence's end.
    const numTargets = writer.at - 1 - start;
    block.segmentStart.fill(start, base + start, base + start + numInputs);
    block.lossMask.fill(1, base + start, base + start + numTargets);
    block.numTargets[index] += numTargets;
  }
  const numInputs = Math.min(writer.at, sequenceLength);
  block.tokens.set(stream.subarray(0, numInputs), base);
  block.targets.set(stream.subarray(1, writer.at), base);
  block.numInputs[index] = numInputs;
}

/**
 * A batch of padding.
 *
 * @param batchSize B.
 * @param sequenceLength T.
 */
export function paddingBatch(batchSize: number, sequenceLength: number): Batch {
  return {
    ...paddingOf(batchSize, sequenceLength),
    batchSize,
    sequenceLength,
    numPaddingTokens: batchSize * sequenceLength,
    numTargets: 0,
  };
}

/**
 * Puts a sequence of a block into a row of padding.
 *
 * @param batch What {@link paddingBatch} gave.
 * @param row 0..B - 1.
 * @param from The block, of the batch's T, and the sequence in it.
 */
export function copySequence(
  batch: Batch,
  row: number,
  { block, index }: { block: SequenceBlock; index: number },
): void {
  const { sequenceLength: T } = batch;
  for (const key of ["tokens", "targets", "lossMask", "segmentStart"] as const) {
    batch[key].set(block[key].subarray(index * T, (index + 1) * T), row * T);
  }
  batch.numTargets += block.numTargets[index];
  batch.numPaddingTokens -= block.numInputs[index];
}

function paddingOf(numSequences: number, sequenceLength: number): SequenceArrays {
  const size = numSequences * sequenceLength;
  const segmentStart = new Uint16Array(size);
  for (let t = 0; t < Math.min(sequenceLength, size); t++) segmentStart[t] = t;
  for (let row = 1; row < numSequences; row++) {
    segmentStart.copyWithin(row * sequenceLength, 0, sequenceLength);
  }
  return {
    tokens: new Uint16Array(size),
    targets: new Uint16Array(size),
    lossMask: new Uint8Array(size),
    segmentStart,
  };
}
