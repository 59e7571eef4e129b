/** Synthetic measurements for tests of baselines. @module */
import {
  askInOrder,
  type Baseline,
  type BaselineMeasurement,
  type BaselineQuery,
} from "../../../lib/eval/baselines/baseline.ts";
import { RandomStream } from "../../../lib/base/random.ts";

/** Consecutive measurements in the given order. */
export function series(...measured: [source: string, destination: string, rttMs: number | null][]) {
  return measured.map(([source, destination, rttMs], timeS) => ({ source, destination, timeS, rttMs }));
}

/** Entries of a matrix drawn for training, and the others. */
export interface MatrixSplit {
  training: BaselineMeasurement[];
  heldOut: (BaselineMeasurement & { rttMs: number })[];
}

/** Draws a share of the entries of a matrix. @param rttMs Entry of a row and column. */
export function splitMatrix(
  [numRows, numColumns]: [number, number],
  rttMs: (row: number, column: number) => number,
  options: { share: number; name?: (end: "row" | "column", index: number) => string },
): MatrixSplit {
  const random = new RandomStream(5, "test/split");
  const name = options.name ?? ((end, index) => `${end}${index}`);
  const split: MatrixSplit = { training: [], heldOut: [] };
  for (let row = 0; row < numRows; row++) {
    for (let column = 0; column < numColumns; column++) {
      const [source, destination] = [name("row", row), name("column", column)];
      if (source === destination) continue;
      const measurement = { source, destination, timeS: 0, rttMs: rttMs(row, column) };
      split[random.float64() < options.share ? "training" : "heldOut"].push(measurement);
    }
  }
  random.shuffle(split.training);
  return split;
}

export function medianRelativeError(baseline: Baseline, heldOut: MatrixSplit["heldOut"]): number {
  const errors = heldOut.map((m) => Math.abs((baseline.predictMs(m) ?? NaN) - m.rttMs) / m.rttMs);
  return errors.toSorted((a, b) => a - b)[errors.length >> 1];
}

/** Predictions of askInOrder(), ms; NaN if the baseline has none. */
export function predictInOrder(
  baseline: Baseline,
  queries: Iterable<BaselineQuery>,
  options: { known: Iterable<BaselineMeasurement> },
): Float64Array {
  const predictedMs: number[] = [];
  askInOrder(baseline, queries, {
    ...options,
    ask: (query) => predictedMs.push(baseline.predictMs(query) ?? NaN),
  });
  return Float64Array.from(predictedMs);
}
