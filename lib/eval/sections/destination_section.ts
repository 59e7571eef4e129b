/**
 * The section on destinations: how well the model guesses the destination of a measurement from its source,
 * RTT and time, compared with guesses from earlier measurements. The model ranks destinations as `query
 * destinations` does, with fewer candidates in addition to the source's known ones.
 *
 * The context is the newest earlier measurements of the source. Other sections prefer measurements of the
 * same pair, but these would give the destination away. No method knows the probe of the source: baselines
 * learn from the same address that the question contains.
 *
 * @module
 */
import type { ProbeRowSource } from "../../data/loader/row_source.ts";
import type { SplitMode } from "../../data/probe_rows/splits.ts";
import {
  type DestinationQuery,
  rankDestinations,
  type RankedDestinations,
} from "../../query/destinations/destination_ranking.ts";
import type { PingModel } from "../../query/ping_model.ts";
import type { TokenMeasurement } from "../../data/tokens/vocab_v2.ts";
import {
  ClusterBootstrap,
  clustersOf,
  type ComparedIntervals,
  comparedWithFirst,
} from "../metrics/bootstrap.ts";
import { canonicalText, type EvalCase, withContexts } from "../cases.ts";
import { meanOf } from "../../base/sample_statistics.ts";
import { FAILED_RTT_MS } from "../../data/formats/batch.ts";
import { EventLoopPacer } from "../../io/threads/stage_hooks.ts";
import { addressBytes, formatAddress } from "../../data/addresses/ip.ts";
import { decodeRttCode } from "../../data/tokens/rtt_code.ts";
import { evenlySpread, getOrMake } from "../../base/collections.ts";
import { RttHistogram } from "../baselines/histories.ts";

/** How often the guesses of a method were right, compared with the model's. */
export interface MethodScores extends ComparedIntervals<"top1Exact" | "top5Exact"> {
  /** `model`, or how the guesses were made. */
  method: string;
  /** Share of the cases whose first guess is the destination, and of those where one of the first five is. */
  top1Exact: number;
  top5Exact: number;
  /** Keyed by prefix length in bits: the share of cases whose first guess has the destination's prefix. */
  top1Prefix: Record<string, number>;
}

/** Guesses of destinations of one IP version, with one context size. */
export interface DestinationScores {
  version: 4 | 6;
  /** Context size, and the mean number of measurements that were available. */
  numContext: number;
  meanContext: number;
  numCases: number;
  /** The model is first. */
  methods: MethodScores[];
}

export interface DestinationSection {
  /** Measurements whose destination is guessed, of all measurements of the evaluation. */
  numCases: number;
  numMeasurements: number;
  scores: DestinationScores[];
}

interface DestinationSectionOptions {
  /** The rows that the model was trained on; baselines learn from them. */
  training: ProbeRowSource;
  /** The `maxContext` that the cases were drawn with. */
  maxContext: number;
  /** How the cases were held out, for the intervals; see bootstrap.ts. */
  splitBy?: SplitMode | undefined;
  seed?: number;
  /** Maximum number of cases, spread evenly over all. */
  maxCases: number;
  /** Counts the training rows read and the cases asked about. */
  onProgress?: (done: number, total: number) => void;
  signal?: AbortSignal | undefined;
}

const NUM_GUESSES = 5;
const NUM_CONTEXT = 10;
/** Likely destinations to rank in addition to the source's known ones. */
const NUM_CANDIDATES = 32;
/** Maximum number of prefixes to expand in search of them, limited by the time of an evaluation. */
const MAX_EXPANSIONS = 64;
const PREFIX_LENGTHS = { 4: [8, 16, 24], 6: [16, 32, 48, 64] } as const;
const NUM_BYTES = { 4: 4, 6: 16 } as const;

interface Asked {
  readonly query: DestinationQuery & GuessQuery;
  readonly destination: Uint8Array;
}

/**
 * Guesses destinations, without context and with {@link NUM_CONTEXT} measurements in turn.
 *
 * @throws {UserError} If a measurement does not fit the model's sequence.
 */
export async function evaluateDestinations(
  model: PingModel,
  cases: readonly EvalCase[],
  options: DestinationSectionOptions,
): Promise<DestinationSection> {
  const { training, maxContext, maxCases, splitBy, seed = 0, onProgress, signal } = options;
  const chosen = evenlySpread(cases, maxCases);
  const contexts = [...new Set([0, Math.min(NUM_CONTEXT, maxContext)])];
  const total = training.numRows + chosen.length;
  let done = 0;
  const known = await learnDestinations(training, {
    sources: new Set(chosen.map(({ measurement }) => formatAddress(measurement.source))),
    onRow: () => onProgress?.(++done, total),
    signal,
  });
  const scores: DestinationScores[] = [];
  for (const version of [4, 6] as const) {
    const alike = chosen.filter(({ measurement }) => measurement.source.length === NUM_BYTES[version]);
    const turns = withContexts(alike.length, { contexts });
    const clusters = clustersOf(alike, splitBy).ofCase;
    for (const numContext of contexts) {
      const indexes = turns.filter(({ context }) => context === numContext).map(({ index }) => index);
      const asked = indexes.map((index) => askedOf(alike[index], numContext));
      if (asked.length === 0) continue;
      const ranked = await rankDestinations(model, asked.map(({ query }) => query), {
        numCandidates: NUM_CANDIDATES,
        maxExpansions: MAX_EXPANSIONS,
        top: NUM_GUESSES,
        signal,
        onProgress: (count) => onProgress?.(done + count, total),
      });
      done += asked.length;
      const bootstrap = new ClusterBootstrap(Uint32Array.from(indexes, (index) => clusters[index]), { seed });
      scores.push(scoresOf(asked, ranked, { version, numContext, known, bootstrap }));
    }
  }
  return { numCases: chosen.length, numMeasurements: cases.length, scores };
}

/**
 * The newest measurements of a case's source, whatever their destination.
 *
 * @param numContext At most the `maxContext` that the case was drawn with: its history contains that many of
 *   the newest measurements of the pair and of the other pairs.
 */
export function newestOf(
  { history }: Pick<EvalCase, "history">,
  numContext: number,
): readonly TokenMeasurement[] {
  return history.slice(Math.max(0, history.length - numContext));
}

function askedOf(each: EvalCase, numContext: number): Asked {
  const { rttMs, measurement } = each;
  const { source, destination, timeS } = measurement;
  const context = newestOf(each, numContext);
  const range = rttMs === null ? null : [rttMs, rttMs] as const;
  return { query: { source, rttMs: range, timeS, context }, destination };
}

function scoresOf(
  asked: readonly Asked[],
  ranked: readonly RankedDestinations[],
  { version, numContext, known, bootstrap }: {
    version: 4 | 6;
    numContext: number;
    known: KnownDestinations;
    bootstrap: ClusterBootstrap;
  },
): DestinationScores {
  const addresses = asked.map(({ destination }) => destination);
  const others = asked.map(({ query }) => known.guess(query, NUM_GUESSES));
  const named: NamedGuesses[] = [
    ["model", ranked.map((each) => each.destinations.map(({ prefix }) => prefix.bytes))],
    ...[...others[0].keys()].map((name): NamedGuesses => [
      name,
      others.map((guesses) => guesses.get(name) ?? []),
    ]),
  ];
  return {
    version,
    numContext,
    numCases: asked.length,
    meanContext: meanOf(asked.map(({ query }) => query.context.length)) ?? 0,
    methods: scoreMethods(addresses, bootstrap, named),
  };
}

/** Guesses of each address by one method, best first. */
type NamedGuesses = [name: string, guesses: readonly (readonly Uint8Array[])[]];

/**
 * Scores methods by how often their guesses are right.
 *
 * @param addresses The addresses to guess, at least one, all of one IP version, in the order of the
 *   bootstrap.
 * @param named The model's guesses first, then those of the baselines.
 */
export function scoreMethods(
  addresses: readonly Uint8Array[],
  bootstrap: ClusterBootstrap,
  named: readonly NamedGuesses[],
): MethodScores[] {
  const places = addresses.map((_, i) => i);
  const numBits = 8 * addresses[0].length;
  const lengths = PREFIX_LENGTHS[numBits === 32 ? 4 : 6];
  const hitsOf = (bits: readonly number[], length: number) => bits.map((n) => n >= length ? 1 : 0);
  const scored = named.map(([method, guesses]) => {
    const bitsOf = (count: number) =>
      addresses.map((address, i) => commonBits(guesses[i].slice(0, count), address));
    const first = bitsOf(1);
    const [top1, top5] = [first, bitsOf(NUM_GUESSES)].map((bits) => hitsOf(bits, numBits));
    const prefixes = lengths.map((length) => [length, meanOf(hitsOf(first, length)) ?? 0]);
    return { method, top1, top5, top1Prefix: Object.fromEntries(prefixes) };
  });
  const compared = comparedWithFirst(scored.map(({ top1, top5 }) => ({
    top1Exact: bootstrap.mean(top1, places),
    top5Exact: bootstrap.mean(top5, places),
  })));
  return scored.map(({ method, top1, top5, top1Prefix }, i) => ({
    method,
    top1Exact: meanOf(top1) ?? 0,
    top5Exact: meanOf(top5) ?? 0,
    top1Prefix,
    ...compared[i],
  }));
}

/** The longest prefix in bits that a guess shares with an address; -1 without guesses. */
function commonBits(guesses: readonly Uint8Array[], address: Uint8Array): number {
  return Math.max(-1, ...guesses.map((guess) => numCommonBits(guess, address)));
}

function numCommonBits(a: Uint8Array, b: Uint8Array): number {
  const byte = a.findIndex((value, i) => value !== b[i]);
  return byte < 0 ? 8 * a.length : 8 * byte + Math.clz32(a[byte] ^ b[byte]) - 24;
}

// Guesses without a model, from earlier measurements: the most frequent destinations overall or of the same
// source, and those whose median RTT, of the source or of all, is nearest to the measured one.

/** More guesses than are requested from any method. */
const MAX_GUESSES = 100;

/** Measurements of a destination, of one source or of all. */
interface KnownDestination {
  count: number;
  rtts: RttHistogram;
}

interface GuessQuery {
  /** Address, 4 or 16 bytes; the destination has the same length. */
  readonly source: Uint8Array;
  /** The same number twice; null for no reply. */
  readonly rttMs: readonly [number, number] | null;
  /** Measurements of the same source, known in addition to the training rows. */
  readonly context: readonly TokenMeasurement[];
}

/** Keyed by method, best first. */
export type Guesses = ReadonlyMap<string, readonly Uint8Array[]>;

/**
 * The destinations of the training rows. Memory grows with the distinct destinations and their RTT codes, not
 * with the rows.
 */
export class KnownDestinations {
  readonly #ofSource: ReadonlyMap<string, Map<string, KnownDestination>>;
  readonly #ofAll = new Map<string, KnownDestination>();
  readonly #ranked = new Map<number, string[]>();

  /** @param sources The sources that are asked about, as `formatAddress` writes them. */
  constructor(sources: Iterable<string>) {
    this.#ofSource = new Map([...sources].map((source) => [source, new Map()]));
  }

  /** Adds a measurement. Addresses are in the spelling of `formatAddress`. @param rttMs Null for no reply. */
  add(source: string, destination: string, rttMs: number | null): void {
    addTo(this.#ofAll, destination, rttMs);
    this.#ranked.clear();
    const known = this.#ofSource.get(source);
    if (known) addTo(known, destination, rttMs);
  }

  /**
   * Guesses a destination. A method with too few guesses is completed by the source's frequent destinations,
   * then by the frequent ones of all.
   *
   * @param count Guesses of each method, at most.
   */
  guess(query: GuessQuery, count: number): Guesses {
    const known = this.#known(query);
    const frequent = [...known].sort(([, a], [, b]) => b.count - a.count).map(([name]) => name);
    const overall = this.#mostFrequent(query.source.length).slice(0, count);
    const rttMs = query.rttMs?.[0] ?? null;
    const ofAll = ofVersion(this.#ofAll, query.source.length);
    return new Map([
      ["nearest median RTT of the source", first(count, nearest(known, rttMs), frequent, overall)],
      ["nearest median RTT of all", first(count, nearest(ofAll, rttMs), overall)],
      ["most frequent of the source", first(count, frequent, overall)],
      ["most frequent of all", first(count, overall)],
    ]);
  }

  /** The source's destinations in the training rows and the context, of the right IP version. */
  #known({ source, context }: GuessQuery): Map<string, KnownDestination> {
    const inContext = new Map<string, KnownDestination>();
    for (const { destination, rttCode } of context) {
      addTo(inContext, formatAddress(destination), rttCode === null ? null : decodeRttCode(rttCode));
    }
    const known = ofVersion(this.#ofSource.get(formatAddress(source)) ?? new Map(), source.length);
    for (const [name, { count, rtts }] of inContext) {
      const own = known.get(name);
      const hasMedian = own && !Number.isNaN(own.rtts.medianMs());
      if (isOfVersion(name, source.length)) {
        known.set(name, { count: count + (own?.count ?? 0), rtts: hasMedian ? own.rtts : rtts });
      }
    }
    return known;
  }

  #mostFrequent(numBytes: number): readonly string[] {
    return getOrMake(this.#ranked, numBytes, () => {
      const known = [...ofVersion(this.#ofAll, numBytes)].sort(([, a], [, b]) => b.count - a.count);
      return known.slice(0, MAX_GUESSES).map(([name]) => name);
    });
  }
}

/** Destinations by the distance of their median from an RTT; those without a median are left out. */
function nearest(known: ReadonlyMap<string, KnownDestination>, rttMs: number | null): string[] {
  if (rttMs === null) return [];
  const distances = [...known].map(([name, { rtts }]) => ({ name, ms: Math.abs(rtts.medianMs() - rttMs) }));
  return distances.filter(({ ms }) => !Number.isNaN(ms)).sort((a, b) => a.ms - b.ms).map(({ name }) => name);
}

/** The first distinct addresses of several lists, one list after the other. */
function first(count: number, ...lists: readonly (readonly string[])[]): Uint8Array[] {
  return [...new Set(lists.flat())].slice(0, count).map(addressBytes);
}

function addTo(known: Map<string, KnownDestination>, name: string, rttMs: number | null): void {
  const destination = getOrMake(known, name, () => ({ count: 0, rtts: new RttHistogram() }));
  destination.count++;
  if (rttMs !== null) destination.rtts.add(rttMs);
}

function ofVersion(
  known: ReadonlyMap<string, KnownDestination>,
  numBytes: number,
): Map<string, KnownDestination> {
  return new Map([...known].filter(([name]) => isOfVersion(name, numBytes)));
}

function isOfVersion(name: string, numBytes: number): boolean {
  return name.includes(":") === (numBytes === 16);
}

export async function learnDestinations(
  rows: ProbeRowSource,
  options: { sources: Iterable<string>; signal?: AbortSignal | undefined; onRow?: () => void },
): Promise<KnownDestinations> {
  const known = new KnownDestinations(options.sources);
  const pacer = new EventLoopPacer(options);
  for (let r = 0; r < rows.numRows; r++) {
    const { srcAddrs, srcIndex, dstAddrs, dstIndex, rttMs } = rows.row(r);
    const [sources, destinations] = [srcAddrs, dstAddrs].map((names) => names.map(canonicalText));
    for (let i = 0; i < rttMs.length; i++) {
      const rtt = rttMs[i] === FAILED_RTT_MS ? null : rttMs[i];
      known.add(sources[srcIndex[i]], destinations[dstIndex[i]], rtt);
    }
    options.onRow?.();
    await pacer.yieldToEventLoop();
  }
  return known;
}
