/** Defaults of an adaptation, separate because the command line loads them at startup. @module */
import type { FitOptions } from "./fit.ts";

export const ADAPT_DEFAULTS = {
  steps: 20,
  learningRate: 0.1,
  maxDrift: 1,
} as const satisfies Pick<FitOptions, "steps" | "learningRate" | "maxDrift">;
