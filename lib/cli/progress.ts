/**
 * Progress on standard error: a bar that redraws itself on a terminal, otherwise one line every 10 s. Work
 * with several phases has one display per phase.
 *
 * @module
 */
import { unicodeWidth } from "@std/cli/unicode-width";
import { printable, printLog } from "../base/printed.ts";
import { formatCount, formatSeconds } from "../base/text.ts";
import { cutToWidth } from "../base/text_table.ts";
import { consoleColumns } from "./options.ts";
import { signOfWork } from "../io/threads/signs_of_work.ts";

const REDRAW_MS = 100;
const LINE_MS = 10_000;
const BAR_CELLS = 24;

export class Progress {
  readonly #label: string;
  readonly #total: number | undefined;
  readonly #unit: string;
  readonly #start: number;
  readonly #mode: "bar" | "lines" | "quiet";
  readonly #startMs = performance.now();
  #lastMs: number;
  #barWidth = 0;

  /**
   * @param label The work, such as `reading`.
   * @param options `total`: the amount of work, if known; `unit`: its unit, such as `rows`; `quiet`: show
   *   nothing; `start`: the amount done before, which does not count in the rate.
   */
  constructor(label: string, options: { total?: number; unit: string; quiet?: boolean; start?: number }) {
    this.#label = label;
    this.#total = options.total;
    this.#unit = options.unit;
    this.#start = options.start ?? 0;
    this.#mode = options.quiet ? "quiet" : Deno.stderr.isTerminal() ? "bar" : "lines";
    this.#lastMs = this.#mode === "bar" ? -Infinity : this.#startMs;
  }

  /**
   * Updates the display; cheap enough to call often.
   *
   * @param done In the unit given at the start.
   * @param note Additional text, such as `loss 3.21`.
   */
  update(done: number, note = ""): void {
    signOfWork();
    if (this.#mode === "quiet") return;
    const nowMs = performance.now();
    if (nowMs - this.#lastMs < (this.#mode === "bar" ? REDRAW_MS : LINE_MS)) return;
    this.#lastMs = nowMs;
    const line = printable(this.#line(done, note, (nowMs - this.#startMs) / 1000));
    if (this.#mode === "bar") this.#redraw(line);
    else printLog(line);
  }

  /** Prints a line above the bar. */
  print(line: string): void {
    if (this.#mode === "quiet") return;
    if (this.#mode === "bar") this.#redraw("");
    printLog(line);
  }

  finish(): void {
    if (this.#mode === "bar") this.#redraw("");
  }

  [Symbol.dispose](): void {
    this.finish();
  }

  #line(done: number, note: string, seconds: number): string {
    const rate = seconds > 0 ? (done - this.#start) / seconds : 0;
    const parts = [
      `${formatCount(done)}${this.#total ? ` of ${formatCount(this.#total)}` : ""} ${this.#unit}`,
    ];
    if (rate > 0) parts.push(`${formatCount(rate)}/s`);
    if (this.#total && rate > 0) parts.push(`${formatSeconds(Math.max(0, this.#total - done) / rate)} left`);
    if (note) parts.push(note);
    const text = parts.join(", ");
    if (this.#mode !== "bar" || !this.#total) return `${this.#label}: ${text}`;
    const cells = Math.min(BAR_CELLS, Math.floor(done / this.#total * BAR_CELLS));
    return `${this.#label} [${"=".repeat(cells)}${" ".repeat(BAR_CELLS - cells)}] ${text}`;
  }

  #redraw(line: string): void {
    const columns = consoleColumns() - 1;
    const shown = cutToWidth(line, columns);
    const width = unicodeWidth(shown);
    const spaces = " ".repeat(Math.max(0, Math.min(this.#barWidth, columns) - width));
    Deno.stderr.writeSync(new TextEncoder().encode(`\r${shown}${spaces}\r${shown}`));
    this.#barWidth = width;
  }
}

type OnPhaseProgress = (phase: string, done: number, total: number) => void;

/** Makes displays, as the context of a stage does. */
interface ProgressMaker {
  progress(label: string, options: { total?: number; unit: string; start?: number }): Progress;
}

/** Shows the phases of a piece of work. Disposal ends the last display. */
export class PhaseProgress implements Disposable {
  readonly #context: ProgressMaker;
  readonly #unit: string;
  #phase: string | undefined;
  #shown: Progress | undefined;

  /** @param unit What is counted, such as `rows`. */
  constructor(context: ProgressMaker, unit: string) {
    this.#context = context;
    this.#unit = unit;
  }

  /** Updates the display; a new phase replaces it. */
  readonly update: OnPhaseProgress = (phase, done, total) => {
    if (phase !== this.#phase) {
      this.#shown?.finish();
      this.#shown = this.#context.progress(phase, { total, unit: this.#unit, start: done });
      this.#phase = phase;
    }
    this.#shown?.update(done);
  };

  [Symbol.dispose](): void {
    this.#shown?.finish();
  }
}
