/**
 * The earlier measurements of a source, and which of them form the context of its next measurement. `eval`
 * uses this rule; `score` starts its contexts with it and then extends them (see
 * {@link SourceHistory.growingContextOf}).
 *
 * @module
 */
import { prefixLengths, type TokenMeasurement } from "./vocab_v2.ts";

/**
 * Maximum number of measurements to keep per source, about 10 MB. A source with more pairs than this divided
 * by the context size loses measurements that a context could contain.
 */
const MAX_KEPT = 65_536;
/** Dropped measurements stay in the list of all until they outnumber the kept ones by this many. */
const MAX_EXCESS_DROPPED = 256;

interface Kept {
  readonly pair: string;
  /** Index among the source's measurements. */
  readonly order: number;
  readonly timeUs: number;
  readonly measurement: TokenMeasurement;
  isDropped: boolean;
}

/** The history of one source. Measurements must be added in time order. */
export class SourceHistory {
  /** Oldest first, including some dropped ones. */
  #all: Kept[] = [];
  readonly #byPair = new Map<string, Kept[]>();
  /**
   * The last context that {@link growingContextOf} returned for each pair, while a measurement of the pair is
   * kept.
   */
  readonly #runs = new Map<string, { context: TokenMeasurement[]; endOrder: number }>();
  #numKept = 0;
  #numAdded = 0;
  /** Measurements with the newest time, none of which counts as earlier than the others. */
  #waiting: Kept[] = [];

  /**
   * @param maxContext Maximum number of measurements in a context.
   * @param sequenceLength Number of tokens in the model's sequence, for {@link growingContextOf}.
   */
  constructor(
    readonly maxContext: number,
    readonly sequenceLength: number = Infinity,
    readonly maxKept: number = MAX_KEPT,
  ) {}

  get numKept(): number {
    return this.#numKept + this.#waiting.length;
  }

  /** Forgets everything, for the next source. */
  clear(): void {
    this.#all = [];
    this.#waiting = [];
    this.#byPair.clear();
    this.#runs.clear();
    this.#numKept = 0;
  }

  /** @param timeUs Not before the time of any added measurement. */
  add(pair: string, timeUs: number, measurement: TokenMeasurement): void {
    if (this.maxContext === 0) return;
    this.#advance(timeUs);
    this.#waiting.push({ pair, order: this.#numAdded++, timeUs, measurement, isDropped: false });
  }

  /**
   * The context of a measurement: the newest older ones of the same pair and, if there are fewer than
   * `limit`, the newest others.
   *
   * @param timeUs The measurement's time, not before that of any added measurement.
   * @returns Oldest first.
   */
  contextOf(pair: string, timeUs: number, limit: number = this.maxContext): TokenMeasurement[] {
    this.#advance(timeUs);
    const context = limit === 0 ? [] : this.#byPair.get(pair)?.slice(-limit) ?? [];
    for (let i = this.#all.length - 1; i >= 0 && context.length < limit; i--) {
      const kept = this.#all[i];
      if (!kept.isDropped && kept.pair !== pair) context.push(kept);
    }
    return context.sort((a, b) => a.order - b.order).map(({ measurement }) => measurement);
  }

  /**
   * The context of the measurement that is added next: the pair's last context and its measurements since
   * then, so that a model reads both contexts in one pass. If it would exceed `maxContext` or the model's
   * sequence, it starts over with the newest of {@link contextOf} that fill at most half of either.
   *
   * @returns At most `maxContext` measurements, oldest first.
   */
  growingContextOf(pair: string, timeUs: number, asked: TokenMeasurement): TokenMeasurement[] {
    this.#advance(timeUs);
    const run = this.#runs.get(pair);
    const since = this.#byPair.get(pair)?.filter(({ order }) => order >= (run?.endOrder ?? 0)) ?? [];
    let context = run ? [...run.context, ...since.map(({ measurement }) => measurement)] : [];
    if (!run || context.length > this.maxContext || lengthOf([...context, asked]) > this.sequenceLength) {
      context = this.contextOf(pair, timeUs, Math.ceil(this.maxContext / 2));
      while (lengthOf(context) > this.sequenceLength / 2) context.shift();
    }
    const newest = this.#byPair.get(pair)?.at(-1);
    if (this.maxContext > 0) this.#runs.set(pair, { context, endOrder: (newest?.order ?? -1) + 1 });
    return context;
  }

  /** Keeps the waiting measurements that are older than a time. */
  #advance(timeUs: number): void {
    if (this.#waiting.length === 0 || this.#waiting[0].timeUs >= timeUs) return;
    for (const kept of this.#waiting) this.#keep(kept);
    this.#waiting = [];
    if (this.#all.length > 2 * this.#numKept + MAX_EXCESS_DROPPED) {
      this.#all = this.#all.filter(({ isDropped }) => !isDropped);
    }
  }

  #keep(kept: Kept): void {
    const ofPair = this.#byPair.get(kept.pair) ?? [];
    if (ofPair.push(kept) === 1) this.#byPair.set(kept.pair, ofPair);
    this.#all.push(kept);
    this.#numKept++;
    if (ofPair.length > this.maxContext) this.#drop(ofPair[0]);
    else if (this.#numKept > this.maxKept) this.#drop(this.#all.find(({ isDropped }) => !isDropped));
  }

  #drop(oldest: Kept | undefined): void {
    if (!oldest) return;
    const ofPair = this.#byPair.get(oldest.pair);
    ofPair?.shift();
    if (ofPair?.length === 0) {
      this.#byPair.delete(oldest.pair);
      this.#runs.delete(oldest.pair);
    }
    oldest.isDropped = true;
    this.#numKept--;
  }
}

function lengthOf(measurements: readonly TokenMeasurement[]): number {
  return prefixLengths(measurements)[measurements.length];
}

export function pairNameOf(
  { source, destination }: Pick<TokenMeasurement, "source" | "destination">,
): string {
  return `${source} ${destination}`;
}
