/** What a source measured before a case, of which only what a context may need is kept. @module */
import { partitionPoint } from "../collections/partition_point.ts";
import { NUM_RECALLED } from "../tokens/rtt_recall.ts";
import type { TokenMeasurement } from "../tokens/vocab_v2.ts";
import type { RowMeasurements } from "./row_measurements.ts";

interface Timed {
  timeUs: number;
  measurement: TokenMeasurement;
}

/** The newest measurements before a time: of one pair of addresses, and of all other pairs of its source. */
export class CaseHistory {
  #ofPair: Timed[] = [];
  /** Of the pair, those with RTTs. */
  #answered: Timed[] = [];
  #others: Timed[] = [];

  /** @param beforeUs Only what is older counts, µs since 1970. @param maxContext How many of each kind are kept. */
  constructor(readonly beforeUs: number, readonly maxContext: number) {}

  /** Takes what is needed of a probe row of the case's source. @param pair The case's addresses. */
  add(measurements: RowMeasurements, pair: { srcAddr: string; dstAddr: string }): void {
    const { eventTimeUs } = measurements.row;
    const places = measurements.placesOfPair(pair);
    const isLater = (place: number) => eventTimeUs[place] >= this.beforeUs;
    const end = partitionPoint(eventTimeUs.length, (place) => isLater(place));
    const pairEnd = partitionPoint(places.length, (i) => isLater(places[i]));
    const ofPair: Timed[] = [];
    const others: Timed[] = [];
    const take = (place: number): Timed => ({
      timeUs: eventTimeUs[place],
      measurement: measurements.at(place),
    });
    for (let i = Math.max(0, pairEnd - this.maxContext); i < pairEnd; i++) ofPair.push(take(places[i]));
    const answered: Timed[] = [];
    for (let i = pairEnd - 1; i >= 0 && answered.length < NUM_RECALLED; i--) {
      if (measurements.row.rttMs[places[i]] >= 0) answered.push(take(places[i]));
    }
    this.#answered = newest([...this.#answered, ...answered.reverse()], NUM_RECALLED);
    const numOthers = Math.min(this.maxContext, end - pairEnd);
    let nextOfPair = pairEnd - 1;
    for (let place = end - 1; others.length < numOthers; place--) {
      if (place === places[nextOfPair]) nextOfPair--;
      else others.push(take(place));
    }
    this.#ofPair = newest([...this.#ofPair, ...ofPair], this.maxContext);
    this.#others = newest([...this.#others, ...others.reverse()], this.maxContext);
  }

  /** The newest RTTs of the pair, oldest first, as many as are recalled. */
  recent(): TokenMeasurement[] {
    return this.#answered.map(({ measurement }) => measurement);
  }

  /** All that is kept for a context, oldest first. */
  measurements(): TokenMeasurement[] {
    return byTime([...this.#ofPair, ...this.#others]).map(({ measurement }) => measurement);
  }
}

/**
 * How many measurements of the pair and of others make a context, of those there are: those of the pair first. A
 * pair's own results tell more about its next one than those of other pairs: with 10 of context and half of them from
 * others, the median absolute error of real pairs was twice as large.
 */
export function contextShares(
  count: number,
  { pair, others }: { pair: number; others: number },
): { pair: number; others: number } {
  const fromPair = Math.min(pair, count);
  return { pair: fromPair, others: Math.min(others, count - fromPair) };
}

/** The newest of them, oldest first; of equally old ones the later in the list count as newer. */
function newest(measurements: Timed[], count: number): Timed[] {
  return byTime(measurements).slice(Math.max(0, measurements.length - count));
}

function byTime(measurements: Timed[]): Timed[] {
  return measurements.sort((a, b) => a.timeUs - b.timeUs);
}
