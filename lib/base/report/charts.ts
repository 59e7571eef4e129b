/**
 * Charts: curves, histograms, and rows with names, drawn as SVG by Vega-Lite
 * (https://vega.github.io/vega-lite/docs/).
 *
 * @module
 */
import { csvField } from "../text.ts";
import { CONFIG, FAINT, INK, MUTED, onWhite, PAPER, RANKED, RULE } from "./theme.ts";

/** A Vega-Lite specification with data but without a `config`. `usermeta` is ignored by Vega-Lite. */
export type Chart = Readonly<Record<string, unknown>> & { readonly usermeta?: ChartTable };

/** What a chart shows, as numbers. */
interface ChartTable {
  readonly columns: readonly string[];
  /** Null for a gap. */
  readonly rows: readonly (readonly (string | number | null | undefined)[])[];
}

const VEGA = new URL("./vega.ts", import.meta.url);

/**
 * Draws a picture for a page, using the page's CSS variables as colours.
 *
 * @returns One `svg` element and a newline; the same text for the same chart.
 */
export async function renderSvg(chart: Chart): Promise<string> {
  const { drawSvg } = await import(VEGA.href) as { drawSvg(spec: unknown): Promise<string> };
  const spec = { $schema: "https://vega.github.io/schema/vega-lite/v6.json", config: CONFIG, ...chart };
  return `${await drawSvg(spec)}\n`;
}

/** Draws a picture for a separate file, on white. */
export async function renderPicture(chart: Chart): Promise<string> {
  return onWhite(await renderSvg({ background: "white", padding: 12, ...chart }));
}

/**
 * The numbers of a chart as CSV (RFC 4180); empty if the chart has no table. Columns are named after the axes,
 * with their units: `crps_ms` for `CRPS, ms (logarithmic)`.
 */
export function chartCsv({ usermeta }: Chart): string {
  if (!usermeta) return "";
  const cell = (value: string | number | null | undefined) =>
    typeof value === "string" ? csvField(value) : String(value ?? "");
  const { columns, rows } = usermeta;
  return [columns.map(columnName), ...rows].map((row) => `${row.map(cell).join(",")}\n`).join("");
}

function columnName(title: string): string {
  return title.replace(/\(.*?\)|'/g, "").toLowerCase().replace(/[^a-z0-9]+/g, " ").trim().replaceAll(
    " ",
    "_",
  );
}

export interface ChartAxis {
  /** The quantity with its unit. */
  title: string;
  /** `ordinal`: the values that occur, evenly spaced; `utc`: times in ms since 1970; linear by default. */
  scale?: "linear" | "log" | "ordinal" | "utc";
  /** A d3 format for its numbers or times, such as `.0%`; `~r` by default. */
  format?: string;
  /** The minimum and maximum; by default those of the data. */
  domain?: readonly [number, number];
  /** Whether a linear axis without a domain begins at 0 (true). */
  hasZero?: boolean;
}

interface ChartPoint {
  x: number;
  /** Null for a gap. */
  y: number | null;
  /** The ends of its error bar. */
  low?: number;
  high?: number;
}

export interface ChartCurve {
  label: string;
  /** In the table; the label by default. */
  name?: string;
  points: readonly ChartPoint[];
  /** Its prominence: 0 is the most and 3 the least prominent colour; grey by default. */
  rank?: 0 | 1 | 2 | 3 | undefined;
  /** `marked`: a line with its points; `dashed`: a line for comparison, not in the table. A line by default. */
  style?: "line" | "dashed" | "marked" | "points";
}

export interface LineChart {
  curves: readonly ChartCurve[];
  x: ChartAxis;
  y: ChartAxis;
  /** Size of the plot without axes and legend, in pixels; 340 by 240 by default. */
  width?: number;
  height?: number;
  /** Whether a legend names the curves; by default if there are several. */
  hasLegend?: boolean;
}

/** More names than this are listed to the right of a plot, fewer above it. */
const MAX_NAMES_ABOVE = 5;
/** Names of at most this many letters are listed in two columns above a plot. */
const MAX_SHORT_NAME = 24;

/** The rank of the n-th of several curves; undefined for grey curves. */
export function rankOf(n: number): ChartCurve["rank"] {
  return n >= 0 && n < RANKED.length ? n as 0 | 1 | 2 | 3 : undefined;
}

/** Draws curves. Points that a logarithmic axis cannot show are omitted, and so are curves without points. */
export function lineChart(chart: LineChart): Chart {
  const { curves, x, y, width = 340, height = 240, hasLegend = curves.length > 1 } = chart;
  const isFit = ({ scale }: ChartAxis, value: number | null) =>
    value === null || (Number.isFinite(value) && (scale !== "log" || value > 0));
  // Curves with values below a logarithmic axis, such as 0, come in at its edge.
  const leastX = x.scale === "log" && x.domain ? x.domain[0] / 2 : -Infinity;
  const shown = curves.map((curve) => ({
    ...curve,
    points: curve.points.map((point) => ({ ...point, x: Math.max(point.x, leastX) }))
      .filter((point) => isFit(x, point.x) && isFit(y, point.y)),
  })).filter(({ points }) => points.length > 0);
  const color = {
    scale: {
      domain: shown.map(({ label }) => label),
      range: shown.map(({ rank }) => rank === undefined ? FAINT : RANKED[rank]),
    },
    legend: hasLegend ? legendOf(shown.map(({ label }) => label)) : null,
  };
  const encoding = { x: channelOf("x", x), y: channelOf("y", y) };
  const errorBars = {
    mark: { type: "rule", strokeWidth: 1.25, clip: true },
    encoding: { y: { ...encoding.y, field: "low" }, y2: { field: "high" } },
  };
  // Drawn from last to first, so that prominent curves are on top.
  const layer = shown.toReversed().map(({ label, points, rank, style = "line" }) => ({
    data: { values: points },
    encoding: { color: { datum: label, ...color } },
    layer: [
      ...(style === "points" ? [errorBars] : [{
        mark: {
          type: "line",
          clip: style !== "marked",
          strokeWidth: style === "dashed" ? 1 : rank === undefined ? 1.25 : 2,
          strokeDash: style === "dashed" ? [4, 4] : [1, 0],
        },
      }]),
      ...(style === "points" || style === "marked" ? [{ mark: POINT }] : []),
    ],
  }));
  const hasBars = curves.some(({ style }) => style === "points");
  const usermeta = {
    columns: ["curve", x.title, y.title, ...(hasBars ? [`low ${y.title}`, `high ${y.title}`] : [])],
    rows: curves.filter(({ style }) => style !== "dashed").flatMap(({ label, name = label, points }) =>
      points.map((point) => [name, point.x, point.y, ...(hasBars ? [point.low, point.high] : [])])
    ),
  };
  return { width, height, encoding, layer, usermeta };
}

function legendOf(labels: readonly string[]): Chart {
  if (labels.length > MAX_NAMES_ABOVE) return { orient: "right" };
  const columns = labels.every(({ length }) => length <= MAX_SHORT_NAME) ? 2 : 1;
  // The title of the vertical axis is between the plot and the names.
  return { orient: "top", columns, offset: 28 };
}

const POINT = { type: "point", filled: true, size: 45, opacity: 1, stroke: PAPER, strokeWidth: 1 };

function channelOf(field: string, axisOf: ChartAxis): Chart {
  const { title, scale = "linear", format = "~r", domain, hasZero = true } = axisOf;
  const axis = { title, format, tickCount: 5, ...(scale === "log" ? { grid: false } : {}) };
  if (scale === "ordinal") {
    return { field, type: "ordinal", axis: { title, format }, scale: { type: "point", padding: 0.15 } };
  }
  return {
    field,
    type: scale === "utc" ? "temporal" : "quantitative",
    axis: scale === "utc" ? { ...axis, labelOverlap: true } : axis,
    scale: {
      type: scale,
      ...(domain ? { domain, nice: false } : { nice: scale === "linear" && field !== "x" }),
      ...(scale === "linear" && !domain ? { zero: hasZero } : {}),
    },
  };
}

/** Bars between the bounds of bins, and lines across the whole plot. */
interface HistogramChart extends Omit<LineChart, "curves" | "hasLegend"> {
  bins: readonly { low: number; high: number; value: number }[];
  /** Horizontal lines at a y, or vertical lines at an x below a name above the plot. */
  lines?: readonly ({ x: number; label: string } | { y: number; isDashed: boolean })[];
}

/**
 * Draws a histogram. The names of vertical lines, which ascend, are flags at different heights, so that no
 * line crosses a name.
 */
export function histogramChart(chart: HistogramChart): Chart {
  const { bins, x, y, width = 340, height = 240, lines = [] } = chart;
  return {
    width,
    height,
    usermeta: {
      columns: [`low ${x.title}`, `high ${x.title}`, y.title],
      rows: bins.map(({ low, high, value }) => [low, high, value]),
    },
    layer: [
      {
        data: { values: bins },
        mark: { type: "bar", color: RANKED[0], opacity: 0.7, stroke: PAPER, strokeWidth: 0.3 },
        encoding: {
          x: channelOf("low", x),
          x2: { field: "high" },
          y: channelOf("value", y),
          y2: { datum: 0 },
        },
      },
      ...lines.flatMap((line, i) => lineLayers(line, height, lines.length - i)),
    ],
  };
}

type AcrossLine = NonNullable<HistogramChart["lines"]>[number];

function lineLayers(line: AcrossLine, height: number, numBelow: number): Chart[] {
  const data = { values: [{}] };
  if ("y" in line) {
    const mark = { type: "rule", color: INK, strokeDash: line.isDashed ? [2, 4] : [1, 0] };
    return [{ data, mark, encoding: { y: { datum: line.y } } }];
  }
  const x = { datum: line.x };
  const top = { value: -LINE_PX * (numBelow + 1) };
  const text = { type: "text", text: line.label, align: "left", baseline: "top", dx: 4, fontSize: 11 };
  return [
    {
      data,
      mark: { type: "rule", color: RANKED[1], strokeDash: [4, 3] },
      encoding: { x, y: top, y2: { value: height } },
    },
    { data, mark: { ...text, color: RANKED[1] }, encoding: { x, y: top } },
  ];
}

const LINE_PX = 13;
const ROW_PX = 22;
const MIN_SPAN_PX = 2;
const SPAN_COLORS = [RANKED[1], RANKED[0], FAINT, RULE];

interface RowChart {
  /** From top to bottom; `text` follows the bar. */
  rows: readonly { label: string; value: number; text: string }[];
  /** The quantity of the values, with its unit. */
  title: string;
  /** In pixels, without names. */
  width: number;
}

/** Draws a bar for each row, one below the other. */
export function rowChart({ rows, title, width }: RowChart): Chart {
  const y = {
    field: "label",
    type: "ordinal",
    sort: null,
    scale: { padding: 0.25 },
    axis: { title: null, labelColor: INK, grid: false },
  };
  const x = {
    field: "value",
    type: "quantitative",
    scale: { zero: true, nice: false },
    axis: { title, orient: "top", titleAnchor: "start", labels: false, ticks: false, domain: false },
  };
  const text = { type: "text", align: "left", baseline: "middle", color: MUTED, dx: 8 };
  return {
    width,
    height: rows.length * ROW_PX,
    usermeta: { columns: ["name", title], rows: rows.map(({ label, value }) => [label, value]) },
    data: { values: rows },
    encoding: { x, y },
    layer: [
      { mark: { type: "bar", color: RANKED[0] } },
      { mark: text, encoding: { text: { field: "text" } } },
    ],
  };
}

interface SpanChart {
  /** From top to bottom. */
  rows: readonly string[];
  /** At most four kinds of spans, most prominent first. Spans of later kinds are behind. */
  kinds: readonly string[];
  /** Times in ms since 1970. Together they cover the whole axis. */
  spans: readonly { row: string; kind: string; from: number; to: number }[];
  /** In pixels, without names. */
  width: number;
}

/** Draws spans of time, one row below the other. */
export function spanChart({ rows, kinds, spans, width }: SpanChart): Chart {
  const [start, end] = [Math.min(...spans.map(({ from }) => from)), Math.max(...spans.map(({ to }) => to))];
  const shortest = MIN_SPAN_PX * (end - start) / width;
  const values = spans.map(({ from, to, ...span }) => ({ ...span, from, to: Math.max(to, from + shortest) }))
    .sort((a, b) => kinds.indexOf(b.kind) - kinds.indexOf(a.kind));
  return {
    width,
    height: rows.length * ROW_PX,
    data: { values },
    mark: { type: "bar", clip: true },
    encoding: {
      x: channelOf("from", { title: "", scale: "utc", format: "%d %b %H:%M" }),
      x2: { field: "to" },
      y: {
        field: "row",
        type: "ordinal",
        sort: null,
        scale: { domain: rows, padding: 0.3 },
        axis: { title: null, labelColor: INK, grid: false },
      },
      color: {
        field: "kind",
        type: "nominal",
        scale: { domain: kinds, range: SPAN_COLORS.slice(0, kinds.length) },
        legend: { orient: "top", symbolType: "square" },
      },
    },
  };
}
