/**
 * What a pool remembers of the training data: the measurements of each pair, usual RTTs of each address, how
 * many measurements of each had no reply, a forest of the pairs, and vectors of addresses.
 *
 * @module
 */
import { evenlySpread, getOrMake } from "../../base/collections.ts";
import { RandomStream } from "../../base/random.ts";
import type { TensorArray, Tensors } from "../../base/safetensors_header.ts";
import { quantileOfSample } from "../../base/sample_statistics.ts";
import { formatAddress } from "../../data/addresses/ip.ts";
import { decodeRttCode } from "../../data/tokens/rtt_code.ts";
import { type Hashes, hashesOf, keyOfHashes, pairHashes } from "../embedding_table.ts";
import { type AgeCurve, ageTensor, USUAL_AGE } from "./age.ts";
import { type AgeCase, fitAge } from "./age_fit.ts";
import type { Tensor } from "../possible_numbers.ts";
import type { LearnOptions, PlaceOf } from "./forecast.ts";
import { MEMORIES, namedWeights, type PoolWeights } from "./forecasts.ts";
import { CollectedIdentities } from "./identities.ts";
import { AskedPair } from "./asked_pair.ts";
import { fitFailures } from "./no_reply.ts";
import {
  CollectedPair,
  DEFAULT_MEMORY_MB,
  MEASUREMENTS_PER_MB,
  saveMemory,
  thinToSize,
  USUAL_PAIR,
  type UsualPair,
  usualPair,
  usualPairTensor,
} from "./pair_memory.ts";
import type { PairMeasurements } from "./time_kernels.ts";
import { POOL_TENSORS, rangeAround } from "./pool.ts";

const MAX_PAIRS = 2 ** 19;
/** Maximum number of usual RTTs kept per address and role, and over all pairs. */
const MAX_USUAL = 12;
const MAX_ALL = 32;

/** Maximum number of RTTs of a pair that the forest and the vectors learn from. */
const MAX_LEARNED_RTTS = 32;

/** Maximum of results to learn ageing from, in total and per pair; minimum of RTTs of such a pair. */
const MAX_AGED = 3000;
const MAX_AGED_OF_PAIR = 8;
const MIN_AGED_RTTS = 4;

interface PoolEnd {
  readonly name: string;
  readonly hashes: Hashes;
}

interface KeptPair {
  readonly hashes: Hashes;
  readonly ends: readonly [PoolEnd, PoolEnd];
  /** By the first endpoint, and by the second: measurements, and those without a reply. */
  readonly measured: [number, number];
  readonly failed: [number, number];
  readonly own: CollectedPair;
}

export interface PoolTableOptions extends Partial<Omit<LearnOptions, "placeOf">> {
  readonly memoryMb?: number | undefined;
}

/** Collects the tables from measurements. */
export class PoolTables {
  /** Which addresses are the same host. */
  readonly identities: CollectedIdentities = new CollectedIdentities();
  readonly #pairs = new Map<number, KeptPair>();
  #least = Infinity;
  #greatest = 0;
  #numCollected = 0;
  #learned: Tensors | undefined;
  #remembered: Tensors | undefined;

  /**
   * @param placeOf The places of addresses, which the forest uses.
   * @param options `memoryMb`: the size of the remembered measurements; twice as many are collected.
   *   `onProgress`: called while something is learned from the pairs.
   */
  constructor(
    readonly placeOf: PlaceOf = () => undefined,
    { seed = 0, memoryMb = DEFAULT_MEMORY_MB, onProgress }: PoolTableOptions = {},
  ) {
    this.seed = seed;
    this.onProgress = onProgress;
    this.#memoryMb = memoryMb;
  }

  readonly seed: number;
  readonly onProgress: LearnOptions["onProgress"];
  readonly #memoryMb: number;

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
      own: new CollectedPair(),
    }));
    const from = pair.ends[0].name === source.name ? 0 : 1;
    pair.measured[from]++;
    pair.own.add(timeS, rttCode ?? 0);
    if (++this.#numCollected > 2 * this.#memoryMb * MEASUREMENTS_PER_MB) this.#thin();
    if (rttCode === null) pair.failed[from]++;
    else {
      this.#least = Math.min(this.#least, rttCode);
      this.#greatest = Math.max(this.#greatest, rttCode);
    }
  }

  #thin(): void {
    const pairs = [...this.#pairs.values()].map(({ own }) => own);
    thinToSize(pairs, this.#memoryMb);
    this.#numCollected = pairs.reduce((sum, { length }) => sum + length, 0);
  }

  get isEmpty(): boolean {
    return this.#greatest === 0;
  }

  /** The tensors of a pool. @param weights See `fitPool`. @param failureWeights See `fitFailures`. */
  save(weights: PoolWeights, failureWeights: Float64Array = fitFailures([])): Map<string, TensorArray> {
    const measured = [...this.#pairs].sort(([a], [b]) => a - b).map(([, pair]) => pair);
    const pairs = measured.filter(({ measured, failed }) => sumOf(measured) > sumOf(failed));
    const medians = pairs.map(({ own }) => quantileOfSample(repliesOf(own), 0.5));
    const ends = this.#ends(pairs, medians);
    const values = {
      range: rangeAround(this.#least, this.#greatest),
      ends: ends.flatMap((
        { hashes, usual },
      ) => [hashes.hash1, hashes.hash2, ...usual.map(({ length }) => length)]),
      usual: ends.flatMap(({ usual }) => usual.flat()),
      all: quantilesOf(medians, MAX_ALL),
      failureWeights,
      endTries: triesOfEnds(measured).flatMap(({ hashes, tries }) => [hashes.hash1, hashes.hash2, ...tries]),
    };
    const saved = Object.entries(values).map(([part, numbers]) => {
      const [name, , type]: Tensor = POOL_TENSORS[part as keyof typeof values];
      return [name, type === "U32" ? Uint32Array.from(numbers) : Float32Array.from(numbers)] as const;
    });
    return new Map([
      ...namedWeights(weights),
      ...saved,
      ...this.identities.save(),
      ...this.#remembered ??= this.#remember(measured),
      ...this.#learned ??= this.#learn(),
    ]);
  }

  /** The measurements of pairs, what is learned from them, and how RTTs age. */
  #remember(measured: readonly KeptPair[]): Tensors {
    this.#thin();
    const pairs = measured.map(({ hashes, own }) => ({ hashes, ...own.sorted() }));
    const usual = usualPair(pairs);
    const age = this.#ageCurve(pairs, usual);
    return new Map<string, TensorArray>([
      ...saveMemory("pool", pairs, usual),
      [USUAL_PAIR[0], usualPairTensor(usual)],
      [POOL_TENSORS.age[0], ageTensor(age)],
    ]);
  }

  /** What forecasts learn from the pairs. */
  #learn(): Tensors {
    const pairs = [...this.#pairs.values()].flatMap(({ ends, measured, failed, own }) =>
      [0, 1].filter((from) => measured[from] > failed[from]).map((from) => {
        const [source, destination] = [ends[from], ends[1 - from]];
        return {
          source: source.name,
          destination: destination.name,
          hashes: [source.hashes, destination.hashes] as const,
          // Evaluated lazily, because only a sample of very many pairs is learned.
          get rttsMs() {
            return evenlySpread(repliesOf(own), MAX_LEARNED_RTTS).map(decodeRttCode);
          },
        };
      })
    );
    return new Map([...MEMORIES].flatMap((memory) => [...memory.learn(pairs, this)]));
  }

  /** Fitted to later results of a sample of pairs, with the measurements before them. */
  #ageCurve(pairs: readonly PairMeasurements[], usual: UsualPair): AgeCurve {
    const often = pairs.flatMap((pair) => {
      const replies = [...pair.codes.keys()].filter((i) => pair.codes[i] > 0);
      return replies.length >= MIN_AGED_RTTS ? { pair, replies } : [];
    });
    const length = Math.min(MAX_AGED_OF_PAIR, Math.ceil(MAX_AGED / often.length));
    const cases = evenlySpread(often, MAX_AGED).flatMap(({ pair, replies }, number): AgeCase[] => {
      const random = new RandomStream(this.seed, "pool/age", number);
      return Array.from({ length }, () => {
        const newest = 1 + random.below(replies.length - 2);
        const later = replies[newest + 1 + random.below(replies.length - newest - 1)];
        const end = replies[newest] + 1;
        const earlier = {
          ...usual,
          timesS: pair.timesS.subarray(0, end),
          codes: pair.codes.subarray(0, end),
          counts: pair.counts.subarray(0, end),
        };
        return { pair: new AskedPair(earlier, pair.timesS[later], USUAL_AGE), rttCode: pair.codes[later] };
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

function repliesOf({ codes }: CollectedPair): number[] {
  return codes.filter((code) => code > 0);
}

/** At most `most` evenly spaced quantiles, ascending. */
function quantilesOf(codes: readonly number[], most: number): number[] {
  return evenlySpread(codes.toSorted((a, b) => a - b), most);
}
