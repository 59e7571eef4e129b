/**
 * The logarithm of RTTs, on which errors of different RTTs are similar, and scales between it and
 * milliseconds: Box and Cox, "An Analysis of Transformations", J. R. Statist. Soc. B 26 (1964). Near the
 * typical RTT, a step is the same relative change on every scale.
 *
 * @module
 */

/** The smallest RTT whose logarithm is taken, in ms; far below the delay of a network card. */
const MIN_RTT_MS = 1e-3;

/** The natural logarithm of an RTT in ms, also defined for 0. */
export function logOfRtt(rttMs: number): number {
  return Math.log(Math.max(rttMs, MIN_RTT_MS));
}

/** RTTs below this share of the typical RTT are raised to it. */
const MIN_SHARE = 1e-3;

/**
 * Converts the logarithm of an RTT to a scale.
 *
 * @param power 1 for milliseconds, 0 for the logarithm, or a value in between.
 * @param log The natural logarithm of RTT / typical RTT.
 * @returns 0 for the typical RTT.
 */
export function toScale(power: number, log: number): number {
  return power === 0 ? log : (Math.exp(power * log) - 1) / power;
}

/** The inverse of {@link toScale}. Values below the scale's range map to a thousandth of the typical RTT. */
export function fromScale(power: number, value: number): number {
  return power === 0 ? value : Math.log(Math.max(1 + power * value, MIN_SHARE ** power)) / power;
}
