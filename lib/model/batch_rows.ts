/**
 * Batches: a rank's share, the positions where RTT codes are predicted, the address embeddings of tokens, and
 * the slots that collect the gradients of a step's rows. A step uses few rows of a table, whatever the
 * table's size.
 *
 * @module
 */
import { tokenRows } from "../tensor/ops/embedding.ts";
import { mix } from "../base/random.ts";
import { type AddressEmbeddings, EmbeddingCursor } from "./address_embeddings.ts";
import type { ModelConfig, ModelExtent, ModelShapes } from "./model_config.ts";
import { PACKED_HISTORY, unpackHistory } from "../data/tokens/rtt_history.ts";
import { RTT_START } from "../data/tokens/vocab_v2.ts";
import { NO_ROW } from "./embedding_table.ts";

/** Sequences packed by the loader, (B, T) each. */
export interface ModelBatch {
  readonly tokens: Uint16Array;
  /** The token that each position predicts. */
  readonly targets: Uint16Array;
  /** 1 where the loss counts; 0 on padding and where the target is the first token of the next context. */
  readonly lossMask: Uint8Array;
  /** The first position in the sequence that a position may attend to. */
  readonly segmentStart: Uint16Array;
  /**
   * (B, T, 2): where an RTT comes next, the history features of its pair (see `packHistory`); 0 for none. If
   * absent, training uses none; otherwise the histories stored in the model are used.
   */
  readonly histories?: Uint32Array;
}

/**
 * Maximum number of rows that a step can use: a measurement has fewer distinct rows than tokens, or with
 * places fewer than twice as many.
 */
export function numRowSlots(
  { config, numAddressEmbeddings }: ModelShapes,
  { batchSize, sequenceLength, sequencesPerStep = batchSize, freeRows }: ModelExtent,
): number {
  return freeRows ??
    Math.min(
      numAddressEmbeddings,
      sequencesPerStep * sequenceLength * (config.places ? 2 : 1),
    );
}

/**
 * Maximum number of rows of all tokens of a batch: two per token, because a measurement of 14 tokens has at
 * most 24; with places four, because it has at most 48.
 */
export function numRowUses({ places }: ModelConfig, { batchSize, sequenceLength }: ModelExtent): number {
  return batchSize * (places ? 4 : 2) * sequenceLength;
}

/**
 * Finds the rows of each token of a batch.
 *
 * @param args `isTraining`: whether shares of the keys are hidden.
 * @returns (B, T, `ModelShapes.rowsPerToken`), `NO_ROW` for none.
 */
export function rowsOfBatch(
  { tokens, segmentStart, histories }: ModelBatch,
  addressEmbeddings: AddressEmbeddings,
  { sequenceLength, isTraining }: { sequenceLength: number; isTraining: boolean },
): Uint32Array<ArrayBuffer> {
  const perToken = addressEmbeddings.shapes.rowsPerToken;
  const rows = new Uint32Array(tokens.length * perToken);
  let cursor = new EmbeddingCursor(addressEmbeddings);
  let context = 0;
  for (let i = 0; i < tokens.length; i++) {
    if (i % sequenceLength === segmentStart[i]) {
      cursor = new EmbeddingCursor(addressEmbeddings);
      if (isTraining) context = contextNumber(tokens, segmentStart, i, sequenceLength);
    }
    const given = histories && tokens[i] === RTT_START
      ? unpackHistory(histories, i * PACKED_HISTORY)
      : undefined;
    const rttHistory = histories || isTraining ? given ?? null : undefined;
    cursor.read(tokens[i], rows, i * perToken, { isTraining, context, rttHistory });
  }
  return rows;
}

/** Identifies the context that starts at `first` by a hash of all its tokens. */
function contextNumber(
  tokens: Uint16Array,
  segmentStart: Uint16Array,
  first: number,
  sequenceLength: number,
): number {
  const end = first - first % sequenceLength + sequenceLength;
  let hash = 0;
  for (let i = first; i < end && segmentStart[i] === segmentStart[first]; i++) hash = mix(hash + tokens[i]);
  return hash;
}

export interface BatchRows {
  /** See {@link rowsOfBatch}. */
  readonly ofTokens: Uint32Array<ArrayBuffer>;
  /** See {@link RowSlots.places}; only for gradients. */
  readonly places?: Uint32Array<ArrayBuffer>;
  /** See {@link RowSlots.rows}; only for gradients. */
  readonly ofSlots?: Uint32Array<ArrayBuffer>;
}

/** The slots of one step's rows. Rows get slots in order of first use, or fixed slots. */
export class RowSlots {
  readonly #slots = new Map<number, number>();

  /**
   * @param numUses Maximum number of rows of all tokens of a batch.
   * @param perToken Maximum number of rows of a token.
   * @param isFixed Whether row i has slot i, and rows from `numSlots` on have no slot.
   */
  constructor(
    readonly numSlots: number,
    readonly numUses: number,
    readonly perToken: number,
    readonly isFixed = false,
  ) {
    this.clear();
  }

  clear(): void {
    this.#slots.clear();
    if (!this.isFixed) return;
    for (let row = 0; row < this.numSlots; row++) this.#slots.set(row, row);
  }

  /** (1 + numSlots): the number of slots in use, then the row of each slot. */
  get rows(): Uint32Array<ArrayBuffer> {
    const rows = new Uint32Array(1 + this.numSlots);
    rows[0] = this.#slots.size;
    for (const [row, slot] of this.#slots) rows[1 + slot] = row;
    return rows;
  }

  get size(): number {
    return this.#slots.size;
  }

  /** Assigns slots to rows that have none. @param rowsOfTokens From {@link rowsOfBatch}. */
  claim(rowsOfTokens: Uint32Array): void {
    if (this.isFixed) return;
    for (const row of rowsOfTokens) {
      if (row !== NO_ROW && !this.#slots.has(row)) this.#slots.set(row, this.#slots.size);
    }
  }

  /**
   * Finds the tokens of each slot. @param rowsOfTokens From {@link rowsOfBatch}.
   *
   * @returns (numSlots + 1 + numUses): see `tokenRows`, as `addEmbeddingBackward` reads them.
   */
  places(rowsOfTokens: Uint32Array): Uint32Array<ArrayBuffer> {
    this.claim(rowsOfTokens);
    const slots = rowsOfTokens.map((row) => row === NO_ROW ? NO_ROW : this.#slots.get(row) ?? NO_ROW);
    return tokenRows(slots, this.numSlots, { perRow: this.perToken, numUses: this.numUses });
  }
}

export interface Share {
  readonly rank: number;
  /** Number of ranks, which divides the number of sequences of a batch. */
  readonly size: number;
}

/** The sequences r, r + R, … of a batch, for rank r of R. @param numSequences Of the whole batch. */
export function shareOf(batch: ModelBatch, numSequences: number, share: Share): ModelBatch {
  return {
    tokens: shareOfRows(batch.tokens, numSequences, share),
    targets: shareOfRows(batch.targets, numSequences, share),
    lossMask: shareOfRows(batch.lossMask, numSequences, share),
    segmentStart: shareOfRows(batch.segmentStart, numSequences, share),
    ...(batch.histories ? { histories: shareOfRows(batch.histories, numSequences, share) } : {}),
  };
}

/** The rows r, r + R, … of an array, for rank r of R. @param numRows Rows of the whole array. */
export function shareOfRows<T extends Uint8Array | Uint16Array | Uint32Array>(
  array: T,
  numRows: number,
  { rank, size }: Share,
): T {
  const length = array.length / numRows;
  const own = array.slice(0, array.length / size) as T;
  for (let row = rank, at = 0; row < numRows; row += size, at += length) {
    own.set(array.subarray(row * length, (row + 1) * length), at);
  }
  return own;
}

/**
 * Marks RTT codes in a copy of the loss mask: 2 if the target is a code's first byte, 3 if it is the second.
 *
 * @param sequenceLength T of the batch's (B, T).
 */
export function markRttBytes(
  { tokens, lossMask, segmentStart }: ModelBatch,
  sequenceLength: number,
): Uint8Array {
  const marks = lossMask.slice();
  for (let row = tokens.indexOf(RTT_START); row >= 0; row = tokens.indexOf(RTT_START, row + 1)) {
    const next = row + 1;
    if (marks[row]) marks[row] = 2;
    if (marks[next] && next % sequenceLength !== segmentStart[next]) marks[next] = 3;
  }
  return marks;
}
