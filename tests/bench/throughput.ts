/** The speed and resources of stages as rows of a table, compared with an earlier run. @module */
import { FormatError, UsageError } from "../../lib/base/errors.ts";
import { medianOf } from "../../lib/base/sample_statistics.ts";
import { formatBytes, formatCount } from "../../lib/base/text.ts";
import { formatTable } from "../../lib/base/text_table.ts";
import { readText } from "../../lib/io/files/inputs.ts";
import type { Usage } from "./usage.ts";

export interface Throughput {
  readonly name: string;
  /** Measurements in the data set, if a stage is measured on several. A stage may read fewer. */
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

const HEAD = "stage,work,speed,unit,per core,time,processor,peak memory,written,padding,speed-up".split(",");

/** @param compare An earlier `--json` output, to which ratios are added. */
export function describeThroughputs(rows: readonly Throughput[], compare: string | undefined): string {
  const earlier = compare === undefined ? undefined : readEarlierRun(compare);
  const lines = rows.map((row) => {
    const before = earlier?.get(keyOf(row));
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
      before === undefined ? "" : `${(row.median / before).toFixed(2)} x`,
    ];
  });
  return formatTable([HEAD, ...lines], { left: [0, 3] });
}

/** Unique within a run. */
function keyOf({ name, dataRows = 0 }: Pick<Throughput, "name" | "dataRows">): string {
  return `${name} of ${dataRows}`;
}

/** The medians of an earlier run by name. */
function readEarlierRun(path: string): Map<string, number> {
  const text = readText(path);
  try {
    const { rows } = JSON.parse(text) as { rows: Throughput[] };
    return new Map(rows.map((row) => [keyOf(row), row.median]));
  } catch (cause) {
    throw new FormatError("expected the output of this bench with --json", { path, cause });
  }
}

/** Distinct numbers of an option, ascending. @throws {UsageError} If one is not an integer in range. */
export function parseNumbers(name: string, text: string, [min, max]: [number, number]): number[] {
  const numbers = text.split(",").map((part) => part.trim() === "" ? NaN : Number(part.replaceAll("_", "")));
  if (numbers.some((number) => !Number.isInteger(number) || number < min || number > max)) {
    throw new UsageError(
      `Cannot use --${name} ${text}: expected numbers in ${min}..${max}, such as ${min},${max}`,
    );
  }
  return [...new Set(numbers)].sort((a, b) => a - b);
}
