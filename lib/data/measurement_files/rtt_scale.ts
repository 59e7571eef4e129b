/** Whether RTTs are as large as those of any network; if not, they are often in another unit. @module */

/** RTTs are counted by their logarithm, in steps of 2 %, from 1 ns to 51 days. */
const STEPS_PER_E = 50;
const LEAST_RTT_MS = 1e-6;
const NUM_STEPS = Math.ceil(STEPS_PER_E * Math.log(1e16));
/** Medians of plausible data, ms. */
const PLAUSIBLE_MS = { least: 0.05, most: 10_000 };

/** The median of RTTs, and what it says of their unit. */
export class RttScale {
  /** The RTTs so far. */
  numRtts = 0;
  readonly #counts = new Float64Array(NUM_STEPS);

  /** Counts an RTT. @param rttMs Above 0. */
  add(rttMs: number): void {
    const step = Math.floor(STEPS_PER_E * Math.log(rttMs / LEAST_RTT_MS));
    this.#counts[Math.max(0, Math.min(NUM_STEPS - 1, step))]++;
    this.numRtts++;
  }

  /** The median, to 2 %, ms; NaN if there is none. */
  get medianMs(): number {
    let numBelow = 0;
    const step = this.#counts.findIndex((count) => count > 0 && (numBelow += count) >= this.numRtts / 2);
    return step < 0 ? NaN : LEAST_RTT_MS * Math.exp((step + 0.5) / STEPS_PER_E);
  }

  /** A line for people if RTTs are not what they are in any network, with the unit that would fit. */
  get advice(): string | undefined {
    const { medianMs } = this;
    const { least, most } = PLAUSIBLE_MS;
    if (!(medianMs < least || medianMs > most)) return undefined;
    const [unit, key] = medianMs < least
      ? ["seconds", "rtt_s"]
      : medianMs > 1000 * most
      ? ["nanoseconds", "rtt_ns"]
      : ["microseconds", "rtt_us"];
    const median = +medianMs.toPrecision(3);
    return `the median RTT is ${median} ms, which looks like ${unit}: name the column with --columns ${key}=NAME`;
  }
}
