/**
 * The linear pool of a checkpoint. The distribution of an RTT is a mixture of the model's distribution and
 * simple forecasts, weighted by how much is known about the question (Gneiting, Ranjan, "Combining Predictive
 * Distributions", Electronic Journal of Statistics 7, 2013). The weights are fitted to the validation split
 * after training; see `lib/eval/fit_pool.ts`.
 *
 * @module
 */
import { equals } from "@std/bytes";
import { getOrMake, partitionPoint } from "../../base/collections.ts";
import { named } from "../../base/errors.ts";
import { tensorOf, type Tensors } from "../../base/safetensors_header.ts";
import { CANONICAL_RTT_CODES, decodeRttCode, encodeRttCode } from "../../data/tokens/rtt_code.ts";
import { addressBytes, formatAddress } from "../../data/addresses/ip.ts";
import type { TokenMeasurement } from "../../data/tokens/vocab_v2.ts";
import { AddressEmbeddings } from "../address_embeddings.ts";
import { type Hashes, hashesOf, keyOfHashes, NO_ROW, pairHashes } from "../embedding_table.ts";
import { type ModelConfig, PAIR_HISTORY } from "../model_config.ts";
import { HISTORY_LENGTH } from "../pair_history.ts";
import { CODE, COUNT, HASHES, SHARE, type Tensor, TIME, whole } from "../possible_numbers.ts";
import {
  AGE,
  type AgeCurve,
  ageCurveOf,
  type AgeShares,
  ageShares,
  changedKernels,
  spansOf,
  widenedKernels,
} from "./age.ts";
import { type KnownOfQuestion, MAX_PAIR_RTTS, type Memory } from "./forecast.ts";
import { EVEN, kernelsOf, MEMORIES, NUM_COMPONENTS, WEIGHT_TENSORS, weightsOf } from "./forecasts.ts";
import {
  indexFrom,
  indexOfCode,
  type Kernel,
  KernelMixture,
  logOfCode,
  NUM_CODES,
} from "./kernel_mixture.ts";
import {
  failureByNetwork,
  type FailureCase,
  failureKind,
  failureShare,
  type KnownTries,
  type Tried,
} from "./no_reply.ts";
import { eventsOf, type PoolCase } from "./pool_fit.ts";
import { kindOf, NUM_KINDS } from "./question_kinds.ts";

/** The tensors of a pool except its weights and forecasts; see lib/model/EXACT.md. */
export const POOL_TENSORS = {
  range: ["pool.range", [whole(0, NUM_CODES - 1), whole(1, NUM_CODES)], "U32"],
  pairs: ["pool.pairs", [...HASHES, COUNT], "U32"],
  rtts: ["pool.rtts", [CODE, TIME], "U32"],
  ends: ["pool.ends", [...HASHES, COUNT, COUNT], "U32"],
  usual: ["pool.usual", [CODE], "U32"],
  all: ["pool.all", [CODE], "U32"],
  age: AGE,
  failureWeights: ["pool.failure_weights", [SHARE]],
  endTries: ["pool.end_tries", [...HASHES, COUNT, COUNT, COUNT, COUNT], "U32"],
  pairTries: ["pool.pair_tries", [...HASHES, COUNT, COUNT], "U32"],
} as const satisfies Record<string, Tensor>;

export const POOL_COLUMNS: readonly Tensor[] = [
  ...WEIGHT_TENSORS,
  ...[POOL_TENSORS, ...[...MEMORIES].map(({ tensors }) => tensors)].flatMap(Object.values<Tensor>),
];

export function poolShapes(tensors: Tensors): Map<string, number[]> {
  return new Map(
    POOL_COLUMNS.map(([name, { length }]) => [name, [named(tensors, name).length / length, length]]),
  );
}

/** The probability that is spread over all codes for any weights: no measurement is impossible. */
const LEAST_MASS = 1e-6;

/** P(one of `numCodes` codes). @param mixed Their probability in the mixture of the components. */
export function pooledProbability(mixed: number, numCodes: number): number {
  return (1 - LEAST_MASS) * mixed + LEAST_MASS * numCodes / NUM_CODES;
}

/** Equal RTTs within this time are the same measurement, since its time may be rounded. */
const SAME_TIME_S = 2;

interface PooledQuestion {
  readonly source: Uint8Array;
  readonly destination: Uint8Array;
  /** Unix seconds; null for any time. */
  readonly timeS: number | null;
  /** The measurements in the model's prompt, oldest first. */
  readonly context: readonly TokenMeasurement[];
  /** See `RttQuery.recent`. If given, remembered RTTs later than the asked time are ignored. */
  readonly recent?: readonly TokenMeasurement[] | undefined;
}

interface LightFloor {
  /** The time that light needs between the places of the endpoints; 0 if a place is unknown. */
  readonly floorMs: number;
  /** An RTT of the pair that the pool does not know; null for none. */
  readonly rttCode: number | null;
  /** Whether the question is about places, so that no measurement can show that they are wrong. */
  readonly isOfPlaces: boolean;
}

/**
 * The mixture with the model's distribution: P(code) = modelShare P_model(code) + the mass of the simple
 * forecasts. `lib/query/rtt/rtt_bytes.ts` removes the codes before `begin`.
 */
export interface PooledForecast {
  /** The RTT of light in ms; 0 if it is not known, or if an RTT of the pair shows that a place is wrong. */
  readonly floorMs: number;
  /** The index of the first code that is not below the floor. */
  readonly begin: number;
  /** The weight of the model, whose codes count only before `end`. */
  readonly modelShare: number;
  /** The index of the first code that is too long, always the first code of its first byte. */
  readonly end: number;
  /** P(no reply). @param ofModel The model's probability. */
  failureProbability(ofModel: number): number;
  /** The probability that the simple forecasts assign to codes from index `first` to `end - 1`. */
  massBetween(first: number, end: number): number;
  /** Adds this probability for every code, or for those from `codes[0]` to before `codes[1]`. @param out (codes). */
  addTo(out: Float64Array, codes?: readonly [first: number, end: number]): void;
  /** Adds this probability for all codes of each first byte. @param out (first bytes). */
  addToFirstBytes(out: Float64Array): void;
}

type Recall = KnownOfQuestion["recall"];

export class Pool {
  readonly #tensors: Tensors;
  readonly #embeddings: AddressEmbeddings | undefined;
  readonly #history: Uint32Array | undefined;
  readonly #firstPair: number;
  /** Shape (kinds, components); the weights of each kind sum to 1. */
  readonly #weights: Float64Array;
  readonly #range: readonly [first: number, end: number];
  /** The end of the range if no RTT of the pair is known. */
  readonly #unknownEnd: number;
  /** The time of the newest remembered RTT. */
  readonly #newestS: number;
  readonly #age: AgeCurve;
  readonly #pairs: HashedRows;
  readonly #rtts: Uint32Array;
  readonly #ends: HashedRows;
  readonly #usual: Uint32Array;
  readonly #all: readonly number[];
  readonly #recall: Recall;
  readonly #failureWeights: Float32Array;
  readonly #endTries: HashedRows;
  readonly #pairTries: HashedRows;
  readonly #allTries: Tried;

  /**
   * @param tensors `weights`: the model's tensors; `pool`: the pool's, see {@link POOL_TENSORS}.
   * @throws {FormatError} If the pool was fitted by another version of the program.
   */
  constructor(
    readonly config: ModelConfig,
    { weights, pool }: Record<"weights" | "pool", Tensors>,
  ) {
    this.#tensors = pool;
    const floats = (part: "age" | "failureWeights") => tensorOf(pool, POOL_TENSORS[part][0], "F32");
    const words = (part: keyof typeof POOL_TENSORS) => tensorOf(pool, POOL_TENSORS[part][0], "U32");
    const rowsOf = (part: keyof typeof POOL_TENSORS) =>
      new HashedRows(words(part), POOL_TENSORS[part][1].length);
    this.#recall = this.recallOf(pool);
    this.#weights = weightsOf(pool);
    // Weights rounded to float32 do not sum to exactly 1.
    for (let kind = 0; kind < NUM_KINDS; kind++) {
      const own = this.#weights.subarray(kind * NUM_COMPONENTS, (kind + 1) * NUM_COMPONENTS);
      const sum = own.reduce((a, b) => a + b, 0);
      own.forEach((weight, k) => own[k] = weight / sum);
    }
    const [first, end] = words("range");
    this.#range = [first, end];
    this.#pairs = rowsOf("pairs");
    this.#rtts = words("rtts");
    this.#newestS = this.#rtts.reduce((most, time, i) => i % 2 === 1 && time > most ? time : most, 0);
    this.#age = ageCurveOf(floats("age"));
    this.#ends = rowsOf("ends");
    this.#usual = words("usual");
    const greatest = this.#usual.reduce((greatest, code) => Math.max(greatest, code), 0);
    this.#unknownEnd = greatest > 0 ? Math.min(end, rangeAround(greatest, greatest)[1]) : end;
    this.#all = Array.from(words("all"), logOfCode);
    this.#failureWeights = floats("failureWeights");
    this.#endTries = rowsOf("endTries");
    this.#pairTries = rowsOf("pairTries");
    const each = HASHES.length + 4;
    const total = (at: number) =>
      words("endTries").reduce((sum, tried, i) => sum + (i % each === at ? tried : 0), 0);
    this.#allTries = { measurements: total(HASHES.length), failures: total(HASHES.length + 1) };
    const { prefixVectors, pairVectors, coordinates } = config;
    this.#firstPair = prefixVectors?.rows ?? 0;
    this.#history = pairVectors?.history ? tensorOf(weights, PAIR_HISTORY, "U32") : undefined;
    if (!coordinates && !pairVectors) return;
    // Histories are read from `#history` instead.
    this.#embeddings = new AddressEmbeddings({
      ...config,
      pairVectors: pairVectors && { ...pairVectors, history: false },
    });
    this.#embeddings.load(weights);
  }

  /** Opens each memory on first use, with the places of the checkpoint. @param tensors A pool's tensors. */
  recallOf(tensors: Tensors): Recall {
    const opened = new Map<unknown, unknown>();
    const placeOf = (address: string) => this.#embeddings?.placeOf(addressBytes(address));
    return <T>(memory: Memory<T>) => getOrMake(opened, memory, () => memory.open(tensors, placeOf)) as T;
  }

  /** The same pool for an adapted model. */
  withWeights(weights: Tensors): Pool {
    return new Pool(this.config, { weights, pool: this.#tensors });
  }

  /** Mixes the simple forecasts of a question with the weights of its kind. */
  forecast(question: PooledQuestion, floor?: LightFloor): PooledForecast {
    const known = this.known(question);
    const { ofModel, kernels, even } = this.#mixtureAt(known, question.timeS);
    const within = (range: readonly [first: number, end: number]) => ({
      range,
      mixture: new KernelMixture(kernels, range, even),
    });
    let light = floor ? floorOf(floor, known.ofPair.map(({ log }) => log)) : NO_FLOOR;
    let { range, mixture } = within(this.#rangeOf(known, light.begin));
    // If both endpoints were measured, the forecasts may show that a place is wrong.
    if (light.begin > 0 && known.knowsSource && known.knowsDestination && !floor?.isOfPlaces) {
      const above = mixture.massBetween(light.begin, NUM_CODES) / mixture.massBetween(0, NUM_CODES);
      if (above < DOUBT) {
        light = NO_FLOOR;
        ({ range, mixture } = within(this.#rangeOf(known)));
      }
    }
    const rest = 1 - LEAST_MASS;
    const tries = this.#triesOf(question, known.ofPair.length);
    const [ofShare, share] = [this.#failureWeights[failureKind(tries)], failureShare(tries)];
    // Callers ask for the same few ranges repeatedly.
    const masses = new Map<number, number>();
    return {
      ...light,
      modelShare: rest * ofModel,
      end: range[1],
      failureProbability: (ofModel) => (1 - ofShare) * failureByNetwork(ofModel, tries) + ofShare * share,
      massBetween: (first, end) =>
        getOrMake(
          masses,
          first * (NUM_CODES + 1) + end,
          () => pooledProbability(mixture.massBetween(first, end), end - first),
        ),
      addTo(out, codes) {
        mixture.addTo(out, rest, LEAST_MASS / NUM_CODES, codes);
      },
      addToFirstBytes(out) {
        mixture.addToFirstBytes(out, rest, LEAST_MASS / NUM_CODES);
      },
    };
  }

  /** The simple forecasts at the asked time, and the model's share. */
  #mixtureAt(known: KnownOfQuestion, timeS: number | null): Mixed {
    const { ofPair, spans } = known;
    if (ofPair.length === 0) return this.#unmeasuredAt(known, timeS);
    const weights = this.#weightsOf(known);
    // The network only knows the newest RTTs of a pair, which represent a part of the time.
    if (spans) return mixed(kernelsOf(known), withoutModel(weights));
    const now = mixed(kernelsOf(known), weights);
    const { changed, replaced, after } = this.#afterChange(known);
    if (changed === 0) return now;
    const ofPairs = [
      scaled(now, (1 - replaced) * (1 - changed)),
      scaled({ ofModel: 0, kernels: after, even: 0 }, (1 - replaced) * changed),
    ];
    if (replaced === 0) return sumOf(ofPairs);
    const unmeasured = this.#unmeasuredAt({ ...known, ofPair: [] }, timeS, { noModel: true });
    return sumOf([...ofPairs, scaled(unmeasured, replaced)]);
  }

  /** The mixture if no RTT of the pair is known, by the age of the newest remembered RTT. */
  #unmeasuredAt(known: KnownOfQuestion, timeS: number | null, { noModel = false } = {}): Mixed {
    const ageS = timeS === null ? 0 : Math.max(0, timeS - this.#newestS);
    const unknown = { ...known, knowsSource: false, knowsDestination: false, knowsPlaces: false };
    const { replaced } = ageShares(this.#age, ageS);
    const later = withoutModel(this.#weightsOf(unknown));
    const weights = this.#weightsOf(known).map((weight, k) => (1 - replaced) * weight + replaced * later[k]);
    const { ofModel, kernels, even } = mixed(kernelsOf(known), noModel ? withoutModel(weights) : weights);
    return { ofModel, kernels: ageS > 0 ? widenedKernels(this.#age, kernels, ageS) : kernels, even };
  }

  /** The weights of the question's kind, (components). */
  #weightsOf(known: KnownOfQuestion): Float64Array {
    const { number } = kindOf(known);
    return this.#weights.subarray(number * NUM_COMPONENTS, (number + 1) * NUM_COMPONENTS);
  }

  /** The kernels if the path has changed since the nearest RTT of the pair, and how probable a change is. */
  #afterChange({ ofPair }: KnownOfQuestion): AgeShares & { readonly after: Kernel[] } {
    const gapS = ofPair[0]?.gapS ?? 0;
    if (gapS === 0) return { changed: 0, replaced: 0, after: [] };
    return {
      ...ageShares(this.#age, gapS),
      after: changedKernels(this.#age, ofPair.map(({ log }) => log), gapS),
    };
  }

  /**
   * Makes a case for `fitPool` from a measurement.
   *
   * @param ofModel The model's distribution, (codes).
   * @param rttCode The measured code.
   * @param recall If the question names an unknown address in place of an endpoint: memories that did not
   *   learn about the endpoint. The pair's own RTT is then not counted among the usual RTTs of the other
   *   endpoint.
   */
  caseOf(question: PooledQuestion, ofModel: Float64Array, rttCode: number, recall?: Recall): PoolCase {
    const index = indexOfCode(rttCode);
    const found = this.known(question, recall);
    const others = (logs: readonly number[]) => recall ? withoutNearest(logs, logOfCode(rttCode)) : logs;
    const known = { ...found, ofSource: others(found.ofSource), ofDestination: others(found.ofDestination) };
    const kernels = kernelsOf(known);
    const unit = new Float64Array(NUM_COMPONENTS);
    const range = this.#rangeOf(known);
    const components = Array.from(unit, (_, component) => {
      unit.fill(0);
      unit[component] = 1;
      return new KernelMixture(kernels(unit), range, unit[EVEN]);
    });
    // Cumulative probabilities of the model, up to the end of the range.
    const before = new Float64Array(NUM_CODES + 1);
    for (let i = 0; i < NUM_CODES; i++) before[i + 1] = before[i] + (i < range[1] ? ofModel[i] : 0);
    const { changed, after } = this.#afterChange(known);
    const late = new KernelMixture(after, range);
    const massesOf = (first: number, end: number) => {
      const ofChange = changed * late.massBetween(first, end);
      return Float64Array.from(components, (mixture, component) => {
        const now = component === 0
          ? (before[Math.min(end, NUM_CODES)] - before[first]) / before[NUM_CODES]
          : mixture.massBetween(first, end);
        return (1 - changed) * now + ofChange;
      });
    };
    return { kind: kindOf(known), events: eventsOf(index, ofModel, massesOf) };
  }

  /**
   * Makes a case for `fitFailures` from a measurement.
   *
   * @param pFailed P(no reply) by the network.
   * @param measured The measured addresses, if the question names an unknown address in place of one of them.
   */
  failureCaseOf(
    question: PooledQuestion,
    pFailed: number,
    measured?: Ends,
  ): Pick<FailureCase, "kind" | "ofModel" | "share"> {
    const tries = this.#triesOf(question, this.#rttsOf(question).length);
    const [kind, ofModel] = [failureKind(tries), failureByNetwork(pFailed, tries)];
    if (!measured) return { kind, ofModel, share: failureShare(tries) };
    // Measurements of the pair itself do not count for the endpoint that is known.
    const pair = { ...measured, timeS: null, context: [] };
    const { ofPair } = this.#triesOf(pair, this.#rttsOf(pair).length);
    const others = ({ measurements, failures }: Tried) => ({
      measurements: Math.max(0, measurements - ofPair.measurements),
      failures: Math.max(0, failures - ofPair.failures),
    });
    const { ofSource, ofDestination } = tries;
    const known = { ...tries, ofSource: others(ofSource), ofDestination: others(ofDestination) };
    return { kind, ofModel, share: failureShare(known) };
  }

  /** Counts measurements, including the context. @param numRtts Number of known RTTs of the pair. */
  #triesOf({ source, destination, context }: PooledQuestion, numRtts: number): KnownTries {
    const [a, b] = [source, destination].map(hashesOf);
    const ofContext = context.filter((each) => isOfPair(each, { source, destination }));
    const failures = ofContext.filter(({ rttCode }) => rttCode === null).length;
    const [ofSource, ofDestination] = [a, b].map((end, role) =>
      triesAt(this.#endTries, this.#endTries.find(end), 2 * role)
    );
    const ofAll = this.#allTries;
    const row = this.#pairTries.find(pairHashes(a, b, 0));
    const known = triesAt(this.#pairTries, row, 0);
    // If no measurement of a pair failed in training, its known RTTs are counted instead.
    const measurements = row < 0 ? numRtts + failures : known.measurements + ofContext.length;
    const ofPair = { measurements, failures: known.failures + failures };
    return { ofPair, isInContext: ofContext.length > 0, ofSource, ofDestination, ofAll };
  }

  /**
   * Extends the range of training by the RTTs of the pair and the context.
   *
   * @param begin The first code that light allows. The range extends at least as far as an RTT of this code
   *   would require.
   */
  #rangeOf({ ofPair, inContext }: KnownOfQuestion, begin = 0): readonly [first: number, end: number] {
    const [first, most] = this.#range;
    const least = CANONICAL_RTT_CODES[begin];
    const end = Math.max(ofPair.length > 0 ? most : this.#unknownEnd, rangeAround(least, least)[1]);
    const logs = [...ofPair.map(({ log }) => log), ...inContext];
    if (logs.length === 0) return [first, end];
    const [shortest, longest] = [Math.min(...logs), Math.max(...logs)].map((log) =>
      encodeRttCode(Math.exp(log))
    );
    const around = rangeAround(shortest, longest);
    return [Math.min(first, around[0]), Math.max(end, around[1])];
  }

  known(question: PooledQuestion, recall = this.#recall): KnownOfQuestion {
    const { source, destination, context } = question;
    const ofPair = this.#rttsOf(question);
    const [a, b] = [source, destination].map(hashesOf);
    const estimate = this.#embeddings?.estimateBetween(source, destination);
    const [ofSource, ofDestination] = [this.#usualOf(a)[0], this.#usualOf(b)[1]];
    const [knowsSource, knowsDestination] = [[ofSource, source], [ofDestination, destination]].map(
      ([usual, address]) => usual.length > 0 || this.#hasCoordinates(address as Uint8Array),
    );
    const hasPlace = (address: Uint8Array) => this.#embeddings?.placeOf(address)?.position !== undefined;
    const knowsPlaces = (knowsSource || hasPlace(source)) && (knowsDestination || hasPlace(destination));
    const inContext = context.flatMap((each) =>
      each.rttCode !== null && equals(each.source, source) && !equals(each.destination, destination)
        ? [logOfCode(each.rttCode)]
        : []
    );
    return {
      ends: { source: formatAddress(source), destination: formatAddress(destination) },
      hashes: [a, b],
      ofPair,
      spans: question.timeS === null && ofPair.length > 0
        ? spansOf(ofPair.map(({ timeS }) => timeS))
        : undefined,
      estimate,
      ofSource,
      ofDestination,
      knowsSource,
      knowsDestination,
      knowsPlaces,
      inContext,
      ofAll: this.#all,
      recall,
    };
  }

  #hasCoordinates(address: Uint8Array): boolean {
    const embeddings = this.#embeddings;
    return embeddings?.coordinates?.hasCoordinates(embeddings.nodeOf(address)) ?? false;
  }

  /** Collects the RTTs of a pair, nearest in time first. */
  #rttsOf(question: PooledQuestion): KnownOfQuestion["ofPair"] {
    const { source, destination, timeS, context, recent } = question;
    const found: { rttCode: number; timeS: number | null }[] = [];
    const add = (rttCode: number, timeS: number | null) => {
      const isKnown = found.some((other) =>
        other.rttCode === rttCode && timeS !== null &&
        Math.abs((other.timeS ?? Infinity) - timeS) <= SAME_TIME_S
      );
      if (!isKnown) found.push({ rttCode, timeS });
    };
    for (const each of (recent ?? context).toReversed()) {
      if (each.rttCode !== null && isOfPair(each, question)) add(each.rttCode, each.timeS);
    }
    const remembered = this.#remembered(pairHashes(hashesOf(source), hashesOf(destination), 0));
    const isAllowed = (at: number | null) => !recent || timeS === null || at === null || at <= timeS;
    for (const { rttCode, timeS: at } of remembered) if (isAllowed(at)) add(rttCode, at);
    if (!recent) {
      const newestS = remembered.reduce((newest, { timeS }) => Math.max(newest, timeS), -Infinity);
      for (const { rttCode, timeS: at } of this.#adaptedTo(source, destination, newestS)) add(rttCode, at);
    }
    const gap = (at: number | null) => timeS === null || at === null ? null : Math.abs(timeS - at);
    return found.map(({ rttCode, timeS: at }) => ({ log: logOfCode(rttCode), timeS: at, gapS: gap(at) }))
      .sort((x, y) => (x.gapS ?? -1) - (y.gapS ?? -1)).slice(0, MAX_PAIR_RTTS);
  }

  /** The remembered RTTs of a pair from adaptation and training, newest first. */
  measured(source: Uint8Array, destination: Uint8Array): { rttMs: number; timeS: number | null }[] {
    const remembered = this.#remembered(pairHashes(hashesOf(source), hashesOf(destination), 0));
    const adapted = this.#adaptedTo(source, destination, remembered[0]?.timeS ?? -Infinity);
    return [...adapted, ...remembered].slice(0, MAX_PAIR_RTTS)
      .map(({ rttCode, timeS }) => ({ rttMs: decodeRttCode(rttCode), timeS }));
  }

  /** The training RTTs that the pool remembers for a pair, newest first. */
  #remembered(pair: Hashes): { rttCode: number; timeS: number }[] {
    const row = this.#pairs.find(pair);
    if (row < 0) return [];
    const start = this.#pairs.startOf(row, 0);
    return Array.from({ length: this.#pairs.countOf(row, 0) }, (_, i) => {
      const at = 2 * (start + i);
      return { rttCode: this.#rtts[at], timeS: this.#rtts[at + 1] };
    });
  }

  /** RTTs that adaptation added to a pair, newest first. Histories have the time of the newest RTT only. */
  #adaptedTo(
    source: Uint8Array,
    destination: Uint8Array,
    newestS: number,
  ): { rttCode: number; timeS: number | null }[] {
    if (!this.#history || !this.#embeddings) return [];
    const row = this.#embeddings.rowOfPair(source, destination);
    if (row === NO_ROW) return [];
    const first = (row - this.#firstPair) * HISTORY_LENGTH;
    const numbers = this.#history.subarray(first, first + HISTORY_LENGTH);
    const codes = numbers.subarray(0, -1);
    const timeS = numbers[codes.length];
    if (timeS > 0 && timeS <= newestS + SAME_TIME_S) return [];
    return [...codes].reverse().filter((code) => code > 0).map((rttCode) => ({
      rttCode,
      timeS: timeS > 0 ? timeS : null,
    }));
  }

  /** Usual RTTs of an address as a source and as a destination. */
  #usualOf(address: Hashes): [number[], number[]] {
    const row = this.#ends.find(address);
    if (row < 0) return [[], []];
    const logs = (part: number) => {
      const start = this.#ends.startOf(row, part);
      return Array.from(this.#usual.subarray(start, start + this.#ends.countOf(row, part)), logOfCode);
    };
    return [logs(0), logs(1)];
  }
}

/** If the forecasts of two measured addresses have less probability above the floor, a place is wrong. */
const DOUBT = 0.5;

const NO_FLOOR = { floorMs: 0, begin: 0 };

/** The floor of a question, or none if an RTT of the pair is below it. @param logs The pair's RTTs, ln ms. */
function floorOf(
  { floorMs, rttCode, isOfPlaces }: LightFloor,
  logs: readonly number[],
): Pick<PooledForecast, "floorMs" | "begin"> {
  const begin = indexFrom(floorMs);
  if (begin === 0) return NO_FLOOR;
  const leastLog = logOfCode(CANONICAL_RTT_CODES[begin]);
  const isMeasuredBelow = logs.some((log) => log < leastLog) ||
    rttCode !== null && indexOfCode(rttCode) < begin;
  return isMeasuredBelow && !isOfPlaces ? NO_FLOOR : { floorMs, begin };
}

/** The forecast without a pool: the model alone, above the floor. Undefined without a floor. */
export function forecastOfModel(question: PooledQuestion, floor: LightFloor): PooledForecast | undefined {
  const { context, recent = [] } = question;
  const logs = [...context, ...recent].flatMap((each) =>
    each.rttCode !== null && isOfPair(each, question) ? [logOfCode(each.rttCode)] : []
  );
  const light = floorOf(floor, logs);
  if (light.begin === 0) return undefined;
  const failureProbability = (ofModel: number) => ofModel;
  const ofOthers = { massBetween: () => 0, addTo() {}, addToFirstBytes() {} };
  return { ...light, modelShare: 1, end: NUM_CODES, failureProbability, ...ofOthers };
}

/** Rows sorted by the hashes of their keys: two hashes, then the number of values of each part. */
class HashedRows {
  readonly #rows: Uint32Array;
  readonly #width: number;
  readonly #keys: Float64Array;
  /** Index of the first value of each part of each row. */
  readonly #starts: Uint32Array;

  constructor(rows: Uint32Array, width: number) {
    this.#rows = rows;
    this.#width = width;
    const length = rows.length / width;
    this.#keys = Float64Array.from(
      { length },
      (_, i) => keyOfHashes({ hash1: rows[i * width], hash2: rows[i * width + 1] }),
    );
    const numParts = width - HASHES.length;
    this.#starts = new Uint32Array(length * numParts + 1);
    for (let i = 0; i < length * numParts; i++) {
      this.#starts[i + 1] = this.#starts[i] + this.countOf(Math.floor(i / numParts), i % numParts);
    }
  }

  /** Finds the row of a key; -1 if there is none. */
  find(hashes: Hashes): number {
    const key = keyOfHashes(hashes);
    const row = partitionPoint(this.#keys.length, (i) => this.#keys[i] >= key);
    return this.#keys[row] === key ? row : -1;
  }

  countOf(row: number, part: number): number {
    return this.#rows[row * this.#width + HASHES.length + part];
  }

  /** The index of the first value of a part of a row. */
  startOf(row: number, part: number): number {
    return this.#starts[row * (this.#width - HASHES.length) + part];
  }
}

/** Two numbers of a row; zeros if there is no row. */
function triesAt(rows: HashedRows, row: number, part: number): Tried {
  if (row < 0) return { measurements: 0, failures: 0 };
  return { measurements: rows.countOf(row, part), failures: rows.countOf(row, part + 1) };
}

/** A mixture: the model's share, kernels, and a probability that is even over the range. */
interface Mixed {
  readonly ofModel: number;
  readonly kernels: readonly Kernel[];
  readonly even: number;
}

function mixed(kernels: ReturnType<typeof kernelsOf>, weights: Float64Array): Mixed {
  return { ofModel: weights[0], kernels: kernels(weights), even: weights[EVEN] };
}

function scaled({ ofModel, kernels, even }: Mixed, factor: number): Mixed {
  return {
    ofModel: factor * ofModel,
    kernels: kernels.map((kernel) => ({ ...kernel, mass: factor * kernel.mass })),
    even: factor * even,
  };
}

/** Removes the model's weight. If the model has all the weight, the even distribution gets it. */
function withoutModel(weights: Float64Array): Float64Array {
  const rest = 1 - weights[0];
  return weights.map((weight, k) => k === 0 ? 0 : rest > 0 ? weight / rest : k === EVEN ? 1 : 0);
}

function sumOf(parts: readonly Mixed[]): Mixed {
  const sum = (of: (part: Mixed) => number) => parts.reduce((total, part) => total + of(part), 0);
  return {
    ofModel: sum(({ ofModel }) => ofModel),
    kernels: parts.flatMap(({ kernels }) => kernels),
    even: sum(({ even }) => even),
  };
}

type Ends = Pick<PooledQuestion, "source" | "destination">;

/** Whether two measurements have the same endpoints, in either direction. */
export function isOfPair(one: Ends, other: Ends): boolean {
  return (equals(one.source, other.source) && equals(one.destination, other.destination)) ||
    (equals(one.source, other.destination) && equals(one.destination, other.source));
}

/**
 * Range of codes that may occur: indexes of the first code and of the first code of the byte after the last.
 * ASSUMPTION: an RTT is at most {@link RANGE_FACTOR} times longer or shorter than a known RTT, since the
 * limit of the measuring tool is unknown.
 */
export function rangeAround(leastCode: number, greatestCode: number): [first: number, end: number] {
  const first = indexOfCode(encodeRttCode(decodeRttCode(leastCode) / RANGE_FACTOR));
  const last = encodeRttCode(decodeRttCode(greatestCode) * RANGE_FACTOR) >> 8;
  return [first, partitionPoint(NUM_CODES, (i) => CANONICAL_RTT_CODES[i] >> 8 > last)];
}

const RANGE_FACTOR = 4;

/** Removes the value that is nearest to a number. */
function withoutNearest(values: readonly number[], to: number): number[] {
  const distances = values.map((value) => Math.abs(value - to));
  return values.filter((_, i) => i !== distances.indexOf(Math.min(...distances)));
}
