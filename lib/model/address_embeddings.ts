/**
 * The address embeddings of a model, for prefixes and pairs of addresses, and what is known about a pair's
 * RTT. lib/model/README.md describes which tokens get which rows; {@link EmbeddingCursor} follows the tokens.
 *
 * @module
 */
import type { RttHistory } from "../data/tokens/rtt_history.ts";
import { type TensorArray, tensorOf, type Tensors } from "../base/safetensors_header.ts";
import { mix } from "../base/random.ts";
import {
  type AddressState,
  advance,
  beginAddress,
  EmbeddingTable,
  type Hashes,
  isChosen,
  misplacedKey,
  NO_ROW,
  NUM_PATH_STEPS,
  NUM_PLACE_ROWS,
  pairHashes,
  pairKeysOf,
  type PairState,
  pathOf,
  type PlacePath,
} from "./embedding_table.ts";
import {
  EMBEDDING_KEYS,
  type ModelConfig,
  type ModelShapes,
  modelShapes,
  PAIR_HISTORY,
  PLACE_TABLE,
  ROWS_PER_TOKEN,
} from "./model_config.ts";
import { PairHistory, SequenceMemory, timedHistory, type TimedRtt } from "./pair_history.ts";
import { NodeCoordinates } from "./node_coordinates.ts";
import { lightFloorMs } from "../data/addresses/light_floor.ts";
import { lengthOf, type LocatedPlace, NOWHERE, PlaceTable } from "../data/addresses/place_table.ts";
import {
  type KnownRtt,
  rowsBeforeFirstByte,
  rowsBeforeSecondByte,
  type RttEstimate,
} from "./selected_rows.ts";
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

/** How rows are looked up. In training, each context hides a share of the keys of each kind. */
export interface RowUse {
  readonly isTraining: boolean;
  readonly context: number;
  /** History features for every predicted RTT; null: none; undefined: from {@link recent}. */
  readonly rttHistory?: RttHistory | null | undefined;
  /** The pair's newest RTTs, oldest first (default: those stored in the model, then the sequence's). */
  readonly recent?: readonly TimedRtt[] | undefined;
}

/** Maximum number of cached paths, about 0.5 kB each. */
const MAX_PATHS = 2 ** 15;
/** Steps of a path whose places may have coordinates, from specific to general. */
const NODE_STEPS = [3, 1, 2, 0, 4];
/** The first keys of a pair of places, which training hides; the keys of the distance are never hidden. */
const NUM_HIDEABLE = 3;

export class AddressEmbeddings {
  readonly #prefixes: EmbeddingTable | undefined;
  readonly #pairs: EmbeddingTable | undefined;
  readonly #history: PairHistory | undefined;
  /** The table of places as in a checkpoint, and decoded. */
  #placeBytes: Uint8Array | undefined;
  #places: PlaceTable | undefined;
  /** Keyed by the first hash. */
  readonly #paths = new Map<number, { hash2: number; path: PlacePath }>();
  /** Estimates RTTs of pairs; undefined if the model has no coordinates. */
  readonly coordinates: NodeCoordinates | undefined;
  readonly shapes: ModelShapes;
  /** Share of the pairs that training hides in a context. */
  pairDropShare: number;

  /** @param config A model with address embeddings. */
  constructor(readonly config: ModelConfig) {
    this.shapes = modelShapes(config);
    const { prefixVectors, pairVectors, coordinates } = config;
    this.pairDropShare = pairVectors?.dropShare ?? 0;
    if (coordinates) this.coordinates = new NodeCoordinates(coordinates);
    const numPrefixes = prefixVectors?.rows ?? 0;
    if (prefixVectors) this.#prefixes = new EmbeddingTable(0, numPrefixes);
    if (!pairVectors) return;
    this.#pairs = new EmbeddingTable(numPrefixes, pairVectors.rows);
    if (pairVectors.history) this.#history = new PairHistory(pairVectors.rows);
  }

  /** Reads a checkpoint's keys and histories. @param weights In the shapes of `ModelShapes.entries`. */
  load(weights: Tensors): void {
    this.#prefixes?.load(tensorOf(weights, EMBEDDING_KEYS, "U32"));
    this.#pairs?.load(tensorOf(weights, EMBEDDING_KEYS, "U32"));
    this.#history?.load(tensorOf(weights, PAIR_HISTORY, "U32"));
    this.coordinates?.load(weights);
    if (this.config.places) this.usePlaces(tensorOf(weights, PLACE_TABLE, "U8"));
  }

  /** Sets the table of places. @param bytes As written by `PlaceTable.encode`. */
  usePlaces(bytes: Uint8Array): void {
    this.#paths.clear();
    if (bytes === this.#placeBytes) return;
    this.#placeBytes = bytes;
    this.#places = PlaceTable.decode(bytes, PLACE_TABLE);
  }

  /** Writes keys and histories into the entries of a checkpoint; lib/model/EXACT.md has the formats. */
  save(weights: Map<string, TensorArray>): void {
    const keys = new Uint32Array((this.#prefixes?.numRows ?? 0) + (this.#pairs?.numRows ?? 0));
    this.#prefixes?.save(keys);
    this.#pairs?.save(keys);
    if (keys.length > 0) weights.set(EMBEDDING_KEYS, keys);
    if (this.#history) weights.set(PAIR_HISTORY, this.#history.save());
    this.coordinates?.save(weights);
    if (this.config.places && this.#placeBytes) weights.set(PLACE_TABLE, this.#placeBytes);
  }

  /**
   * Assigns free rows, if there are any, to the places and prefixes of two addresses and to their pair.
   *
   * @returns The pair, for {@link remember}; `NO_ROW` if it has no row.
   */
  claim(source: Uint8Array, destination: Uint8Array): number {
    this.#claimPlaces(source, destination);
    for (const address of [source, destination]) this.rowsOfPrefixes(address, { claims: true });
    return this.rowOfPair(source, destination, { claims: true });
  }

  /** Adds the newest RTT of a pair to its history. @param pair From {@link claim}. */
  remember(pair: number, rtt: TimedRtt): void {
    if (this.#pairs && pair !== NO_ROW) this.#history?.add(pair - this.#pairs.firstRow, rtt);
  }

  /** @internal The row of `address_embed.weight` for a selected row; see selected_rows.ts. */
  selectedRow(index: number): number {
    return (this.#prefixes?.numRows ?? 0) + (this.#pairs?.numRows ?? 0) + index;
  }

  get numPrefixes(): number {
    return this.#prefixes?.numOwned ?? 0;
  }

  get numPairs(): number {
    return this.#pairs?.numOwned ?? 0;
  }

  /**
   * Returns the rows of an address's prefixes, shortest first, with the whole address last; {@link NO_ROW}
   * for prefixes without one.
   *
   * @param options `claims`: whether to assign free rows to prefixes without a row.
   */
  rowsOfPrefixes(address: Uint8Array, { claims = false } = {}): number[] {
    const rows: number[] = [];
    this.#walk(address, ({ hash1, hash2 }) => {
      rows.push(this.#prefixes?.row(hash1, hash2, claims) ?? NO_ROW);
    });
    return rows;
  }

  /** The row of a whole address, or {@link NO_ROW}; `claims` as above, but not for shorter prefixes. */
  rowOfAddress(address: Uint8Array, { claims = false } = {}): number {
    const { hash1, hash2 } = this.#walk(address);
    return this.#prefixes?.row(hash1, hash2, claims) ?? NO_ROW;
  }

  /** Assigns an address a node for coordinates. @returns The node, or `NO_ROW` if none is free. */
  claimNode(address: Uint8Array): number {
    return this.nodeOf(address, { claims: true });
  }

  /** Looks up the node of an address, or `NO_ROW`; `claims` as above. */
  nodeOf(address: Uint8Array, { claims = false } = {}): number {
    const { hash1, hash2 } = this.#walk(address);
    return this.coordinates?.node(hash1, hash2, claims) ?? NO_ROW;
  }

  /** Looks up the row of a pair, equal in both directions, or {@link NO_ROW}; `claims` as above. */
  rowOfPair(source: Uint8Array, destination: Uint8Array, { claims = false } = {}): number {
    const { hash1, hash2 } = this.#pairHashes(this.#walk(source), this.#walk(destination));
    return this.#pairs?.row(hash1, hash2, claims) ?? NO_ROW;
  }

  /** @internal */
  prefixRow(state: AddressState, { isTraining, context }: RowUse): number {
    const { prefixVectors } = this.config;
    if (!this.#prefixes || !prefixVectors) return NO_ROW;
    const share = this.#shareOfPrefix(state, prefixVectors.dropShare);
    if (isTraining && isChosen(state.hash2, context, share)) {
      state.isDropped = true;
      state.isAllDropped = state.numBytes === 1;
    }
    return state.isDropped ? NO_ROW : this.#prefixes.row(state.hash1, state.hash2);
  }

  /**
   * Share of the contexts in which a prefix is the first one hidden. Without places each prefix is equally
   * likely to be the first; `dropShare` is the probability that any is hidden. With places each step of the
   * path and each prefix is equally likely; if it is a step, hiding starts with the first prefix.
   */
  #shareOfPrefix({ length, numBytes }: AddressState, dropShare: number): number {
    const { places } = this.config;
    if (!places) return 1 - (1 - dropShare) ** (1 / length);
    return places.dropShare * (numBytes === 1 ? NUM_PATH_STEPS + 1 : 1) / (NUM_PATH_STEPS + length);
  }

  #placeRows(source: AddressState, destination: AddressState, { isTraining, context }: RowUse): number[] {
    if (!this.#places || !this.#prefixes) return [];
    const prefixes = this.#prefixes;
    const paths = [source, destination].map((state) => this.#pathOf(state));
    const rows = new Array<number>(NUM_PLACE_ROWS).fill(NO_ROW);
    [source, destination].forEach((state, end) => {
      const numVisible = this.#numVisible(state, { isTraining, context });
      for (let step = 0; step < numVisible; step++) {
        const key = paths[end].steps[step];
        if (key) rows[end * NUM_PATH_STEPS + step] = prefixes.row(key.hash1, key.hash2);
      }
    });
    pairKeysOf(this.#seed, paths[0], paths[1]).forEach((key, i) => {
      const isHidden = i < NUM_HIDEABLE && key && isTraining &&
        isChosen(key.hash2, context, this.config.places?.dropShare ?? 0);
      if (key && !isHidden) rows[2 * NUM_PATH_STEPS + i] = prefixes.row(key.hash1, key.hash2);
    });
    return rows;
  }

  /** Looks up the path of an address; of a misplaced address only its AS. */
  #pathOf(address: AddressState): PlacePath {
    const known = this.#paths.get(address.hash1);
    if (known?.hash2 === address.hash2) return known.path;
    const path = pathOf(this.#seed, this.#placeOf(address) ?? NOWHERE);
    if (this.#paths.size === MAX_PATHS) this.#paths.clear();
    this.#paths.set(address.hash1, { hash2: address.hash2, path });
    return path;
  }

  /** Finds the node of the address's most specific place with coordinates, or `NO_ROW`. */
  #placeNode(state: AddressState, use: Pick<RowUse, "isTraining" | "context">): number {
    const { coordinates } = this;
    const { steps } = this.#pathOf(state);
    const numVisible = this.#numVisible(state, use);
    for (const step of NODE_STEPS) {
      const key = steps[step];
      if (!key || step >= numVisible || !coordinates) continue;
      const node = coordinates.node(key.hash1, key.hash2);
      if (coordinates.hasCoordinates(node)) return node;
    }
    return NO_ROW;
  }

  /** Number of steps of a path that training does not hide. */
  #numVisible(
    { isAllDropped, hash2 }: AddressState,
    { isTraining, context }: Pick<RowUse, "isTraining" | "context">,
  ): number {
    return isTraining && isAllDropped ? mix(~hash2 ^ context) % (NUM_PATH_STEPS + 1) : NUM_PATH_STEPS;
  }

  #claimPlaces(source: Uint8Array, destination: Uint8Array): void {
    if (!this.#places) return;
    const paths = [source, destination].map((address) => this.#pathOf(this.#walk(address)));
    const keys = [...paths.flatMap(({ steps }) => steps), ...pairKeysOf(this.#seed, paths[0], paths[1])];
    for (const key of keys) if (key) this.#prefixes?.row(key.hash1, key.hash2, true);
  }

  /** Undefined if the model has no table of places. */
  get places(): PlaceTable | undefined {
    return this.#places;
  }

  /** The rows of an address's places, from general to specific, some `NO_ROW`; empty without places. */
  rowsOfPlaces(address: Uint8Array): number[] {
    return this.#stepsOf(address).map((key) =>
      key && this.#prefixes ? this.#prefixes.row(key.hash1, key.hash2) : NO_ROW
    );
  }

  /** The node that stands for an address without coordinates; undefined if its place has none. */
  nodeOfPlace(address: Uint8Array): number | undefined {
    const node = this.#placeNode(this.#walk(address), INFERENCE);
    return node === NO_ROW ? undefined : node;
  }

  /** The nodes of an address's places, ordered as in {@link rowsOfPlaces}; `claims` as above. */
  nodesOfPlaces(address: Uint8Array, { claims = false } = {}): number[] {
    return this.#stepsOf(address).map((key) =>
      key ? this.coordinates?.node(key.hash1, key.hash2, claims) ?? NO_ROW : NO_ROW
    );
  }

  #stepsOf(address: Uint8Array): readonly (Hashes | undefined)[] {
    return this.#places ? this.#pathOf(this.#walk(address)).steps : [];
  }

  /** The place of an address; only its AS if the place is known to be wrong. Undefined without places. */
  placeOf(address: Uint8Array): LocatedPlace | undefined {
    return this.#placeOf(this.#walk(address));
  }

  #placeOf(address: AddressState): LocatedPlace | undefined {
    const found = this.#places?.locate(address.number, address.length);
    return found && this.#isMisplaced(address) ? { ...NOWHERE, asNumber: found.asNumber } : found;
  }

  /** Whether an address is known to be misplaced. @param options `claims`: marks it as misplaced. */
  isMisplaced(address: Uint8Array, { claims = false } = {}): boolean {
    if (claims) this.#paths.clear();
    return this.#isMisplaced(this.#walk(address), claims);
  }

  #isMisplaced(address: AddressState, claims = false): boolean {
    const key = misplacedKey(this.#seed, address);
    const row = this.#places && this.#prefixes?.row(key.hash1, key.hash2, claims);
    return row !== undefined && row !== NO_ROW;
  }

  /** RTT of light between two addresses' places, in ms; 0 if a place is unknown or known to be wrong. */
  floorMs(source: Uint8Array, destination: Uint8Array): number {
    const [a, b] = [source, destination].map((address) => this.placeOf(address)?.position);
    return a && b && this.#places ? lightFloorMs(a, b, this.#places.stepDegrees) : 0;
  }

  /** @internal The pair of two complete addresses. */
  pairOf(source: AddressState, destination: AddressState, use: RowUse): PairState {
    const { isTraining, context } = use;
    const { hash1, hash2 } = this.#pairHashes(source, destination);
    const share = this.pairDropShare;
    // One share of the contexts hides all data of the pair; another hides only its row.
    const [isUnknown, isRowDropped] = [hash1, hash2].map((hash) =>
      isTraining && isChosen(hash, context, share)
    );
    const isDropped = source.isDropped || destination.isDropped || isUnknown || isRowDropped;
    const row = isDropped ? NO_ROW : this.#pairs?.row(hash1, hash2) ?? NO_ROW;
    const placeRows = this.#placeRows(source, destination, use);
    return { hash1, hash2, source, destination, row, isUnknown, placeRows };
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

  /** @internal Estimates a pair's RTT by coordinates. Without its own, an address uses those of its place. */
  estimateOf(
    { hash1, source, destination }: Pick<PairState, "hash1" | "source" | "destination">,
    { isTraining, context }: RowUse,
  ): RttEstimate | undefined {
    const { coordinates } = this;
    if (!coordinates) return undefined;
    const ends = [source, destination];
    const isHidden = isTraining && isChosen(~hash1, context, coordinates.config.dropShare);
    const hidden = ends.map(({ isDropped }, i) =>
      isTraining && (isDropped || (isHidden && (hash1 & 1) === i))
    );
    const own = ends.map(({ hash1, hash2 }) => coordinates.node(hash1, hash2));
    if (!this.#places) return coordinates.estimate(own[0], own[1], { isTraining, hidden });
    const placed = ends.map((end, i) =>
      hidden[i] || !coordinates.hasCoordinates(own[i])
        ? this.#placeNode(end, { isTraining, context })
        : NO_ROW
    );
    const isPlaced = placed.map((node) => node !== NO_ROW);
    const [a, b] = own.map((node, i) => isPlaced[i] ? placed[i] : node);
    if (a === b) return coordinates.estimate(own[0], own[1], { isTraining, hidden });
    const estimate = coordinates.estimate(a, b, {
      isTraining,
      hidden: hidden.map((is, i) => is && !isPlaced[i]),
    });
    return estimate && { ...estimate, isOfBoth: estimate.isOfBoth && !isPlaced.includes(true) };
  }

  /** The estimate by coordinates used for an answer about two addresses; see {@link estimateOf}. */
  estimateBetween(source: Uint8Array, destination: Uint8Array): RttEstimate | undefined {
    const ends = { source: this.#walk(source), destination: this.#walk(destination) };
    return this.estimateOf({ hash1: 0, ...ends }, { isTraining: false, context: 0 });
  }

  /** @internal An address before its first byte. */
  begin(length: 4 | 16): AddressState {
    return beginAddress(this.#seed, length);
  }

  get #seed(): number {
    return this.config.prefixVectors?.seed ?? this.config.pairVectors?.seed ?? 0;
  }

  /** Hashes a pair with the pairs' seed; the hashes of addresses already contain the prefixes' seed. */
  #pairHashes(a: Hashes, b: Hashes): Hashes {
    const { prefixVectors, pairVectors } = this.config;
    const seed = prefixVectors && pairVectors ? pairVectors.seed - prefixVectors.seed : 0;
    return pairHashes(a, b, seed);
  }

  /** Reads the bytes of an address. @param visit Called after each byte. */
  #walk(address: Uint8Array, visit: (prefix: Hashes) => void = () => {}): AddressState {
    const state = this.begin(lengthOf(address));
    for (const byte of address) {
      advance(state, byte);
      visit(state);
    }
    return state;
  }
}

const INFERENCE: RowUse = { isTraining: false, context: 0 };
/** The first slots of a token are for its addresses and their pair, the others for selected rows. */
const NUM_OF_ADDRESSES = 3;
/** The last slots of a token are for places, if the model has any. */
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

  constructor(rows: AddressEmbeddings) {
    this.#rows = rows;
    this.#numRows = rows.shapes.rowsPerToken;
  }

  /** Copies the cursor. Complete addresses do not change and are shared. */
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

  /** @param rows Receives the token's `ModelShapes.rowsPerToken` rows from `at` on, some {@link NO_ROW}. */
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
    // The pair's own data are more informative than its endpoints; their rows learn from other pairs only.
    if (rows[at + 2] !== NO_ROW) return;
    if (!this.#known || "isOfBoth" in this.#known) {
      rows.set(this.#pair?.placeRows ?? [], at + FIRST_OF_PLACES);
    }
    if (this.#known && !isRough(this.#known)) return;
    if (source?.isWhole) rows[at] = source.row;
    if (destination?.isWhole) rows[at + 1] = destination.row;
  }
}

/** Whether the RTT is an estimate with only one known endpoint. */
function isRough(known: KnownRtt): boolean {
  return "isOfBoth" in known && !known.isOfBoth;
}
