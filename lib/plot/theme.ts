/**
 * How pictures on a page look: their colours are the page's CSS variables, so that they are light or dark with it.
 *
 * The colours are those of Okabe and Ito, which people with any kind of colour vision tell apart
 * (https://jfly.uni-koeln.de/color/), the orange ones darker on white and the blue one lighter on black.
 *
 * @module
 */
import type { Config } from "vega-lite";

/** Text and what stands out most. */
export const INK = "var(--ink)";
/** Text and lines of the second rank. */
export const MUTED = "var(--muted)";
/** Thin lines. */
const RULE = "var(--rule)";
/** Curves that are there to be compared with, not to be read. */
export const FAINT = "var(--faint)";
/** The paper, to set marks off from one another. */
export const PAPER = "var(--paper)";
/** What a picture is about. */
export const ACCENT = "var(--accent)";
/** What it is compared with. */
export const CONTRAST = "var(--contrast)";
/** A third and a fourth kind. */
export const THIRD = "var(--third)";
export const FOURTH = "var(--fourth)";

/** Width in pixels of a picture's plot that fills the page. */
export const FULL_WIDTH = 800;

/** CSS that gives the colours their values, on screens of both kinds and on paper. */
export const COLOR_VARIABLES = `
:root { color-scheme: light dark; --paper: #ffffff; --ink: #1b1f24; --muted: #57606a; --faint: #a4adb6; --rule: #d8dde2; --accent: #0067a8; --contrast: #c44e00; --third: #007f5f; --fourth: #a3478a; }
@media screen and (prefers-color-scheme: dark) { :root { --paper: #15181c; --ink: #e8eaed; --muted: #a2abb5; --faint: #626c76; --rule: #363c43; --accent: #63b8ee; --contrast: #f2a03d; --third: #35c49b; --fourth: #dd93c2; } }`;

/** The settings of every picture on a page. */
export const PAGE_CONFIG: Config = {
  background: "transparent",
  padding: 4,
  // A picture has its caption; a description of each of hundreds of marks tells nobody more.
  aria: false,
  view: { stroke: "transparent" },
  axis: {
    labelColor: MUTED,
    titleColor: MUTED,
    domainColor: MUTED,
    tickColor: MUTED,
    gridColor: RULE,
    labelFontSize: 12,
    titleFontSize: 12.5,
    titleFontWeight: "normal",
    titlePadding: 8,
    tickSize: 4,
  },
  axisX: { grid: false },
  axisY: { domain: false, ticks: false, labelPadding: 6 },
  text: { fill: INK, fontSize: 12 },
  line: { strokeWidth: 2, strokeCap: "round", strokeJoin: "round" },
  range: { category: [ACCENT, CONTRAST, THIRD, FOURTH] },
  legend: {
    orient: "top",
    title: null,
    labelColor: INK,
    labelFontSize: 12,
    symbolType: "stroke",
    symbolStrokeWidth: 2,
  },
  header: { labelColor: INK, titleColor: INK, labelFontSize: 12.5, labelFontWeight: 600 },
  title: { color: INK, fontSize: 13, fontWeight: 600, anchor: "start" },
};

/** Puts the title of a vertical axis above it, to be read without turning one's head. */
export const TITLE_ABOVE = {
  titleAnchor: "end",
  titleAngle: 0,
  titleAlign: "left",
  titleX: -44,
  titleY: -10,
} as const;
