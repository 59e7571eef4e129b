/**
 * What a pool remembers of the training data: some RTTs of each pair, usual RTTs of each address, how many
 * measurements of each had no reply, a forest of the pairs, and vectors of addresses.
 *
 * @module
 */
import { getOrMake } from "../../base/collections.ts";
import { RandomStream } from "../../base/random.ts";
import type { TensorArray, Tensors } from "../../base/safetensors_header.ts";
import { quantileOfSample } from "../../base/sample_statistics.ts";
import { formatAddress } from "../../data/addresses/ip.ts";
import { decodeRttCode } from "../../data/tokens/rtt_code.ts";
import { type Hashes, hashesOf, keyOfHashes, pairHashes } from "../embedding_table.ts";
import { type AgeCurve, ageTensor } from "./age.ts";
import { type AgeCase, fitAge } from "./age_fit.ts";
import type { Tensor } from "../possible_numbers.ts";
import { MEMORIES, namedWeights } from "./forecasts.ts";
import { logOfCode } from "./kernel_mixture.ts";
import { fitFailures } from "./no_reply.ts";
import type { PlaceOf } from "./placed_pairs.ts";
import { POOL_TENSORS, rangeAround } from "./pool.ts";

/** Maximum number of RTTs kept per pair, and how many of them are the newest. */
const MAX_RTTS = 16;
const NUM_NEWEST = 4;
/** Maximum number of RTTs kept in total: 8 MB. */
const MAX_ALL_RTTS = 2 ** 20;
const MAX_PAIRS = 2 ** 19;
/** Maximum number of usual RTTs kept per address and role, and over all pairs. */
const MAX_USUAL = 12;
const MAX_ALL = 32;

/** Maximum of results to learn ageing from, in total and per pair; minimum of RTTs of such a pair. */
const MAX_AGED = 3000;
const MAX_AGED_OF_PAIR = 8;
const MIN_AGED_RTTS = 4;

interface Rtt {
  readonly rttCode: number;
  readonly timeS: number;
}

interface PoolEnd {
  readonly name: string;
  readonly hashes: Hashes;
}

/** Addresses hidden from memories, one of {@link NUM_FOLDS} parts. Role 0: sources, 1: destinations. */
export interface Fold {
  readonly role: 0 | 1;
  readonly number: number;
}
const NUM_FOLDS = 4;

/** The part that contains an address. */
export function partOf({ hash2 }: Hashes): number {
  return hash2 % NUM_FOLDS;
}

interface KeptPair {
  readonly hashes: Hashes;
  readonly ends: readonly [PoolEnd, PoolEnd];
  /** By the first endpoint, and by the second: measurements, and those without a reply. */
  readonly measured: [number, number];
  readonly failed: [number, number];
  /** Every `stride`th RTT, and the newest RTTs. */
  readonly spread: Rtt[];
  readonly newest: Rtt[];
  stride: number;
  count: number;
}

/** Collects the tables from measurements. Those of each source must be added in time order. */
export class PoolTables {
  readonly #pairs = new Map<number, KeptPair>();
  #least = Infinity;
  #greatest = 0;
  #learned: Tensors | undefined;
  #curve: AgeCurve | undefined;

  /** @param placeOf The places of addresses, which the forest uses. */
  constructor(readonly placeOf: PlaceOf = () => undefined, readonly seed = 0) {}

  static endOf(address: Uint8Array): PoolEnd {
    return { name: formatAddress(address), hashes: hashesOf(address) };
  }

  /** Adds a measurement. @param rttCode Null for no reply. @param timeS Unix seconds. */
  add(source: PoolEnd, destination: PoolEnd, rttCode: number | null, timeS: number): void {
    const hashes = pairHashes(source.hashes, destination.hashes, 0);
    const key = keyOfHashes(hashes);
    if (this.#pairs.size >= MAX_PAIRS && !this.#pairs.has(key)) return;
    const pair = getOrMake(this.#pairs, key, (): KeptPair => ({
      hashes,
      ends: [source, destination],
      measured: [0, 0],
      failed: [0, 0],
      spread: [],
      newest: [],
      stride: 1,
      count: 0,
    }));
    const from = pair.ends[0].name === source.name ? 0 : 1;
    pair.measured[from]++;
    if (rttCode === null) {
      pair.failed[from]++;
      return;
    }
    this.#least = Math.min(this.#least, rttCode);
    this.#greatest = Math.max(this.#greatest, rttCode);
    const rtt = { rttCode, timeS };
    pair.newest.push(rtt);
    if (pair.newest.length > NUM_NEWEST) pair.newest.shift();
    if (pair.count++ % pair.stride > 0) return;
    pair.spread.push(rtt);
    if (pair.spread.length < 2 * MAX_RTTS) return;
    pair.spread.splice(0, Infinity, ...pair.spread.filter((_, i) => i % 2 === 0));
    pair.stride *= 2;
  }

  get isEmpty(): boolean {
    return this.#greatest === 0;
  }

  /** The tensors of a pool. @param weights See `fitPool`. @param failureWeights See `fitFailures`. */
  save(weights: Float64Array, failureWeights: Float64Array = fitFailures([])): Map<string, TensorArray> {
    const measured = [...this.#pairs].sort(([a], [b]) => a - b).map(([, pair]) => pair);
    const pairs = measured.filter(({ count }) => count > 0);
    const most = Math.max(
      NUM_NEWEST,
      Math.min(MAX_RTTS, Math.floor(MAX_ALL_RTTS / Math.max(1, pairs.length))),
    );
    const rtts = pairs.map((pair) => chosenOf(pair, most));
    const medians = rtts.map((ofPair) => quantileOfSample(ofPair.map(({ rttCode }) => rttCode), 0.5));
    const ends = this.#ends(pairs, medians);
    const values: Record<keyof typeof POOL_TENSORS, ArrayLike<number>> = {
      range: rangeAround(this.#least, this.#greatest),
      pairs: pairs.flatMap(({ hashes }, i) => [hashes.hash1, hashes.hash2, rtts[i].length]),
      rtts: rtts.flatMap((ofPair) => ofPair.flatMap(({ rttCode, timeS }) => [rttCode, timeS])),
      ends: ends.flatMap((
        { hashes, usual },
      ) => [hashes.hash1, hashes.hash2, ...usual.map(({ length }) => length)]),
      usual: ends.flatMap(({ usual }) => usual.flat()),
      all: quantilesOf(medians, MAX_ALL),
      age: ageTensor(this.#curve ??= this.#ageCurve(pairs)),
      failureWeights,
      endTries: triesOfEnds(measured).flatMap(({ hashes, tries }) => [hashes.hash1, hashes.hash2, ...tries]),
      pairTries: measured.filter(({ failed }) => sumOf(failed) > 0)
        .flatMap((
          { hashes, measured, failed },
        ) => [hashes.hash1, hashes.hash2, sumOf(measured), sumOf(failed)]),
    };
    const parts = Object.entries(values) as [keyof typeof POOL_TENSORS, ArrayLike<number>][];
    const saved = parts.map(([part, numbers]) => {
      const [name, , type]: Tensor = POOL_TENSORS[part];
      return [name, type === "U32" ? Uint32Array.from(numbers) : Float32Array.from(numbers)] as const;
    });
    return new Map([...namedWeights(weights), ...saved, ...this.#learned ??= this.learned()]);
  }

  /** Learns what forecasts remember; with hidden addresses only what answers about unknown addresses. */
  learned(without?: Fold): Tensors {
    const pairs = [...this.#pairs.values()].flatMap(({ ends, measured, failed, spread }) =>
      [0, 1].filter((from) => measured[from] > failed[from]).map((from) => {
        const [source, destination] = [ends[from], ends[1 - from]];
        return {
          source: source.name,
          destination: destination.name,
          hashes: [source.hashes, destination.hashes] as const,
          // Evaluated lazily, because only a sample of very many pairs is learned.
          get rttsMs() {
            return spread.map(({ rttCode }) => decodeRttCode(rttCode));
          },
        };
      })
    ).filter(({ hashes }) => !without || partOf(hashes[without.role]) !== without.number);
    const memories = [...MEMORIES].filter(({ knowsUnknown }) => !without || knowsUnknown);
    return new Map(
      memories.flatMap((memory) => [...memory.learn(pairs, { ...this, earlier: this.#learned })]),
    );
  }

  /** Fitted to later results of a sample of pairs, with the earlier RTTs that would have been remembered. */
  #ageCurve(pairs: readonly KeptPair[]): AgeCurve {
    const often = pairs.filter(({ spread }) => spread.length >= MIN_AGED_RTTS);
    const length = Math.min(MAX_AGED_OF_PAIR, Math.ceil(MAX_AGED / often.length));
    const cases = evenlySpread(often, MAX_AGED).flatMap((pair, number): AgeCase[] => {
      const oldestFirst = chosenOf(pair, Infinity).reverse();
      const random = new RandomStream(this.seed, "pool/age", number);
      return Array.from({ length }, () => {
        const newest = 1 + random.below(oldestFirst.length - 2);
        const { rttCode, timeS } = oldestFirst[newest + 1 + random.below(oldestFirst.length - newest - 1)];
        const ofPair = oldestFirst.slice(Math.max(0, newest + 1 - MAX_RTTS), newest + 1).reverse()
          .map((rtt) => ({ log: logOfCode(rtt.rttCode), timeS: rtt.timeS, gapS: timeS - rtt.timeS }));
        return { ofPair, rttCode, ageS: timeS - oldestFirst[newest].timeS };
      });
    });
    return fitAge(cases, 1 / length);
  }

  #ends(pairs: readonly KeptPair[], medians: readonly number[]): { hashes: Hashes; usual: number[][] }[] {
    const ends = new Map<number, { hashes: Hashes; usual: number[][] }>();
    const add = ({ hashes }: PoolEnd, role: number, code: number) =>
      getOrMake(ends, keyOfHashes(hashes), () => ({ hashes, usual: [[], []] })).usual[role].push(code);
    pairs.forEach(({ ends, measured, failed }, i) =>
      [0, 1].filter((from) => measured[from] > failed[from]).forEach((from) => {
        add(ends[from], 0, medians[i]);
        add(ends[1 - from], 1, medians[i]);
      })
    );
    return [...ends].sort(([a], [b]) => a - b).map(([, { hashes, usual }]) => ({
      hashes,
      usual: usual.map((codes) => quantilesOf(codes, MAX_USUAL)),
    }));
  }
}

/** Counts measurements and failures of each address, as a source and as a destination. */
function triesOfEnds(pairs: readonly KeptPair[]): { hashes: Hashes; tries: number[] }[] {
  const ends = new Map<number, { hashes: Hashes; tries: number[] }>();
  for (const pair of pairs) {
    for (const from of [0, 1]) {
      [pair.ends[from], pair.ends[1 - from]].forEach(({ hashes }, role) => {
        const { tries } = getOrMake(ends, keyOfHashes(hashes), () => ({ hashes, tries: [0, 0, 0, 0] }));
        tries[2 * role] += pair.measured[from];
        tries[2 * role + 1] += pair.failed[from];
      });
    }
  }
  return [...ends].sort(([a], [b]) => a - b).map(([, end]) => end);
}

function sumOf([a, b]: readonly [number, number]): number {
  return a + b;
}

/** Chooses the newest RTTs of a pair and an even sample of the others, newest first. */
function chosenOf({ spread, newest }: KeptPair, most: number): Rtt[] {
  const others = spread.filter((rtt) => !newest.includes(rtt));
  return [...evenlySpread(others, most - newest.length), ...newest].sort((a, b) => b.timeS - a.timeS);
}

/** At most `most` of the values, evenly spaced. */
function evenlySpread<T>(values: readonly T[], most: number): T[] {
  const count = Math.min(values.length, most);
  return Array.from({ length: count }, (_, i) => values[Math.floor((i + 0.5) * values.length / count)]);
}

/** At most `most` evenly spaced quantiles, ascending. */
function quantilesOf(codes: readonly number[], most: number): number[] {
  return evenlySpread(codes.toSorted((a, b) => a - b), most);
}
