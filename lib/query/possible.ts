/** The final check of every answer, which rejects impossible probabilities. @module */
import { UserError } from "../base/errors.ts";
import { USE_ANOTHER } from "../model/finite.ts";

/** Tolerance for rounding errors of probabilities. */
const ROUNDING = 1e-6;

/** Returns `probability`. @param name For the error. @throws {UserError} If it is not in [`least`, 1]. */
export function requirePossible(name: string, probability: number, least = 0): number {
  if (probability >= least - ROUNDING && probability <= 1 + ROUNDING) return probability;
  const wanted = least === 1 ? "1" : "0 to 1";
  throw new UserError(
    `Cannot answer: ${name} is ${probability}, expected ${wanted}; ${USE_ANOTHER}`,
  );
}
