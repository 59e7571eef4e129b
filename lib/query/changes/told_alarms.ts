/** Alarms that an earlier watch reported of the same measurements. @module */
import { formatTime } from "../../base/text.ts";
import type { AlarmLine } from "./alarm_lines.ts";
import type { AlarmEvent, Finding } from "./alarms.ts";

/**
 * The lines of an output. A watch that starts again reads the measurements from their beginning and finds their
 * events again: an event of the same kind, cause, pair and time was reported.
 */
export class ToldAlarms {
  /** How often each event is in the output. */
  readonly #numTold = new Map<string, number>();
  /** The numbers of the alarms in the output by their beginnings. */
  readonly #begun = new Map<string, number>();
  /** The numbers in the output of the alarms of this watch. */
  readonly #numbers = new Map<number, number>();
  #last = 0;

  add({ event, cause, src, dst, time, alarm }: AlarmLine): void {
    const key = keyOf(event, { cause, src, dst }, time);
    this.#numTold.set(key, (this.#numTold.get(key) ?? 0) + 1);
    if (event === "begin") this.#begun.set(key, alarm);
    this.#last = Math.max(this.#last, alarm);
  }

  hasBegun({ kind, departure, timeS }: Finding): boolean {
    return kind === "begin" && this.#begun.has(keyOf(kind, departure, formatTime(timeS)));
  }

  /**
   * Takes an event of this watch. @returns Its numbers, which follow those in the output; undefined if it was
   * reported.
   */
  take({ kind, alarm, timeS }: AlarmEvent): { alarm: number; group: number } | undefined {
    const { id, group } = alarm;
    const key = keyOf(kind, alarm, formatTime(timeS));
    const numTold = this.#numTold.get(key) ?? 0;
    if (kind === "begin") this.#numbers.set(id, (numTold > 0 && this.#begun.get(key)) || ++this.#last);
    if (numTold > 0) {
      this.#numTold.set(key, numTold - 1);
      return undefined;
    }
    return { alarm: this.#numbers.get(id) ?? id, group: this.#numbers.get(group.id) ?? group.id };
  }
}

function keyOf(
  event: string,
  { cause, src, dst }: Pick<AlarmLine, "cause" | "src" | "dst">,
  time: string,
): string {
  return `${event} ${cause} ${src} ${dst} ${time}`;
}
