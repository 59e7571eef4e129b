/**
 * What a source measured before, and which of it is the context of its next measurement: the rule that `score` and
 * `eval` share.
 *
 * @module
 */
import type { TokenMeasurement } from "../tokens/vocab_v2.ts";

/**
 * How many measurements of a source are kept at most, the newest; 10 MB. Only a source that measures more pairs than
 * this divided by the context loses any that a context could hold.
 */
const MAX_KEPT = 65_536;
/** How many that are of no use any more may stand among those kept, beside as many as there are of use. */
const MAX_USELESS = 256;

interface Kept {
  readonly pair: string;
  /** Its number among the source's measurements. */
  readonly order: number;
  readonly timeUs: number;
  readonly measurement: TokenMeasurement;
  isOfUse: boolean;
}

/** The history of one source. Measurements are added in order of time. */
export class SourceHistory {
  /** Oldest first, some of no use any more. */
  #newest: Kept[] = [];
  readonly #byPair = new Map<string, Kept[]>();
  #numOfUse = 0;
  #numAdded = 0;
  /** Measurements of the newest time, which are not earlier than each other. */
  #waiting: Kept[] = [];

  /** @param maxContext How many measurements a context has at most. @param maxKept For tests. */
  constructor(readonly maxContext: number, readonly maxKept: number = MAX_KEPT) {}

  /** Forgets everything, for the next source. */
  clear(): void {
    this.#newest = [];
    this.#waiting = [];
    this.#byPair.clear();
    this.#numOfUse = 0;
  }

  /**
   * Adds a measurement.
   *
   * @param pair Which pair of addresses it is of.
   * @param timeUs Not before any that was added.
   */
  add(pair: string, timeUs: number, measurement: TokenMeasurement): void {
    if (this.maxContext === 0) return;
    this.#advance(timeUs);
    this.#waiting.push({ pair, order: this.#numAdded++, timeUs, measurement, isOfUse: true });
  }

  /**
   * The context of a measurement: the newest earlier ones of the same pair; where these are fewer, also the newest
   * others.
   *
   * @param timeUs When it is; only what is older counts. Not before any that was added.
   * @returns At most `maxContext`, oldest first.
   */
  contextOf(pair: string, timeUs: number): TokenMeasurement[] {
    this.#advance(timeUs);
    const ofPair = this.#byPair.get(pair) ?? [];
    const others: Kept[] = [];
    for (let i = this.#newest.length - 1; i >= 0 && ofPair.length + others.length < this.maxContext; i--) {
      const kept = this.#newest[i];
      if (kept.isOfUse && kept.pair !== pair) others.push(kept);
    }
    return [...ofPair, ...others]
      .sort((a, b) => a.order - b.order).map(({ measurement }) => measurement);
  }

  /** Takes in what is older than a time. */
  #advance(timeUs: number): void {
    if (this.#waiting.length === 0 || this.#waiting[0].timeUs >= timeUs) return;
    for (const kept of this.#waiting) this.#keep(kept);
    this.#waiting = [];
    if (this.#newest.length > 2 * this.#numOfUse + MAX_USELESS) {
      this.#newest = this.#newest.filter(({ isOfUse }) => isOfUse);
    }
  }

  #keep(kept: Kept): void {
    const ofPair = this.#byPair.get(kept.pair);
    if (ofPair) ofPair.push(kept);
    else this.#byPair.set(kept.pair, [kept]);
    this.#newest.push(kept);
    this.#numOfUse++;
    if (ofPair && ofPair.length > this.maxContext) this.#dropOldestOf(ofPair);
    else if (this.#numOfUse > this.maxKept) this.#dropOldest();
  }

  #dropOldest(): void {
    const oldest = this.#newest.find(({ isOfUse }) => isOfUse);
    const ofPair = oldest && this.#byPair.get(oldest.pair);
    if (!ofPair) return;
    this.#dropOldestOf(ofPair);
    if (ofPair.length === 0) this.#byPair.delete(oldest.pair);
  }

  #dropOldestOf(ofPair: Kept[]): void {
    const dropped = ofPair.shift();
    if (dropped) dropped.isOfUse = false;
    this.#numOfUse--;
  }
}

/** A name of a measurement's pair of addresses, the same for the same pair. */
export function pairNameOf(
  { source, destination }: Pick<TokenMeasurement, "source" | "destination">,
): string {
  return `${source} ${destination}`;
}
