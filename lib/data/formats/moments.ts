/** Finds columns in which rows of one source, destination and time differ, with their RTTs. @module */
import { getOrMake } from "../../base/collections.ts";
import { shortened } from "../../base/errors.ts";
import type { PingRow, Rejection } from "./format.ts";

/** How many times are remembered, each with its first row. */
const MAX_MOMENTS = 4096;
/** Fewer conflicts may be repeated times rather than a second series. */
const MIN_CONFLICTS = 8;
const MAX_VALUES = 12;
const MAX_TEXT = 64;
/** Columns that number the packets of a moment. */
const SEQUENCE = /seq|packet|attempt|^(?:id|n|no|nr|num|index|#|count)$/i;

export class MomentCheck {
  readonly #moments = new Map<number, { row: PingRow; fields: readonly string[]; isConflict: boolean }>();
  /** The latest of them, once there are {@link MAX_MOMENTS}. */
  #untilUs = Infinity;
  #numConflicts = 0;
  /** Moments with a conflict. */
  #numConflicting = 0;
  /** In how many conflicts each column differs, and up to {@link MAX_VALUES} + 1 of its values. */
  readonly #columns = new Map<string, { numDiffering: number; values: Set<string> }>();
  #fault: Rejection | undefined;

  /** @param others The fields that may tell rows of one moment apart. @returns Why the row is not one. */
  add(
    row: PingRow,
    fields: readonly unknown[],
    names: readonly string[],
    others: readonly number[],
  ): Rejection | undefined {
    if (this.#fault !== undefined || others.length === 0) return this.#fault;
    // Times may be NaN.
    if (!(row.eventTimeUs <= this.#untilUs)) return undefined;
    const first = this.#moments.get(row.eventTimeUs);
    if (!first) {
      if (this.#moments.size === MAX_MOMENTS) return undefined;
      const moment = { row, fields: others.map((field) => textOf(fields[field])), isConflict: false };
      this.#moments.set(row.eventTimeUs, moment);
      if (this.#moments.size === MAX_MOMENTS) this.#untilUs = Math.max(...this.#moments.keys());
      return undefined;
    }
    const { srcAddr, dstAddr, rttsMs: [rttMs] } = first.row;
    if (row.srcAddr !== srcAddr || row.dstAddr !== dstAddr || row.rttsMs[0] === rttMs) return undefined;
    const values = others.map((field) => textOf(fields[field]));
    this.#numConflicts++;
    if (!first.isConflict) this.#numConflicting++;
    first.isConflict = true;
    for (const [i, field] of others.entries()) {
      if (first.fields[i] === values[i]) continue;
      const name = names[field] || `column ${field + 1}`;
      const column = getOrMake(this.#columns, name, () => ({ numDiffering: 0, values: new Set() }));
      column.numDiffering++;
      for (const value of [first.fields[i], values[i]]) {
        if (column.values.size <= MAX_VALUES) column.values.add(value);
      }
    }
    return this.#numConflicts >= MIN_CONFLICTS ? this.end() : undefined;
  }

  /** What is wrong with the rows so far. */
  end(): Rejection | undefined {
    const numConflicts = this.#numConflicts;
    if (this.#fault || this.#numConflicting * 10 < this.#moments.size) return this.#fault;
    for (const [name, { numDiffering, values }] of this.#columns) {
      // A column with about as many values as rows numbers them.
      const isFew = 2 * values.size <= numConflicts || values.size <= numConflicts + 1 &&
          [...values].some((value) => Number.isNaN(Number(value)));
      const isAlways = numDiffering === numConflicts && values.size <= MAX_VALUES;
      if (!isAlways || !isFew || SEQUENCE.test(name)) continue;
      const shown = shortened([...values].join(", "), 120);
      return this.#fault = {
        reason: "invalidRtt",
        found: `rows of one moment have different RTTs; they differ in ${name} (${shown})`,
        expected: "one RTT for each source, destination and time",
        advice: "select one: filter the file, or keep all with --rtt each",
      };
    }
    return undefined;
  }
}

/** A short copy, since a slice of a text would keep the whole text in memory. */
function textOf(value: unknown): string {
  const text = typeof value === "object" ? JSON.stringify(value) : String(value ?? "");
  return text.slice(0, MAX_TEXT).split("").join("");
}
