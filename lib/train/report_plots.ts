/**
 * The curves of a training run as pictures: losses, learning rate, gradient norm, speed, padding over the steps.
 *
 * @module
 */
import { type ChartCurve, type LineChart, lineChart } from "../report/charts.ts";
import type { Block } from "../report/page.ts";
import { FULL_WIDTH } from "../report/theme.ts";
import type { MetricsRecord } from "./metrics.ts";

/** A point of a curve; null where no value was finite. */
export interface CurvePoint {
  step: number;
  value: number | null;
}

/** A curve is drawn with so many points at most: about one per pixel of the widest plot. */
const MAX_POINTS = 700;
/** The scalars that have a small picture each: name, title, format. */
const SMALL: readonly [name: string, title: string, format: string][] = [
  ["train/lr", "learning rate", "~g"],
  ["train/grad_norm", "gradient norm", "~g"],
  ["train/tokens_per_second", "tokens per second", "~s"],
  ["train/padding", "padding", ".1~%"],
];

/**
 * The values of a scalar, averaged over as many neighbouring logged steps as there are too many.
 *
 * @param records What was logged, in order.
 * @param name The scalar.
 * @param maxPoints How many points there are at most.
 */
export function curveOf(
  records: readonly MetricsRecord[],
  name: string,
  maxPoints: number = MAX_POINTS,
): CurvePoint[] {
  const logged = records.filter((record) => name in record);
  const perPoint = Math.ceil(logged.length / maxPoints);
  const numPoints = perPoint > 0 ? Math.ceil(logged.length / perPoint) : 0;
  return Array.from({ length: numPoints }, (_, i) => {
    const group = logged.slice(i * perPoint, (i + 1) * perPoint);
    const values = group.map((record) => record[name]).filter((value) => value !== null);
    const sum = values.reduce((total, value) => total + value, 0);
    return { step: group[group.length - 1].step, value: values.length > 0 ? sum / values.length : null };
  });
}

/** The pictures of a run. @param records What was logged, in order. */
export function figuresOf(records: readonly MetricsRecord[]): Block[] {
  const curve = (label: string, scalar: string): ChartCurve => ({
    label,
    points: curveOf(records, scalar).map(({ step, value }) => ({ x: step, y: value })),
  });
  const losses: ChartCurve[] = [
    { ...curve("validation", "eval/loss"), rank: 1, style: "marked" },
    { ...curve("training", "train/loss"), rank: 0 },
  ];
  const small = SMALL.map(([name, title, format]) =>
    figureOf(name, { curves: [{ ...curve(title, name), rank: 0 }], y: { title, format }, height: 150 })
  );
  const y = { title: "loss, nats per token", format: "~g" };
  return [
    figureOf("loss", { curves: losses, y, width: FULL_WIDTH, height: 260 }),
    { beside: small.slice(0, 2) },
    { beside: small.slice(2) },
  ];
}

function figureOf(scalar: string, { y, ...chart }: Omit<LineChart, "x">): Block {
  const x = { title: "step", format: "~s", hasZero: false };
  return {
    name: scalar.replace(/\W/g, "-"),
    caption: "",
    chart: lineChart({ ...chart, x, y: { ...y, hasZero: false } }),
  };
}
