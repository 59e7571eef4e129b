/** The defaults of an adaptation, which the command line loads at its start. @module */
import type { FitOptions } from "./fit.ts";

export const ADAPT_DEFAULTS = {
  steps: 20,
  learningRate: 0.1,
  maxDrift: 1,
} as const satisfies Pick<FitOptions, "steps" | "learningRate" | "maxDrift">;
