/**
 * The times at which a split by time divides measurements in Parquet. They are quantiles of event_time over
 * the rows, so that a single wrong clock cannot take over a split, and data spread irregularly over time are
 * divided by the ratios.
 *
 * Only the time column is read, once per refinement of the histograms in which the quantiles are found (a
 * refinement skips row groups whose footer rules them out). The result is exact to the microsecond, whatever
 * the order of files and rows, in bounded memory. Null or unusable times do not count; rows rejected for
 * another reason do.
 *
 * @module
 */
import { UserError } from "../../base/errors.ts";
import { isoTime } from "../../base/text.ts";
import { NumberCursor } from "../../io/parquet/column.ts";
import type { NumberKind } from "../../io/parquet/encodings.ts";
import { ParquetFile } from "../../io/parquet/file.ts";
import { END_TIME_US, MIN_TIME_US } from "../formats/batch.ts";
import { isUsableTime, timeColumn } from "../measurement_files/parquet_reader.ts";

const BATCH_ROWS = 65_536;
/** Three refinements reach a microsecond; 2 MiB per quantile. */
const NUM_BINS = 1 << 18;
const FIRST_BIN_US = Math.ceil((END_TIME_US - MIN_TIME_US) / NUM_BINS);
/** The share of the rows on each side that may be far from the others. */
const FAR_SHARE = 0.01;
/** A row is far if its distance from the others exceeds this many times their span, or an hour if longer. */
const FAR_SPANS = 5;
const HOUR_US = 3600e6;

/** Where a split by time cuts, in µs since 1970. */
export interface TimeCuts {
  /** The first time that is not in train. */
  valUs: number;
  /** The first time in test. */
  testUs: number;
  rangeUs: readonly [firstUs: number, lastUs: number];
  /** First and last time of the 98 % of rows that are not far from each other. */
  mostUs: readonly [firstUs: number, lastUs: number];
}

/**
 * @param ratios At least two are above 0; train and test each get at least one row if theirs is above 0.
 * @throws {FormatError} If a file is not Parquet, is damaged or lacks the column.
 * @throws {UserError} If there is no time to divide.
 */
export async function findTimeCuts(
  paths: readonly string[],
  [train, val, test]: readonly [train: number, val: number, test: number],
  onStep: () => Promise<void>,
): Promise<TimeCuts> {
  // A last share of exactly 0 must stay empty, despite rounding of the sum.
  const searches = [train, test === 0 ? 1 : train + val, FAR_SHARE, 1 - FAR_SHARE]
    .map((share) => new QuantileSearch(share));
  const rangeUs: [number, number] = [Infinity, -Infinity];
  for (let binUs = FIRST_BIN_US, isLast = false; !isLast; binUs = Math.ceil(binUs / NUM_BINS)) {
    isLast = binUs === 1;
    // At first all searches share one histogram.
    const histograms = new Map(searches.map(({ timeUs }) => [timeUs, new Histogram(timeUs, binUs)]));
    const all = [...histograms.values()];
    const isNeeded = (range: readonly [number, number]) => all.some((histogram) => histogram.meets(range));
    for await (const timesUs of readTimes(paths, isNeeded)) {
      for (const timeUs of timesUs) {
        if (!isUsableTime(timeUs)) continue;
        if (timeUs < rangeUs[0]) rangeUs[0] = timeUs;
        if (timeUs > rangeUs[1]) rangeUs[1] = timeUs;
        for (const histogram of all) histogram.add(timeUs);
      }
      await onStep();
    }
    requireSpan(rangeUs);
    for (const search of searches) search.narrow(histograms.get(search.timeUs) as Histogram);
  }
  const [valUs, testUs, mostFirstUs, mostLastUs] = searches;
  return {
    valUs: valUs.cutUs(rangeUs),
    testUs: testUs.cutUs(rangeUs),
    rangeUs,
    mostUs: [mostFirstUs.timeUs, mostLastUs.timeUs],
  };
}

/** A note for the user about rows with times far from those of the others; undefined if there are none. */
export function noteOnFarTimes({ rangeUs, mostUs }: TimeCuts): string | undefined {
  const farUs = FAR_SPANS * Math.max(HOUR_US, mostUs[1] - mostUs[0]);
  if (mostUs[0] - rangeUs[0] <= farUs && rangeUs[1] - mostUs[1] <= farUs) return undefined;
  const [[first, last], [mostFirst, mostLast]] = [rangeUs, mostUs].map((range) =>
    range.map((timeUs) => isoTime(timeUs / 1e6))
  );
  return `98 % of the rows are from ${mostFirst} to ${mostLast}, the others from ${first} to ${last}: ` +
    "check their clocks";
}

/** @param isNeeded Whether to read a row group with times in the given range. */
async function* readTimes(
  paths: readonly string[],
  isNeeded: (rangeUs: readonly [number, number]) => boolean,
): AsyncGenerator<Float64Array> {
  for (const path of paths) {
    using file = await ParquetFile.open(path);
    const { name, kind } = timeColumn(file);
    for (const group of file.rowGroups) {
      const stated = file.integerRange(name, group);
      if (stated && !isNeeded([toMicros(stated[0], kind), toMicros(stated[1], kind)])) continue;
      const cursor = new NumberCursor(file.source, file.chunk(name, group), kind);
      for (let from = 0; from < group.numRows; from += BATCH_ROWS) {
        yield cursor.read(Math.min(BATCH_ROWS, group.numRows - from)).values;
      }
    }
  }
}

/** Converts like the column's values; see parquet/encodings.ts. */
function toMicros(value: bigint, kind: NumberKind): number {
  if (kind === "nanos") return Number(value / 1000n);
  return Number(value) * (kind === "seconds" ? 1e6 : kind === "millis" ? 1e3 : 1);
}

function requireSpan([firstUs, lastUs]: readonly [number, number]): void {
  if (firstUs < lastUs) return;
  const found = firstUs === lastUs ? `every row has the time ${isoTime(firstUs / 1e6)}` : "found no rows";
  throw new UserError(`Cannot split by time: ${found}, expected a time span; use --split-by probe`);
}

class Histogram {
  readonly bins = new Float64Array(NUM_BINS);
  readonly #lengthUs: number;

  constructor(readonly startUs: number, readonly binUs: number) {
    this.#lengthUs = NUM_BINS * binUs;
  }

  meets([firstUs, lastUs]: readonly [number, number]): boolean {
    return lastUs >= this.startUs && firstUs < this.startUs + this.#lengthUs;
  }

  add(timeUs: number): void {
    const offsetUs = timeUs - this.startUs;
    if (offsetUs >= 0 && offsetUs < this.#lengthUs) this.bins[Math.floor(offsetUs / this.binUs)]++;
  }
}

/** Narrows an interval down to the time of the row that is at a given share of all rows in time order. */
class QuantileSearch {
  /** Start of the interval; at the end, the time of the row. */
  timeUs = MIN_TIME_US;
  /** Number of rows before the interval, in it, and in total. */
  #numBefore = 0;
  #numAt = NaN;
  #numRows = NaN;

  constructor(readonly share: number) {}

  /** Continues with the bin that contains the row. @param histogram Covers the current interval. */
  narrow({ bins, binUs }: Histogram): void {
    if (Number.isNaN(this.#numRows)) this.#numRows = bins.reduce((sum, count) => sum + count, 0);
    const rank = Math.min(Math.floor(this.share * this.#numRows), this.#numRows - 1);
    let bin = 0;
    while (this.#numBefore + bins[bin] <= rank) this.#numBefore += bins[bin++];
    this.#numAt = bins[bin];
    this.timeUs += bin * binUs;
  }

  /** A time before or after all rows with the found time, whichever brings the share closer to the target. */
  cutUs([firstUs, lastUs]: readonly [number, number]): number {
    if (this.share === 0) return firstUs;
    if (this.share === 1) return lastUs + 1;
    const wanted = this.share * this.#numRows;
    const isAfter = this.#numBefore + this.#numAt - wanted < wanted - this.#numBefore;
    return Math.min(Math.max(this.timeUs + (isAfter ? 1 : 0), firstUs + 1), lastUs);
  }
}
