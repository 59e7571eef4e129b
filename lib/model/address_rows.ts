/**
 * Learned rows for what a measurement's tokens have said so far: for every prefix of an address, and for the pair of
 * source and destination. A row is added to the token's vector; which one follows from this and earlier tokens of the
 * measurement alone, so that nothing about causality or exactness changes.
 *
 * - Each byte of an address has the row of the prefix that it ends. Source and destination share rows; their
 *   roles tell them apart.
 * - RttStart and the first byte of an RTT code, from which the code's bytes are predicted, have the row of the pair,
 *   whichever way it was measured; where the pair is not known, the rows of the longest known prefixes of the source and
 *   of the destination. Either way they have those that the pair's newest RTTs select, see lib/tokens/rtt_recall.ts, or
 *   where none is recalled, those of an estimate by coordinates.
 *
 * Related: feature hashing (Weinberger et al., ICML 2009), the factors of a matrix of RTTs (Liao et al., DMFSGD,
 * IEEE/ACM ToN 21(5), 2013), n-gram embeddings (Pagnoni et al., Byte Latent Transformer, 2024, section 3.2.1).
 *
 * @module
 */
import type { RttRecall } from "../tokens/rtt_recall.ts";
import { named } from "../errors.ts";
import {
  type AddressState,
  advance,
  beginAddress,
  type Hashes,
  isChosen,
  pairHashes,
  type PairState,
} from "./address_keys.ts";
import { type ModelConfig, PAIR_HISTORY, ROW_KEYS } from "./config.ts";
import { PairHistory, recallTimed, type TimedRtt } from "./pair_history.ts";
import { NodeCoordinates } from "./node_coordinates.ts";
import type { RttEstimate } from "./selected_rows.ts";
import { NO_ROW, RowTable } from "./row_table.ts";
import type { SequenceMemory } from "./sequence_memory.ts";

/** Rows that a token has at most. */
export const ROWS_PER_TOKEN = 9;

/** Whether training lets go of a row in a context: a share of the keys of a kind, chosen by the context's number. */
export interface RowUse {
  /** Whether shares of the rows are dropped. */
  readonly isTraining: boolean;
  /** What tells contexts apart. */
  readonly context: number;
  /** What is recalled where an RTT comes next, given with each token of a sequence or with none; by default {@link recent}. */
  readonly recall?: RttRecall | null | undefined;
  /** The newest RTTs of its pair, oldest first; by default what the model remembers, then the measurements before. */
  readonly recent?: readonly TimedRtt[] | undefined;
}

/** The rows of a model. */
export class AddressRows {
  readonly #prefixes: RowTable | undefined;
  readonly #pairs: RowTable | undefined;
  readonly #history: PairHistory | undefined;
  /** Where RTTs are estimated. */
  readonly coordinates: NodeCoordinates | undefined;

  /** @param config Of a model that has any such rows. */
  constructor(readonly config: ModelConfig) {
    const { prefixVectors, pairVectors, coordinates } = config;
    if (coordinates) this.coordinates = new NodeCoordinates(coordinates);
    const numPrefixes = prefixVectors?.rows ?? 0;
    if (prefixVectors) this.#prefixes = new RowTable(0, numPrefixes);
    if (!pairVectors) return;
    this.#pairs = new RowTable(numPrefixes, pairVectors.rows);
    if (pairVectors.history) this.#history = new PairHistory(pairVectors.rows);
  }

  /** Takes the keys and histories of a checkpoint. @param weights Of the shapes of `checkpointShapes`. */
  load(weights: ReadonlyMap<string, Float32Array>): void {
    this.#prefixes?.load(named(weights, ROW_KEYS));
    this.#pairs?.load(named(weights, ROW_KEYS));
    this.#history?.load(named(weights, PAIR_HISTORY));
    this.coordinates?.load(weights);
  }

  /** Sets the entries of a checkpoint, see `checkpointShapes`: a key is two numbers below 2^16, both 0 for none. */
  save(weights: Map<string, Float32Array>): void {
    const keys = new Float32Array(2 * ((this.#prefixes?.numRows ?? 0) + (this.#pairs?.numRows ?? 0)));
    this.#prefixes?.save(keys);
    this.#pairs?.save(keys);
    if (keys.length > 0) weights.set(ROW_KEYS, keys);
    if (this.#history) weights.set(PAIR_HISTORY, this.#history.save());
    this.coordinates?.save(weights);
  }

  /**
   * Gives rows to the prefixes of two addresses, and to their pair, as far as there are free ones.
   *
   * @returns The pair, for {@link remember}; `NO_ROW` if it has no row.
   */
  claim(source: Uint8Array, destination: Uint8Array): number {
    for (const address of [source, destination]) this.rowsOfPrefixes(address, { claims: true });
    return this.rowOfPair(source, destination, { claims: true });
  }

  /** Adds the newest RTT of a pair to its history. @param pair Of {@link claim}. */
  remember(pair: number, rtt: TimedRtt): void {
    if (this.#pairs && pair !== NO_ROW) this.#history?.add(pair - this.#pairs.firstRow, rtt);
  }

  /** @internal The row that a code selects. */
  selectedRow(index: number): number {
    return (this.#prefixes?.numRows ?? 0) + (this.#pairs?.numRows ?? 0) + index;
  }

  /** How many prefixes have rows. */
  get numPrefixes(): number {
    return this.#prefixes?.numOwned ?? 0;
  }

  /** How many pairs have rows. */
  get numPairs(): number {
    return this.#pairs?.numOwned ?? 0;
  }

  /**
   * The rows of an address's prefixes, the shortest first and the whole address last.
   *
   * @param options `claims`: whether a prefix without a row gets a free one.
   * @returns Rows, {@link NO_ROW} where there is none.
   */
  rowsOfPrefixes(address: Uint8Array, { claims = false } = {}): number[] {
    const rows: number[] = [];
    this.#walk(address, ({ hash1, hash2 }) => {
      rows.push(this.#prefixes?.row(hash1, hash2, claims) ?? NO_ROW);
    });
    return rows;
  }

  /** The number of an address among those that have coordinates, which it gets if there is a free one; or `NO_ROW`. */
  claimNode(address: Uint8Array): number {
    return this.nodeOf(address, { claims: true });
  }

  /** That number, or `NO_ROW`; `claims` as above. */
  nodeOf(address: Uint8Array, { claims = false } = {}): number {
    const { hash1, hash2 } = this.#walk(address);
    return this.coordinates?.node(hash1, hash2, claims) ?? NO_ROW;
  }

  /** The row of a pair of addresses, whichever way it is measured, or {@link NO_ROW}; `claims` as above. */
  rowOfPair(source: Uint8Array, destination: Uint8Array, { claims = false } = {}): number {
    const { hash1, hash2 } = pairHashes(this.#walk(source), this.#walk(destination));
    return this.#pairs?.row(hash1, hash2, claims) ?? NO_ROW;
  }

  /** @internal */
  prefixRow(state: AddressState, { isTraining, context }: RowUse): number {
    const { prefixVectors } = this.config;
    if (!this.#prefixes || !prefixVectors) return NO_ROW;
    // Of its prefixes each is the first to be unknown as often: together as often as the share says.
    const share = 1 - (1 - prefixVectors.dropShare) ** (1 / state.length);
    if (isTraining && isChosen(state.hash2, context, share)) state.isDropped = true;
    return state.isDropped ? NO_ROW : this.#prefixes.row(state.hash1, state.hash2);
  }

  /** @internal Two whole addresses. */
  pairOf(source: AddressState, destination: AddressState, { isTraining, context }: RowUse): PairState {
    const { hash1, hash2 } = pairHashes(source, destination);
    const share = this.config.pairVectors?.dropShare ?? 0;
    // Some contexts know nothing of the pair, as many of the others only what was measured just before.
    const [isUnknown, isRowDropped] = [hash1, hash2].map((hash) =>
      isTraining && isChosen(hash, context, share)
    );
    const isDropped = source.isDropped || destination.isDropped || isUnknown || isRowDropped;
    const row = isDropped ? NO_ROW : this.#pairs?.row(hash1, hash2) ?? NO_ROW;
    return { hash1, hash2, source, destination, row, isUnknown };
  }

  /** @internal What is recalled of a pair. */
  recallOf(
    { hash1, row, isUnknown }: PairState,
    { recall, recent }: RowUse,
    memory: SequenceMemory,
  ): RttRecall | undefined {
    if (!this.#pairs || !this.#history) return undefined;
    if (recall !== undefined) return isUnknown ? undefined : recall ?? undefined;
    const { timeS } = memory;
    const newer = recent ?? memory.rttsOf(hash1);
    if (recent || row === NO_ROW) return recallTimed(newer, timeS);
    return this.#history.recall(row - this.#pairs.firstRow, { timeS, newer });
  }

  /** @internal The estimate of a pair by coordinates. */
  estimateOf(
    { hash1, source, destination }: PairState,
    { isTraining, context }: RowUse,
  ): RttEstimate | undefined {
    const { coordinates } = this;
    if (!coordinates) return undefined;
    const ends = [source, destination];
    const [a, b] = ends.map(({ hash1, hash2 }) => coordinates.node(hash1, hash2));
    if (!isTraining) return coordinates.estimate(a, b);
    const isHidden = isChosen(~hash1, context, coordinates.config.dropShare);
    const hidden = ends.map(({ isDropped }, i) => isDropped || (isHidden && (hash1 & 1) === i));
    return coordinates.estimate(a, b, { isTraining, hidden });
  }

  /** @internal An address of which nothing is written. */
  begin(length: 4 | 16): AddressState {
    return beginAddress(this.config.prefixVectors?.seed ?? this.config.pairVectors?.seed ?? 0, length);
  }

  /** Reads the bytes of an address. @param visit Called after each of them. */
  #walk(address: Uint8Array, visit: (prefix: Hashes) => void = () => {}): Hashes {
    const state = this.begin(address.length === 4 ? 4 : 16);
    for (const byte of address) {
      advance(state, byte);
      visit(state);
    }
    return state;
  }
}
