/**
 * The speed and resources of a stage: rows of a table, ratios to an earlier run, and ratios between sizes of
 * data.
 *
 * @module
 */
import { FormatError } from "../../base/errors.ts";
import { medianOf } from "../../base/sample_statistics.ts";
import { readText } from "../../io/files/inputs.ts";
import { formatBytes, formatCount, formatTable } from "../../base/text.ts";
import type { Usage } from "./usage.ts";

export interface Throughput {
  readonly name: string;
  /** Measurements in the data set, if a stage is measured with several. A stage may read fewer. */
  readonly dataRows?: number;
  readonly unit: "rows/s" | "tokens/s";
  /** Median and range of the speed over the repetitions. */
  readonly median: number;
  readonly slowest: number;
  readonly fastest: number;
  readonly repetitions: number;
  /** Median speed per processor second, that is, per core. */
  readonly perCore: number;
  /** Rows or tokens per repetition. */
  readonly work: number;
  /** Medians over the repetitions. */
  readonly seconds: number;
  readonly cpuSeconds: number;
  /** The largest over the repetitions. */
  readonly peakMemoryBytes: number;
  /** Total size of the output files of a repetition, if there are any. */
  readonly bytesWritten?: number;
  /** The share of padding tokens, for loaders. */
  readonly padding?: number;
}

/** Unique within a run. */
function keyOf({ name, dataRows }: Pick<Throughput, "name" | "dataRows">): string {
  return dataRows === undefined ? name : `${name} of ${dataRows} rows`;
}

/** @param usages The usage of each repetition. */
export function throughputOf(
  what: Pick<Throughput, "name" | "dataRows" | "unit" | "work" | "bytesWritten" | "padding">,
  usages: readonly Usage[],
): Throughput {
  const times = usages.map((usage) => usage.seconds);
  const seconds = medianOf(times) ?? NaN;
  const cpuSeconds = medianOf(usages.map((usage) => usage.cpuSeconds)) ?? NaN;
  return {
    ...what,
    median: what.work / seconds,
    slowest: what.work / Math.max(...times),
    fastest: what.work / Math.min(...times),
    repetitions: usages.length,
    perCore: what.work / cpuSeconds,
    seconds,
    cpuSeconds,
    peakMemoryBytes: Math.max(...usages.map((usage) => usage.peakMemoryBytes)),
  };
}

const ratio = (value: number) => `${value.toFixed(2)} x`;
const HEAD = "stage,work,speed,unit,per core,time,processor,peak memory,written,padding".split(",");

/** @param earlier From {@link readEarlierRun}: adds a column of ratios to it. */
export function describeThroughputs(rows: readonly Throughput[], earlier?: Map<string, number>): string {
  const head = earlier ? [...HEAD, "speed-up"] : HEAD;
  const lines = rows.map((row) => {
    const before = earlier?.get(keyOf(row)) ?? earlier?.get(row.name);
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
      before === undefined ? "" : ratio(row.median / before),
    ];
  });
  return formatTable([head, ...lines], { left: [0, 3] });
}

/**
 * The medians of an earlier `bench --json` by name.
 *
 * @throws {UserError} If the file cannot be read. @throws {FormatError} If it is not such an output.
 */
export function readEarlierRun(path: string): Map<string, number> {
  const text = readText(path);
  try {
    const { rows } = JSON.parse(text) as { rows: { name: string; dataRows?: number; median: number }[] };
    return new Map(rows.map((row) => [keyOf(row), row.median]));
  } catch (cause) {
    throw new FormatError("expected the output of bench --json", { path, cause });
  }
}

/** A stage compared with the next smaller size. Ratios of 1 mean linear time, constant memory. */
export interface Scaling {
  readonly name: string;
  readonly fromRows: number;
  readonly toRows: number;
  /** Ratios of rows/s, rows/s per core, and peak resident memory to the smaller size. */
  readonly speedRatio: number;
  readonly perCoreRatio: number;
  readonly memoryRatio: number;
}

export function scalingOf(rows: readonly Throughput[]): Scaling[] {
  return [...Map.groupBy(rows, ({ name }) => name)].flatMap(([name, sizes]) =>
    sizes.slice(1).map((to, i) => ({
      name,
      fromRows: sizes[i].work,
      toRows: to.work,
      speedRatio: to.median / sizes[i].median,
      perCoreRatio: to.perCore / sizes[i].perCore,
      memoryRatio: to.peakMemoryBytes / sizes[i].peakMemoryBytes,
    }))
  );
}

export function describeScaling(scalings: readonly Scaling[]): string {
  const lines = scalings.map(({ name, fromRows, toRows, speedRatio, perCoreRatio, memoryRatio }) => [
    name,
    `${formatCount(fromRows)} to ${formatCount(toRows)}`,
    ratio(speedRatio),
    ratio(perCoreRatio),
    ratio(memoryRatio),
  ]);
  return formatTable([["stage", "rows", "speed", "per core", "peak memory"], ...lines], { left: [0] });
}
