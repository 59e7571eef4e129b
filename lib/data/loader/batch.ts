/**
 * The arrays of a batch, and how they are made from sequences.
 *
 * Sequences are written to arrays once, a whole block at a time ({@link SequenceBlock}). A block is in shared
 * memory, so that a worker can pass it on cheaply: Deno 2.9 takes 1.7 ms to transfer an ArrayBuffer of 8 MB,
 * and 0.1 ms for shared memory. A batch copies rows of blocks.
 *
 * @module
 */
import { PACKED_HISTORY } from "../tokens/rtt_history.ts";
import type { ContextForm } from "../tokens/context_form.ts";
import type { Sequence } from "./packing.ts";

/** Row-major arrays of N sequences of length T. */
export interface SequenceArrays<Buffer extends ArrayBufferLike> {
  /** (N, T) input tokens; 0 on padding. */
  tokens: Uint16Array<Buffer>;
  /** (N, T) the token after each input token; 0 if there is none. */
  targets: Uint16Array<Buffer>;
  /** (N, T) 1 where the target counts in the loss, 0 on padding and where the target starts a context. */
  lossMask: Uint8Array<Buffer>;
  /** (N, T) first position visible to each position: the start of its context, or itself on padding. */
  segmentStart: Uint16Array<Buffer>;
  /** (N, T, 2) history features of a pair at its RttStart, see `packHistory`; 0 elsewhere or without any. */
  histories: Uint32Array<Buffer>;
}

/** Sequences for one step, as row-major arrays (B, T). */
export interface Batch extends SequenceArrays<ArrayBuffer> {
  /** B. */
  batchSize: number;
  /** T. */
  sequenceLength: number;
  numPaddingTokens: number;
  /** Number of positions with lossMask 1. */
  numTargets: number;
}

/** The sequences of a block, as row-major arrays (N, T) that share one buffer. */
export interface SequenceBlock extends SequenceArrays<SharedArrayBuffer> {
  /** N. */
  numSequences: number;
  /** T. */
  sequenceLength: number;
  /** (N) number of positions per sequence that are not padding. */
  numInputs: Uint32Array;
  /** (N) number of positions per sequence with lossMask 1. */
  numTargets: Uint32Array;
  buffer: SharedArrayBuffer;
}

const BYTES_PER_SEQUENCE = 4 + 4;
const BYTES_PER_POSITION = 4 * PACKED_HISTORY + 2 + 2 + 2 + 1;

/** Makes a block of N sequences of T zeros, in the given buffer if that is large enough. */
function emptyBlock(N: number, T: number, spent?: SharedArrayBuffer): SequenceBlock {
  const size = N * T;
  const sizeBytes = N * (BYTES_PER_SEQUENCE + T * BYTES_PER_POSITION);
  const isEnough = spent && spent.byteLength >= sizeBytes;
  const buffer = isEnough ? spent : new SharedArrayBuffer(sizeBytes);
  if (isEnough) new Uint8Array(buffer, 0, sizeBytes).fill(0);
  let offset = 0;
  const take = (sizeBytes: number) => (offset += sizeBytes) - sizeBytes;
  return {
    numSequences: N,
    sequenceLength: T,
    numInputs: new Uint32Array(buffer, take(4 * N), N),
    numTargets: new Uint32Array(buffer, take(4 * N), N),
    histories: new Uint32Array(buffer, take(4 * PACKED_HISTORY * size), PACKED_HISTORY * size),
    tokens: new Uint16Array(buffer, take(2 * size), size),
    targets: new Uint16Array(buffer, take(2 * size), size),
    segmentStart: new Uint16Array(buffer, take(2 * size), size),
    lossMask: new Uint8Array(buffer, take(size), size),
    buffer,
  };
}

/**
 * Writes sequences to arrays.
 *
 * @param sequences At most T + 1 tokens each; token T + 1 is only a target.
 * @param options `spent`: the buffer of an unused block, for reuse.
 */
export function writeSequences(
  sequences: readonly Sequence[],
  sequenceLength: number,
  { form, spent }: { form: ContextForm; spent?: SharedArrayBuffer | undefined },
): SequenceBlock {
  const block = emptyBlock(sequences.length, sequenceLength, spent);
  fillWithSelf(block.segmentStart, sequenceLength);
  // One sequence and the token after it.
  const stream = new Uint16Array(sequenceLength + 1);
  const histories = new Uint32Array(stream.length * PACKED_HISTORY);
  for (const [index, { contexts }] of sequences.entries()) {
    histories.fill(0);
    const base = index * sequenceLength;
    let end = 0;
    for (const context of contexts) {
      const start = end;
      end = form.write(context, stream, start, histories);
      // A context's last token has no target, unless the target is the token after the end of the sequence.
      const numTargets = end - 1 - start;
      block.segmentStart.fill(start, base + start, base + Math.min(end, sequenceLength));
      block.lossMask.fill(1, base + start, base + start + numTargets);
      block.numTargets[index] += numTargets;
    }
    const numInputs = Math.min(end, sequenceLength);
    block.tokens.set(stream.subarray(0, numInputs), base);
    block.targets.set(stream.subarray(1, end), base);
    block.histories.set(histories.subarray(0, numInputs * PACKED_HISTORY), base * PACKED_HISTORY);
    block.numInputs[index] = numInputs;
  }
  return block;
}

export function paddingBatch(batchSize: number, sequenceLength: number): Batch {
  const size = batchSize * sequenceLength;
  const batch = {
    batchSize,
    sequenceLength,
    tokens: new Uint16Array(size),
    targets: new Uint16Array(size),
    lossMask: new Uint8Array(size),
    segmentStart: new Uint16Array(size),
    histories: new Uint32Array(PACKED_HISTORY * size),
    numPaddingTokens: size,
    numTargets: 0,
  };
  fillWithSelf(batch.segmentStart, sequenceLength);
  return batch;
}

/** Copies a sequence from a block to a row of padding. @param batch A batch from {@link paddingBatch}. */
export function copySequence(
  batch: Batch,
  row: number,
  { block, index }: { block: SequenceBlock; index: number },
): void {
  const { sequenceLength: T } = batch;
  for (const key of ["tokens", "targets", "lossMask", "segmentStart"] as const) {
    batch[key].set(block[key].subarray(index * T, (index + 1) * T), row * T);
  }
  const size = PACKED_HISTORY * T;
  batch.histories.set(block.histories.subarray(index * size, (index + 1) * size), row * size);
  batch.numTargets += block.numTargets[index];
  batch.numPaddingTokens -= block.numInputs[index];
}

/** Makes every position attend only to itself. */
function fillWithSelf(segmentStart: Uint16Array, sequenceLength: number): void {
  const first = segmentStart.subarray(0, sequenceLength);
  for (let t = 0; t < first.length; t++) first[t] = t;
  for (let at = sequenceLength; at < segmentStart.length; at += sequenceLength) segmentStart.set(first, at);
}
