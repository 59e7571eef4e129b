/** Tables for terminals, where a character can take two columns or none. @module */
import { unicodeWidth } from "@std/cli/unicode-width";

/**
 * Aligns cells in columns.
 *
 * @param lines The heading first; other lines may be shorter.
 * @param options `left`: which columns to left-align; the others are right-aligned.
 */
export function formatTable(
  lines: readonly (readonly string[])[],
  { left }: { left: readonly number[] },
): string {
  const widths = lines[0].map((_, i) => Math.max(...lines.map((cells) => unicodeWidth(cells[i] ?? ""))));
  return lines.map((cells) =>
    cells.map((cell, i) => {
      const spaces = " ".repeat(widths[i] - unicodeWidth(cell));
      return left.includes(i) ? cell + spaces : spaces + cell;
    }).join("  ").trimEnd()
  ).join("\n");
}

/** The longest beginning of a text that takes at most `width` columns. */
export function cutToWidth(text: string, width: number): string {
  let length = 0;
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    if (unicodeWidth(text.slice(0, length + segment.length)) > width) break;
    length += segment.length;
  }
  return text.slice(0, length);
}
