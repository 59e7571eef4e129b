/** What the way in which RTTs are written does to a model: the study of encodings. @module */
import { escapeHtml, tableOf } from "../../plot/page.ts";
import { type EncodingSection, encodingTable } from "../encoding_section.ts";

/** The section as HTML. */
export function encodingsPart(section: EncodingSection): string {
  const { setup, headings, lines, notes } = encodingTable(section);
  return [
    "<h2>What the encoding of RTTs does</h2>",
    `<p>Other models than the one above, one for each encoding: ${escapeHtml(setup)}.</p>`,
    tableOf(headings, lines, "numbers"),
    `<p>${escapeHtml(notes)}.</p>`,
  ].join("\n");
}
