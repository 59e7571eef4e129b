/**
 * Fixed limits: whether the median RTT, or the share of losses, of a pair's measurements in the last minutes
 * is above a value.
 *
 * @module
 */

/** @internal A limit of the pairs that it is for. */
export interface Limit {
  /** For people, such as `median RTT above 100 ms for 5m`. */
  readonly text: string;
  readonly quantity: "rtt" | "loss";
  /** The RTT in ms, or the share of losses. */
  readonly value: number;
  /** Length of the window, s. */
  readonly withinS: number;
  /** Whether it is for the pairs of an address; it then replaces limits for all pairs (default: all pairs). */
  readonly isFor?: ((address: string) => boolean) | undefined;
}

/** The limits of a pair: those for its addresses, or else those for all pairs, for RTTs and for losses. */
export function limitsOf(limits: readonly Limit[], ...addresses: readonly string[]): Limit[] {
  const own = limits.filter(({ isFor }) => isFor && addresses.some(isFor));
  const replaced = new Set(own.map(({ quantity }) => quantity));
  return [...own, ...limits.filter(({ isFor, quantity }) => !isFor && !replaced.has(quantity))];
}

/** The window advances in this many steps, which bounds the memory. */
const NUM_SLOTS = 60;
/** A window has at least this many measurements, also older ones. */
const MIN_COUNT = 3;
/** At least this many are above the limit or lost, so that a single one raises no alarm. */
const MIN_ABOVE = 2;

/** Follows a limit for one pair. */
export class LimitDetector {
  /** Counts of the window by time. */
  readonly #slots: { slot: number; all: number; above: number }[] = [];
  readonly #sum = { all: 0, above: 0 };
  #firstS = NaN;
  #isPassed = false;
  /** While the limit is passed, since when the windows are not above it. */
  #belowSinceS: number | undefined;

  constructor(readonly limit: Limit) {}

  /**
   * Adds a measurement.
   *
   * @param rttMs NaN for a loss.
   * @returns When the limit was passed, or when it was no longer, which is known once that has lasted as long as
   *   the window; undefined if nothing changed.
   */
  add(timeS: number, rttMs: number): { kind: "begin" | "end"; timeS: number } | undefined {
    const { quantity, value, withinS } = this.limit;
    const isLost = Number.isNaN(rttMs);
    // Losses have no RTT that could count.
    if (quantity === "rtt" && isLost) return undefined;
    if (Number.isNaN(this.#firstS)) this.#firstS = timeS;
    this.#count(Math.floor(timeS / (withinS / NUM_SLOTS)), quantity === "loss" ? isLost : rttMs > value);
    if (timeS - this.#firstS < withinS || this.#sum.all < MIN_COUNT) return undefined;
    const { all, above } = this.#sum;
    const isAbove = above >= MIN_ABOVE && above / all > (quantity === "loss" ? value : 0.5);
    if (!this.#isPassed) {
      this.#isPassed = isAbove;
      return isAbove ? { kind: "begin", timeS } : undefined;
    }
    const sinceS = this.#belowSinceS = isAbove ? undefined : this.#belowSinceS ?? timeS;
    if (sinceS === undefined || timeS - sinceS < withinS) return undefined;
    this.#isPassed = false;
    this.#belowSinceS = undefined;
    return { kind: "end", timeS: sinceS };
  }

  /** Share of the measurements in the window that are above the limit, or lost. */
  get share(): number {
    return this.#sum.above / this.#sum.all;
  }

  #count(slot: number, isAbove: boolean): void {
    const last = this.#slots.at(-1);
    const own = last?.slot === slot ? last : { slot, all: 0, above: 0 };
    if (own !== last) this.#slots.push(own);
    own.all++;
    this.#sum.all++;
    if (isAbove) {
      own.above++;
      this.#sum.above++;
    }
    while (this.#slots[0].slot <= slot - NUM_SLOTS && this.#sum.all - this.#slots[0].all >= MIN_COUNT) {
      const [{ all, above }] = this.#slots.splice(0, 1);
      this.#sum.all -= all;
      this.#sum.above -= above;
    }
  }
}
