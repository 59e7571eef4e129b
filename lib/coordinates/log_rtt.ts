/** RTTs on the logarithmic scale, on which their errors are alike. @module */

/** RTTs are at least this before the logarithm is taken, in ms; far below what a network card can do. */
const MIN_RTT_MS = 1e-3;

/** The natural logarithm of an RTT in ms, of 0 too. */
export function logOfRtt(rttMs: number): number {
  return Math.log(Math.max(rttMs, MIN_RTT_MS));
}
