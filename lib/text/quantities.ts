/**
 * Counts, durations and sizes as a person reads them.
 *
 * @module
 */

/** A count with at most four figures: `1234`, `12.3 k`, `4.56 M`. */
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

/** A duration: `4.2 s`, `3 min 05 s`, `2 h 10 min`. */
export function formatSeconds(seconds: number): string {
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${String(Math.floor(seconds % 60)).padStart(2, "0")} s`;
  return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")} min`;
}

/** A size in bytes: `512 B`, `1.50 MB` (powers of 1000). */
export function formatBytes(bytes: number): string {
  return bytes < 1000 ? `${bytes} B` : `${formatCount(bytes).replace(/^([\d.]+)$/, "$1 ")}B`;
}
