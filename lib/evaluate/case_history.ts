/** The earlier measurements of a case's source, as far as a context may need them. @module */
import { partitionPoint } from "../collections/partition_point.ts";
import { NUM_RECALLED } from "../tokens/rtt_recall.ts";
import type { TokenMeasurement } from "../tokens/vocab_v2.ts";
import type { RowMeasurements } from "./row_measurements.ts";

interface Timed {
  timeUs: number;
  /** Its place; of equal times the later one counts as newer. */
  order: number;
  measurement: TokenMeasurement;
}

/** The newest measurements before a time: of one pair of addresses, and of all other pairs of its source. */
export class CaseHistory {
  #ofPair: Timed[] = [];
  /** Of the pair, those with RTTs. */
  #answered: Timed[] = [];
  #others: Timed[] = [];
  #numSeen = 0;

  /** @param beforeUs Only what is older counts, µs since 1970. @param maxContext How many of each kind are kept. */
  constructor(readonly beforeUs: number, readonly maxContext: number) {}

  /** Adds the needed measurements of a probe row of the case's source. @param pair The case's addresses. */
  add(measurements: RowMeasurements, pair: { srcAddr: string; dstAddr: string }): void {
    const { eventTimeUs, rttMs } = measurements.row;
    const isLater = (place: number) => eventTimeUs[place] >= this.beforeUs;
    const places = measurements.placesOfPair(pair);
    const ofPair = places.subarray(0, partitionPoint(places.length, (i) => isLater(places[i])));
    const numEarlier = partitionPoint(eventTimeUs.length, isLater);
    const join = (known: Timed[], found: number[], count: number): Timed[] => {
      const taken = found.map((place) => ({
        timeUs: eventTimeUs[place],
        order: this.#numSeen + place,
        measurement: measurements.at(place),
      }));
      return inOrder([...known, ...taken]).slice(-count || Infinity);
    };
    const isAnswered = (place: number) => rttMs[place] >= 0;
    const answered = newestPlaces(ofPair.length, NUM_RECALLED, (i) => isAnswered(ofPair[i]));
    this.#answered = join(this.#answered, answered.map((i) => ofPair[i]), NUM_RECALLED);
    this.#ofPair = join(this.#ofPair, [...ofPair.slice(-this.maxContext || Infinity)], this.maxContext);
    let next = ofPair.length - 1;
    const isOther = (place: number) => place !== ofPair[next] || next-- < 0;
    this.#others = join(this.#others, newestPlaces(numEarlier, this.maxContext, isOther), this.maxContext);
    this.#numSeen += eventTimeUs.length;
  }

  /** The newest RTTs of the pair, oldest first, as many as are recalled. */
  recent(): TokenMeasurement[] {
    return this.#answered.map(({ measurement }) => measurement);
  }

  /** All that is kept for a context, oldest first. */
  measurements(): TokenMeasurement[] {
    return inOrder([...this.#ofPair, ...this.#others]).map(({ measurement }) => measurement);
  }
}

function inOrder(measurements: Timed[]): Timed[] {
  return measurements.sort((a, b) => a.timeUs - b.timeUs || a.order - b.order);
}

/** The last `count` of the places 0..length - 1 that are wanted. Asks about each from the last one down. */
function newestPlaces(length: number, count: number, isWanted: (place: number) => boolean): number[] {
  const found: number[] = [];
  for (let place = length - 1; place >= 0 && found.length < count; place--) {
    if (isWanted(place)) found.push(place);
  }
  return found;
}
