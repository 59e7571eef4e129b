/**
 * The measurements of pairs that a checkpoint remembers: replies and losses, with their times. All are
 * remembered up to a limit. Beyond it the older half of a pair is thinned again and again, so that density
 * falls with age as in an exponential histogram (Datar, Gionis, Indyk, Motwani, "Maintaining Stream
 * Statistics over Sliding Windows", SIAM Journal on Computing 31, 2002).
 *
 * @module
 */
import { getOrMake, partitionPoint } from "../../base/collections.ts";
import { type TensorArray, tensorOf, type Tensors } from "../../base/safetensors_header.ts";
import { quantileOfSample } from "../../base/sample_statistics.ts";
import { isCanonicalRttCode } from "../../data/tokens/rtt_code.ts";
import type { TokenMeasurement } from "../../data/tokens/vocab_v2.ts";
import { type Hashes, hashesOf, keyOfHashes, pairHashes } from "../embedding_table.ts";
import { HashedRows } from "../hashed_rows.ts";
import { type Allowed, COUNT, HASHES, real, SHARE, type Tensor, TIME, whole } from "../possible_numbers.ts";
import { logOfCode } from "./kernel_mixture.ts";
import {
  fitShares,
  MAX_FITTED,
  NUM_KERNELS,
  NUM_SHARES,
  pairEvents,
  type PairMeasurements,
  USUAL_SHARES,
} from "./time_kernels.ts";

/** A pair's measurements, and what they say about the pair. */
export interface RememberedPair extends PairMeasurements {
  /** The shares of kernels in time; see `time_kernels.ts`. */
  readonly shares: Float64Array;
  /** The usual distance between successive RTTs, ln. */
  readonly spread: number;
}

/** What is usual over all pairs, for pairs with few measurements. */
export type UsualPair = Pick<RememberedPair, "shares" | "spread">;

const [LEAST_SPREAD, GREATEST_SPREAD] = [2 ** -11, 1];
const SPREAD = real(LEAST_SPREAD, GREATEST_SPREAD);
/** An RTT code, or 0 for no reply, plus 2^16 times the number of measurements that it represents. */
const MEASURED: Allowed = {
  ...whole(2 ** 16, 2 ** 32 - 1),
  wanted: "an RTT code or 0, plus 65,536 times a number of measurements",
  also: (value) => (value & 0xffff) === 0 || isCanonicalRttCode(value & 0xffff),
};
const MAX_COUNT = 2 ** 16 - 1;
/** Shares are stored as multiples of this, and divided by their sum. */
const SHARE_STEP = 1 / 255;

/** The name of a memory: of the training data, or of an adaptation. */
export type MemoryName = "pool" | "adapted";

export function memoryTensors(name: MemoryName) {
  return {
    pairs: [`${name}.pairs`, [...HASHES, COUNT], "U32"],
    measurements: [`${name}.measurements`, [TIME, MEASURED], "U32"],
    shares: [`${name}.pair_shares`, Array(NUM_SHARES).fill(whole(0, 255)), "U8"],
    spreads: [`${name}.pair_spreads`, [SPREAD]],
  } as const satisfies Record<string, Tensor>;
}

/** The shares of kernels over all pairs, then the spread. */
export const USUAL_PAIR: Tensor = ["pool.usual_pair", [...Array(NUM_SHARES).fill(SHARE), SPREAD]];

export function usualPairOf(tensors: Tensors): UsualPair {
  const numbers = Float64Array.from(tensorOf(tensors, USUAL_PAIR[0], "F32"));
  return { shares: numbers.subarray(0, NUM_SHARES), spread: numbers[NUM_SHARES] };
}

/** The remembered measurements of a checkpoint. */
export class PairMemory {
  readonly #pairs: HashedRows;
  readonly #measurements: Uint32Array;
  readonly #shares: Uint8Array;
  readonly #spreads: Float32Array;
  /** The time of the newest measurement, Unix seconds; 0 if there is none. */
  readonly newestS: number;

  constructor(tensors: Tensors, readonly name: MemoryName = "pool") {
    const { pairs, measurements, shares, spreads } = memoryTensors(name);
    this.#pairs = new HashedRows(tensorOf(tensors, pairs[0], "U32"), pairs[1].length);
    this.#measurements = tensorOf(tensors, measurements[0], "U32");
    this.#shares = tensorOf(tensors, shares[0], "U8");
    this.#spreads = tensorOf(tensors, spreads[0], "F32");
    let newestS = 0;
    for (let i = 0; i < this.#measurements.length; i += 2) newestS = Math.max(newestS, this.#measurements[i]);
    this.newestS = newestS;
  }

  /** The hashes of all pairs, in ascending order of their keys. */
  get pairs(): Hashes[] {
    return this.#pairs.hashes;
  }

  /** @param pair See `pairHashes`. */
  find(pair: Hashes): RememberedPair | undefined {
    const row = this.#pairs.find(pair);
    if (row < 0) return undefined;
    const first = this.#pairs.startOf(row, 0);
    const length = this.#pairs.countOf(row, 0);
    const found = {
      timesS: new Float64Array(length),
      codes: new Uint16Array(length),
      counts: new Float64Array(length),
    };
    for (let i = 0; i < length; i++) {
      const word = this.#measurements[2 * (first + i) + 1];
      found.timesS[i] = this.#measurements[2 * (first + i)];
      found.codes[i] = word & 0xffff;
      found.counts[i] = word >>> 16;
    }
    const shares = Float64Array.from(this.#shares.subarray(row * NUM_SHARES, (row + 1) * NUM_SHARES));
    for (let first = 0; first < NUM_SHARES; first += NUM_KERNELS) {
      const own = shares.subarray(first, first + NUM_KERNELS);
      const sum = own.reduce((a, b) => a + b, 0);
      own.forEach((share, k) => own[k] = share / sum);
    }
    return { ...found, shares, spread: this.#spreads[row] };
  }
}

/** The memories of a pool, the newest first: measurements of a pair in the first one replace others. */
export function memoriesOf(tensors: Tensors): PairMemory[] {
  const names = (["adapted", "pool"] as const).filter((name) => tensors.has(memoryTensors(name).pairs[0]));
  return names.map((name) => new PairMemory(tensors, name));
}

/** Finds a pair in the first memory that has it. @param pair See `pairHashes`. */
export function firstFound(memories: readonly PairMemory[], pair: Hashes): RememberedPair | undefined {
  for (const memory of memories) {
    const found = memory.find(pair);
    if (found) return found;
  }
  return undefined;
}

/** Measurements of a pair while they are collected, in any order. */
export class CollectedPair {
  readonly timesS: number[] = [];
  readonly codes: number[] = [];
  readonly counts: number[] = [];

  /** @param code An RTT code; 0 for no reply. */
  add(timeS: number, code: number, count = 1): void {
    this.timesS.push(timeS);
    this.codes.push(code);
    this.counts.push(count);
  }

  addAll({ timesS, codes, counts }: PairMeasurements): void {
    timesS.forEach((timeS, i) => this.add(timeS, codes[i], counts[i]));
  }

  get length(): number {
    return this.timesS.length;
  }

  /** The measurements, oldest first; equal times keep their order. */
  sorted(): PairMeasurements {
    const { timesS, codes, counts } = this;
    const order = Uint32Array.from(timesS.keys());
    if (timesS.some((timeS, i) => i > 0 && timeS < timesS[i - 1])) {
      order.sort((a, b) => timesS[a] - timesS[b] || a - b);
    }
    return {
      timesS: Float64Array.from(order, (i) => timesS[i]),
      codes: Uint16Array.from(order, (i) => codes[i]),
      counts: Float64Array.from(order, (i) => counts[i]),
    };
  }

  /** Merges neighbours in the older half until at most `most` measurements are left. */
  thin(most: number): void {
    while (this.length > Math.max(2, most)) {
      const { timesS, codes, counts } = this.sorted();
      const half = Math.ceil(timesS.length / 2);
      for (const list of [this.timesS, this.codes, this.counts]) list.length = 0;
      // A reply is merged with the next reply, a loss with the next loss.
      const waiting: (number | undefined)[] = [undefined, undefined];
      const add = (i: number, count: number) => this.add(timesS[i], codes[i], Math.min(MAX_COUNT, count));
      for (let i = 0; i < half; i++) {
        const kind = codes[i] > 0 ? 0 : 1;
        const before = waiting[kind];
        waiting[kind] = before === undefined ? i : undefined;
        // The earlier and the later one are kept in turn.
        if (before !== undefined) add(this.length % 2 === 0 ? before : i, counts[before] + counts[i]);
      }
      for (const i of waiting) if (i !== undefined) add(i, counts[i]);
      for (let i = half; i < timesS.length; i++) add(i, counts[i]);
      if (this.length >= timesS.length) return;
    }
  }
}

/** The size of the remembered measurements, MB of 10^6 bytes. */
export const DEFAULT_MEMORY_MB = 64;
/** Number of remembered measurements in a megabyte of 10^6 bytes. */
export const MEASUREMENTS_PER_MB: number = 1e6 / 8;
/** Pairs whose middle half of RTTs spans less than this, ln, and that lost nothing get a share of the room. */
const STEADY = 0.01;
const STEADY_SHARE = 1 / 4;

/** Thins pairs to a total size; pairs with few measurements keep all. */
export function thinToSize(pairs: readonly CollectedPair[], megabytes: number): void {
  const most = megabytes * MEASUREMENTS_PER_MB;
  const total = pairs.reduce((sum, { length }) => sum + length, 0);
  if (total <= most) return;
  const shares = pairs.map((pair) => isSteady(pair) ? STEADY_SHARE : 1);
  const limitOf = (limit: number, i: number) => Math.max(2, Math.floor(limit * shares[i]));
  const limit = partitionPoint(
    total,
    (limit) => pairs.reduce((sum, { length }, i) => sum + Math.min(length, limitOf(limit, i)), 0) > most,
  );
  pairs.forEach((pair, i) => pair.thin(limitOf(Math.max(0, limit - 1), i)));
}

function isSteady({ codes }: CollectedPair): boolean {
  const replies = Uint16Array.from(codes.filter((code) => code > 0)).sort();
  const at = (q: number) => logOfCode(replies[Math.floor(q * replies.length)]);
  return replies.length === codes.length && at(0.75) - at(0.25) < STEADY;
}

/** How many pairs, and how many measurements of each, the shares of all pairs are fitted to. */
const MAX_USUAL_PAIRS = 2000;
const MAX_USUAL_PREDICTED = 20;
const LEAST_USUAL_MEASUREMENTS = 8;
/** How many measurements the usual shares count as. */
const USUAL_WORTH = 30;
/** How many RTTs the usual spread counts as. */
const SPREAD_WORTH = 3;
/** Before any measurement. */
const USUAL_SPREAD = 2 ** -7;

/** Learns what is usual from a sample of the pairs. */
export function usualPair(pairs: readonly PairMeasurements[]): UsualPair {
  const often = pairs.filter(({ timesS }) => timesS.length >= LEAST_USUAL_MEASUREMENTS);
  const stride = Math.max(1, Math.ceil(often.length / MAX_USUAL_PAIRS));
  const sample = often.filter((_, i) => i % stride === 0);
  const events: { masses: number[]; counts: number[] }[] = [];
  for (const pair of sample) {
    pairEvents(pair, MAX_USUAL_PREDICTED).forEach(({ masses, counts }, set) => {
      const all = events[set] ??= { masses: [], counts: [] };
      for (const mass of masses) all.masses.push(mass);
      for (const count of counts) all.counts.push(count);
    });
  }
  const spreads = sample.flatMap((pair) => spreadOf(pair) ?? []);
  return {
    shares: fitShares(events, USUAL_SHARES, { measurements: USUAL_WORTH }),
    spread: spreads.length > 0 ? quantileOfSample(spreads, 0.5) : USUAL_SPREAD,
  };
}

/** The median distance between successive RTTs of a pair, ln; undefined with fewer than two. */
function spreadOf({ codes }: PairMeasurements): number | undefined {
  const logs = Float64Array.from(codes.filter((code) => code > 0), logOfCode);
  if (logs.length < 2) return undefined;
  const distances = logs.subarray(1).map((log, i) => Math.abs(log - logs[i]));
  return withinBounds(quantileOfSample(distances, 0.5));
}

function withinBounds(spread: number): number {
  return Math.min(GREATEST_SPREAD, Math.max(LEAST_SPREAD, spread));
}

/** What a pair's measurements say about it, beside what is usual. @param most See `pairEvents`. */
function learnedOf(pair: PairMeasurements, usual: UsualPair, most: number): UsualPair {
  const numReplies = pair.codes.reduce((sum, code) => sum + (code > 0 ? 1 : 0), 0);
  const own = spreadOf(pair) ?? usual.spread;
  const logs = (numReplies * Math.log(own) + SPREAD_WORTH * Math.log(usual.spread)) /
    (numReplies + SPREAD_WORTH);
  return {
    shares: fitShares(pairEvents(pair, most), usual.shares, { isPair: true }),
    spread: withinBounds(Math.exp(logs)),
  };
}

/** Predictions of measurements from others that the fit of all pairs may take, about a minute. */
const MAX_WORK = 2e9;
const [LEAST_PREDICTED, MAX_PREDICTED] = [8, 320];

type KeptPair = PairMeasurements & { readonly hashes: Hashes };

/** The tensors of a memory. @param pairs In ascending order of the keys of their hashes. */
export function saveMemory(
  name: MemoryName,
  pairs: readonly KeptPair[],
  usual: UsualPair,
): Map<string, TensorArray> {
  const fitted = pairs.reduce((sum, { timesS }) => sum + Math.min(MAX_FITTED, timesS.length), 0);
  const affordable = Math.floor(MAX_WORK / NUM_SHARES / Math.max(1, fitted));
  const most = Math.max(LEAST_PREDICTED, Math.min(MAX_PREDICTED, affordable));
  const shares = new Uint8Array(NUM_SHARES * pairs.length);
  const spreads = new Float32Array(pairs.length);
  pairs.forEach((pair, row) => {
    const learned = learnedOf(pair, usual, most);
    shares.set(learned.shares.map((share) => Math.round(share / SHARE_STEP)), row * NUM_SHARES);
    spreads[row] = learned.spread;
  });
  const tensors = memoryTensors(name);
  return measuredTensors(name, pairs).set(tensors.shares[0], shares).set(tensors.spreads[0], spreads);
}

function measuredTensors(name: MemoryName, pairs: readonly KeptPair[]): Map<string, TensorArray> {
  const measurements = new Uint32Array(2 * pairs.reduce((sum, { timesS }) => sum + timesS.length, 0));
  let end = 0;
  for (const { timesS, codes, counts } of pairs) {
    timesS.forEach((timeS, i) => {
      measurements[end++] = timeS;
      measurements[end++] = codes[i] + 2 ** 16 * counts[i];
    });
  }
  const ofPairs = pairs.flatMap(({ hashes, timesS }) => [hashes.hash1, hashes.hash2, timesS.length]);
  const tensors = memoryTensors(name);
  return new Map<string, TensorArray>([
    [tensors.pairs[0], Uint32Array.from(ofPairs)],
    [tensors.measurements[0], measurements],
  ]);
}

/** The same pool with smaller memories. */
export function withSmallerMemory(pool: Tensors, megabytes: number): Tensors {
  const smaller = memoriesOf(pool).flatMap((memory) => {
    const pairs = memory.pairs.map((hashes) => ({ hashes, own: new CollectedPair() }));
    for (const { hashes, own } of pairs) {
      const found = memory.find(hashes);
      if (found) own.addAll(found);
    }
    thinToSize(pairs.map(({ own }) => own), megabytes);
    return [...measuredTensors(memory.name, pairs.map(({ hashes, own }) => ({ hashes, ...own.sorted() })))];
  });
  return new Map([...pool, ...smaller]);
}

/**
 * Remembers measurements in addition, in a memory of the adaptation. A pair in it has all its measurements.
 *
 * @param pool The tensors of a pool. @param given Those without a time count as the newest of all.
 */
export function withMeasurements(
  pool: Tensors,
  given: readonly TokenMeasurement[],
  megabytes = DEFAULT_MEMORY_MB,
): Tensors {
  const memories = memoriesOf(pool);
  const newestS = given.reduce(
    (newest, { timeS }) => Math.max(newest, timeS ?? 0),
    Math.max(...memories.map(({ newestS }) => newestS)),
  );
  const numberOf = (timeS: number, code: number) => 2 ** 16 * timeS + code;
  const pairs = new Map<number, { hashes: Hashes; own: CollectedPair; seen: Set<number> }>();
  const pairOf = (hashes: Hashes) =>
    getOrMake(pairs, keyOfHashes(hashes), () => {
      const own = new CollectedPair();
      const found = firstFound(memories, hashes);
      if (found) own.addAll(found);
      return { hashes, own, seen: new Set(own.timesS.map((timeS, i) => numberOf(timeS, own.codes[i]))) };
    });
  if (memories.length > 1) memories[0].pairs.forEach(pairOf);
  for (const { source, destination, timeS, rttCode } of given) {
    const { own, seen } = pairOf(pairHashes(hashesOf(source), hashesOf(destination), 0));
    const code = rttCode ?? 0;
    if (timeS !== null && seen.has(numberOf(timeS, code))) continue;
    own.add(timeS ?? newestS, code);
    if (timeS !== null) seen.add(numberOf(timeS, code));
  }
  const sorted = [...pairs].sort(([a], [b]) => a - b).map(([, pair]) => pair);
  thinToSize(sorted.map(({ own }) => own), megabytes);
  const measured = sorted.map(({ hashes, own }) => ({ hashes, ...own.sorted() }));
  return new Map([...pool, ...saveMemory("adapted", measured, usualPairOf(pool))]);
}

/** @returns The tensor {@link USUAL_PAIR}. */
export function usualPairTensor({ shares, spread }: UsualPair): Float32Array {
  return Float32Array.of(...shares, spread);
}
