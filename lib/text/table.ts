/**
 * Tables of text.
 *
 * @module
 */

/**
 * Aligns cells in columns.
 *
 * @param lines The lines, the head first; a line may be shorter than the head.
 * @param options `left`: the columns that are left-aligned; the others are right-aligned.
 */
export function formatTable(
  lines: readonly (readonly string[])[],
  { left }: { left: readonly number[] },
): string {
  const widths = lines[0].map((_, i) => Math.max(...lines.map((cells) => (cells[i] ?? "").length)));
  return lines.map((cells) =>
    cells.map((cell, i) => left.includes(i) ? cell.padEnd(widths[i]) : cell.padStart(widths[i])).join("  ")
      .trimEnd()
  ).join("\n");
}
