/** The results of an inspection, as text and JSON, with histograms in fixed memory. @module */
import { getOrMake } from "../../base/collections.ts";
import { UserError } from "../../base/errors.ts";
import { snakeKeys } from "../stage.ts";
import { histogramChart, renderPicture } from "../../base/report/charts.ts";

export interface InspectOptions {
  samples: number;
  /** T: the length of the sequences for which packing is computed. */
  sequenceLength: number;
  /** The vocabulary of the token samples of measurements; none by default. Probe rows use v2. */
  vocabulary?: "v1" | "v2";
  seed: number;
  /** Whether a damaged ArrayRecord chunk is an error, or is skipped and counted. */
  onCorrupt: "error" | "skip";
  signal?: AbortSignal;
  /** Called often with the number of rows or records read so far. */
  onProgress?: (done: number, path: string) => void;
}

/** Files of one kind, or one folder, and the path given on the command line. */
export interface Target {
  path: string;
  files: string[];
}

export type Json = Record<string, unknown>;

/** A label, its text (undefined: not shown) and its JSON values. */
export type Fact = readonly [label: string, value: string | undefined, json?: Json];

/** A heading, samples as text (not shown if empty) and their JSON values. */
export type Section = readonly [heading: string, lines: readonly string[], json?: Json];

export interface Report {
  kind: string;
  path: string;
  facts: readonly Fact[];
  sections?: readonly Section[];
  histograms?: readonly Histogram[];
}

const LABEL_WIDTH = 20;

export function describeReports(reports: readonly Report[]): string {
  return reports.map(({ kind, path, facts, sections = [] }) => {
    const lines = [`${kind}: ${path}`];
    for (const [label, value] of facts) {
      if (value !== undefined) lines.push(`  ${label.padEnd(LABEL_WIDTH - 1)} ${value}`);
    }
    for (const [heading, samples] of sections) {
      if (samples.length > 0) lines.push("", `  ${heading}`, ...samples.map((line) => `    ${line}`));
    }
    return lines.join("\n");
  }).join("\n\n");
}

export function reportAsJson({ kind, path, facts, sections = [] }: Report): Json {
  return Object.assign({ kind, path }, ...[...facts, ...sections].map(([, , json]) => snakeKeys(json ?? {})));
}

/** One report becomes an object, several a list in an object. */
export function reportsAsJson(reports: readonly Report[]): Json {
  const objects = reports.map(reportAsJson);
  return objects.length === 1
    ? { ...objects[0], stage: "inspect" }
    : { stage: "inspect", kind: "several", reports: objects };
}

export function formatFiles(count: number): string {
  return `${count} file${count === 1 ? "" : "s"}`;
}

export function formatPairs(pairs: object): string {
  return Object.entries(pairs).map(([key, value]) => `${key} ${JSON.stringify(value)}`).join(", ") || "none";
}

/** A number with four significant digits. */
export function formatValue(value: number): string {
  return Number.isInteger(value) && Math.abs(value) < 1e6
    ? String(value)
    : String(Number(value.toPrecision(4)));
}

const QUANTILES = [0.5, 0.9, 0.99] as const;

/** A distribution as a fact. @param json Its JSON key, with null if there are no values. */
export function distributionFact(label: string, values: ValueHistogram, unit: string, json: string): Fact {
  if (values.count === 0) return [label, "none", { [json]: null }];
  const { min, max, mean } = values;
  const quantiles = Object.fromEntries(QUANTILES.map((q) => [`p${100 * q}`, values.quantile(q)]));
  const parts = Object.entries({ min, ...quantiles, max }).map(([name, value]) =>
    `${name} ${formatValue(value)}`
  );
  return [label, `${parts.join(", ")} ${unit}`.trim(), { [json]: { min, ...quantiles, max, mean } }];
}

export interface Bin {
  low: number;
  high: number;
  count: number;
}

export interface Histogram {
  /** The quantity on the horizontal axis, such as `RTT, ms`. */
  label: string;
  /** The quantity on the vertical axis, such as `measurements`. */
  countLabel: string;
  /** `utc`: times in ms since 1970; `log`: bounds above 0. */
  scale: "log" | "utc";
  bins: Bin[];
}

const DROPPED_BITS = 13;
const NUM_BUCKETS = 1 << (31 - DROPPED_BITS);
/** The largest number of bins of {@link ValueHistogram.logBins}, in total and per decade. */
const MAX_LOG_BINS = 60;
const MAX_BINS_PER_DECADE = 32;

/**
 * A histogram of nonnegative values with exact minimum, maximum and mean.
 *
 * Buckets are float32 values without the last 13 bits of the mantissa: ordered like the values and 0.1 %
 * wide, so that the error of a quantile is at most 0.05 %.
 */
export class ValueHistogram {
  readonly #counts = new Float64Array(NUM_BUCKETS);
  readonly #float = new Float32Array(1);
  readonly #bits = new Uint32Array(this.#float.buffer);
  #sum = 0;
  #isIntegral = true;
  count = 0;
  min = Infinity;
  max = -Infinity;

  /** NaN if there are no values. */
  get mean(): number {
    return this.#sum / this.count;
  }

  /** Adds a value; values below 0 or too large for f32 are ignored. */
  add(value: number): void {
    this.#float[0] = value;
    if (!(value >= 0 && this.#float[0] < Infinity)) return;
    this.#counts[this.#bits[0] >>> DROPPED_BITS]++;
    this.count++;
    this.#sum += value;
    this.#isIntegral &&= Number.isInteger(value);
    if (value < this.min) this.min = value;
    if (value > this.max) this.max = value;
  }

  /**
   * Bins of equal width on a logarithmic axis, from the smallest positive value to the largest. Powers of ten
   * bound bins, unless there are more of them than bins.
   *
   * @returns Nothing if all values are 0; otherwise zeros (below 1e-41) are in the first bin.
   */
  logBins(): Bin[] {
    const filled = [...this.#counts.keys()].filter((bucket) => bucket > 0 && this.#counts[bucket] > 0);
    if (filled.length === 0) return [];
    const logs = filled.map((bucket) => Math.log10(this.#middle(bucket)));
    let perDecade = MAX_BINS_PER_DECADE;
    const binOf = (log: number) => Math.floor(log * perDecade);
    while (binOf(logs[logs.length - 1]) - binOf(logs[0]) >= MAX_LOG_BINS) perDecade /= 2;
    const first = binOf(logs[0]);
    const bins = Array.from({ length: binOf(logs[logs.length - 1]) - first + 1 }, (_, i): Bin => ({
      low: 10 ** ((first + i) / perDecade),
      high: 10 ** ((first + i + 1) / perDecade),
      count: 0,
    }));
    bins[0].count = this.#counts[0];
    logs.forEach((log, i) => bins[binOf(log) - first].count += this.#counts[filled[i]]);
    return bins;
  }

  #middle(bucket: number): number {
    this.#bits[0] = bucket << DROPPED_BITS | 1 << (DROPPED_BITS - 1);
    return this.#float[0];
  }

  /**
   * @param q 0 to 1.
   * @returns The middle of the quantile's bucket, within the extremes, an integer if all values are; NaN if
   *   there are no values.
   */
  quantile(q: number): number {
    if (this.count === 0) return NaN;
    const rank = Math.min(this.count, Math.max(1, Math.ceil(q * this.count)));
    let bucket = 0;
    for (let seen = this.#counts[0]; seen < rank;) seen += this.#counts[++bucket];
    if (bucket === 0) return this.min;
    const middle = this.#isIntegral ? Math.floor(this.#middle(bucket)) : this.#middle(bucket);
    return Math.min(this.max, Math.max(this.min, middle));
  }
}

/** After pairs of bins are joined, at least half as many remain between the first and last time. */
const MAX_TIME_BINS = 96;

/**
 * Counts times of unknown range in bins of equal width.
 *
 * The width is a power of two of seconds, and bins begin at its multiples. When there are too many, pairs of
 * bins are joined, so the result does not depend on the order of the times.
 */
export class TimeHistogram {
  /** By number: a bin begins `number` widths after 1970. */
  #bins = new Map<number, { number: number; count: number }>();
  /** The bin of the last time, which often contains the next one too. */
  #recent = { number: NaN, count: 0 };
  #widthMs = 1000;
  #first = Infinity;
  #last = -Infinity;

  /** Adds a time in µs since 1970. */
  add(timeUs: number): void {
    const number = Math.floor(timeUs / 1000 / this.#widthMs);
    if (number === this.#recent.number) {
      this.#recent.count++;
      return;
    }
    this.#count(number, 1);
    while (this.#last - this.#first >= MAX_TIME_BINS) {
      const bins = this.#bins;
      this.#bins = new Map();
      this.#widthMs *= 2;
      this.#first = Infinity;
      this.#last = -Infinity;
      for (const { number, count } of bins.values()) this.#count(Math.floor(number / 2), count);
    }
  }

  #count(number: number, count: number): void {
    this.#recent = getOrMake(this.#bins, number, () => ({ number, count: 0 }));
    this.#recent.count += count;
    if (number < this.#first) this.#first = number;
    if (number > this.#last) this.#last = number;
  }

  /** The bins from the first to the last time, in ms since 1970. */
  bins(): Bin[] {
    return Array.from({ length: Math.max(0, this.#last - this.#first + 1) }, (_, i) => {
      const low = (this.#first + i) * this.#widthMs;
      return { low, high: low + this.#widthMs, count: this.#bins.get(this.#first + i)?.count ?? 0 };
    });
  }
}

export function logHistogram(label: string, countLabel: string, values: ValueHistogram): Histogram {
  return { label, countLabel, scale: "log", bins: values.logBins() };
}

/**
 * Draws histograms as SVG, with the same bytes for the same counts.
 *
 * @param path Names the picture in the error. @param groups Drawn one below the other.
 * @throws {UserError} If there is nothing to draw.
 */
export async function plotHistograms(
  path: string,
  groups: readonly { title: string; histograms: readonly Histogram[] }[],
): Promise<string> {
  const vconcat = groups.map(({ title, histograms }) => ({
    title,
    columns: 2,
    concat: histograms.filter(({ bins }) => bins.length > 0).map(chartOf),
  })).filter(({ concat }) => concat.length > 0);
  if (vconcat.length === 0) {
    throw new UserError(
      `Cannot plot ${path}: the inspected files have no histograms, expected measurements or probe ` +
        "rows; leave out --plot",
    );
  }
  const resolve = { scale: { x: "independent", y: "independent" } };
  return await renderPicture({ vconcat, resolve });
}

const MAX_HOURS_MS = 3 * 86_400_000;

function chartOf({ label, countLabel, scale, bins }: Histogram) {
  const isLong = bins[bins.length - 1].high - bins[0].low > MAX_HOURS_MS;
  const timeFormat = isLong ? "%Y-%m-%d" : "%b %d %H:%M";
  return histogramChart({
    bins: bins.map(({ low, high, count }) => ({ low, high, value: count })),
    x: { title: label, scale, format: scale === "log" ? "~s" : timeFormat },
    y: { title: countLabel, format: "~s" },
    width: 360,
    height: 180,
  });
}
