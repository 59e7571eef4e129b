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
import { type Hashes, hashesOf, keyOfHashes, pairHashes } from "../embedding_table.ts";
import { HashedRows } from "../hashed_rows.ts";
import type { ModelConfig } from "../model_config.ts";
import { CODE, COUNT, HASHES, SHARE, type Tensor, whole } from "../possible_numbers.ts";
import { AGE, type AgeCurve, ageCurveOf, ageShares, widenedKernels } from "./age.ts";
import { AskedPair } from "./asked_pair.ts";
import { type KnownOfQuestion, type Recall, recallFrom } from "./forecast.ts";
import {
  END_OF_MEMORY,
  EVEN,
  FIRST_OF_MEMORY,
  kernelsOf,
  MEMORIES,
  NUM_COMPONENTS,
  USES_NETWORK,
  WEIGHT_TENSORS,
  weightsOf,
} from "./forecasts.ts";
import { networkLogs } from "./forecasts/averages.ts";
import { IDENTITIES, KNOWN_IDENTITIES } from "./identities.ts";
import {
  FIRST_INDEXES,
  indexFrom,
  indexOfCode,
  type Kernel,
  KernelMixture,
  logOfCode,
  NUM_CODES,
} from "./kernel_mixture.ts";
import {
  type FailureCase,
  failureKind,
  failureOfEnds,
  failureOfPair,
  type KnownTries,
  type Tried,
} from "./no_reply.ts";
import { pairTensors } from "./measured_pairs.ts";
import { MOVED, MOVED_PLACES } from "./moved_places.ts";
import {
  CollectedPair,
  firstFound,
  memoriesOf,
  memoryTensors,
  type PairMemory,
  type RememberedPair,
  USUAL_PAIR,
  type UsualPair,
  usualPairOf,
} from "./pair_memory.ts";
import {
  kernelsOfNeighbours,
  NEIGHBOUR_WEIGHTS,
  NEIGHBOUR_WIDTHS,
  type Neighbours,
  neighboursOf,
} from "./pair_neighbours.ts";
import { eventsOf, type PoolCase } from "./pool_fit.ts";
import { kindOf, NUM_KINDS } from "./question_kinds.ts";

/** The tensors of a pool except its weights and forecasts; see lib/model/EXACT.md. */
export const POOL_TENSORS = {
  range: ["pool.range", [whole(0, NUM_CODES - 1), whole(1, NUM_CODES)], "U32"],
  ...memoryTensors("pool"),
  usualPair: USUAL_PAIR,
  ends: ["pool.ends", [...HASHES, COUNT, COUNT], "U32"],
  usual: ["pool.usual", [CODE], "U32"],
  all: ["pool.all", [CODE], "U32"],
  age: AGE,
  failureWeights: ["pool.failure_weights", [SHARE]],
  endTries: ["pool.end_tries", [...HASHES, COUNT, COUNT, COUNT, COUNT], "U32"],
} as const satisfies Record<string, Tensor>;

export const POOL_COLUMNS: readonly Tensor[] = [
  ...WEIGHT_TENSORS,
  ...[POOL_TENSORS, ...[...MEMORIES].map(({ tensors }) => tensors)].flatMap(Object.values<Tensor>),
];

/** The tensors of measurements that an adaptation added. */
export const ADAPTED_COLUMNS: readonly Tensor[] = [memoryTensors("adapted"), pairTensors("adapted")]
  .flatMap(Object.values<Tensor>);

/** Tensors that not every pool has. */
export const OPTIONAL_COLUMNS: readonly Tensor[] = [IDENTITIES, MOVED, ...ADAPTED_COLUMNS];

export function poolShapes(tensors: Tensors): Map<string, number[]> {
  const optional = OPTIONAL_COLUMNS.filter(([name]) => tensors.has(name));
  const columns = [...POOL_COLUMNS, ...optional];
  return new Map(columns.map(([name, { length }]) => [name, [named(tensors, name).length / length, length]]));
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
  /** See `RttQuery.recent`. */
  readonly recent?: readonly TokenMeasurement[] | undefined;
  /** See `RttQuery.probe`. */
  readonly probe?: number | undefined;
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
export interface PooledForecast extends OthersMasses {
  /** The RTT of light in ms; 0 if it is not known, or if an RTT of the pair shows that a place is wrong. */
  readonly floorMs: number;
  /** The index of the first code that is not below the floor. */
  readonly begin: number;
  /** The index of the first code that is too long, always the first code of its first byte. */
  readonly end: number;
  /** P(no reply). @param ofModel The model's probability. */
  failureProbability(ofModel: number): number;
  /**
   * The same with all forecasts; without the network's, the others have the weight of those that depend on it.
   *
   * @param firstBytes Returns P(first byte) by the network, (first bytes). The first caller's is used.
   */
  withNetwork(firstBytes: () => Float64Array): PooledForecast;
}

/** The part of the probability that the simple forecasts have. */
interface OthersMasses {
  /** The weight of the model, whose codes count only before `end`. */
  readonly modelShare: number;
  /** The probability that the simple forecasts assign to codes from index `first` to `end - 1`. */
  massBetween(first: number, end: number): number;
  /** Adds this probability for every code, or for those from `codes[0]` to before `codes[1]`. @param out (codes). */
  addTo(out: Float64Array, codes?: readonly [first: number, end: number]): void;
  /** Adds this probability for all codes of each first byte. @param out (first bytes). */
  addToFirstBytes(out: Float64Array): void;
}

export class Pool {
  readonly #embeddings: AddressEmbeddings | undefined;
  /** Shape (kinds, components); the weights of each kind sum to 1. */
  readonly #weights: Float64Array;
  /** (cells, widths): the weights of the neighbours; the forecasts above have the rest. */
  readonly #ofNeighbours: Float64Array;
  readonly #range: readonly [first: number, end: number];
  /** The end of the range if no RTT of the pair is known. */
  readonly #unknownEnd: number;
  /** The time of the newest remembered RTT. */
  readonly #newestS: number;
  readonly #age: AgeCurve;
  /** Measurements of the adaptation, if there is one, then of the training data. */
  readonly #memories: readonly PairMemory[];
  readonly #usualPair: UsualPair;
  readonly #ends: HashedRows;
  readonly #usual: Uint32Array;
  readonly #all: readonly number[];
  readonly #recall: Recall;
  readonly #failureWeights: Float32Array;
  readonly #endTries: HashedRows;
  readonly #allTries: Tried;

  /**
   * @param tensors `weights`: the model's tensors; `pool`: the pool's, see {@link POOL_TENSORS}.
   * @throws {FormatError} If the pool was fitted by another version of the program.
   */
  constructor(
    readonly config: ModelConfig,
    { weights, pool }: Record<"weights" | "pool", Tensors>,
  ) {
    const floats = (part: "age" | "failureWeights") => tensorOf(pool, POOL_TENSORS[part][0], "F32");
    const words = (part: keyof typeof POOL_TENSORS) => tensorOf(pool, POOL_TENSORS[part][0], "U32");
    const rowsOf = (part: keyof typeof POOL_TENSORS) =>
      new HashedRows(words(part), POOL_TENSORS[part][1].length);
    this.#recall = recallFrom(pool, (address) => this.#embeddings?.placeOf(addressBytes(address)));
    this.#weights = weightsOf(pool);
    this.#ofNeighbours = Float64Array.from(tensorOf(pool, NEIGHBOUR_WEIGHTS[0], "F32"));
    // Weights rounded to float32 do not sum to exactly 1.
    for (let kind = 0; kind < NUM_KINDS; kind++) {
      const own = this.#weights.subarray(kind * NUM_COMPONENTS, (kind + 1) * NUM_COMPONENTS);
      const sum = own.reduce((a, b) => a + b, 0);
      own.forEach((weight, k) => own[k] = weight / sum);
    }
    const [first, end] = words("range");
    this.#range = [first, end];
    this.#memories = memoriesOf(pool);
    this.#usualPair = usualPairOf(pool);
    this.#newestS = Math.max(...this.#memories.map(({ newestS }) => newestS));
    this.#age = ageCurveOf(floats("age"));
    this.#ends = rowsOf("ends");
    this.#usual = words("usual");
    const greatest = this.#usual.reduce((greatest, code) => Math.max(greatest, code), 0);
    this.#unknownEnd = greatest > 0 ? Math.min(end, rangeAround(greatest, greatest)[1]) : end;
    this.#all = Array.from(words("all"), logOfCode);
    this.#failureWeights = floats("failureWeights");
    this.#endTries = rowsOf("endTries");
    const each = HASHES.length + 4;
    const total = (at: number) =>
      words("endTries").reduce((sum, tried, i) => sum + (i % each === at ? tried : 0), 0);
    this.#allTries = { measurements: total(HASHES.length), failures: total(HASHES.length + 1) };
    const { pairVectors, coordinates } = config;
    if (!coordinates && !pairVectors) return;
    this.#embeddings = new AddressEmbeddings({
      ...config,
      pairVectors: pairVectors && { ...pairVectors, history: false },
    });
    this.#embeddings.load(weights);
  }

  /** Mixes the simple forecasts of a question with the weights of its kind. */
  forecast(question: PooledQuestion, floor?: LightFloor): PooledForecast {
    const known = this.known(question);
    const isMoved = known.hashes.some((hashes) => this.#isMoved(hashes)) && !floor?.isOfPlaces;
    let light = floor && !isMoved ? floorOf(floor, known.pair?.bounds ?? []) : NO_FLOOR;
    const { ofModel, kernels, even } = this.#mixtureAt(known, question.timeS);
    let range = this.#rangeOf(known, light.begin);
    let mixture = new KernelMixture(kernels, range, even);
    // If both endpoints were measured, the forecasts may show that a place is wrong.
    const isMeasured = [question.source, question.destination].every((address, i) =>
      [known.knowsSource, known.knowsDestination][i] || this.#isNode(address, "hasCoordinates")
    );
    if (light.begin > 0 && isMeasured && !floor?.isOfPlaces) {
      const above = mixture.massBetween(light.begin, NUM_CODES) / mixture.massBetween(0, NUM_CODES);
      if (above < DOUBT) {
        light = NO_FLOOR;
        range = this.#rangeOf(known);
        mixture = new KernelMixture(kernels, range, even);
      }
    }
    const tries = this.#triesOf(question);
    const [shareOfEnds, ofEnds] = [this.#failureWeights[failureKind(tries)], failureOfEnds(tries)];
    const ofPair = (known.measured ?? hostOfNew(known.ofHosts, tries))?.losses();
    let whole: OthersMasses | undefined;
    const ofAll = (firstBytes: () => Float64Array) => {
      const ofNetwork = networkLogs(firstBytes(), range[1]);
      const { ofModel, kernels, even } = this.#mixtureAt({ ...known, ofNetwork }, question.timeS);
      return massesOf(ofModel, new KernelMixture(kernels, range, even));
    };
    return {
      ...light,
      ...massesOf(ofModel, mixture),
      end: range[1],
      failureProbability: (ofModel) =>
        ofPair ? failureOfPair(ofEnds, ofPair) : (1 - shareOfEnds) * ofModel + shareOfEnds * ofEnds,
      withNetwork(firstBytes) {
        if (known.pair) return this;
        whole ??= ofAll(firstBytes);
        return { ...this, ...whole, withNetwork: itself };
      },
    };
  }

  /** The simple forecasts at the asked time, and the model's share. */
  #mixtureAt(known: KnownOfQuestion, timeS: number | null): Mixed {
    const { pair } = known;
    if (!pair) return this.#unmeasuredAt(known, timeS);
    const weights = this.#weightsOf(known);
    if (timeS === null) return ofAnyTime(known, pair, weights);
    const now = mixed(kernelsOf(known), weights);
    const { changed } = pair;
    if (changed === 0) return now;
    const { replaced } = ageShares(this.#age, pair.gapS);
    const after = pair.kernelsAfterChange();
    const ofPairs = [
      scaled(now, (1 - replaced) * (1 - changed)),
      scaled({ ofModel: 0, kernels: after, even: 0 }, (1 - replaced) * changed),
    ];
    if (replaced === 0) return sumOf(ofPairs);
    const unmeasured = this.#unmeasuredAt({ ...known, pair: undefined }, timeS, { noModel: true });
    return sumOf([...ofPairs, scaled(unmeasured, replaced)]);
  }

  /** The mixture if no RTT of the pair is known, by the age of the newest remembered RTT. */
  #unmeasuredAt(known: KnownOfQuestion, timeS: number | null, { noModel = false } = {}): Mixed {
    const ageS = timeS === null ? 0 : Math.max(0, timeS - this.#newestS);
    const unknown = { ...known, knowsSource: false, knowsDestination: false, knowsPlaces: false };
    const { replaced } = ageShares(this.#age, ageS);
    const later = withoutNetwork(this.#weightsOf(unknown));
    const weights = this.#weightsOf(known).map((weight, k) => (1 - replaced) * weight + replaced * later[k]);
    const usable = noModel
      ? withoutNetwork(weights)
      : known.ofNetwork
      ? weights
      : without(weights, (k) => k > 0 && USES_NETWORK[k]);
    const { ofModel, kernels, even } = this.#withNeighbours(
      mixed(kernelsOf(known), usable),
      neighboursOf(known),
      1 - replaced,
    );
    return { ofModel, kernels: ageS > 0 ? widenedKernels(this.#age, kernels, ageS) : kernels, even };
  }

  /** @param factor Of the weights of the neighbours. */
  #withNeighbours(others: Mixed, neighbours: Neighbours | undefined, factor: number): Mixed {
    if (!neighbours) return others;
    const first = neighbours.cell * NEIGHBOUR_WIDTHS.length;
    const weights = this.#ofNeighbours.subarray(first, first + NEIGHBOUR_WIDTHS.length)
      .map((weight) => factor * neighbours.worth * weight);
    const share = weights.reduce((a, b) => a + b, 0);
    const near = { ofModel: 0, kernels: kernelsOfNeighbours(neighbours, weights), even: 0 };
    return sumOf([scaled(others, 1 - share), near]);
  }

  /** The weights of the question's kind, (components). */
  #weightsOf(known: KnownOfQuestion): Float64Array {
    const { number } = kindOf(known);
    return this.#weights.subarray(number * NUM_COMPONENTS, (number + 1) * NUM_COMPONENTS);
  }

  /**
   * Makes a case for `fitPool` from a measurement.
   *
   * @param ofModel The model's distribution, (codes).
   * @param rttCode The measured code.
   */
  caseOf(question: PooledQuestion, ofModel: Float64Array, rttCode: number): PoolCase {
    const index = indexOfCode(rttCode);
    const asked = this.known(question);
    const range = this.#rangeOf(asked);
    const firstBytes = Float64Array.from(
      { length: FIRST_INDEXES.length - 1 },
      (_, i) => ofModel.subarray(FIRST_INDEXES[i], FIRST_INDEXES[i + 1]).reduce((sum, p) => sum + p, 0),
    );
    const known = { ...asked, ofNetwork: networkLogs(firstBytes, range[1]) };
    const kernels = kernelsOf(known);
    const unit = new Float64Array(NUM_COMPONENTS);
    const components = Array.from(unit, (_, component) => {
      unit.fill(0);
      unit[component] = 1;
      return new KernelMixture(kernels(unit), range, unit[EVEN]);
    });
    const neighbours = known.pair ? undefined : neighboursOf(known);
    const near = NEIGHBOUR_WIDTHS.map((_, w) =>
      neighbours &&
      new KernelMixture(
        kernelsOfNeighbours(neighbours, NEIGHBOUR_WIDTHS.map((_, i) => Number(i === w))),
        range,
      )
    );
    // Cumulative probabilities of the model, up to the end of the range.
    const before = new Float64Array(NUM_CODES + 1);
    for (let i = 0; i < NUM_CODES; i++) before[i + 1] = before[i] + (i < range[1] ? ofModel[i] : 0);
    const { changed = 0 } = known.pair ?? {};
    const after = changed > 0 ? known.pair?.kernelsAfterChange() ?? [] : [];
    const late = new KernelMixture(after, range);
    const massesOf = (first: number, end: number) => {
      const ofChange = changed * late.massBetween(first, end);
      return Float64Array.of(
        ...components.map((mixture, component) => {
          const now = component === 0
            ? (before[Math.min(end, NUM_CODES)] - before[first]) / before[NUM_CODES]
            : mixture.massBetween(first, end);
          return (1 - changed) * now + ofChange;
        }),
        ...near.map((mixture) => mixture?.massBetween(first, end) ?? 0),
      );
    };
    return { kind: kindOf(known), cell: neighbours?.cell, events: eventsOf(index, ofModel, massesOf) };
  }

  /**
   * Makes a case for `fitFailures` from a measurement; undefined if the pair is known, as it needs no weight.
   *
   * @param pFailed P(no reply) by the network.
   */
  failureCaseOf(
    question: PooledQuestion,
    pFailed: number,
  ): Pick<FailureCase, "kind" | "ofModel" | "ofEnds"> | undefined {
    const tries = this.#triesOf(question);
    if (this.#asked(question) ?? hostOfNew(this.#ofHosts(question), tries)) return undefined;
    return { kind: failureKind(tries), ofModel: pFailed, ofEnds: failureOfEnds(tries) };
  }

  #triesOf({ source, destination }: Ends): KnownTries {
    const [ofSource, ofDestination] = [source, destination].map((end, role) =>
      triesAt(this.#endTries, this.#endTries.find(hashesOf(end)), 2 * role)
    );
    return { ofSource, ofDestination, ofAll: this.#allTries };
  }

  /**
   * Extends the range of training by the RTTs of the pair and the context.
   *
   * @param begin The first code that light allows. The range extends at least as far as an RTT of this code
   *   would require.
   */
  #rangeOf({ pair, inContext }: KnownOfQuestion, begin = 0): readonly [first: number, end: number] {
    const [first, most] = this.#range;
    const least = CANONICAL_RTT_CODES[begin];
    const end = Math.max(pair ? most : this.#unknownEnd, rangeAround(least, least)[1]);
    const logs = [...pair?.bounds ?? [], ...inContext];
    if (logs.length === 0) return [first, end];
    const [shortest, longest] = [Math.min(...logs), Math.max(...logs)].map((log) =>
      encodeRttCode(Math.exp(log))
    );
    const around = rangeAround(shortest, longest);
    return [Math.min(first, around[0]), Math.max(end, around[1])];
  }

  known(question: PooledQuestion): KnownOfQuestion {
    const { source, destination, context } = question;
    const measured = this.#asked(question);
    const hasReply = measured !== undefined && measured.numReplies > 0;
    const [a, b] = [source, destination].map(hashesOf);
    const estimate = this.#embeddings?.estimateBetween(source, destination);
    const [ofSource, ofDestination] = [this.#usualOf(a)[0], this.#usualOf(b)[1]];
    const [knowsSource, knowsDestination] = [[ofSource, source], [ofDestination, destination]].map(
      ([usual, address]) => usual.length > 0 || this.#isNode(address as Uint8Array, "isFitted"),
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
      measured,
      pair: hasReply ? measured : undefined,
      ofHosts: hasReply ? [] : this.#ofHosts(question),
      estimate,
      ofSource,
      ofDestination,
      knowsSource,
      knowsDestination,
      knowsPlaces,
      inContext,
      ofAll: this.#all,
      recall: this.#recall,
    };
  }

  #isNode(address: Uint8Array, how: "isFitted" | "hasCoordinates"): boolean {
    const embeddings = this.#embeddings;
    return embeddings?.coordinates?.[how](embeddings.nodeOf(address)) ?? false;
  }

  /** The known measurements of a pair: those remembered and those of the context. */
  #asked(question: PooledQuestion): AskedPair | undefined {
    const { source, destination, timeS, context, recent } = question;
    const remembered = this.measured(source, destination);
    const given = (recent ?? context).filter((each) => isOfPair(each, question));
    const pair = withGiven(remembered ?? { ...NOTHING, ...this.#usualPair }, given, timeS);
    return pair.timesS.length > 0 ? new AskedPair(pair, timeS, this.#age) : undefined;
  }

  /** The number of known addresses of a probe, and of their remembered measurements with a destination. */
  measuredBy(probe: number, destination: Uint8Array): { numAddresses: number; measurements: number } {
    // Any source will do, since the probe is named.
    const [host] = this.#ofHosts({ source: destination, destination, timeS: null, probe });
    const numAddresses = this.#recall(KNOWN_IDENTITIES).addressesOf(probe).length;
    return { numAddresses, measurements: host?.losses().measurements ?? 0 };
  }

  /** Whether the RTTs of an address show that it is elsewhere than the database says. */
  isMoved(address: Uint8Array): boolean {
    return this.#isMoved(hashesOf(address));
  }

  #isMoved(address: Hashes): boolean {
    return this.#recall(MOVED_PLACES).has(keyOfHashes(address));
  }

  /** The newest remembered RTTs of a pair, newest first. */
  newestRtts(source: Uint8Array, destination: Uint8Array): { rttMs: number; timeS: number }[] {
    const { timesS = [], codes = [] } = this.measured(source, destination) ?? {};
    return Array.from(codes, (code, i) => ({ code, timeS: timesS[i] })).filter(({ code }) => code > 0)
      .slice(-MAX_NEWEST).reverse().map(({ code, timeS }) => ({ rttMs: decodeRttCode(code), timeS }));
  }

  /** The remembered measurements of a pair. */
  measured(source: Uint8Array, destination: Uint8Array): RememberedPair | undefined {
    return firstFound(this.#memories, pairHashes(hashesOf(source), hashesOf(destination), 0));
  }

  /** The remembered measurements of the pairs with all addresses of the probe of the source, and of the destination. */
  #ofHosts(
    { source, destination, timeS, probe }: Omit<PooledQuestion, "context">,
  ): (AskedPair | undefined)[] {
    const identities = this.#recall(KNOWN_IDENTITIES);
    const [a, b] = [source, destination].map(hashesOf);
    const ends = [{ own: a, other: b, named: probe }, { own: b, other: a, named: undefined }];
    return ends.map(({ own, other, named = identities.probeOf(own) }) => {
      const collected = new CollectedPair();
      for (const each of identities.addressesOf(named)) {
        collected.addAll(firstFound(this.#memories, pairHashes(each, other)) ?? NOTHING);
      }
      if (collected.length === 0) return undefined;
      return new AskedPair({ ...collected.sorted(), ...this.#usualPair }, timeS, this.#age);
    });
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

const NOTHING = { timesS: new Float64Array(), codes: new Uint16Array(), counts: new Float64Array() };

/** Adds measurements that a pair's memory does not contain. Those without a time are as new as the question. */
function withGiven(
  pair: RememberedPair,
  given: readonly TokenMeasurement[],
  timeS: number | null,
): RememberedPair {
  if (given.length === 0) return pair;
  const { timesS, codes } = pair;
  const latestS = timeS ?? timesS[timesS.length - 1] ?? 0;
  const collected = new CollectedPair();
  collected.addAll(pair);
  const isKnown = (code: number, atS: number) =>
    timesS.some((eachS, i) => codes[i] === code && Math.abs(eachS - atS) <= SAME_TIME_S);
  for (const each of given) {
    const code = each.rttCode ?? 0;
    if (each.timeS === null || !isKnown(code, each.timeS)) collected.add(each.timeS ?? latestS, code);
  }
  return { ...collected.sorted(), shares: pair.shares, spread: pair.spread };
}

/** Number of RTTs that an answer lists. */
const MAX_NEWEST = 24;

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
  const ofOthers = { modelShare: 1, massBetween: () => 0, addTo() {}, addToFirstBytes() {} };
  return { ...light, ...ofOthers, end: NUM_CODES, failureProbability, withNetwork: itself };
}

/** For forecasts in which nothing else depends on the network. */
function itself(this: PooledForecast): PooledForecast {
  return this;
}

/** The source's host, whose losses count only if the address itself is new: those of its addresses may differ. */
function hostOfNew([host]: KnownOfQuestion["ofHosts"], { ofSource }: KnownTries): AskedPair | undefined {
  return ofSource.measurements === 0 ? host : undefined;
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

/**
 * The answer about any time is the distribution of the pair's measurements. The other forecasts get at most
 * the weight of one further measurement, and the model none, since it only knows the newest RTTs.
 */
function ofAnyTime(known: KnownOfQuestion, pair: AskedPair, weights: Float64Array): Mixed {
  const others = withoutNetwork(weights).map((weight, k) =>
    k >= FIRST_OF_MEMORY && k < END_OF_MEMORY ? 0 : weight
  );
  const ofOthers = others.reduce((a, b) => a + b, 0);
  const share = Math.min(ofOthers, 1 / (pair.numReplies + 1));
  const scaledOthers = others.map((weight) => ofOthers > 0 ? weight / ofOthers * share : 0);
  const { kernels, even } = mixed(kernelsOf(known), scaledOthers);
  const own = pair.kernels().map((kernel) => ({ ...kernel, mass: (1 - share) * kernel.mass }));
  return { ofModel: 0, kernels: [...own, ...kernels], even };
}

/** Removes the weights that depend on the network. */
function withoutNetwork(weights: Float64Array): Float64Array {
  return without(weights, (k) => USES_NETWORK[k]);
}

/** Removes the weights of some components. If they have all the weight, the even distribution gets it. */
function without(weights: Float64Array, isRemoved: (component: number) => boolean): Float64Array {
  const rest = weights.reduce((sum, weight, k) => sum + (isRemoved(k) ? 0 : weight), 0);
  return weights.map((weight, k) => isRemoved(k) ? 0 : rest > 0 ? weight / rest : k === EVEN ? 1 : 0);
}

function massesOf(ofModel: number, mixture: KernelMixture): OthersMasses {
  const rest = 1 - LEAST_MASS;
  // Callers ask for the same few ranges repeatedly.
  const masses = new Map<number, number>();
  return {
    modelShare: rest * ofModel,
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
