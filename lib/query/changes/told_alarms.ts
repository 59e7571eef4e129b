/** Alarms that an earlier watch has reported for the same measurements. @module */
import { isoTime } from "../../base/text.ts";
import type { AlarmLine } from "./alarm_lines.ts";
import type { AlarmEvent, Finding } from "./alarms.ts";

/**
 * The reported lines of an output. A restarted watch reads the measurements from the beginning and finds
 * their events again. An event counts as reported if the kind, cause, pair and time are the same.
 */
export class ToldAlarms {
  /** How often the output contains each event. */
  readonly #numTold = new Map<string, number>();
  /** Alarm numbers in the output, by the alarm's first event. */
  readonly #begun = new Map<string, number>();
  /** Alarm numbers in the output, by this watch's alarm numbers. */
  readonly #numbers = new Map<number, number>();
  #last = 0;

  add({ event, time, alarm, ...ends }: AlarmLine): void {
    const key = keyOf(event, ends, time);
    this.#numTold.set(key, (this.#numTold.get(key) ?? 0) + 1);
    if (event === "begin") this.#begun.set(key, alarm);
    this.#last = Math.max(this.#last, alarm);
  }

  hasBegun({ kind, departure, timeS }: Finding): boolean {
    return kind === "begin" && this.#begun.has(keyOf(kind, departure, isoTime(timeS)));
  }

  /**
   * Takes an event of this watch. @returns Numbers that continue those in the output; undefined if already
   * reported.
   */
  take({ kind, alarm, timeS }: AlarmEvent): { alarm: number; group: number } | undefined {
    const { id, group } = alarm;
    const key = keyOf(kind, alarm, isoTime(timeS));
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
  { cause, limit = "", src, dst }: Pick<AlarmLine, "cause" | "limit" | "src" | "dst">,
  time: string,
): string {
  return `${event} ${cause} ${limit} ${src} ${dst} ${time}`;
}
