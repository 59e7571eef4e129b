/**
 * The section of a run's configuration for drawing contexts from probe rows.
 *
 * @module
 */
import * as z from "zod";

const share = z.number().min(0).max(1);

/** The settings of drawing contexts, with all defaults filled in. */
export interface SamplingConfig {
  /** A row of n measurements yields ceil(n / this) contexts an epoch, at least 1; 1..1,000,000. */
  measurementsPerContext: number;
  /** The largest number of contexts per row and epoch, however long the row; 1..1024. */
  maxContextsPerRow: number;
  /** Shares of contexts with all times, some times and no times; they add up to 1. */
  timestampModes: { full: number; partial: number; none: number };
  /**
   * Share of contexts with few destinations, among rows that do not fit completely: half of them have one
   * destination, a quarter two, and so on. So more of their measurements are of the same pair.
   */
  fewDestinationsShare: number;
  /** Share of contexts with the newest measurements up to some moment instead of a sample, among rows that do not fit. */
  denseWindowShare: number;
  /** The largest number of measurements of a context, 1..65,535; null for as many as fit. */
  maxMeasurements: number | null;
  /** Share of contexts whose measurements all have the field order of queries: source, destination, time, result. */
  queryOrderShare: number;
  /** Share of contexts in which random bytes replace the end of each source address, which makes the source unknown. */
  unknownSourceShare: number;
  /** Share of contexts in which history features come only from older RTTs of each pair. */
  staleHistoryShare: number;
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
  staleHistoryShare: share.default(0),
});

export const DEFAULT_SAMPLING: SamplingConfig = samplingSchema.parse({});

/** The sampling for validation: sources keep their own addresses, whatever the settings of training. */
export function heldOutSampling(sampling: SamplingConfig = DEFAULT_SAMPLING): SamplingConfig {
  return { ...sampling, unknownSourceShare: 0 };
}
