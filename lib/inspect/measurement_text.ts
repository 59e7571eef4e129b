/**
 * Measurements as lines of text.
 *
 * @module
 */
import { formatTime } from "./format.ts";

/**
 * A measurement as a line of text.
 *
 * @param timeUs Microseconds since 1970, or null for none.
 * @param src Source address.
 * @param dst Destination address.
 * @param rttMs Milliseconds; below 0 for no reply.
 */
export function describeMeasurement(timeUs: number | null, src: string, dst: string, rttMs: number): string {
  const result = rttMs < 0 ? "no reply" : `${Number(rttMs.toPrecision(6))} ms`;
  const time = timeUs === null ? "no time" : formatTime(timeUs);
  return `${time}  ${src} -> ${dst}  ${result}`;
}

/** Samples in words, each beside its tokens. */
export function sideBySide(decoded: readonly string[], tokens: readonly string[]): string[] {
  const width = Math.max(0, ...decoded.map(({ length }) => length));
  return tokens.map((words, i) => `${(decoded[i] ?? "").padEnd(width)}  ${words}`);
}
