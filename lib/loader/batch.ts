/**
 * The arrays of a batch, and how sequences become them.
 *
 * @module
 */
import { TokenWriter } from "../tokens/vocab_v2.ts";
import type { Sequence } from "./packing.ts";

/** Sequences for one step, as arrays (B, T) row-major. */
export interface Batch {
  /** B. */
  batchSize: number;
  /** T. */
  sequenceLength: number;
  /** (B, T) input tokens; 0 on padding. */
  tokens: Uint16Array<ArrayBuffer>;
  /** (B, T) the token after each input token; 0 where there is none. */
  targets: Uint16Array<ArrayBuffer>;
  /** (B, T) 1 where the target is to be learned: 0 on padding and where the target opens the next context. */
  lossMask: Uint8Array<ArrayBuffer>;
  /** (B, T) first position that each position may attend to: where its context starts; itself on padding. */
  segmentStart: Uint16Array<ArrayBuffer>;
  /** How many positions are padding. */
  numPaddingTokens: number;
  /** How many positions have lossMask 1. */
  numTargets: number;
}

/** Makes batches of one shape. */
export class BatchWriter {
  /** One sequence and the token after it. */
  readonly #stream: Uint16Array;

  /** @param batchSize B. @param sequenceLength T. */
  constructor(readonly batchSize: number, readonly sequenceLength: number) {
    this.#stream = new Uint16Array(sequenceLength + 1);
  }

  /** A batch of padding. */
  start(): Batch {
    const { batchSize, sequenceLength } = this;
    const size = batchSize * sequenceLength;
    return {
      batchSize,
      sequenceLength,
      tokens: new Uint16Array(size),
      targets: new Uint16Array(size),
      lossMask: new Uint8Array(size),
      segmentStart: Uint16Array.from({ length: size }, (_, i) => i % sequenceLength),
      numPaddingTokens: size,
      numTargets: 0,
    };
  }

  /**
   * Puts a sequence into a row of padding.
   *
   * @param batch What {@link start} gave.
   * @param row 0..B - 1.
   * @param sequence At most T + 1 tokens; the last of T + 1 is a target only.
   */
  write(batch: Batch, row: number, sequence: Sequence): void {
    const { sequenceLength } = this;
    const stream = this.#stream;
    const base = row * sequenceLength;
    const writer = new TokenWriter(stream);
    for (const context of sequence.contexts) {
      const start = writer.at;
      writer.previousTimeS = null;
      for (const measurement of context.measurements) writer.write(measurement, measurement.order);
      const numInputs = Math.min(writer.at, sequenceLength) - start;
      // The context's last token has no target, unless it is the token after the sequence's end.
      const numTargets = writer.at - 1 - start;
      batch.segmentStart.fill(start, base + start, base + start + numInputs);
      batch.lossMask.fill(1, base + start, base + start + numTargets);
      batch.numTargets += numTargets;
    }
    const numInputs = Math.min(writer.at, sequenceLength);
    batch.tokens.set(stream.subarray(0, numInputs), base);
    batch.targets.set(stream.subarray(1, Math.min(writer.at, sequenceLength + 1)), base);
    batch.numPaddingTokens -= numInputs;
  }
}
