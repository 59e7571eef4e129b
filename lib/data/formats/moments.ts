/** Finds columns in which rows of one source, destination and time differ, with their RTTs. @module */
import { getOrMake } from "../../base/collections.ts";
import { shortened } from "../../base/errors.ts";
import type { PingRow, Rejection } from "./format.ts";

/** How many times are remembered, each with its first row. */
const MAX_MOMENTS = 4096;
/** Fewer conflicts, or conflicts in few moments, may be repeated times rather than a second series. */
const MIN_CONFLICTS = 8;
const MOMENTS_PER_CONFLICT = 10;
const MAX_TEXT = 64;
/** More, or more than one for two conflicts, are measured values or numbers of packets. */
const MAX_NUMBERS = 12;
/** Columns that number the packets of a moment. */
const SEQUENCE = /seq|packet|attempt|^(?:id|n|no|nr|num|index|#|count)$/i;

export class MomentCheck {
  readonly #moments = new Map<number, { row: PingRow; texts: readonly string[] }>();
  /** The latest of them, once there are {@link MAX_MOMENTS}. */
  #untilUs = Infinity;
  /** In how many rows each column tells them apart from the first one of their moment. */
  readonly #conflicts = new Map<number, { count: number; fault: Rejection }>();
  /** The numbers in which rows differ, by column. */
  readonly #numbers = new Map<number, Set<string>>();

  /** @param others The fields that may tell rows of one moment apart. @returns Why the row is not one. */
  add(
    row: PingRow,
    fields: readonly unknown[],
    names: readonly string[],
    others: readonly number[],
  ): Rejection | undefined {
    const isSeen = [...this.#conflicts.values()].some(({ count }) => count >= MIN_CONFLICTS);
    const fault = isSeen ? this.end() : undefined;
    if (fault) return fault;
    // Times may be NaN.
    if (others.length === 0 || !(row.eventTimeUs <= this.#untilUs)) return undefined;
    const first = this.#moments.get(row.eventTimeUs);
    if (!first) {
      if (this.#moments.size === MAX_MOMENTS) return undefined;
      this.#moments.set(row.eventTimeUs, { row, texts: others.map((field) => textOf(fields[field])) });
      if (this.#moments.size === MAX_MOMENTS) this.#untilUs = Math.max(...this.#moments.keys());
      return undefined;
    }
    const { srcAddr, dstAddr, rttsMs: [rttMs] } = first.row;
    if (row.srcAddr !== srcAddr || row.dstAddr !== dstAddr || row.rttsMs[0] === rttMs) return undefined;
    const texts = others.map((field) => textOf(fields[field]));
    texts.forEach((text, i) => {
      if (text === first.texts[i] || text === "" || first.texts[i] === "") return;
      const column = others[i];
      const name = names[column] ?? "";
      const pair = [first.texts[i], text];
      if (!this.#areLabels(pair, name, column)) this.#conflicts.delete(column);
      else {
        const conflict = getOrMake(
          this.#conflicts,
          column,
          () => ({ count: 0, fault: faultOf(name, column, pair) }),
        );
        conflict.count++;
      }
    });
    return undefined;
  }

  /** Whether values may name series. Numbers do if there are few of them and they do not number packets. */
  #areLabels(texts: readonly string[], name: string, column: number): boolean {
    if (texts.some((text) => Number.isNaN(Number(text)))) return true;
    const numbers = getOrMake(this.#numbers, column, () => new Set<string>());
    if (numbers.size <= MAX_NUMBERS) texts.forEach((text) => numbers.add(text));
    return numbers.size <= MAX_NUMBERS && !SEQUENCE.test(name);
  }

  /** What is wrong with the rows so far. */
  end(): Rejection | undefined {
    const found = [...this.#conflicts].find(([column, { count }]) =>
      count * MOMENTS_PER_CONFLICT >= this.#moments.size &&
      count >= 2 * (this.#numbers.get(column)?.size ?? 0)
    );
    return found?.[1].fault;
  }
}

function faultOf(name: string, column: number, texts: readonly string[]): Rejection {
  return {
    reason: "invalidRtt",
    found: "rows with the same time have different RTTs; they differ in " +
      `${name || `column ${column + 1}`} (${texts.map((text) => shortened(text)).join(", ")})`,
    expected: "one RTT per source, destination and time",
    advice: "filter the file, or keep all with --rtt each",
  };
}

/** A short copy, since a slice of a text would keep the whole text in memory. */
function textOf(value: unknown): string {
  const text = typeof value === "object" ? JSON.stringify(value) : String(value ?? "");
  return text.slice(0, MAX_TEXT).split("").join("");
}
