/**
 * The part of a run's configuration that says how contexts are drawn from probe rows.
 *
 * @module
 */
import { z } from "zod";

const share = z.number().min(0).max(1);

/** How contexts are drawn, with every default filled in. */
export interface SamplingConfig {
  /** A row of n measurements yields ceil(n / this) contexts an epoch, at least 1; 1..1,000,000. */
  measurementsPerContext: number;
  /** At most so many contexts a row and epoch, however long the row; 1..1024. */
  maxContextsPerRow: number;
  /** Shares of contexts with all times, some times and no times; they add up to 1. */
  timestampModes: { full: number; partial: number; none: number };
  /**
   * Share of the contexts of rows that do not fit whole that see a few destinations only, so that more of their
   * measurements are of the same pair: where a probe measures many destinations in turn, a sample of all of them
   * seldom shows how one pair goes on. Half of them see one destination, a quarter two, and so on.
   */
  fewDestinationsShare: number;
  /**
   * Share of the contexts of rows that do not fit whole that have all measurements up to some moment, as many as fit,
   * and not a sample of a window: what a model is asked with, where a context fills its sequence.
   */
  denseWindowShare: number;
  /** At most so many measurements a context, 1..65,535; null for as many as fit. */
  maxMeasurements: number | null;
  /**
   * Share of the contexts whose measurements all have the order of queries, source, destination, time, result, and
   * not an order each. A small model learns much sooner there to look up what a pair measured before.
   */
  queryOrderShare: number;
  /**
   * Share of the contexts in which the end of each source address is replaced by random bytes, the same throughout the
   * context: so that the model learns to read from the context what it cannot know of a source that it has not met,
   * however much of its prefix it knows.
   */
  unknownSourceShare: number;
  /**
   * Share of the contexts in which some of the newest RTTs of each pair are not recalled: so that the model learns how
   * much less old ones say.
   */
  staleRecallShare: number;
}

/** Schema of the section `data`. */
export const samplingSchema: z.ZodType<SamplingConfig> = z.strictObject({
  measurementsPerContext: z.number().int().min(1).max(1_000_000).default(30),
  maxContextsPerRow: z.number().int().min(1).max(1024).default(16),
  timestampModes: z.strictObject({
    full: share.default(0.4),
    partial: share.default(0.3),
    none: share.default(0.3),
  })
    .refine((s) => Math.abs(s.full + s.partial + s.none - 1) < 1e-9, "the shares must add up to 1")
    .default({ full: 0.4, partial: 0.3, none: 0.3 }),
  fewDestinationsShare: share.default(0),
  denseWindowShare: share.default(0),
  maxMeasurements: z.number().int().min(1).max(65_535).nullable().default(null),
  queryOrderShare: share.default(0),
  unknownSourceShare: share.default(0),
  staleRecallShare: share.default(0),
});

/** The defaults. */
export const DEFAULT_SAMPLING: SamplingConfig = samplingSchema.parse({});

/** The sampling for what a model is measured on: sources have their own addresses, however they were trained on. */
export function heldOutSampling(sampling: SamplingConfig = DEFAULT_SAMPLING): SamplingConfig {
  return { ...sampling, unknownSourceShare: 0 };
}
