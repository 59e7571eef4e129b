/** Text for people: numbers with units, times, histograms, suggested names, HTML and CSV. @module */

interface DrawnBar {
  lowMs: number;
  highMs: number;
  probability: number;
}

const EIGHTHS = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/**
 * Draws bars from left to right, one line each.
 *
 * @param width Length of the longest bar, in character cells.
 */
export function drawHistogram(bars: readonly DrawnBar[], width: number): string[] {
  const largest = Math.max(...bars.map(({ probability }) => probability), Number.MIN_VALUE);
  return bars.map(({ lowMs, highMs, probability }) => {
    const eighths = Math.round(probability / largest * width * 8);
    const bar = "█".repeat(eighths >> 3) + EIGHTHS[eighths & 7];
    const label = formatRange(lowMs, highMs).padStart(20);
    return `${label} ${bar.padEnd(width)} ${formatShare(probability, 1)}`;
  });
}

/** Three significant digits, and all digits of the integer part: `0.512`, `34.2`, `1204`. */
export function threeDigits(value: number): string {
  if (value === 0) return "0";
  return value >= 999.5 ? value.toFixed(0) : value.toPrecision(3);
}

/**
 * A share in percent: `31.7 %`, `0.023 %`, or `–` for null.
 *
 * @param digits After the decimal point; by default 1, and 3 for shares below 0.1 %.
 */
export function formatShare(share: number | null, digits?: number): string {
  if (share === null) return "–";
  return `${(100 * share).toFixed(digits ?? (share > 0 && share < 0.001 ? 3 : 1))} %`;
}

/** A share in percent with at most three significant digits. @param error Its standard error, also a share. */
export function percentText(share: number, error?: number): string {
  const text = `${Number((share * 100).toPrecision(3))} %`;
  return error === undefined ? text : `${text} ± ${percentText(error)}`;
}

/** An RTT with a suitable unit: `0.512 ms`, `154 ms`, `2.31 s`, `1.20 h`. */
export function formatMs(ms: number): string {
  if (ms < 1000) return `${threeDigits(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 60) return `${threeDigits(seconds)} s`;
  if (seconds < 3600) return `${threeDigits(seconds / 60)} min`;
  return seconds < 86400 ? `${threeDigits(seconds / 3600)} h` : `${threeDigits(seconds / 86400)} d`;
}

/** A range of RTTs. A common unit is written once: `149–161 ms`. */
export function formatRange(lowMs: number, highMs: number): string {
  const [low, high] = [formatMs(lowMs), formatMs(highMs)];
  if (low === high) return low;
  const [number, unit] = low.split(" ");
  return high.endsWith(` ${unit}`) ? `${number}–${high}` : `${low} – ${high}`;
}

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
 * Suggests the known name that was probably meant.
 *
 * @returns `; did you mean X?` for the nearest name within a third of the word's length (at least 2 edits),
 *   otherwise the list of known names.
 */
export function didYouMean(word: string, known: readonly string[]): string {
  const ranked = known.map((name) => ({ name, distance: editDistance(word, name) }))
    .sort((a, b) => a.distance - b.distance);
  const best = ranked[0];
  if (best && best.distance <= Math.max(2, Math.floor(word.length / 3))) {
    return `; did you mean ${best.name}?`;
  }
  return `; use one of ${known.join(", ")}`;
}

/** A count with at most four digits: `1234`, `12.3 k`, `4.56 M`. */
export function formatCount(count: number): string {
  if (Math.abs(count) < 10_000) return Number.isInteger(count) ? String(count) : count.toPrecision(3);
  const units = ["k", "M", "G", "T"];
  let value = count;
  let unit = "";
  for (const next of units) {
    if (Math.abs(value) < 999.5) break;
    value /= 1000;
    unit = next;
  }
  return `${value.toPrecision(3)} ${unit}`;
}

/** A loss in bits, as shown in all texts and pages. @param nats The loss as computed and stored. */
export function formatLoss(nats: number): string {
  return `${(nats / Math.LN2).toFixed(3)} bits`;
}

/** A duration: `4.2 s`, `3 min 05 s`, `2 h 10 min`. */
export function formatSeconds(seconds: number): string {
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${String(Math.floor(seconds % 60)).padStart(2, "0")} s`;
  return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")} min`;
}

/** A time as ISO 8601 in UTC: `2026-01-31T00:00:00Z`, or with milliseconds. @param timeS Unix seconds. */
export function isoTime(timeS: number): string {
  const date = new Date(Math.round(1000 * timeS));
  return Number.isNaN(date.getTime()) ? `${timeS} s` : date.toISOString().replace(".000Z", "Z");
}

/** A time for people, in UTC to the second: `2025-07-01 12:30 UTC`. @param timeS Null for any time. */
export function formatTime(timeS: number | null): string {
  if (timeS === null) return "any time";
  return `${isoTime(Math.floor(timeS)).replace("T", " ").replace(/(:00)?Z$/, "")} UTC`;
}

/** A size in bytes: `512 B`, `1.50 MB` (powers of 1000). */
export function formatBytes(bytes: number): string {
  return bytes < 1000 ? `${bytes} B` : `${formatCount(bytes).replace(/^([\d.]+)$/, "$1 ")}B`;
}

/** A host in URL notation: IPv6 addresses are in brackets (RFC 3986, section 3.2.2). */
export function urlHost(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}

export function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll(
    '"',
    "&quot;",
  );
}

/**
 * Formats text as a CSV field (RFC 4180), quoted if it contains a comma, a quote or a line break. Text that a
 * spreadsheet would evaluate as a formula gets a leading apostrophe, which {@link csvText} removes.
 */
export function csvField(text: string): string {
  const safe = /^'*[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Restores the text of a field written by {@link csvField}, after unquoting. */
export function csvText(field: string): string {
  return /^'+[=+\-@\t\r]/.test(field) ? field.slice(1) : field;
}
