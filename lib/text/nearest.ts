/** The nearest known name to a mistyped one, for error messages. @module */

/**
 * The number of single-character insertions, deletions, substitutions and swaps of neighbours between two
 * words (Damerau-Levenshtein, optimal string alignment).
 */
export function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitution = last[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1);
      row[j] = Math.min(last[j] + 1, row[j - 1] + 1, substitution);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        row[j] = Math.min(row[j], beforeLast[j - 2] + 1);
      }
    }
    [beforeLast, last] = [last, row];
  }
  return last[b.length];
}

/**
 * Says which known name was probably meant.
 *
 * @returns `; did you mean X?` for the nearest name within a third of the word's length (at least 2 edits),
 *   else the list of known names.
 */
export function didYouMean(word: string, known: readonly string[]): string {
  const ranked = known.map((name) => ({ name, distance: editDistance(word, name) }))
    .sort((a, b) => a.distance - b.distance);
  const best = ranked[0];
  if (best && best.distance <= Math.max(2, Math.floor(word.length / 3))) {
    return `; did you mean ${best.name}?`;
  }
  return `; known are ${known.join(", ")}`;
}
