/**
 * Finds the address embeddings of each token of a sequence, token by token; lib/model/README.md has the rules.
 *
 * @module
 */
import { modelShapes, ROWS_PER_TOKEN } from "./model_config.ts";
import {
  BYTE_BASE,
  DST_IPV4,
  DST_IPV6,
  MEASUREMENT_START,
  RTT_START,
  SRC_IPV4,
  SRC_IPV6,
  VOCAB_SIZE,
} from "../data/tokens/vocab_v2.ts";
import { type AddressState, advance, NO_ROW, type PairState } from "./embedding_table.ts";
import { type AddressEmbeddings, type RowUse } from "./address_embeddings.ts";
import { SequenceMemory } from "./pair_history.ts";
import { type KnownRtt, rowsBeforeFirstByte, rowsBeforeSecondByte } from "./selected_rows.ts";

const INFERENCE: RowUse = { isTraining: false, context: 0 };
/** The first slots of a token are for its addresses and their pair, the others for selected rows. */
const NUM_OF_ADDRESSES = 3;
/** The last slots of a token are for places, if the model has places. */
const FIRST_OF_PLACES = ROWS_PER_TOKEN;

/** Reads the tokens of a sequence and finds the rows of each. */
export class EmbeddingCursor {
  readonly #rows: AddressEmbeddings;
  readonly #numRows: number;
  #source: AddressState | undefined;
  #destination: AddressState | undefined;
  /** The address whose bytes come next. */
  #open: AddressState | undefined;
  /** The pair, once both addresses are complete. */
  #pair: PairState | undefined;
  /** Whether the next token is the first byte of an RTT code. */
  #isFirstRttByte = false;
  #known: KnownRtt | undefined;
  #memory = new SequenceMemory();

  /** @param rows The address embeddings of the model. */
  constructor(rows: AddressEmbeddings) {
    this.#rows = rows;
    this.#numRows = modelShapes(rows.config).rowsPerToken;
  }

  /** A copy that continues from here. Complete addresses do not change and are shared. */
  clone(): EmbeddingCursor {
    const copy = new EmbeddingCursor(this.#rows);
    copy.#open = this.#open && { ...this.#open };
    copy.#source = this.#source === this.#open ? copy.#open : this.#source;
    copy.#destination = this.#destination === this.#open ? copy.#open : this.#destination;
    copy.#pair = this.#pair;
    copy.#isFirstRttByte = this.#isFirstRttByte;
    copy.#known = this.#known;
    copy.#memory = this.#memory.clone();
    return copy;
  }

  /**
   * Reads a token.
   *
   * @param rows Takes the token's rows, as many as `ModelShapes.rowsPerToken` says, from `at` on, {@link NO_ROW} for none.
   */
  read(token: number, rows: Uint32Array, at: number, use: RowUse = INFERENCE): void {
    rows.fill(NO_ROW, at, at + this.#numRows);
    const isByte = token >= BYTE_BASE && token < VOCAB_SIZE;
    // Given history features do not depend on the sequence.
    if (use.rttHistory === undefined) this.#memory.read(token);
    if (isByte && this.#isFirstRttByte) {
      this.#readResult(rows, at);
      if (this.#known) this.#writeSelected(rows, at, rowsBeforeSecondByte(this.#known, token - BYTE_BASE));
    }
    this.#isFirstRttByte = token === RTT_START;
    if (isByte) {
      if (this.#open) rows[at] = this.#readAddressByte(this.#open, token - BYTE_BASE, use);
      return;
    }
    this.#open = undefined;
    switch (token) {
      case MEASUREMENT_START:
        this.#memory.end(this.#pair?.hash1);
        this.#source = this.#destination = this.#pair = undefined;
        break;
      case SRC_IPV4:
      case SRC_IPV6:
        this.#open = this.#source = this.#begin(token === SRC_IPV4 ? 4 : 16);
        break;
      case DST_IPV4:
      case DST_IPV6:
        this.#open = this.#destination = this.#begin(token === DST_IPV4 ? 4 : 16);
        break;
      case RTT_START:
        this.#known = this.#pair && (this.#rows.historyOf(this.#pair, use, this.#memory) ??
          this.#rows.estimateOf(this.#pair, use));
        this.#readResult(rows, at);
        if (this.#known) this.#writeSelected(rows, at, rowsBeforeFirstByte(this.#known));
    }
  }

  #begin(length: 4 | 16): AddressState {
    this.#pair = undefined;
    return this.#rows.begin(length);
  }

  #readAddressByte(state: AddressState, byte: number, use: RowUse): number {
    advance(state, byte);
    const row = this.#rows.prefixRow(state, use);
    if (row !== NO_ROW) state.row = row;
    if (state.isWhole) this.#open = undefined;
    const [source, destination] = [this.#source, this.#destination];
    if (source?.isWhole && destination?.isWhole) this.#pair = this.#rows.pairOf(source, destination, use);
    return row;
  }

  #writeSelected(rows: Uint32Array, at: number, places: readonly number[]): void {
    places.forEach((place, i) => rows[at + NUM_OF_ADDRESSES + i] = this.#rows.selectedRow(place));
  }

  /** Writes the rows of the addresses or of their pair. */
  #readResult(rows: Uint32Array, at: number): void {
    const [source, destination] = [this.#source, this.#destination];
    rows[at + 2] = this.#pair?.row ?? NO_ROW;
    // The pair's own data are more informative than its ends. So the ends' rows learn only from other pairs.
    if (rows[at + 2] !== NO_ROW) return;
    if (!this.#known || "isOfBoth" in this.#known) {
      rows.set(this.#pair?.placeRows ?? [], at + FIRST_OF_PLACES);
    }
    if (this.#known && !isRough(this.#known)) return;
    if (source?.isWhole) rows[at] = source.row;
    if (destination?.isWhole) rows[at + 1] = destination.row;
  }
}

/** Whether it is an estimate from only one known end. */
function isRough(known: KnownRtt): boolean {
  return "isOfBoth" in known && !known.isOfBoth;
}
