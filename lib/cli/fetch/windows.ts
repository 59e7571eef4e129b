/** Time spans that are fetched one after another, each into a file. @module */
import { UsageError } from "../../base/errors.ts";
import { formatCount } from "../../base/text.ts";

const MAX_WINDOWS = 100_000;

/** The time span of a request and its file. */
export interface TimeWindow {
  /** The first second and the one after the last, in Unix time. */
  startS: number;
  stopS: number;
}

/** A time span and the name of its file in the output folder. */
export interface FileWindow extends TimeWindow {
  name: string;
}

/**
 * Divides a time span into windows.
 *
 * @param span Windows of `windowS` that begin before `nowS`. @param times How often the span is fetched.
 * @throws {UsageError} If there are too many for a manifest.
 */
export function divideTime(
  { startS, stopS, windowS, nowS }: TimeWindow & { windowS: number; nowS: number },
  times = 1,
): TimeWindow[] {
  const endS = Math.min(stopS, nowS);
  const count = times * Math.ceil((endS - startS) / windowS);
  if (count > MAX_WINDOWS) {
    throw new UsageError(
      `Cannot fetch ${formatCount(count)} windows: expected at most ${formatCount(MAX_WINDOWS)}; raise ` +
        "--window, or request less per run",
    );
  }
  const windows: TimeWindow[] = [];
  for (let at = startS; at < endS; at += windowS) {
    windows.push({ startS: at, stopS: Math.min(at + windowS, stopS) });
  }
  return windows;
}

/** The window as part of a file name, such as `20201007T030000Z-20201007T040000Z`. */
export function formatWindow({ startS, stopS }: TimeWindow): string {
  return [startS, stopS].map((timeS) => new Date(1000 * timeS).toISOString().replace(/\.\d+|[-:]/g, "")).join(
    "-",
  );
}
