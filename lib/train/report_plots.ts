/**
 * The curves of a training run as one picture: losses, learning rate, gradient norm, speed, padding over the steps.
 *
 * @module
 */
import type { TopLevelSpec } from "vega-lite";
import { VEGA_LITE_SCHEMA } from "../plot/svg.ts";
import { ACCENT, CONTRAST, PAGE_CONFIG } from "../plot/theme.ts";
import type { MetricsRecord } from "./metrics.ts";

/** A point of a curve; null where no value was finite. */
export interface CurvePoint {
  step: number;
  value: number | null;
}

/** A curve is drawn with so many points at most: about one per pixel of the widest plot. */
const MAX_POINTS = 700;
const WIDE = 772;
const NARROW = 345;
const TALL = 260;
const SHORT = 150;
const COLORS = [ACCENT, CONTRAST];

/** One scalar over the steps. */
interface Curve {
  name: string;
  points: CurvePoint[];
  /** Whether its points are few and are shown. */
  isSparse?: boolean;
}

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

/** The picture's Vega-Lite specification. @param records What was logged, in order. */
export function specOfCurves(records: readonly MetricsRecord[]): TopLevelSpec {
  const curve = (name: string) => curveOf(records, name);
  const losses = [
    { name: "training", points: curve("train/loss") },
    { name: "validation", points: curve("eval/loss"), isSparse: true },
  ].filter(({ points }) => points.length > 0);
  const single = (scalar: string, title: string, format: string) =>
    plotOf([{ name: title, points: curve(scalar) }], { title, format, width: NARROW, height: SHORT });
  return {
    $schema: VEGA_LITE_SCHEMA,
    vconcat: [
      plotOf(losses, { title: "loss, nats per token", format: "~g", width: WIDE, height: TALL }),
      {
        hconcat: [
          single("train/lr", "learning rate", "~g"),
          single("train/grad_norm", "gradient norm", "~g"),
        ],
      },
      {
        hconcat: [
          single("train/tokens_per_second", "tokens per second", "~s"),
          single("train/padding", "padding", ".1~%"),
        ],
      },
    ],
    spacing: 24,
    config: { ...PAGE_CONFIG, axisY: { ...PAGE_CONFIG.axisY, minExtent: 40, maxExtent: 40 } },
  };
}

function plotOf(
  curves: readonly Curve[],
  { title, format, width, height }: { title: string; format: string; width: number; height: number },
) {
  return {
    width,
    height,
    layer: curves.map(({ name, points, isSparse }, i) => ({
      data: { values: points },
      mark: {
        type: "line" as const,
        color: COLORS[i],
        strokeWidth: 1.4,
        point: isSparse ? { color: COLORS[i], size: 25 } : false,
      },
      encoding: {
        x: {
          field: "step",
          type: "quantitative" as const,
          axis: { title: "step", format: "~s", tickCount: 6 },
          scale: { nice: false },
        },
        y: {
          field: "value",
          type: "quantitative" as const,
          axis: { title, format, tickCount: 5 },
          scale: { zero: false },
        },
        ...(curves.length > 1 ? { color: { datum: name } } : {}),
      },
    })),
  };
}
