/** What a checkpoint remembers of a pair, as totals, by time and by hour of the day. @module */
import * as z from "zod";
import { partitionPoint } from "../../base/collections.ts";
import { quantilesOfWeighted } from "../../base/sample_statistics.ts";
import { isoTime } from "../../base/text.ts";
import { decodeRttCode } from "../../data/tokens/rtt_code.ts";
import type { PairMeasurements } from "../../model/pool/time_kernels.ts";

export const quantilesMs = z.record(z.string(), z.number());

const counts = { measurements: z.int(), without_reply: z.int() };
const binned = {
  ...counts,
  quantiles_ms: quantilesMs.nullable().describe("5, 25, 50, 75 and 95 % quantiles; null without a reply"),
};
const time = z.string().describe("ISO 8601");

export const measuredSchema = z.object({
  ...counts,
  from: time,
  to: time,
  quantiles_ms: quantilesMs.nullable().describe("the quantiles of the answer; null without a reply"),
  histogram: z.array(z.object({ low_ms: z.number(), high_ms: z.number(), measurements: z.int() })).optional()
    .describe("the replies in the bars of the answer's histogram"),
  bin_s: z.int().describe("length of a period of by_time"),
  by_time: z.array(z.object({ time: z.string().describe("start, ISO 8601"), ...binned })).describe(
    "periods with measurements, at most 200",
  ),
  by_hour: z.array(z.object({ hour: z.int().min(0).max(23), ...binned })).optional().describe(
    "hours of the day (UTC); absent with less than three days or eight different hours",
  ),
});
export type MeasuredJson = z.infer<typeof measuredSchema>;

/** Quantiles of an answer unless others are asked for. */
export const USUAL_QUANTILES = [0.05, 0.25, 0.5, 0.75, 0.95];
const HOUR_S = 3600;
const DAY_S = 24 * HOUR_S;
/** Lengths of a period. */
const BINS_S = [
  ...[60, 300, 900, HOUR_S, 3 * HOUR_S, 6 * HOUR_S, 12 * HOUR_S],
  ...[1, 2, 7, 14, 28, 91, 364, 3640].map((days) => days * DAY_S),
];
const [LEAST_BINS, MAX_BINS] = [24, 200];
/** Wanted number of measurements per period. */
const PER_BIN = 4;
const [LEAST_DAYS, LEAST_HOURS] = [3, 8];

/**
 * The mean absolute difference of successive RTTs, ms, to the microsecond: the interarrival jitter of RFC 3550,
 * section 6.4.1, of round trips and without its smoothing. Null for less than two replies.
 */
export function jitterMs({ codes }: Pick<PairMeasurements, "codes">): number | null {
  const rttsMs = Array.from(codes.filter((code) => code > 0), decodeRttCode);
  if (rttsMs.length < 2) return null;
  const sum = rttsMs.reduce((sum, rttMs, i) => i === 0 ? 0 : sum + Math.abs(rttMs - rttsMs[i - 1]), 0);
  return Math.round(1000 * sum / (rttsMs.length - 1)) / 1000;
}

/** @param pair At least one measurement. @param edgesMs Edges of the histogram's bars, ascending. */
export function measuredJson(
  pair: PairMeasurements,
  { quantiles = USUAL_QUANTILES, edgesMs }: {
    quantiles?: readonly number[] | undefined;
    edgesMs?: readonly number[] | undefined;
  },
): MeasuredJson {
  const { timesS, codes, counts } = pair;
  const [firstS, lastS] = [timesS[0], timesS[timesS.length - 1]];
  const { length } = codes;
  const byCode = Float64Array.from(codes, (code, i) => code * length + i).sort();
  const all = Array.from(byCode, (key) => key % length);
  const countOf = (indexes: readonly number[]) => indexes.reduce((sum, i) => sum + counts[i], 0);
  /** @param indexes By ascending code. */
  const summed = (indexes: readonly number[], levels: readonly number[]) => {
    const replies = indexes.filter((i) => codes[i] > 0);
    const ascending = levels.toSorted((a, b) => a - b);
    const found = quantilesOfWeighted(
      replies.map((i) => decodeRttCode(codes[i])),
      replies.map((i) => counts[i]),
      ascending,
    );
    const ofLevel = (level: number) => [level, found[ascending.indexOf(level)]] as const;
    return {
      measurements: countOf(indexes),
      without_reply: countOf(indexes) - countOf(replies),
      quantiles_ms: replies.length > 0 ? Object.fromEntries(levels.map(ofLevel)) : null,
    };
  };
  const binsBy = (binOf: (timeS: number) => number) =>
    [...Map.groupBy(all, (i) => binOf(timesS[i]))].sort(([a], [b]) => a - b);
  const most = Math.min(MAX_BINS, Math.max(LEAST_BINS, countOf(all) / PER_BIN));
  const numBins = (binS: number) => Math.floor(lastS / binS) - Math.floor(firstS / binS) + 1;
  const binS = BINS_S.find((binS) => numBins(binS) <= most) ?? BINS_S[BINS_S.length - 1];
  const hours = binsBy((timeS) => Math.floor(timeS % DAY_S / HOUR_S));
  const hasHours = lastS - firstS >= LEAST_DAYS * DAY_S && hours.length >= LEAST_HOURS;
  const barOf = (rttMs: number, edges: readonly number[]) =>
    partitionPoint(edges.length, (k) => edges[k] > rttMs) - 1;
  const histogram = (edges: readonly number[]) => {
    const replies = all.filter((i) => codes[i] > 0);
    const bars = Map.groupBy(replies, (i) => barOf(decodeRttCode(codes[i]), edges));
    return edges.slice(1).map((high_ms, k) => (
      { low_ms: edges[k], high_ms, measurements: countOf(bars.get(k) ?? []) }
    ));
  };
  return {
    ...summed(all, quantiles),
    from: isoTime(firstS),
    to: isoTime(lastS),
    ...(edgesMs && { histogram: histogram(edgesMs) }),
    bin_s: binS,
    by_time: binsBy((timeS) => Math.floor(timeS / binS)).map(([bin, indexes]) => (
      { time: isoTime(bin * binS), ...summed(indexes, USUAL_QUANTILES) }
    )),
    ...(hasHours && {
      by_hour: hours.map(([hour, indexes]) => ({ hour, ...summed(indexes, USUAL_QUANTILES) })),
    }),
  };
}
