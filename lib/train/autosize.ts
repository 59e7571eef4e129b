/**
 * The sizes of tables, and the address embeddings and nodes assigned to the addresses and pairs of the
 * training data. Both follow from a survey that reads the training rows once. Coordinates are fitted to its
 * typical RTTs.
 *
 * @module
 */
import { getOrMake } from "../base/collections.ts";
import type { TensorArray } from "../base/safetensors_header.ts";
import type { ProbeRowSource } from "../data/loader/row_source.ts";
import { AddressCounts } from "../data/addresses/known_addresses.ts";
import { addressBytes, parseAddress } from "../data/addresses/ip.ts";
import { encodeRttCode } from "../data/tokens/rtt_code.ts";
import { NUM_HISTORY_RTTS } from "../data/tokens/rtt_history.ts";
import { AddressEmbeddings } from "../model/address_embeddings.ts";
import { NO_ROW } from "../model/embedding_table.ts";
import type { LocatedNode } from "../model/coordinates/coordinates.ts";
import type { ModelConfig, ModelShapes } from "../model/model_config.ts";
import { type AutosizeConfig, type RunConfig, tokensPerStep } from "./run_config.ts";
import type { RunPlaces } from "./run_places.ts";

/** Newest RTTs of a pair, both directions together. */
interface NewestRtts {
  readonly source: number;
  readonly destination: number;
  /** Oldest first, at most {@link NUM_HISTORY_RTTS}. */
  readonly codes: number[];
  /** Their Unix times, in seconds. */
  readonly timesS: number[];
}

/** Addresses are numbered from 0 to below this number. */
const MAX_ADDRESSES = 2 ** 24;

/** The addresses and pairs of training rows. A pair takes about 0.6 kB. */
export class DataSurvey {
  readonly counts: AddressCounts = new AddressCounts();
  numMeasurements = 0;
  /** By number, in order of first appearance. */
  readonly #addresses: Uint8Array[] = [];
  /** Source and destination of each directed pair, in order of first appearance. */
  readonly #pairs: number[] = [];
  readonly #newest: NewestRtts[] = [];
  readonly #typical = new TypicalRtts();

  private constructor() {}

  static of(source: ProbeRowSource): DataSurvey {
    const survey = new DataSurvey();
    survey.#read(source);
    return survey;
  }

  #read(source: ProbeRowSource): void {
    const { counts } = this;
    const idOf = new Map<string, number>();
    const countIds: number[] = [];
    const register = (text: string): number => {
      const known = idOf.get(text);
      if (known !== undefined) return known;
      const address = parseAddress(text);
      const id = address && this.#addresses.length < MAX_ADDRESSES ? this.#addresses.push(address) - 1 : -1;
      if (address && id >= 0) countIds.push(counts.id(address));
      idOf.set(text, id);
      return id;
    };
    const seen = new Set<number>();
    const newestOf = new Map<number, NewestRtts>();
    const secondCampaign = source.campaigns?.[1] ?? source.numRows;
    for (let index = 0; index < source.numRows; index++) {
      const { srcAddrs, dstAddrs, srcIndex, dstIndex, rttMs, eventTimeUs } = source.row(index);
      this.numMeasurements += rttMs.length;
      const [sources, destinations] = [srcAddrs, dstAddrs].map((texts) => texts.map(register));
      for (let i = 0; i < rttMs.length; i++) {
        const [from, to] = [sources[srcIndex[i]], destinations[dstIndex[i]]];
        if (from < 0 || to < 0) continue;
        const directed = from * MAX_ADDRESSES + to;
        if (!seen.has(directed)) {
          seen.add(directed);
          this.#pairs.push(from, to);
        }
        const timeS = Math.floor(eventTimeUs[i] / 1e6);
        counts.add(countIds[from], countIds[to], timeS);
        if (rttMs[i] < 0) continue;
        const key = Math.min(from, to) * MAX_ADDRESSES + Math.max(from, to);
        let newest = newestOf.get(key);
        if (!newest) {
          newest = { source: from, destination: to, codes: [], timesS: [] };
          newestOf.set(key, newest);
          this.#newest.push(newest);
        }
        const { codes, timesS } = newest;
        let at = codes.length;
        // Campaigns are in any order.
        while (index >= secondCampaign && at > 0 && timesS[at - 1] > timeS) at--;
        codes.splice(at, 0, encodeRttCode(rttMs[i]));
        timesS.splice(at, 0, timeS);
        if (codes.length > NUM_HISTORY_RTTS) [codes, timesS].forEach((each) => each.shift());
        this.#typical.add(from, to, rttMs[i]);
      }
    }
  }

  /** Assigns free rows and nodes to addresses and pairs, in order, and stores the pairs' newest RTTs. */
  claim(rows: AddressEmbeddings): ClaimedNodes {
    const addresses = this.#addresses;
    const nodes = addresses.map((address) => rows.claimNode(address));
    for (let i = 0; i < this.#pairs.length; i += 2) {
      rows.claim(addresses[this.#pairs[i]], addresses[this.#pairs[i + 1]]);
    }
    for (const { source, destination, codes, timesS } of this.#newest) {
      const pair = rows.rowOfPair(addresses[source], addresses[destination]);
      const timeS = timesS[timesS.length - 1];
      for (const rttCode of codes) rows.remember(pair, { rttCode, timeS });
    }
    const placeNodes = new Map<number, readonly number[]>();
    if (rows.config.places) {
      // After all addresses, which matter more.
      nodes.forEach((node, i) => {
        if (node !== NO_ROW) {
          placeNodes.set(
            node,
            rows.nodesOfPlaces(addresses[i], { claims: true }).filter((place) => place !== NO_ROW),
          );
        }
      });
    }
    return { typical: this.#typical.between(nodes), placeNodes };
  }
}

/** Typical RTTs between nodes in ms, the lower node first. */
interface TypicalPairs {
  a: Uint32Array;
  b: Uint32Array;
  rttMs: Float64Array;
}

interface ClaimedNodes {
  typical: TypicalPairs;
  /** Node of an address -> nodes of its places. */
  placeNodes: ReadonlyMap<number, readonly number[]>;
}

/** At most this many pairs are kept. A pair takes about 0.2 kB. */
const MAX_PAIRS = 2 ** 22;
/** A pair's typical RTT is the median of this many RTTs, spread evenly over all its measurements. */
const NUM_KEPT = 15;

interface KeptRtts {
  /** In ms; the first `count` are in use. */
  readonly rttsMs: Float32Array;
  count: number;
  /** One of this many measurements is kept. */
  stride: number;
  numSeen: number;
}

/** Collects the typical RTTs of pairs of numbers. */
class TypicalRtts {
  /** Key: the pair, the lower number first. */
  readonly #kept = new Map<number, KeptRtts>();

  /** Adds a measurement between two numbers, either of which may be `NO_ROW`. */
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

  /** The pairs whose numbers both have nodes: these nodes, and the median of the RTTs kept. */
  between(nodes: readonly number[]): TypicalPairs {
    const { a, b, rttMs } = this.#pairs();
    const kept = Array.from(a.keys()).filter((i) =>
      nodes[a[i]] !== NO_ROW && nodes[b[i]] !== NO_ROW && nodes[a[i]] !== nodes[b[i]]
    );
    const of = (least: (...pair: number[]) => number) =>
      Uint32Array.from(kept, (i) => least(nodes[a[i]], nodes[b[i]]));
    return { a: of(Math.min), b: of(Math.max), rttMs: Float64Array.from(kept, (i) => rttMs[i]) };
  }

  /** All pairs, the lower number first, with the median of the RTTs kept in ms. */
  #pairs(): TypicalPairs {
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

function thin(kept: KeptRtts): void {
  for (let i = 0; i < kept.count; i += 2) kept.rttsMs[i / 2] = kept.rttsMs[i];
  kept.count = Math.ceil(kept.count / 2);
  kept.stride *= 2;
}

/**
 * Lowers a configuration's steps and rows to what the data need, as its section `autosize` specifies. An
 * epoch reads each measurement once, at {@link TOKENS_PER_MEASUREMENT} tokens each. Rarely measured pairs get
 * no rows. The share of contexts that hide a pair is lowered so that each pair is hidden about once per
 * epoch: the model would memorise a pair that is hidden repeatedly through its addresses, and become
 * overconfident on unseen pairs.
 *
 * @param survey Survey of the training rows; only needed if the configuration has the section.
 * @param places Where addresses are, if the model has places.
 * @returns A function from the largest number of steps to the configuration.
 */
export function autosizer(
  config: RunConfig,
  survey: DataSurvey | undefined,
  places?: RunPlaces,
): (maxSteps: number) => RunConfig {
  const { autosize, train } = config;
  if (!autosize || !survey) {
    return (maxSteps) => ({ ...config, train: { ...train, steps: Math.min(train.steps, maxSteps) } });
  }
  const { model, perPair } = autosizedTables(config.model, { survey, places, autosize });
  return (maxSteps) => {
    const { steps, firstSteps } = autosizedSteps(config, survey.numMeasurements, maxSteps);
    const wanted = autosize.passes * stepsPerPass(config, survey.numMeasurements);
    // The first measurement of a pair is always unknown.
    const dropShare = Math.max(0, wanted / (firstSteps ?? steps) - 1) / (perPair - 1);
    const { pairVectors } = model;
    const hiding = pairVectors &&
      { ...pairVectors, dropShare: Math.min(pairVectors.dropShare, dropShare) };
    return {
      ...config,
      model: { ...model, pairVectors: hiding },
      train: { ...train, steps, firstSteps },
    };
  };
}

/**
 * The steps of a run, at most those of its configuration, and those after which it may end.
 *
 * @param numMeasurements In the training data.
 */
export function autosizedSteps(
  config: RunConfig,
  numMeasurements: number,
  maxSteps = Infinity,
): Pick<RunConfig["train"], "steps" | "firstSteps"> {
  const { autosize, train } = config;
  if (!autosize) return { steps: Math.min(train.steps, maxSteps), firstSteps: train.firstSteps };
  const stepsOf = (passes: number) => {
    const wanted = Math.ceil(passes * stepsPerPass(config, numMeasurements));
    return Math.min(train.steps, maxSteps, Math.max(MIN_STEPS, wanted));
  };
  const first = stepsOf(autosize.passes);
  const steps = Math.max(first, stepsOf(autosize.maxPasses ?? autosize.passes));
  return { steps, firstSteps: first < steps ? first : null };
}

function stepsPerPass(config: RunConfig, numMeasurements: number): number {
  return numMeasurements * TOKENS_PER_MEASUREMENT / tokensPerStep(config);
}

/** Tokens of an IPv4 measurement with a time gap, padding included. */
const TOKENS_PER_MEASUREMENT = 18;
/** With fewer steps a model learns nothing, however small the data. */
const MIN_STEPS = 50;
/**
 * Pairs measured less often than this on average get no rows: there is little to remember about each, and the
 * address embeddings would learn from fewer measurements.
 */
const MIN_MEASUREMENTS_PER_PAIR = 4;
/** Numbers of rows are multiples of this. */
const ROW_STEP = 64;

function autosizedTables(
  model: ModelConfig,
  { survey, places, autosize: { rowsPerKey, spareRows } }: {
    survey: DataSurvey;
    places: RunPlaces | undefined;
    autosize: AutosizeConfig;
  },
): { model: ModelConfig; perPair: number } {
  const rows = new AddressEmbeddings(model);
  if (rows.shapes.numAddressEmbeddings === 0) return { model, perPair: Infinity };
  if (places) claimMisplaced(rows, places);
  const { typical, placeNodes } = survey.claim(rows);
  const sized = (most: number, numOwned: number, share = 1 + spareRows) =>
    Math.min(most, ROW_STEP * Math.ceil(Math.max(1, rowsPerKey * numOwned * share) / ROW_STEP));
  const { prefixVectors, coordinates } = model;
  const { numPrefixes, numPairs } = rows;
  const perPair = survey.numMeasurements / numPairs;
  const pairVectors = perPair < MIN_MEASUREMENTS_PER_PAIR ? null : model.pairVectors;
  const rowsOf = (share?: number) => [
    prefixVectors ? sized(prefixVectors.rows, numPrefixes, share) : 0,
    pairVectors ? sized(pairVectors.rows, numPairs, share) : 0,
  ];
  // The needs of the data come first; spare rows share the rest.
  const room = maxRows(rows.shapes);
  const needed = shared(room, rowsOf(1));
  const spare = shared(room - needed[0] - needed[1], rowsOf().map((rows, i) => rows - needed[i]));
  const [prefixRows, pairRows] = needed.map((rows, i) => rows + spare[i]);
  const sizedModel = {
    ...model,
    prefixVectors: prefixVectors && { ...prefixVectors, rows: prefixRows },
    pairVectors: pairVectors && { ...pairVectors, rows: pairRows },
    coordinates: coordinates && {
      ...coordinates,
      nodes: sized(coordinates.nodes, rows.coordinates?.numNodes ?? 0),
      // Only addresses are fitted.
      rank: affordableRank(
        coordinates.rank,
        placeNodes.size || (rows.coordinates?.numNodes ?? 0),
        typical.rttMs.length,
      ),
    },
  };
  return { model: sizedModel, perPair };
}

/** Every adapter can bind a buffer of this size (WebGPU's default maxStorageBufferBindingSize). */
const MAX_TABLE_BYTES = 2 ** 27;

/** How many rows of prefixes and pairs fit into a buffer with those selected by RTT codes. */
function maxRows({ config, numSelectedRows }: ModelShapes): number {
  const rows = Math.floor(MAX_TABLE_BYTES / (4 * config.width)) - numSelectedRows;
  return ROW_STEP * Math.floor(rows / ROW_STEP);
}

/** Divides space between two kinds: each gets what it wants or, if both do not fit, at least half. */
function shared(room: number, [first, second]: number[]): [number, number] {
  const half = ROW_STEP * Math.floor(room / 2 / ROW_STEP);
  const ofFirst = Math.min(first, Math.max(half, room - second));
  return [ofFirst, Math.min(second, room - ofFirst)];
}

/** Cost of fitting coordinates, in multiplications per sweep over all nodes; half a minute on one core. */
const MAX_SWEEP_WORK = 1.6e8;

/** The largest rank up to `rank` within that cost. A sweep builds and solves each node's equations. */
function affordableRank(rank: number, numNodes: number, numPairs: number): number {
  const work = (rank: number) => numNodes * (rank + 1) ** 3 + 2 * numPairs * (rank + 1) ** 2;
  while (rank > 1 && work(rank) > MAX_SWEEP_WORK) rank--;
  return rank;
}

/**
 * Assigns free rows to the addresses and pairs of the data, in their order. Also stores the newest RTTs of
 * the pairs and fits coordinates.
 *
 * @param weights Keys and histories are added to those of an earlier run; coordinates are fitted to these
 *   data alone.
 * @param places Where addresses are, if the model has places.
 */
export function claimRows(
  config: ModelConfig,
  weights: Map<string, TensorArray>,
  survey: DataSurvey,
  places?: RunPlaces,
): void {
  const rows = new AddressEmbeddings(config);
  if (rows.shapes.numAddressEmbeddings === 0) return;
  rows.load(weights);
  if (places) claimMisplaced(rows, places);
  const { typical, placeNodes } = survey.claim(rows);
  rows.coordinates?.fit(typical);
  locatePlaces(rows, typical, placeNodes);
  rows.save(weights);
}

/** Places with fewer addresses get no coordinates, which would be those of a single host. */
const MIN_MEMBERS = 3;

/** Puts a node at each place, with the median RTTs of the place's addresses. */
function locatePlaces(
  { coordinates }: AddressEmbeddings,
  pairs: TypicalPairs,
  placeNodes: ReadonlyMap<number, readonly number[]>,
): void {
  if (!coordinates || placeNodes.size === 0) return;
  const members = new Map<number, Set<number>>();
  const rtts = new Map<number, Map<number, number[]>>();
  for (const [node, places] of placeNodes) {
    for (const place of places) getOrMake(members, place, () => new Set()).add(node);
  }
  pairs.rttMs.forEach((rttMs, i) => {
    for (const [own, other] of [[pairs.a[i], pairs.b[i]], [pairs.b[i], pairs.a[i]]]) {
      for (const place of placeNodes.get(own) ?? []) {
        getOrMake(getOrMake(rtts, place, () => new Map<number, number[]>()), other, () => []).push(rttMs);
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
    const found = coordinates.locate(known, { isPlace: true });
    if (found) located.set(place, found);
  }
  coordinates.put(located);
}

/** Sets the table of places, and which addresses it misplaces. */
function claimMisplaced(rows: AddressEmbeddings, { table, misplaced }: RunPlaces): void {
  rows.usePlaces(table);
  for (const { address } of misplaced) rows.isMisplaced(addressBytes(address), { claims: true });
}
