/** Finds columns in which rows of one source, destination and time differ, with their RTTs. @module */
import { shortened } from "../../base/errors.ts";
import type { PingRow, Rejection } from "./format.ts";

/** The sample of moments: those with the smallest hashes, so that it covers separate blocks of a table. */
const MAX_MOMENTS = 1024;
/** Fewer conflicts may be repeated times rather than a second series. */
const MIN_CONFLICTS = 8;
const MAX_VALUES = 12;
const MAX_TEXT = 64;
/** Columns that number the packets of a moment. */
const SEQUENCE = /seq|packet|attempt|^(?:id|n|no|nr|num|index|#|count)$/i;

interface Moment {
  rttMs: number;
  fields: readonly string[];
  isConflict: boolean;
  /** Of its time. */
  hash: number;
}

export class MomentCheck {
  readonly #moments = new Map<string, Moment>();
  #limit = 2 ** 32;
  #numConflicts = 0;
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
    // Knuth's multiplicative hash of the time in ms.
    const hash = Math.imul(row.eventTimeUs / 1000, 2654435761) >>> 0;
    if (hash >= this.#limit || Number.isNaN(row.eventTimeUs)) return undefined;
    const key = `${row.eventTimeUs} ${row.srcAddr} ${row.dstAddr}`;
    const values = others.map((field) => textOf(fields[field]));
    const first = this.#moments.get(key);
    if (!first) {
      this.#moments.set(key, { rttMs: row.rttsMs[0], fields: values, isConflict: false, hash });
      if (this.#moments.size > 2 * MAX_MOMENTS) this.#shrink();
      return undefined;
    }
    if (first.rttMs === row.rttsMs[0]) return undefined;
    this.#numConflicts++;
    for (const [i, field] of others.entries()) {
      if (first.fields[i] === values[i]) continue;
      const name = names[field] || `column ${field + 1}`;
      const column = this.#columns.get(name) ?? { numDiffering: 0, values: new Set() };
      column.numDiffering++;
      for (const value of [first.fields[i], values[i]]) {
        if (column.values.size <= MAX_VALUES) column.values.add(value);
      }
      this.#columns.set(name, column);
    }
    first.isConflict = true;
    if ((this.#numConflicts & this.#numConflicts - 1) === 0 && this.#numConflicts >= MIN_CONFLICTS) {
      this.end();
    }
    return this.#fault;
  }

  /** What is wrong with the rows so far. */
  end(): Rejection | undefined {
    const { size } = this.#moments;
    let numConflicting = 0;
    for (const { isConflict } of this.#moments.values()) numConflicting += isConflict ? 1 : 0;
    if (this.#fault || numConflicting * 10 < size || numConflicting === 0) return this.#fault;
    // A column with about as many values as rows numbers them.
    const isFew = ({ size }: Set<string>) => 2 * size <= this.#numConflicts;
    const areWords = (values: Set<string>) =>
      values.size <= this.#numConflicts + 1 && [...values].some((value) => Number.isNaN(Number(value)));
    const found = [...this.#columns].find(([name, { numDiffering, values }]) =>
      numDiffering === this.#numConflicts && values.size <= MAX_VALUES && !SEQUENCE.test(name) &&
      (isFew(values) || areWords(values))
    );
    if (!found) return undefined;
    const [name, { values }] = found;
    const shown = shortened([...values].join(", "), 120);
    this.#fault = {
      reason: "invalidRtt",
      found: `rows of one moment have different RTTs; they differ in ${name} (${shown})`,
      expected: "one RTT for each source, destination and time",
      advice: "select one: filter the file, or keep all with --rtt each",
    };
    return this.#fault;
  }

  #shrink(): void {
    this.#limit = [...this.#moments.values()].map(({ hash }) => hash).sort((a, b) => a - b)[MAX_MOMENTS];
    for (const [key, { hash }] of this.#moments) if (hash >= this.#limit) this.#moments.delete(key);
  }
}

/** A short copy, since a slice of a text would keep the whole text in memory. */
function textOf(value: unknown): string {
  const text = typeof value === "object" ? JSON.stringify(value) : String(value ?? "");
  return text.slice(0, MAX_TEXT).split("").join("");
}
