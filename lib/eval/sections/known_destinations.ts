/**
 * Guesses of destinations without a model, from what was measured before: the destinations most frequent overall or
 * of the same source, and those of the source whose median RTT is nearest to the one that was measured.
 *
 * @module
 */
import type { ProbeRowSource } from "../../data/loader/row_source.ts";
import { FAILED_RTT_MS } from "../../data/measurement/batch.ts";
import { EventLoopPacer } from "../../io/threads/stage_hooks.ts";
import { addressBytes, formatAddress } from "../../data/addresses/ip.ts";
import { decodeRttCode } from "../../data/tokens/rtt_code.ts";
import type { TokenMeasurement } from "../../data/tokens/vocab_v2.ts";
import { getOrMake } from "../../base/collections.ts";
import { RttHistogram } from "../baselines/histories.ts";
import { canonicalText, sourceKeyOf } from "../row_measurements.ts";

/** More than any method is asked for. */
const MAX_GUESSES = 100;

/** What is known of a destination of one source. */
interface KnownDestination {
  count: number;
  rtts: RttHistogram;
}

/** A destination to guess. */
export interface GuessQuery {
  /** As the probe rows tell sources apart. */
  readonly sourceKey: string;
  /** Its address, 4 or 16 bytes: the destination has as many. */
  readonly source: Uint8Array;
  /** Milliseconds, twice the same; null if there was no reply. */
  readonly rttMs: readonly [number, number] | null;
  /** Measurements of the same source, known besides the training rows. */
  readonly context: readonly TokenMeasurement[];
}

/** Guesses by the name of their method, each list the best first. */
export type Guesses = ReadonlyMap<string, readonly Uint8Array[]>;

/**
 * The destinations of the training rows. Memory grows with the different destinations, and for the sources that are
 * asked about with their destinations' RTT codes, not with the rows.
 */
export class KnownDestinations {
  readonly #ofSource: ReadonlyMap<string, Map<string, KnownDestination>>;
  readonly #counts = new Map<string, number>();
  readonly #ranked = new Map<number, string[]>();

  /** @param sourceKeys The sources that are asked about. */
  constructor(sourceKeys: Iterable<string>) {
    this.#ofSource = new Map([...sourceKeys].map((key) => [key, new Map()]));
  }

  /** Learns a measurement. @param rttMs Null if there was no reply. */
  add(sourceKey: string, destination: string, rttMs: number | null): void {
    this.#counts.set(destination, (this.#counts.get(destination) ?? 0) + 1);
    this.#ranked.clear();
    const known = this.#ofSource.get(sourceKey);
    if (known) addTo(known, destination, rttMs);
  }

  /**
   * Guesses a destination. Where a method has too few guesses, those of the source's frequent destinations and then
   * of the frequent ones of all follow.
   *
   * @param count How many guesses of each method, at most.
   */
  guess(query: GuessQuery, count: number): Guesses {
    const known = this.#known(query);
    const frequent = [...known].sort(([, a], [, b]) => b.count - a.count).map(([name]) => name);
    const overall = this.#mostFrequent(query.source.length).slice(0, count);
    return new Map([
      [
        "nearest median RTT of the source",
        first(count, nearest(known, query.rttMs?.[0] ?? null), frequent, overall),
      ],
      ["most frequent of the source", first(count, frequent, overall)],
      ["most frequent of all", first(count, overall)],
    ]);
  }

  /** The source's destinations of the training rows and of the context, of the version asked for. */
  #known({ sourceKey, source, context }: GuessQuery): Map<string, KnownDestination> {
    const inContext = new Map<string, KnownDestination>();
    for (const { destination, rttCode } of context) {
      addTo(inContext, formatAddress(destination), rttCode === null ? null : decodeRttCode(rttCode));
    }
    const trained = this.#ofSource.get(sourceKey) ?? new Map<string, KnownDestination>();
    const known = new Map([...trained].filter(([name]) => isOfVersion(name, source.length)));
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
      const counts = [...this.#counts].filter(([name]) => isOfVersion(name, numBytes));
      return counts.sort(([, a], [, b]) => b - a).slice(0, MAX_GUESSES).map(([name]) => name);
    });
  }
}

/** Destinations by how near their median is to an RTT; those without one, and all where there is no RTT, are left out. */
function nearest(known: ReadonlyMap<string, KnownDestination>, rttMs: number | null): string[] {
  if (rttMs === null) return [];
  const distances = [...known].map(([name, { rtts }]) => ({ name, ms: Math.abs(rtts.medianMs() - rttMs) }));
  return distances.filter(({ ms }) => !Number.isNaN(ms)).sort((a, b) => a.ms - b.ms).map(({ name }) => name);
}

/** The first different addresses of lists, one list after the other. */
function first(count: number, ...lists: readonly (readonly string[])[]): Uint8Array[] {
  return [...new Set(lists.flat())].slice(0, count).map(addressBytes);
}

function addTo(known: Map<string, KnownDestination>, name: string, rttMs: number | null): void {
  const destination = getOrMake(known, name, () => ({ count: 0, rtts: new RttHistogram() }));
  destination.count++;
  if (rttMs !== null) destination.rtts.add(rttMs);
}

function isOfVersion(name: string, numBytes: number): boolean {
  return name.includes(":") === (numBytes === 16);
}

/** Learns the destinations of training rows. */
export async function learnDestinations(
  rows: ProbeRowSource,
  options: { sourceKeys: Iterable<string>; signal?: AbortSignal | undefined; onRow?: () => void },
): Promise<KnownDestinations> {
  const known = new KnownDestinations(options.sourceKeys);
  const pacer = new EventLoopPacer(options);
  for (let r = 0; r < rows.numRows; r++) {
    const row = rows.row(r);
    const { dstAddrs, dstIndex, rttMs } = row;
    const names = dstAddrs.map(canonicalText);
    const sourceKey = sourceKeyOf(row);
    for (let i = 0; i < rttMs.length; i++) {
      known.add(sourceKey, names[dstIndex[i]], rttMs[i] === FAILED_RTT_MS ? null : rttMs[i]);
    }
    options.onRow?.();
    await pacer.yieldToEventLoop();
  }
  return known;
}
