/**
 * The speed and the resources of a stage, as a row of a table.
 *
 * @module
 */
import { formatBytes, formatCount } from "../text/quantities.ts";
import { formatTable } from "../text/table.ts";
import type { Usage } from "./usage.ts";

/** A measurement of a stage. */
export interface Throughput {
  readonly name: string;
  /** Measurements of the data set, where a stage is measured with several; a stage may pass over some of them only. */
  readonly dataRows?: number;
  readonly unit: "rows/s" | "tokens/s";
  /** The speed by time: median, least and largest of the repetitions. */
  readonly median: number;
  readonly slowest: number;
  readonly fastest: number;
  readonly repetitions: number;
  /** The median speed by processor time: what one core would do. */
  readonly perCore: number;
  /** Rows or tokens of a repetition. */
  readonly work: number;
  /** Time and processor time of a repetition, medians. */
  readonly seconds: number;
  readonly cpuSeconds: number;
  /** The largest of the repetitions. */
  readonly peakMemoryBytes: number;
  /** Size of all output files of a repetition; absent if nothing is written. */
  readonly bytesWritten?: number;
  /** Share of the tokens that are padding; of loaders only. */
  readonly padding?: number;
}

/** A measurement that failed. */
export interface FailedMeasure extends Pick<Throughput, "name" | "dataRows"> {
  /** Why, in a line. */
  readonly reason: string;
}

/** The name of a measurement, unique in a run. */
export function measureKey({ name, dataRows }: Pick<Throughput, "name" | "dataRows">): string {
  return dataRows === undefined ? name : `${name} of ${dataRows} rows`;
}

/**
 * Makes the row of a measure.
 *
 * @param what Its name, unit and work.
 * @param usages What each repetition took, one or more.
 */
export function throughputOf(
  what: Pick<Throughput, "name" | "dataRows" | "unit" | "work" | "bytesWritten" | "padding">,
  usages: readonly Usage[],
): Throughput {
  const seconds = medianOf(usages.map((usage) => usage.seconds));
  const cpuSeconds = medianOf(usages.map((usage) => usage.cpuSeconds));
  return {
    ...what,
    median: what.work / seconds,
    slowest: what.work / Math.max(...usages.map((usage) => usage.seconds)),
    fastest: what.work / Math.min(...usages.map((usage) => usage.seconds)),
    repetitions: usages.length,
    perCore: what.work / cpuSeconds,
    seconds,
    cpuSeconds,
    peakMemoryBytes: Math.max(...usages.map((usage) => usage.peakMemoryBytes)),
  };
}

/**
 * The measures as a table.
 *
 * @param rows The measures; one that failed has its reason in a column of notes.
 * @param earlier Medians of an earlier run by {@link measureKey}, for a column with the ratios to them.
 */
export function describeThroughputs(
  rows: readonly (Throughput | FailedMeasure)[],
  earlier?: Map<string, number>,
): string {
  const head = [
    "stage",
    "work",
    "speed",
    "unit",
    "per core",
    "time",
    "processor",
    "peak memory",
    "written",
    "padding",
  ];
  if (earlier) head.push("speed-up");
  const numColumns = head.length;
  if (rows.some((row) => "reason" in row)) head.push("note");
  const lines = rows.map((row) => {
    if ("reason" in row) {
      const known = [row.name, row.dataRows === undefined ? "" : formatCount(row.dataRows)];
      return [...known, ...Array<string>(numColumns - known.length).fill(""), row.reason];
    }
    const before = earlier?.get(measureKey(row)) ?? earlier?.get(row.name);
    return [
      row.name,
      formatCount(row.work),
      formatCount(row.median),
      row.unit,
      formatCount(row.perCore),
      `${row.seconds.toFixed(2)} s`,
      `${row.cpuSeconds.toFixed(2)} s`,
      formatBytes(row.peakMemoryBytes),
      row.bytesWritten === undefined ? "" : formatBytes(row.bytesWritten),
      row.padding === undefined ? "" : `${(100 * row.padding).toFixed(2)} %`,
      ...(before === undefined ? [] : [`${(row.median / before).toFixed(2)} x`]),
    ];
  });
  return formatTable([head, ...lines], { left: [0, 3, numColumns] });
}

/** The median; NaN of none. */
export function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}
