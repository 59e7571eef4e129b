/**
 * Counts measurements, whatever file they are of.
 *
 * @module
 */
import { basename, dirname } from "@std/path";
import { FAILED_RTT_MS } from "../measurement/batch.ts";
import { KeyTable } from "../external_sort/key_table.ts";
import { SPLIT_NAMES } from "../preprocess/splits.ts";
import { mix } from "../random/mix.ts";
import { DistinctCount } from "./distinct_count.ts";
import { type Histogram, logHistogram, TimeHistogram, ValueHistogram } from "./histogram.ts";
import { distributionFact, type Fact, formatShare, formatTime } from "./report.ts";

/** What is known of all measurements together. */
export class MeasurementTally {
  readonly sources = new DistinctCount();
  readonly destinations = new DistinctCount();
  count = 0;
  /** RTTs that are neither one nor that of a failure. */
  numImpossible = 0;
  readonly #times = new TimeHistogram();
  readonly #rttMs = new ValueHistogram();
  #numFailed = 0;
  #numIpv6 = 0;
  #firstUs = Infinity;
  #lastUs = -Infinity;

  /** Adds a measurement; its addresses are to be added by themselves. */
  add(timeUs: number, rttMs: number, ipVersion: number): void {
    this.count++;
    this.#times.add(timeUs);
    if (timeUs < this.#firstUs) this.#firstUs = timeUs;
    if (timeUs > this.#lastUs) this.#lastUs = timeUs;
    if (rttMs === FAILED_RTT_MS) this.#numFailed++;
    else if (rttMs >= 0 && rttMs < Infinity) this.#rttMs.add(rttMs);
    else this.numImpossible++;
    if (ipVersion === 6) this.#numIpv6++;
  }

  /** What is shown. @param others Further distinct values that were counted. */
  facts(others: readonly DistinctCount[] = []): Fact[] {
    const share = (count: number) => count / Math.max(1, this.count);
    const firstTime = this.count > 0 ? formatTime(this.#firstUs) : null;
    const lastTime = this.count > 0 ? formatTime(this.#lastUs) : null;
    const distinct = [this.sources, this.destinations, ...others];
    return [
      ["sources", `${this.sources}`, { sources: this.sources.count }],
      ["destinations", `${this.destinations}`, {
        destinations: this.destinations.count,
        distinctCapped: distinct.some(({ isCapped }) => isCapped),
      }],
      ["IPv6", formatShare(share(this.#numIpv6)), { ipv6Share: share(this.#numIpv6) }],
      ["time", firstTime === null ? "none" : `${firstTime} to ${lastTime}`, { firstTime, lastTime }],
      ["no reply", formatShare(share(this.#numFailed)), { failedShare: share(this.#numFailed) }],
      distributionFact("RTT", this.#rttMs, "ms", "rttMs"),
    ];
  }

  /** What a picture shows. */
  histograms(): Histogram[] {
    return [
      logHistogram("RTT, ms", "measurements", this.#rttMs),
      { label: "time, UTC", countLabel: "measurements", scale: "utc", bins: this.#times.bins() },
    ];
  }
}

/** The different measurements: those of the same time are equal whose other values have the same hash of 64 bits. */
export class MeasurementSet {
  readonly #keys = new KeyTable();
  readonly #numbers = new Float64Array(3);
  readonly #words = new Uint32Array(this.#numbers.buffer);

  /** How many there are. */
  get size(): number {
    return this.#keys.size;
  }

  /** Adds a measurement unless it is there. @param src, dst Stand for the addresses. */
  add(timeUs: number, rttMs: number, src: number, dst: number, msmId = 0): void {
    const words = this.#words;
    this.#numbers[0] = timeUs;
    this.#numbers[1] = rttMs;
    this.#numbers[2] = msmId;
    words[2] = mix(words[2] ^ mix(words[3] ^ mix(src)));
    words[3] = mix(words[4] ^ mix(words[5] ^ mix(dst)));
    this.#keys.idOf(words, 0, 0);
  }

  /** Forgets all. */
  clear(): void {
    this.#keys.clear();
  }
}

/** How often a time is before the one before it. */
export function countStepsBack(timesUs: Float64Array): number {
  let count = 0;
  for (let i = 1; i < timesUs.length; i++) if (timesUs[i] < timesUs[i - 1]) count++;
  return count;
}

/** The split that a file of a data folder belongs to, if its folder has the name of one. */
export function splitOf(path: string): string | undefined {
  const folder = basename(dirname(path));
  return SPLIT_NAMES.find((name) => name === folder);
}
