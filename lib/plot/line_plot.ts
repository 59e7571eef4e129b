/**
 * Curves with their names beside their ends.
 *
 * @module
 */
import type { TopLevelSpec } from "vega-lite";
import { logTicks, spreadApart, textWidthPx } from "./labels.ts";
import { VEGA_LITE_SCHEMA } from "./svg.ts";
import { ACCENT, CONTRAST, FAINT, FOURTH, MUTED, PAGE_CONFIG, PAPER, THIRD, TITLE_ABOVE } from "./theme.ts";

/** A point of a curve. */
export interface PlotPoint {
  x: number;
  y: number;
}

/** A curve. */
export interface PlotCurve {
  /** What stands beside it. */
  label: string;
  points: readonly PlotPoint[];
  /** How it stands out: 0 most, 3 least of the coloured; undefined: grey. */
  rank?: 0 | 1 | 2 | 3 | undefined;
}

/** One axis. */
export interface PlotAxis {
  title: string;
  /** `ordinal`: the values that occur, evenly spaced. */
  scale: "linear" | "log" | "ordinal";
  /** A d3 format of the numbers at the axis, such as `.0%` or `~r`. */
  format: string;
  /** The ends; those of the points where absent. */
  domain?: readonly [number, number];
  /** Where numbers stand; chosen by Vega where absent. */
  values?: readonly number[];
}

/** What is drawn. */
export interface LinePlot {
  curves: readonly PlotCurve[];
  x: PlotAxis;
  y: PlotAxis;
  /** Of the plot without its labels, in pixels. */
  width: number;
  height: number;
  /** `end`: beside the end of each curve; `list`: one below the other at the right, in the order of the curves. */
  labels: "end" | "list";
  /** Whether points are marked; for few of them. */
  hasPoints?: boolean;
  /** A thin line across at this height, with its name. */
  reference?: { y: number; label: string };
}

const LINE_PX = 15;
const FONT_PX = 12;
const LEFT_PX = 56;
const LABEL_GAP_PX = 12;
const TOP_PX = 26;

const COLORS = [ACCENT, CONTRAST, THIRD, FOURTH];

/** The Vega-Lite specification of curves; as wide as the plot, the axis and the longest label. */
export function specOfLines(plot: LinePlot): TopLevelSpec {
  const curves = plot.curves.map((curve) => ({ ...curve, points: curve.points.filter(isShown(plot)) }))
    .filter(({ points }) => points.length > 0)
    // Drawn from the last to the first, so that what stands out lies above the rest.
    .toReversed();
  const longest = Math.max(0, ...curves.map(({ label }) => textWidthPx(label, FONT_PX)));
  return {
    $schema: VEGA_LITE_SCHEMA,
    autosize: { type: "none" },
    padding: { left: LEFT_PX, right: LABEL_GAP_PX + longest, top: TOP_PX, bottom: 44 },
    width: plot.width,
    height: plot.height,
    layer: [
      ...(plot.reference ? referenceOf(plot, plot.reference) : []),
      ...curves.map((curve) => lineOf(plot, curve)),
      ...labelsOf(plot, curves.toReversed()),
    ],
    resolve: { scale: { color: "independent" } },
    config: PAGE_CONFIG,
  } as TopLevelSpec;
}

/** The ends of an axis. */
function domainOf(
  { scale, domain }: PlotAxis,
  values: readonly number[],
): readonly [number, number] {
  if (domain) return domain;
  const positive = scale === "log" ? values.filter((value) => value > 0) : values;
  const low = Math.min(...positive);
  const high = Math.max(...positive);
  if (scale === "log") return [low / 1.15, high * 1.15];
  return low >= 0 ? [0, 1.08 * high || 1] : [low, high];
}

function isShown({ x, y }: LinePlot): (point: PlotPoint) => boolean {
  const isFit = (axis: PlotAxis, value: number) =>
    Number.isFinite(value) && (axis.scale !== "log" || value > 0);
  return (point) => isFit(x, point.x) && isFit(y, point.y);
}

function colorOf({ rank }: PlotCurve): string {
  return rank === undefined ? FAINT : COLORS[rank];
}

function lineOf(plot: LinePlot, curve: PlotCurve) {
  const isMain = curve.rank === 0;
  const color = colorOf(curve);
  return {
    data: { values: [...curve.points] },
    mark: {
      type: "line",
      color,
      strokeWidth: isMain ? 3 : curve.rank === undefined ? 1.25 : 2,
      point: plot.hasPoints ? { color, filled: true, size: isMain ? 60 : 32, stroke: PAPER } : false,
      clip: !plot.hasPoints,
    },
    encoding: encodingOf(plot),
  };
}

function encodingOf(plot: LinePlot) {
  return { x: channelOf(plot, "x"), y: channelOf(plot, "y") };
}

function channelOf(plot: LinePlot, name: "x" | "y") {
  const { title, format, scale, values } = plot[name];
  const domain = domainOf(plot[name], valuesOf(plot, name));
  const ticks = values ?? (scale === "log" ? logTicks(domain) : undefined);
  return {
    field: name,
    type: scale === "ordinal" ? "ordinal" : "quantitative",
    axis: {
      ...{ title, format, labelAngle: 0 },
      ...(ticks ? { values: [...ticks] } : { tickCount: 6 }),
      ...(name === "y" ? TITLE_ABOVE : {}),
    },
    scale: scale === "ordinal"
      ? { type: "point", padding: 0.15 }
      : { type: scale, nice: false, domain: [...domain], ...(scale === "linear" ? { zero: false } : {}) },
  };
}

function valuesOf(plot: LinePlot, name: "x" | "y"): number[] {
  return plot.curves.flatMap(({ points }) => points.filter(isShown(plot)).map((point) => point[name]));
}

/** The height in pixels, from the top, at which a value lies. */
function heightPx(plot: LinePlot, value: number): number {
  const [low, high] = domainOf(plot.y, valuesOf(plot, "y"));
  const at = plot.y.scale === "log" ? Math.log : (each: number) => each;
  return plot.height * (1 - (at(value) - at(low)) / (at(high) - at(low)));
}

function labelsOf(plot: LinePlot, curves: readonly PlotCurve[]) {
  const wantedPx = curves.map(({ points }, i) =>
    plot.labels === "list" ? i * LINE_PX : heightPx(plot, points[points.length - 1].y)
  );
  const placedPx = spreadApart(wantedPx, { gapPx: LINE_PX, minPx: 4, maxPx: plot.height - 4 });
  return curves.map((curve, i) => ({
    data: { values: [{}] },
    mark: {
      type: "text",
      text: curve.label,
      align: "left",
      baseline: "middle",
      fontSize: FONT_PX,
      fontWeight: curve.rank === 0 ? 700 : 400,
      color: curve.rank === undefined ? MUTED : colorOf(curve),
    },
    encoding: { x: { value: plot.width + LABEL_GAP_PX }, y: { value: placedPx[i] } },
  }));
}

function referenceOf(plot: LinePlot, { y, label }: { y: number; label: string }) {
  const atPx = heightPx(plot, y);
  return [
    {
      data: { values: [{}] },
      mark: { type: "rule", color: MUTED, strokeDash: [4, 4], strokeWidth: 1 },
      encoding: { x: { value: 0 }, x2: { value: plot.width }, y: { value: atPx } },
    },
    {
      data: { values: [{}] },
      mark: { type: "text", text: label, align: "left", baseline: "bottom", dy: -3, color: MUTED },
      encoding: { x: { value: 4 }, y: { value: atPx } },
    },
  ];
}
