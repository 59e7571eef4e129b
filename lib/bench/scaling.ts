/**
 * How speed and memory of a stage change with the size of its data: time that is linear and memory that is flat have
 * ratios of 1.
 *
 * @module
 */
import { formatCount } from "../text/quantities.ts";
import { formatTable } from "../text/table.ts";
import type { Throughput } from "./throughput.ts";

/** A stage at one size, compared with the next smaller one. */
export interface Scaling {
  readonly name: string;
  /** Rows that the stage passed over. */
  readonly fromRows: number;
  readonly toRows: number;
  /** Rows/s by those of the smaller size. */
  readonly speedRatio: number;
  /** Rows/s per core, likewise. */
  readonly perCoreRatio: number;
  /** Peak resident memory, likewise. */
  readonly memoryRatio: number;
}

/**
 * Compares each stage at each size with the next smaller one.
 *
 * @param rows The measures, by size ascending.
 */
export function scalingOf(rows: readonly Throughput[]): Scaling[] {
  const stages = Map.groupBy(rows, ({ name }) => name);
  return [...stages].flatMap(([name, sizes]) =>
    sizes.slice(1).map((to, i) => {
      const from = sizes[i];
      return {
        name,
        fromRows: from.work,
        toRows: to.work,
        speedRatio: to.median / from.median,
        perCoreRatio: to.perCore / from.perCore,
        memoryRatio: to.peakMemoryBytes / from.peakMemoryBytes,
      };
    })
  );
}

/** The comparisons as a table. */
export function describeScaling(scalings: readonly Scaling[]): string {
  const ratio = (value: number) => `${value.toFixed(2)} x`;
  const lines = scalings.map(({ name, fromRows, toRows, speedRatio, perCoreRatio, memoryRatio }) => [
    name,
    `${formatCount(fromRows)} to ${formatCount(toRows)}`,
    ...[speedRatio, perCoreRatio, memoryRatio].map(ratio),
  ]);
  return formatTable([["stage", "rows", "speed", "per core", "peak memory"], ...lines], { left: [0] });
}
