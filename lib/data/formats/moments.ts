/** Finds columns in which rows of one source, destination and time differ, with their RTTs. @module */
import { shortened } from "../../base/errors.ts";
import type { PingRow, Rejection } from "./format.ts";

/** How many times are remembered, each with its first row. */
const MAX_MOMENTS = 4096;
/** Fewer conflicts, or conflicts in few moments, may be repeated times rather than a second series. */
const MIN_CONFLICTS = 8;
const MOMENTS_PER_CONFLICT = 10;
const MAX_TEXT = 64;

export class MomentCheck {
  readonly #moments = new Map<number, { row: PingRow; texts: readonly string[] }>();
  /** The latest of them, once there are {@link MAX_MOMENTS}. */
  #untilUs = Infinity;
  #numConflicts = 0;
  #fault: Rejection | undefined;

  /** @param others The fields that may tell rows of one moment apart. @returns Why the row is not one. */
  add(
    row: PingRow,
    fields: readonly unknown[],
    names: readonly string[],
    others: readonly number[],
  ): Rejection | undefined {
    if (this.#numConflicts >= MIN_CONFLICTS && this.end()) return this.#fault;
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
    // Numbers in which rows differ are mostly those of packets.
    const at = texts.findIndex((text, i) =>
      text !== first.texts[i] && isWord(text) && isWord(first.texts[i])
    );
    if (at < 0) return undefined;
    this.#numConflicts++;
    const name = names[others[at]] || `column ${others[at] + 1}`;
    this.#fault ??= {
      reason: "invalidRtt",
      found: "rows of one moment have different RTTs; " +
        `they differ in ${name} (${shortened(first.texts[at])}, ${shortened(texts[at])})`,
      expected: "one RTT for each source, destination and time",
      advice: "select one: filter the file, or keep all with --rtt each",
    };
    return undefined;
  }

  /** What is wrong with the rows so far. */
  end(): Rejection | undefined {
    return this.#numConflicts * MOMENTS_PER_CONFLICT < this.#moments.size ? undefined : this.#fault;
  }
}

function isWord(text: string): boolean {
  return Number.isNaN(Number(text));
}

/** A short copy, since a slice of a text would keep the whole text in memory. */
function textOf(value: unknown): string {
  const text = typeof value === "object" ? JSON.stringify(value) : String(value ?? "");
  return text.slice(0, MAX_TEXT).split("").join("");
}
