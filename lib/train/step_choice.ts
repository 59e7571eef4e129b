/**
 * How long a run trains, chosen by validation. After the first steps, and after 2, 4, 8, ... times as many,
 * the learning rate has decayed fully and the checkpoint's answers are validated by kind of question: about
 * held-out pairs, addresses and times. The run continues while any kind improves. Its final checkpoint is the
 * one with the lowest errors, all kinds weighted equally (early stopping: Prechelt, "Early Stopping - But
 * When?", 1998; with warm restarts of the learning rate: Loshchilov, Hutter, SGDR, 2017).
 *
 * Each choice depends on checkpoints and data alone, so an interrupted run makes the same choices.
 *
 * @module
 */
import * as z from "zod";
import { ensure } from "../base/errors.ts";
import { parseAs } from "../base/schema_fault.ts";
import { writeJsonAtomic } from "../io/files/atomic.ts";
import { exists, readText } from "../io/files/inputs.ts";
import type { TrainConfig } from "./run_config.ts";

/** The steps at which a run may end, ascending; the last is the configured number. */
export function endsOf({ steps, firstSteps }: Pick<TrainConfig, "steps" | "firstSteps">): number[] {
  const ends: number[] = [];
  for (let end = firstSteps ?? steps; end < steps; end *= 2) ends.push(end);
  return [...ends, steps];
}

type ValidatedEnd = z.infer<typeof endSchema>;
const endSchema = z.object({
  step: z.int(),
  /** Error of each kind of question, above 0. */
  errors: z.record(z.string(), z.number()),
});
const schema = z.object({
  ends: z.array(endSchema),
  chosen: z.int().nullable(),
});

/** The validated ends of a run, stored in a file of its folder. */
export class StepChoice {
  readonly #path: string;
  #ends: ValidatedEnd[] = [];
  #chosen: number | null = null;

  /**
   * Reads what an earlier call found.
   *
   * @param path The file; it may not exist.
   * @param step The step that the run resumes after; later results do not count.
   * @param options `isMade`: whether a choice made at that step still holds (true); `hasMoreSteps`: whether the
   *   run got more steps since, so that only a choice after an end without improvement holds (false).
   */
  constructor(path: string, step: number, { isMade = true, hasMoreSteps = false } = {}) {
    this.#path = path;
    if (step === 0 || !exists(path)) return;
    const fault = "it is not a choice of steps; start over with --fresh";
    const { ends, chosen } = parseAs(schema, readText(path), fault, path);
    const last = ends.at(-1);
    const isFinal = !hasMoreSteps || (last && !isImproved(last, ends));
    if (isMade && isFinal && chosen === step) [this.#ends, this.#chosen] = [ends, step];
    else this.#ends = ends.filter((end) => end.step <= step);
  }

  /** The step of the run's final checkpoint; null while the run continues. */
  get chosen(): number | null {
    return this.#chosen;
  }

  get ends(): readonly ValidatedEnd[] {
    return this.#ends;
  }

  /** Adds an end. @returns Whether any kind has a smaller error than at every earlier end. */
  add(end: ValidatedEnd): boolean {
    this.#ends = [...this.#ends.filter(({ step }) => step < end.step), end];
    this.#write();
    return isImproved(end, this.#ends);
  }

  /** Chooses the end with the lowest geometric mean error, the earliest of equals. @returns Its step. */
  choose(): number {
    const best = this.#ends.reduce((best, end) => meanLog(end) < meanLog(best) ? end : best);
    this.#chosen = best.step;
    this.#write();
    return best.step;
  }

  #write(): void {
    writeJsonAtomic(this.#path, { ends: this.#ends, chosen: this.#chosen });
  }
}

/** Whether any kind has a smaller error than at every earlier end. */
function isImproved(end: ValidatedEnd, ends: readonly ValidatedEnd[]): boolean {
  const earlier = ends.filter(({ step }) => step < end.step);
  return Object.entries(end.errors).some(([kind, error]) =>
    earlier.every(({ errors }) => !(errors[kind] <= error))
  );
}

function meanLog({ errors }: ValidatedEnd): number {
  const values = Object.values(errors);
  ensure(values.length > 0, "an end without errors");
  return values.reduce((sum, error) => sum + Math.log(error), 0) / values.length;
}
