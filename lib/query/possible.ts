/**
 * The last check of every answer: probabilities that cannot be are refused, whatever made them so.
 *
 * @module
 */
import { UserError } from "../base/errors.ts";

/** How far probabilities may be off by rounding. */
const ROUNDING = 1e-6;

/**
 * Checks a probability.
 *
 * @param name What it is of, for people.
 * @param least The least that it can be.
 * @returns It.
 * @throws {UserError} If it is NaN, below the least or above 1.
 */
export function requirePossible(name: string, probability: number, least = 0): number {
  if (probability >= least - ROUNDING && probability <= 1 + ROUNDING) return probability;
  const wanted = least === 1 ? "1" : "0 to 1";
  throw new UserError(
    `Cannot answer: ${name} is ${probability}, expected ${wanted}; use an earlier checkpoint or another run`,
  );
}
