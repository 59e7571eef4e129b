/** Checks whether RTTs are plausible for a network. Implausible ones often have another unit. @module */

/** RTTs are counted by logarithm in steps of 2 %, from 1 ns to 51 days. */
const STEPS_PER_E = 50;
const LEAST_RTT_MS = 1e-6;
const NUM_STEPS = Math.ceil(STEPS_PER_E * Math.log(1e16));
/** The range of plausible medians. */
const PLAUSIBLE_MS = { least: 0.05, most: 10_000 };

export class RttScale {
  numRtts = 0;
  readonly #counts = new Float64Array(NUM_STEPS);

  /** @param rttMs Above 0. */
  add(rttMs: number): void {
    const step = Math.floor(STEPS_PER_E * Math.log(rttMs / LEAST_RTT_MS));
    this.#counts[Math.max(0, Math.min(NUM_STEPS - 1, step))]++;
    this.numRtts++;
  }

  /** Accurate to 2 %; NaN if there are no RTTs. */
  get medianMs(): number {
    let numBelow = 0;
    const step = this.#counts.findIndex((count) => count > 0 && (numBelow += count) >= this.numRtts / 2);
    return step < 0 ? NaN : LEAST_RTT_MS * Math.exp((step + 0.5) / STEPS_PER_E);
  }

  /** A warning with the probable unit if the median is implausible. */
  get advice(): string | undefined {
    const { medianMs } = this;
    const { least, most } = PLAUSIBLE_MS;
    if (!(medianMs < least || medianMs > most)) return undefined;
    const [unit, key] = medianMs < least
      ? ["seconds", "rtt_s"]
      : medianMs > 100 * most
      ? ["nanoseconds", "rtt_ns"]
      : ["microseconds", "rtt_us"];
    const median = +medianMs.toPrecision(3);
    return `the median RTT is ${median} ms, which looks like ${unit}: name the column of a table with ` +
      `--columns ${key}=NAME, or convert the unit in the query of Prometheus`;
  }
}
