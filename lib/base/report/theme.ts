/**
 * The style of pictures. Their colours are the page's CSS variables, so that they are light or dark like the
 * page.
 *
 * The colours are those of Okabe and Ito, which people with any kind of colour vision can distinguish
 * (https://jfly.uni-koeln.de/color/), with the orange ones darker on white and the blue one lighter on black.
 *
 * @module
 */
/** Viridis from yellow to purple, for ordered classes: https://bids.github.io/colormap/. */
const HEATS = ["#fde725", "#a0da39", "#4ac16d", "#1fa187", "#277f8e", "#365c8d", "#46327e", "#440154"];
/** The same for black: the purple end is lighter, so that it differs from land and background. */
const DARK_HEATS = ["#fde725", "#a9dc32", "#5ec962", "#27ad81", "#2a9c9c", "#3b86b0", "#5a6fbe", "#8057b5"];
export const NUM_HEATS = HEATS.length;

/** Each colour on white and on black. */
const COLORS: Readonly<Record<string, readonly string[]>> = {
  paper: ["#ffffff", "#15181c"],
  ink: ["#1b1f24", "#e8eaed"],
  muted: ["#57606a", "#a2abb5"],
  faint: ["#a4adb6", "#626c76"],
  rule: ["#d8dde2", "#363c43"],
  accent: ["#0067a8", "#63b8ee"],
  contrast: ["#c44e00", "#f2a03d"],
  third: ["#007f5f", "#35c49b"],
  fourth: ["#a3478a", "#dd93c2"],
  land: ["#e4e7ea", "#2b3036"],
  ...Object.fromEntries(HEATS.map((color, i) => [`heat${i}`, [color, DARK_HEATS[i]]])),
};

const cssOf = (which: 0 | 1) =>
  Object.entries(COLORS).map(([name, values]) => `--${name}: ${values[which]};`).join(" ");

/** CSS that defines the colours, on light and dark screens and on paper. */
export const COLOR_VARIABLES = `
:root { color-scheme: light dark; ${cssOf(0)} }
@media screen and (prefers-color-scheme: dark) { :root { ${cssOf(1)} } }`;

/** Replaces the variables by the colours for white, for pictures outside of pages. */
export function onWhite(svg: string): string {
  return Object.entries(COLORS).reduce(
    (text, [name, [color]]) => text.replaceAll(`var(--${name})`, color),
    svg,
  );
}

/** Text and the most prominent lines. */
export const INK = "var(--ink)";
/** Secondary text and lines. */
export const MUTED = "var(--muted)";
export const RULE = "var(--rule)";
export const FAINT = "var(--faint)";
/** The background, as an outline that separates marks. */
export const PAPER = "var(--paper)";
/** The main series, the series to compare with, and a third and fourth series. */
export const RANKED = ["var(--accent)", "var(--contrast)", "var(--third)", "var(--fourth)"] as const;

/** Width in pixels of a chart that fills the page. */
export const FULL_WIDTH = 800;

export const CONFIG: Readonly<Record<string, unknown>> = {
  background: "transparent",
  padding: 4,
  // A picture has its caption; describing each of hundreds of marks would not help.
  aria: false,
  view: { stroke: "transparent" },
  axis: {
    labelColor: MUTED,
    titleColor: MUTED,
    domainColor: MUTED,
    tickColor: MUTED,
    gridColor: RULE,
    labelFontSize: 12,
    labelLimit: 400,
    titleFontSize: 12.5,
    titleFontWeight: "normal",
    titlePadding: 8,
    tickSize: 4,
  },
  axisX: { grid: false, labelAngle: 0 },
  // The title of a vertical axis is horizontal above it, for easier reading.
  axisY: {
    domain: false,
    ticks: false,
    labelPadding: 6,
    titleAnchor: "end",
    titleAngle: 0,
    titleAlign: "left",
    titleX: -44,
    titleY: -10,
  },
  text: { fill: INK, fontSize: 12 },
  line: { strokeWidth: 2, strokeCap: "round", strokeJoin: "round" },
  legend: {
    title: null,
    labelColor: INK,
    labelFontSize: 12,
    labelLimit: 400,
    symbolType: "stroke",
    symbolStrokeWidth: 2.5,
  },
  title: { color: INK, subtitleColor: MUTED, fontSize: 14, fontWeight: 600, anchor: "start", offset: 10 },
};
