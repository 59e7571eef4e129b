/** The last check of every answer: probabilities that cannot be are refused. @module */
import { UserError } from "../base/errors.ts";

/** How far probabilities may be off by rounding. */
const ROUNDING = 1e-6;

/** Returns a probability. @param name For the error. @throws {UserError} If it is NaN, below the least or above 1. */
export function requirePossible(name: string, probability: number, least = 0): number {
  if (probability >= least - ROUNDING && probability <= 1 + ROUNDING) return probability;
  const wanted = least === 1 ? "1" : "0 to 1";
  throw new UserError(
    `Cannot answer: ${name} is ${probability}, expected ${wanted}; use an earlier checkpoint or another run`,
  );
}
