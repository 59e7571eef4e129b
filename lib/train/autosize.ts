/**
 * The address embeddings that the training data claim for their addresses and pairs, and the typical RTTs of pairs, to
 * which coordinates are fitted.
 *
 * @module
 */
import type { ProbeRowSource } from "../data/loader/row_source.ts";
import { AddressEmbeddings } from "../model/address_embeddings.ts";
import type { LocatedNode } from "../model/node_coordinates.ts";
import { type ModelConfig, modelShapes } from "../model/model_config.ts";
import { NO_ROW } from "../model/embedding_table.ts";
import { deriveConfig, type RunConfig } from "./run_config.ts";
import type { RunPlaces } from "./run_places.ts";
import type { AutosizeConfig } from "./schema.ts";
import { addressBytes, parseAddress } from "../data/addresses/ip.ts";
import { AddressCounts } from "../data/addresses/known_addresses.ts";
import { encodeRttCode } from "../data/tokens/rtt_code.ts";

/**
 * Lowers a configuration's steps and rows to what the data need, by its section `autosize`. A pass reads each measurement
 * once, at {@link TOKENS_PER_MEASUREMENT} tokens each. Pairs have no rows if they are measured seldom. The share of contexts
 * that hide a pair is lowered so that each pair is hidden about once a pass: a pair that is hidden again and again is
 * learned by heart through its addresses, and the model becomes overconfident on pairs that it has not seen.
 *
 * @param source The rows to train on. @param places Where addresses are, if the model has places.
 */
export function autosized(config: RunConfig, source: ProbeRowSource, places?: RunPlaces): RunConfig {
  const { autosize, train } = config;
  if (!autosize) return config;
  let numMeasurements = 0;
  for (let index = 0; index < source.numRows; index++) numMeasurements += source.numMeasurements(index);
  const stepsPerPass = numMeasurements * TOKENS_PER_MEASUREMENT / deriveConfig(config).tokensPerStep;
  const stepsOf = (passes: number) =>
    Math.min(train.steps, Math.max(MIN_STEPS, Math.ceil(passes * stepsPerPass)));
  const first = stepsOf(autosize.passes);
  const steps = Math.max(first, stepsOf(autosize.maxPasses ?? autosize.passes));
  const unknownPerPair = autosize.passes * stepsPerPass / first;
  const model = autosizedTables(config.model, { source, places, autosize, numMeasurements, unknownPerPair });
  return { ...config, model, train: { ...train, steps, firstSteps: first < steps ? first : null } };
}

/** Of an IPv4 measurement with a time gap, padding included. */
const TOKENS_PER_MEASUREMENT = 18;
/** Fewer steps teach a model nothing, however often they pass over the data. */
const MIN_STEPS = 50;
/**
 * Pairs have no rows if they are measured less often than this on average: there is little to remember of each, and the
 * address embeddings would learn from fewer measurements.
 */
const MIN_MEASUREMENTS_PER_PAIR = 4;
/** Numbers of rows are multiples of it. */
const ROW_STEP = 64;

function autosizedTables(
  model: ModelConfig,
  { source, places, autosize: { rowsPerKey, spareRows }, numMeasurements, unknownPerPair }: {
    source: ProbeRowSource;
    places: RunPlaces | undefined;
    autosize: AutosizeConfig;
    numMeasurements: number;
    /** How many of a pair's measurements may be hidden on average, in one pass. */
    unknownPerPair: number;
  },
): ModelConfig {
  if (modelShapes(model).numAddressEmbeddings === 0) return model;
  const rows = new AddressEmbeddings(model);
  if (places) claimMisplaced(rows, places);
  const { numPairs: numTypical, placeNodes } = rememberAll(rows, source);
  const sized = (most: number, numOwned: number, share = 1 + spareRows) =>
    Math.min(most, ROW_STEP * Math.ceil(Math.max(1, rowsPerKey * numOwned * share) / ROW_STEP));
  const { prefixVectors, coordinates } = model;
  const { numPrefixes, numPairs } = rows;
  const perPair = numMeasurements / numPairs;
  const pairVectors = perPair < MIN_MEASUREMENTS_PER_PAIR ? null : model.pairVectors;
  // The first measurement of a pair is unknown in any case.
  const dropShare = Math.max(0, unknownPerPair - 1) / (perPair - 1);
  const rowsOf = (share?: number) => [
    prefixVectors ? sized(prefixVectors.rows, numPrefixes, share) : 0,
    pairVectors ? sized(pairVectors.rows, numPairs, share) : 0,
  ];
  // What the data need comes first, spare rows share what is left.
  const needed = shared(maxRows(model), rowsOf(1));
  const spare = shared(maxRows(model) - needed[0] - needed[1], rowsOf().map((rows, i) => rows - needed[i]));
  const [prefixRows, pairRows] = needed.map((rows, i) => rows + spare[i]);
  return {
    ...model,
    prefixVectors: prefixVectors && { ...prefixVectors, rows: prefixRows },
    pairVectors: pairVectors && {
      ...pairVectors,
      rows: pairRows,
      dropShare: Math.min(pairVectors.dropShare, dropShare),
    },
    coordinates: coordinates && {
      ...coordinates,
      nodes: sized(coordinates.nodes, rows.coordinates?.numNodes ?? 0),
      // Places are not fitted.
      rank: affordableRank(
        coordinates.rank,
        placeNodes.size || (rows.coordinates?.numNodes ?? 0),
        numTypical,
      ),
    },
  };
}

/** Every adapter can bind a buffer of this size (WebGPU, the default of maxStorageBufferBindingSize). */
const MAX_TABLE_BYTES = 2 ** 27;

/** How many rows of prefixes and pairs fit into a buffer beside those that RTT codes select. */
function maxRows(model: ModelConfig): number {
  const rows = Math.floor(MAX_TABLE_BYTES / (4 * model.width)) - modelShapes(model).numSelectedRows;
  return ROW_STEP * Math.floor(rows / ROW_STEP);
}

/** Divides room between two kinds: each gets what it wants, or at least half of the room if both do not fit. */
function shared(room: number, [first, second]: number[]): [number, number] {
  const half = ROW_STEP * Math.floor(room / 2 / ROW_STEP);
  const ofFirst = Math.min(first, Math.max(half, room - second));
  return [ofFirst, Math.min(second, room - ofFirst)];
}

/** The cost of fitting coordinates, in multiplications of a sweep over all nodes; this takes half a minute of one core. */
const MAX_SWEEP_WORK = 1.6e8;

/** The largest rank up to `rank` at that cost. A sweep gathers and solves the equations of each node. */
function affordableRank(rank: number, numNodes: number, numPairs: number): number {
  const work = (rank: number) => numNodes * (rank + 1) ** 3 + 2 * numPairs * (rank + 1) ** 2;
  while (rank > 1 && work(rank) > MAX_SWEEP_WORK) rank--;
  return rank;
}

/**
 * Gives rows to all addresses and pairs of the data, in their order, as long as there are free ones. Also remembers the
 * newest RTTs of the pairs and fits coordinates.
 *
 * @param weights Keys and histories are updated: those of an earlier run stay. Coordinates are those of these data alone.
 * @param places Where addresses are, if the model has places.
 * @returns How often the addresses and pairs of the data were measured.
 */
export function claimRows(
  config: ModelConfig,
  weights: Map<string, Float32Array>,
  source: ProbeRowSource,
  places?: RunPlaces,
): AddressCounts {
  const counts = new AddressCounts();
  const rows = new AddressEmbeddings(config);
  rows.load(weights);
  if (places) claimMisplaced(rows, places);
  const typical = rememberAll(rows, source, counts);
  if (modelShapes(config).numAddressEmbeddings === 0) return counts;
  rows.coordinates?.fit(typical.pairs());
  locatePlaces(rows, typical.pairs(), typical.placeNodes);
  rows.save(weights);
  return counts;
}

/** A place needs so many addresses, lest its coordinates be those of one. */
const MIN_MEMBERS = 3;

/** Gives places coordinates: those of a node whose RTTs are the medians of its addresses'. */
function locatePlaces(
  { coordinates }: AddressEmbeddings,
  pairs: { a: Uint32Array; b: Uint32Array; rttMs: Float64Array },
  placeNodes: ReadonlyMap<number, readonly number[]>,
): void {
  if (!coordinates || placeNodes.size === 0) return;
  const members = new Map<number, Set<number>>();
  const rtts = new Map<number, Map<number, number[]>>();
  for (const [node, places] of placeNodes) {
    for (const place of places) members.set(place, (members.get(place) ?? new Set()).add(node));
  }
  pairs.rttMs.forEach((rttMs, i) => {
    for (const [own, other] of [[pairs.a[i], pairs.b[i]], [pairs.b[i], pairs.a[i]]]) {
      for (const place of placeNodes.get(own) ?? []) {
        const ofPlace = rtts.get(place) ?? new Map<number, number[]>();
        rtts.set(place, ofPlace);
        ofPlace.set(other, [...ofPlace.get(other) ?? [], rttMs]);
      }
    }
  });
  const located = new Map<number, LocatedNode>();
  for (const [place, ofPlace] of rtts) {
    if ((members.get(place)?.size ?? 0) < MIN_MEMBERS) continue;
    const known = [...ofPlace].map(([node, all]) => ({
      node,
      rttMs: all.sort((x, y) => x - y)[(all.length - 1) >> 1],
    }));
    const found = coordinates.locate(known, new Set());
    if (found) located.set(place, found);
  }
  coordinates.put(located);
}

/** Sets the table of places, and which of them are wrong. */
function claimMisplaced(rows: AddressEmbeddings, { numbers, misplaced }: RunPlaces): void {
  rows.usePlaces(numbers);
  for (const { address } of misplaced) rows.isMisplaced(addressBytes(address), { claims: true });
}

function rememberAll(rows: AddressEmbeddings, source: ProbeRowSource, counts?: AddressCounts): TypicalRtts {
  const typical = new TypicalRtts();
  const addressOf = new Map<number, Uint8Array>();
  for (let index = 0; index < source.numRows; index++) {
    const { srcAddrs, dstAddrs, srcIndex, dstIndex, rttMs, eventTimeUs } = source.row(index);
    const [sources, destinations] = [srcAddrs, dstAddrs].map((texts) => texts.map(parseAddress));
    const claimed = new Map<number, number>();
    const nodes = [sources, destinations].map((addresses) =>
      addresses.map((address) => address ? rows.claimNode(address) : NO_ROW)
    );
    const ids = counts &&
      [sources, destinations].map((addresses) =>
        addresses.map((address) => address ? counts.id(address) : -1)
      );
    if (rows.config.places) {
      [sources, destinations].forEach((addresses, side) =>
        addresses.forEach((address, i) => address && addressOf.set(nodes[side][i], address))
      );
    }
    srcIndex.forEach((src, i) => {
      const key = src * dstAddrs.length + dstIndex[i];
      const [from, to] = [sources[src], destinations[dstIndex[i]]];
      if (!from || !to) return;
      const pair = claimed.get(key) ?? rows.claim(from, to);
      claimed.set(key, pair);
      const timeS = Math.floor(eventTimeUs[i] / 1e6);
      if (ids) counts.add(ids[0][src], ids[1][dstIndex[i]], timeS);
      if (rttMs[i] < 0) return;
      rows.remember(pair, { rttCode: encodeRttCode(rttMs[i]), timeS });
      typical.add(nodes[0][src], nodes[1][dstIndex[i]], rttMs[i]);
    });
  }
  // After all addresses, which are worth more.
  addressOf.delete(NO_ROW);
  for (const [node, address] of addressOf) typical.placeNodes.set(node, rows.claimPlaceNodes(address));
  return typical;
}

/** The most pairs, some 0.2 kB each; further ones are left out. */
const MAX_PAIRS = 2 ** 22;
/** The typical RTT is the median of at most so many of a pair's RTTs, spread evenly over all of them. */
const NUM_KEPT = 15;

/** Some RTTs of a pair. */
interface KeptRtts {
  /** The first `count` are in use, ms. */
  readonly rttsMs: Float32Array;
  count: number;
  /** One of so many measurements is kept. */
  stride: number;
  numSeen: number;
}

/** Gathers the typical RTTs of pairs of nodes. */
export class TypicalRtts {
  /** For each node those of its places. */
  readonly placeNodes = new Map<number, readonly number[]>();
  /** By the pair, the lower node first. */
  readonly #kept = new Map<number, KeptRtts>();

  /** Adds a measurement between two nodes, `NO_ROW` for none. */
  add(a: number, b: number, rttMs: number): void {
    if (a === NO_ROW || b === NO_ROW || a === b) return;
    const key = Math.min(a, b) * 2 ** 24 + Math.max(a, b);
    let kept = this.#kept.get(key);
    if (!kept) {
      if (this.#kept.size === MAX_PAIRS) return;
      kept = { rttsMs: new Float32Array(NUM_KEPT), count: 0, stride: 1, numSeen: 0 };
      this.#kept.set(key, kept);
    }
    if (kept.numSeen++ % kept.stride !== 0) return;
    if (kept.count === NUM_KEPT) thin(kept);
    kept.rttsMs[kept.count++] = rttMs;
  }

  /** How many pairs have an RTT. */
  get numPairs(): number {
    return this.#kept.size;
  }

  /** The pairs, the lower node first, and the median of what was kept of each, ms. */
  pairs(): { a: Uint32Array; b: Uint32Array; rttMs: Float64Array } {
    const keys = [...this.#kept.keys()];
    return {
      a: Uint32Array.from(keys, (key) => Math.floor(key / 2 ** 24)),
      b: Uint32Array.from(keys, (key) => key % 2 ** 24),
      rttMs: Float64Array.from(
        this.#kept.values(),
        ({ rttsMs, count }) => rttsMs.slice(0, count).sort()[(count - 1) >> 1],
      ),
    };
  }
}

/** Keeps every second RTT. */
function thin(kept: KeptRtts): void {
  for (let i = 0; i < kept.count; i += 2) kept.rttsMs[i / 2] = kept.rttsMs[i];
  kept.count = Math.ceil(kept.count / 2);
  kept.stride *= 2;
}
