/**
 * The validation curves of several runs over training time.
 *
 * @module
 */
import { formatTable } from "../../base/text.ts";
import { lineChart, rankOf } from "../../base/report/charts.ts";
import { type Block, pageOf, tableOf } from "../../base/report/page.ts";
import { FULL_WIDTH } from "../../base/report/theme.ts";
import type { MetricsRecord } from "../../train/metrics.ts";
import { medianOf } from "./throughput.ts";

/** The measures, by the names of their scalars in the metrics of a run. */
export const MEASURES = {
  "eval/loss": "validation loss, nats per token",
  "eval/rtt_bits": "bits per RTT code",
} as const;

/** A scalar of {@link MEASURES}. */
export type Measure = keyof typeof MEASURES;

/** An evaluation. */
export interface CurvePoint {
  /** Seconds of training before it, without evaluations and checkpoints. */
  readonly seconds: number;
  readonly step: number;
  readonly values: Partial<Record<Measure, number>>;
}

/** A run of a variant. */
export interface CurveRun {
  readonly variant: string;
  readonly seed: number;
  readonly points: readonly CurvePoint[];
}

/** The spread of a number over the seeds; NaN if a run lacks it. */
export interface Spread {
  readonly median: number;
  readonly least: number;
  readonly most: number;
}

/** The results of a variant. */
export interface VariantCurve {
  readonly variant: string;
  /** At each of the times, by measure. */
  readonly values: Partial<Record<Measure, Spread[]>>;
  /** Seconds until the loss was reached, of the runs that reached it; absent unless requested. */
  readonly until?: Spread & { readonly reached: number; readonly of: number };
}

/**
 * The evaluations of a run.
 *
 * @param records Its metrics, in order.
 * @param tokensPerStep Number of positions of a step.
 */
export function pointsOf(records: readonly MetricsRecord[], tokensPerStep: number): CurvePoint[] {
  let seconds = 0;
  let lastStep = 0;
  return records.flatMap((record) => {
    const { step, "train/tokens_per_second": rate } = record;
    // A logged step also counts for the unlogged steps before it.
    seconds += (step - lastStep) * tokensPerStep / (rate ?? NaN);
    lastStep = step;
    const found = (Object.keys(MEASURES) as Measure[]).filter((name) => typeof record[name] === "number");
    const values = Object.fromEntries(found.map((name) => [name, record[name]]));
    return found.length > 0 ? [{ seconds, step, values }] : [];
  });
}

/** Evenly spaced times in seconds, the last at the last evaluation of the shortest run. */
export function timesOf(runs: readonly CurveRun[], count: number): number[] {
  const end = Math.min(...runs.map(({ points }) => points.at(-1)?.seconds ?? 0));
  return Array.from({ length: count }, (_, i) => end * (i + 1) / count);
}

/**
 * The curve of every variant, in the order of its first run.
 *
 * @param runs The runs of all variants and seeds.
 * @param options `times`: in seconds; `until`: a validation loss, for the time until it is reached.
 */
export function curvesOf(
  runs: readonly CurveRun[],
  { times, until }: { times: readonly number[]; until?: number | undefined },
): VariantCurve[] {
  return [...Map.groupBy(runs, ({ variant }) => variant)].map(([variant, seeds]) => {
    const has = (name: Measure) => seeds.every(({ points }) => points.some(({ values }) => name in values));
    const values = Object.fromEntries(
      (Object.keys(MEASURES) as Measure[]).filter(has).map((name) => [
        name,
        times.map((time) => spreadOf(seeds.map(({ points }) => valueAt(points, name, time)))),
      ]),
    );
    if (until === undefined) return { variant, values };
    const seconds = seeds.map(({ points }) => secondsUntil(points, until)).filter(Number.isFinite);
    return { variant, values, until: { ...spreadOf(seconds), reached: seconds.length, of: seeds.length } };
  });
}

/** The value at a time, interpolated linearly between evaluations; NaN before the first and after the last. */
function valueAt(points: readonly CurvePoint[], name: Measure, seconds: number): number {
  const next = points.findIndex((point) => point.seconds >= seconds);
  if (next < 0) return NaN;
  const [a, b] = [points[next - 1], points[next]];
  const value = b.values[name] ?? NaN;
  if (b.seconds === seconds) return value;
  const share = (seconds - (a?.seconds ?? NaN)) / (b.seconds - (a?.seconds ?? NaN));
  return (1 - share) * (a?.values[name] ?? NaN) + share * value;
}

/** The first time of a loss, interpolated linearly between evaluations; NaN if it is not reached. */
function secondsUntil(points: readonly CurvePoint[], loss: number): number {
  const lossOf = (point: CurvePoint) => point.values["eval/loss"] ?? NaN;
  const first = points.findIndex((point) => lossOf(point) <= loss);
  if (first <= 0) return points[first]?.seconds ?? NaN;
  const [a, b] = [points[first - 1], points[first]];
  return b.seconds - (b.seconds - a.seconds) * (loss - lossOf(b)) / (lossOf(a) - lossOf(b));
}

function spreadOf(values: readonly number[]): Spread {
  return { median: medianOf(values), least: Math.min(...values), most: Math.max(...values) };
}

/** Shows the curves as tables, one for each measure. */
export function describeCurves(curves: readonly VariantCurve[], times: readonly number[]): string {
  const tables = tablesOf(curves, times).map(({ title, head, rows }) =>
    `${title}, after seconds of training\n${formatTable([head, ...rows], { left: [0] })}`
  );
  return tables.join("\n\n");
}

function tablesOf(curves: readonly VariantCurve[], times: readonly number[]) {
  return (Object.keys(MEASURES) as Measure[]).filter((name) => curves.some(({ values }) => values[name]))
    .map((name) => {
      const withUntil = name === "eval/loss" && curves.some(({ until }) => until);
      const head = ["", ...times.map((time) => `${time.toPrecision(3)} s`), ...(withUntil ? ["until"] : [])];
      const rows = curves.map(({ variant, values, until }) => [
        variant,
        ...times.map((_, i) => format(values[name]?.[i], 4)),
        ...(withUntil && until ? [`${format(until, 3)} s, ${until.reached} of ${until.of}`] : []),
      ]);
      return { name, title: MEASURES[name], head, rows };
    });
}

/** Median (smallest to largest). */
function format(spread: Spread | undefined, digits: number): string {
  // A time before the first evaluation of a seed has no number; JSON knows it as null.
  if (!spread || !Number.isFinite(spread.least)) return "";
  const median = spread.median.toPrecision(digits);
  const least = spread.least.toPrecision(digits);
  const most = spread.most.toPrecision(digits);
  return least === most ? median : `${median} (${least} to ${most})`;
}

/** A page with the medians of all variants as curves, and the tables. */
export async function pageOfCurves(runs: readonly CurveRun[], tables: {
  curves: readonly VariantCurve[];
  times: readonly number[];
}): Promise<string> {
  const times = timesOf(runs, 60);
  const medians = curvesOf(runs, { times });
  const blocks = tablesOf(tables.curves, tables.times).flatMap(({ name, title, head, rows }): Block[] => [
    {
      name: `curve-${name.replace(/\W/g, "-")}`,
      caption: `${title}, medians of the seeds`,
      chart: lineChart({
        curves: medians.map(({ variant, values }, i) => ({
          label: variant,
          points: (values[name] ?? []).map(({ median }, at) => ({ x: times[at], y: median })),
          rank: rankOf(i),
        })),
        x: { title: "seconds of training", format: "~s" },
        y: { title, scale: "log", format: "~g" },
        width: FULL_WIDTH - 200,
        height: 320,
      }),
    },
    tableOf(head, rows, "compared"),
  ]);
  return await pageOf("Quality by time of training", blocks);
}
