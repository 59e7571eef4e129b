/**
 * Progress of work that has several phases, one display after the other.
 *
 * @module
 */
import type { Progress } from "./progress.ts";
import type { StageContext } from "./stage.ts";

/** Receives how much of a phase is done, and how much there is. */
export type OnPhaseProgress = (phase: string, done: number, total: number) => void;

/** Shows the phases of a piece of work; ends the last display when disposed. */
export class PhaseProgress implements Disposable {
  readonly #context: StageContext;
  readonly #unit: string;
  #phase: string | undefined;
  #shown: Progress | undefined;

  /** @param context The stage's. @param unit What is counted, such as `rows`. */
  constructor(context: StageContext, unit: string) {
    this.#context = context;
    this.#unit = unit;
  }

  /** Shows how much is done; a new phase replaces the display. */
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
