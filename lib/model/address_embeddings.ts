/**
 * The address embeddings of a model: those of prefixes and of pairs of addresses, and the known data about a pair's
 * RTT. lib/model/README.md describes which tokens have which rows; embedding_cursor.ts follows the tokens.
 *
 * @module
 */
import type { RttHistory } from "../data/tokens/rtt_history.ts";
import { named } from "../base/errors.ts";
import {
  type AddressState,
  advance,
  beginAddress,
  EmbeddingTable,
  type Hashes,
  isChosen,
  NO_ROW,
  pairHashes,
  type PairState,
} from "./embedding_table.ts";
import { EMBEDDING_KEYS, type ModelConfig, PAIR_HISTORY } from "./model_config.ts";
import { PairHistory, type SequenceMemory, timedHistory, type TimedRtt } from "./pair_history.ts";
import { NodeCoordinates } from "./node_coordinates.ts";
import type { RttEstimate } from "./selected_rows.ts";

/** The largest number of rows of a token. */
export const ROWS_PER_TOKEN = 9;

/** Options of looking up rows: in training, each context hides a share of the keys of each kind. */
export interface RowUse {
  /** Whether shares of the keys are hidden. */
  readonly isTraining: boolean;
  /** A number that differs between contexts. */
  readonly context: number;
  /**
   * The history features where an RTT comes next; null: none; undefined: those of {@link recent}. The same for all
   * tokens of a sequence.
   */
  readonly rttHistory?: RttHistory | null | undefined;
  /** The newest RTTs of the pair, oldest first (default: those stored in the model, then those of the sequence). */
  readonly recent?: readonly TimedRtt[] | undefined;
}

/** The address embeddings of a model. */
export class AddressEmbeddings {
  readonly #prefixes: EmbeddingTable | undefined;
  readonly #pairs: EmbeddingTable | undefined;
  readonly #history: PairHistory | undefined;
  /** Estimates RTTs of pairs; undefined if the model has no coordinates. */
  readonly coordinates: NodeCoordinates | undefined;

  /** @param config A model with address embeddings. */
  constructor(readonly config: ModelConfig) {
    const { prefixVectors, pairVectors, coordinates } = config;
    if (coordinates) this.coordinates = new NodeCoordinates(coordinates);
    const numPrefixes = prefixVectors?.rows ?? 0;
    if (prefixVectors) this.#prefixes = new EmbeddingTable(0, numPrefixes);
    if (!pairVectors) return;
    this.#pairs = new EmbeddingTable(numPrefixes, pairVectors.rows);
    if (pairVectors.history) this.#history = new PairHistory(pairVectors.rows);
  }

  /** Reads the keys and histories of a checkpoint. @param weights In the shapes of `checkpointShapes`. */
  load(weights: ReadonlyMap<string, Float32Array>): void {
    this.#prefixes?.load(named(weights, EMBEDDING_KEYS));
    this.#pairs?.load(named(weights, EMBEDDING_KEYS));
    this.#history?.load(named(weights, PAIR_HISTORY));
    this.coordinates?.load(weights);
  }

  /** Writes the keys and histories into the entries of a checkpoint; lib/model/README.md has the formats. */
  save(weights: Map<string, Float32Array>): void {
    const keys = new Float32Array(2 * ((this.#prefixes?.numRows ?? 0) + (this.#pairs?.numRows ?? 0)));
    this.#prefixes?.save(keys);
    this.#pairs?.save(keys);
    if (keys.length > 0) weights.set(EMBEDDING_KEYS, keys);
    if (this.#history) weights.set(PAIR_HISTORY, this.#history.save());
    this.coordinates?.save(weights);
  }

  /**
   * Gives free rows, if there are any, to the prefixes of two addresses and to their pair.
   *
   * @returns The pair, for {@link remember}; `NO_ROW` if it has no row.
   */
  claim(source: Uint8Array, destination: Uint8Array): number {
    for (const address of [source, destination]) this.rowsOfPrefixes(address, { claims: true });
    return this.rowOfPair(source, destination, { claims: true });
  }

  /** Adds the newest RTT of a pair to its history. @param pair From {@link claim}. */
  remember(pair: number, rtt: TimedRtt): void {
    if (this.#pairs && pair !== NO_ROW) this.#history?.add(pair - this.#pairs.firstRow, rtt);
  }

  /** @internal The row of `address_embed.weight` of a selected row, see selected_rows.ts. */
  selectedRow(index: number): number {
    return (this.#prefixes?.numRows ?? 0) + (this.#pairs?.numRows ?? 0) + index;
  }

  /** The number of prefixes with rows. */
  get numPrefixes(): number {
    return this.#prefixes?.numOwned ?? 0;
  }

  /** The number of pairs with rows. */
  get numPairs(): number {
    return this.#pairs?.numOwned ?? 0;
  }

  /**
   * The rows of an address's prefixes, the shortest first and the whole address last.
   *
   * @param options `claims`: whether prefixes without a row get a free one.
   * @returns The rows, {@link NO_ROW} for none.
   */
  rowsOfPrefixes(address: Uint8Array, { claims = false } = {}): number[] {
    const rows: number[] = [];
    this.#walk(address, ({ hash1, hash2 }) => {
      rows.push(this.#prefixes?.row(hash1, hash2, claims) ?? NO_ROW);
    });
    return rows;
  }

  /**
   * The row of a whole address, or {@link NO_ROW}.
   *
   * @param options `claims`: whether it gets a free one if it has none. Its shorter prefixes get no rows.
   */
  rowOfAddress(address: Uint8Array, { claims = false } = {}): number {
    const { hash1, hash2 } = this.#walk(address);
    return this.#prefixes?.row(hash1, hash2, claims) ?? NO_ROW;
  }

  /** Gives an address a node for coordinates. @returns Its node, or `NO_ROW` if none is free. */
  claimNode(address: Uint8Array): number {
    return this.nodeOf(address, { claims: true });
  }

  /** The node of an address, or `NO_ROW`; `claims` as above. */
  nodeOf(address: Uint8Array, { claims = false } = {}): number {
    const { hash1, hash2 } = this.#walk(address);
    return this.coordinates?.node(hash1, hash2, claims) ?? NO_ROW;
  }

  /** The row of a pair of addresses, the same in both directions, or {@link NO_ROW}; `claims` as above. */
  rowOfPair(source: Uint8Array, destination: Uint8Array, { claims = false } = {}): number {
    const { hash1, hash2 } = this.#pairHashes(this.#walk(source), this.#walk(destination));
    return this.#pairs?.row(hash1, hash2, claims) ?? NO_ROW;
  }

  /** @internal */
  prefixRow(state: AddressState, { isTraining, context }: RowUse): number {
    const { prefixVectors } = this.config;
    if (!this.#prefixes || !prefixVectors) return NO_ROW;
    // Each prefix is equally likely to be the first hidden one. Prefixes are hidden with the probability of the share.
    const share = 1 - (1 - prefixVectors.dropShare) ** (1 / state.length);
    if (isTraining && isChosen(state.hash2, context, share)) state.isDropped = true;
    return state.isDropped ? NO_ROW : this.#prefixes.row(state.hash1, state.hash2);
  }

  /** @internal The pair of two whole addresses. */
  pairOf(source: AddressState, destination: AddressState, { isTraining, context }: RowUse): PairState {
    const { hash1, hash2 } = this.#pairHashes(source, destination);
    const share = this.config.pairVectors?.dropShare ?? 0;
    // One share of the contexts hides all data of the pair, another one only its row.
    const [isUnknown, isRowDropped] = [hash1, hash2].map((hash) =>
      isTraining && isChosen(hash, context, share)
    );
    const isDropped = source.isDropped || destination.isDropped || isUnknown || isRowDropped;
    const row = isDropped ? NO_ROW : this.#pairs?.row(hash1, hash2) ?? NO_ROW;
    return { hash1, hash2, source, destination, row, isUnknown };
  }

  /** @internal The history features of a pair. */
  historyOf(
    { hash1, row, isUnknown }: PairState,
    { rttHistory, recent }: RowUse,
    memory: SequenceMemory,
  ): RttHistory | undefined {
    if (!this.#pairs || !this.#history) return undefined;
    if (rttHistory !== undefined) return isUnknown ? undefined : rttHistory ?? undefined;
    const { timeS } = memory;
    const newer = recent ?? memory.rttsOf(hash1);
    if (recent || row === NO_ROW) return timedHistory(newer, timeS);
    return this.#history.rttHistory(row - this.#pairs.firstRow, { timeS, newer });
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

  /** @internal An address before its first byte. */
  begin(length: 4 | 16): AddressState {
    return beginAddress(this.config.prefixVectors?.seed ?? this.config.pairVectors?.seed ?? 0, length);
  }

  /** The hashes of a pair, by the seed of pairs: those of addresses already contain the seed of prefixes. */
  #pairHashes(a: Hashes, b: Hashes): Hashes {
    const { prefixVectors, pairVectors } = this.config;
    const seed = prefixVectors && pairVectors ? pairVectors.seed - prefixVectors.seed : 0;
    return pairHashes(a, b, seed);
  }

  /** Reads the bytes of an address. @param visit Called after each byte. */
  #walk(address: Uint8Array, visit: (prefix: Hashes) => void = () => {}): Hashes {
    const state = this.begin(address.length === 4 ? 4 : 16);
    for (const byte of address) {
      advance(state, byte);
      visit(state);
    }
    return state;
  }
}
