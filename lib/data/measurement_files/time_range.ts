/**
 * The first and last time of measurements in Parquet, the range that a split by time divides.
 *
 * Row groups whose footer has statistics of `event_time` are not read; of others only that column is read. Times that
 * are null or outside 1990..2100 do not count; rows that are rejected for another reason do.
 *
 * @module
 */
import { NumberCursor } from "../../io/parquet/column.ts";
import { ParquetFile, type RowGroupRange } from "../../io/parquet/file.ts";
import { timeColumn } from "./parquet_reader.ts";
import type { NumberKind } from "../../io/parquet/values.ts";
import { END_TIME_US, MIN_TIME_US } from "../measurement/batch.ts";

const BATCH_ROWS = 65_536;

/** The first and the last time, µs since 1970. */
export type TimeRangeUs = [firstUs: number, lastUs: number];

/**
 * Finds the range of event_time over all files.
 *
 * @param paths The files.
 * @param onStep Called now and then, so that the caller can yield to the event loop.
 * @returns The range, or undefined if there are no times.
 * @throws {FormatError} If a file is not Parquet, is damaged or lacks the column.
 */
export async function readTimeRangeUs(
  paths: readonly string[],
  onStep: () => Promise<void>,
): Promise<TimeRangeUs | undefined> {
  let range: TimeRangeUs | undefined;
  for (const path of paths) {
    using file = await ParquetFile.open(path);
    for (const group of file.rowGroups) {
      range = joined(range, statedRangeUs(file, group) ?? await scannedRangeUs(file, group, onStep));
    }
    await onStep();
  }
  return range;
}

/** The footer's range of a row group, if it is valid for the usable times. */
function statedRangeUs(file: ParquetFile, group: RowGroupRange): TimeRangeUs | undefined {
  const { name, kind } = timeColumn(file);
  const stated = file.integerRange(name, group);
  if (!stated) return undefined;
  const range: TimeRangeUs = [toMicros(stated[0], kind), toMicros(stated[1], kind)];
  return range.every(isUsable) ? range : undefined;
}

async function scannedRangeUs(
  file: ParquetFile,
  group: RowGroupRange,
  onStep: () => Promise<void>,
): Promise<TimeRangeUs | undefined> {
  const { name, kind } = timeColumn(file);
  const cursor = new NumberCursor(file.source, file.chunk(name, group), kind);
  let range: TimeRangeUs | undefined;
  for (let from = 0; from < group.numRows; from += BATCH_ROWS) {
    const { values, isNull } = cursor.read(Math.min(BATCH_ROWS, group.numRows - from));
    for (let row = 0; row < values.length; row++) {
      if (isNull?.[row] || !isUsable(values[row])) continue;
      range = joined(range, [values[row], values[row]]);
    }
    await onStep();
  }
  return range;
}

/** Converts like the values of the column, see parquet/values.ts. */
function toMicros(value: bigint, kind: NumberKind): number {
  if (kind === "nanos") return Number(value / 1000n);
  return Number(value) * (kind === "seconds" ? 1e6 : kind === "millis" ? 1e3 : 1);
}

function isUsable(timeUs: number): boolean {
  return timeUs >= MIN_TIME_US && timeUs < END_TIME_US;
}

function joined(a: TimeRangeUs | undefined, b: TimeRangeUs | undefined): TimeRangeUs | undefined {
  if (!a || !b) return a ?? b;
  return [Math.min(a[0], b[0]), Math.max(a[1], b[1])];
}
