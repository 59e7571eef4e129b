/**
 * What was promised against what came: points that lie on the diagonal where probabilities are right.
 *
 * @module
 */
import type { TopLevelSpec } from "vega-lite";
import { logTicks } from "./labels.ts";
import { VEGA_LITE_SCHEMA } from "./svg.ts";
import { ACCENT, MUTED, PAGE_CONFIG, PAPER, TITLE_ABOVE } from "./theme.ts";

/** Cases with about the same promise. */
export interface ReliabilityPoint {
  /** The probability that was promised, and the share that came. */
  promised: number;
  observed: number;
  /** A number of cases, which gives the point's size and its error bar; all points alike where absent. */
  count?: number;
}

/** What is drawn. */
export interface ReliabilityPlot {
  points: readonly ReliabilityPoint[];
  xTitle: string;
  yTitle: string;
  /** Side of the square, in pixels. */
  size: number;
  /** `log`: for promises that are mostly small; those of 0 are left out. */
  scale?: "linear" | "log";
}

/** 95 % of a normal distribution lie within so many standard deviations. */
const Z95 = 1.96;

/** The Vega-Lite specification of the points and of the diagonal. */
export function specOfReliability(plot: ReliabilityPlot): TopLevelSpec {
  const isLog = plot.scale === "log";
  const points = plot.points.filter(({ promised, observed }) => !isLog || (promised > 0 && observed > 0));
  const low = isLog
    ? 0.8 * Math.min(1, ...points.flatMap(({ promised, observed }) => [promised, observed]))
    : 0;
  const scale = { type: isLog ? "log" : "linear", domain: [low, 1], nice: false, clamp: true };
  const ticks = isLog ? { values: logTicks([low, 1]) } : { tickCount: 5 };
  const axis = (title: string) => ({ title, format: isLog ? "~%" : ".0%", ...ticks });
  const x = { field: "promised", type: "quantitative", scale, axis: axis(plot.xTitle) };
  const y = {
    field: "observed",
    type: "quantitative",
    scale,
    axis: {
      ...axis(plot.yTitle),
      ...TITLE_ABOVE,
    },
  };
  return {
    $schema: VEGA_LITE_SCHEMA,
    autosize: { type: "none" },
    padding: { left: 56, right: 16, top: 26, bottom: 44 },
    width: plot.size,
    height: plot.size,
    layer: [
      {
        data: { values: [{ promised: low, observed: low }, { promised: 1, observed: 1 }] },
        mark: { type: "line", color: MUTED, strokeWidth: 1, strokeDash: [4, 4] },
        encoding: { x, y },
      },
      {
        data: { values: points.map((point) => ({ ...point, ...intervalOf(point, low) })) },
        mark: { type: "rule", color: ACCENT, strokeWidth: 1.25 },
        encoding: { x, y: { ...y, field: "lower" }, y2: { field: "upper" } },
      },
      {
        data: { values: points },
        mark: {
          type: "point",
          filled: true,
          color: ACCENT,
          stroke: PAPER,
          strokeWidth: 1,
          size: 70,
          opacity: 1,
        },
        encoding: { x, y },
      },
    ],
    config: PAGE_CONFIG,
  } as TopLevelSpec;
}

/**
 * Where the share may lie that so many cases show by chance (Wilson's interval of 95 %, JASA 22, 1927).
 *
 * @returns Both ends at the share itself where the number of cases is not known.
 */
function intervalOf({ observed, count }: ReliabilityPoint, least: number): { lower: number; upper: number } {
  if (count === undefined || count === 0) return { lower: observed, upper: observed };
  const z2 = Z95 ** 2 / count;
  const centre = (observed + z2 / 2) / (1 + z2);
  const half = Z95 * Math.sqrt(observed * (1 - observed) / count + z2 / (4 * count)) / (1 + z2);
  return { lower: Math.max(least, centre - half), upper: Math.min(1, centre + half) };
}
