/**
 * Self-contained pages: reports as one HTML file with its style and pictures, light or dark according to the
 * reader's system, and printable.
 *
 * @module
 */
import { escapeHtml } from "../text.ts";
import { type Chart, renderSvg } from "./charts.ts";
import { COLOR_VARIABLES } from "./theme.ts";

/** A picture with its caption above it. */
export interface Figure {
  /** Letters, digits and dashes; unique on the page. */
  name: string;
  /** Text; no caption if empty. */
  caption: string;
  chart: Chart;
}

/** A part of a page: HTML, a picture, or parts side by side if the window is wide enough. */
export type Block = string | Figure | { beside: readonly Block[] };

/** The pictures in the blocks, in order. */
export function figuresOf(blocks: readonly Block[]): Figure[] {
  return blocks.flatMap((block) => {
    if (typeof block === "string") return [];
    return "beside" in block ? figuresOf(block.beside) : [block];
  });
}

/** A heading or a paragraph. First-level headings have an id for {@link contentsOf}. */
export function element(name: "h2" | "h3" | "p", text: string): string {
  const id = name === "h2" ? ` id="${text.toLowerCase().replace(/[^a-z0-9]+/g, "-")}"` : "";
  return `<${name}${id}>${escapeHtml(text)}</${name}>`;
}

/** Links to the first-level headings in the blocks. */
export function contentsOf(blocks: readonly Block[]): string {
  const headings = blocks.flatMap((block) =>
    typeof block === "string" ? [...block.matchAll(/<h2 id="(.*?)">(.*?)<\/h2>/g)] : []
  );
  return `<nav><ul>${
    headings.map(([, id, text]) => `<li><a href="#${id}">${text}</a></li>`).join("")
  }</ul></nav>`;
}

/** The alignment of a table: numbers are right-aligned, texts left-aligned. */
type TableKind = "texts" | "numbers" | "named" | "compared";
type CellKind = "wins" | "loses" | "same";

/** A cell: a text, or a text with a note below it and optionally a rating. */
export type TableCell = string | { text: string; note?: string; kind?: CellKind };

/**
 * A table, which scrolls if it is wider than the page.
 *
 * @param headings The columns' headings; no heading row is shown if all are empty.
 * @param kind `numbers`: all columns are right-aligned; `named`: all except the first; `compared`: the same,
 *   and the first row is highlighted.
 */
export function tableOf(
  headings: readonly string[],
  rows: readonly (readonly TableCell[])[],
  kind: TableKind = "texts",
): string {
  const head = headings.map((heading) => `<th>${escapeHtml(heading)}</th>`).join("");
  const body = rows.map((cells) => `<tr>${cells.map(cellOf).join("")}</tr>`).join("\n");
  const isHeaded = headings.some((heading) => heading !== "");
  return `<div class="scroll"><table class="${kind}">\n${
    isHeaded ? `<thead><tr>${head}</tr></thead>\n` : ""
  }<tbody>\n${body}\n</tbody>\n</table></div>`;
}

function cellOf(cell: TableCell): string {
  if (typeof cell === "string") return `<td>${escapeHtml(cell)}</td>`;
  const { text, note, kind = "same" } = cell;
  const below = note === undefined ? "" : `<br><small>${escapeHtml(note)}</small>`;
  return `<td><span class="${kind}">${escapeHtml(text)}</span>${below}</td>`;
}

/** Makes a whole page in HTML. @param title Its title and first heading. */
export async function pageOf(title: string, blocks: readonly Block[]): Promise<string> {
  const parts: string[] = [];
  for (const block of blocks) parts.push(await htmlOf(block));
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="ping-llm">
<title>${escapeHtml(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<h1>${escapeHtml(title)}</h1>
${parts.join("\n")}
</body>
</html>
`;
}

async function htmlOf(block: Block): Promise<string> {
  if (typeof block === "string") return block;
  if ("beside" in block) {
    const parts: string[] = [];
    for (const part of block.beside) parts.push(await htmlOf(part));
    return `<div class="beside">\n${parts.join("\n")}\n</div>`;
  }
  const { name, caption, chart } = block;
  // Each picture numbers its clips and gradients from 0, but ids must be unique on the page.
  const svg = (await renderSvg(chart)).replace(
    /(\bid="|url\(#)((?:clip|gradient)[\w-]*)/g,
    (_, before, id) => `${before}${name}-${id}`,
  );
  const text = caption === "" ? "" : `<figcaption>${escapeHtml(caption)}</figcaption>\n`;
  return `<figure id="${name}">\n${text}${svg}</figure>`;
}

const STYLE = `${COLOR_VARIABLES}
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 936px; margin: 28px auto 60px; padding: 0 16px; }
h1 { font-size: 25px; line-height: 1.25; overflow-wrap: anywhere; margin: 0 0 10px; }
h2 { font-size: 19px; margin: 46px 0 6px; padding-top: 10px; border-top: 2px solid var(--ink); break-after: avoid; }
h3 { font-size: 15px; margin: 26px 0 4px; break-after: avoid; }
p, ul { max-width: 68ch; margin: 8px 0; }
ul { padding-left: 20px; }
figure { margin: 22px 0; break-inside: avoid; }
figcaption { max-width: 78ch; margin-bottom: 8px; color: var(--muted); font-size: 13.5px; }
figure svg { display: block; max-width: 100%; height: auto; overflow: visible; }
figure svg text { font-family: system-ui, sans-serif; font-variant-numeric: tabular-nums; }
.beside { display: flex; flex-wrap: wrap; gap: 0 32px; align-items: flex-start; }
.beside > * { flex: 1 1 0; min-width: min(420px, 100%); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 13.5px; margin: 12px 0; }
th, td { text-align: left; padding: 3px 18px 3px 0; border-bottom: 1px solid var(--rule); vertical-align: top; overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
th:last-child, td:last-child { padding-right: 0; }
th { font-weight: 600; vertical-align: bottom; overflow-wrap: normal; }
.numbers th, .numbers td, :is(.named, .compared) :is(th, td):not(:first-child) { text-align: right; }
.named td:not(:first-child) { white-space: nowrap; }
.named :is(th, td):not(:last-child) { padding-right: 12px; }
.named td:first-child { min-width: 11em; }
.compared td { white-space: nowrap; }
.compared tbody tr:first-child { color: var(--accent); font-weight: 600; }
td small { color: var(--muted); font-size: 12px; }
ul { font-size: 16px; }
nav ul { font-size: 14px; columns: 2; max-width: none; margin: 18px 0; }
.loses { color: var(--contrast); font-weight: 600; }
.wins { color: var(--accent); font-weight: 600; }
details { margin: 10px 0; }
summary { cursor: pointer; font-weight: 600; overflow-wrap: anywhere; }
@media screen and (max-width: 640px) { figure { overflow-x: auto; } figure svg { max-width: none; } }
@media print { body { font-size: 11.5px; max-width: none; margin: 0; } h2 { margin-top: 24px; } }
`;
