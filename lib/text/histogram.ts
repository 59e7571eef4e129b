/** A histogram drawn with characters, for terminals. @module */

/** One bar: its label's bounds in ms and its share of the whole. */
export interface DrawnBar {
  lowMs: number;
  highMs: number;
  probability: number;
}

const EIGHTHS = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/**
 * Draws bars from left to right, one line each.
 *
 * @param bars The bars, in order.
 * @param width Cells of the longest bar.
 */
export function drawHistogram(bars: readonly DrawnBar[], width: number): string[] {
  const largest = Math.max(...bars.map(({ probability }) => probability), Number.MIN_VALUE);
  return bars.map(({ lowMs, highMs, probability }) => {
    const eighths = Math.round(probability / largest * width * 8);
    const bar = "█".repeat(eighths >> 3) + EIGHTHS[eighths & 7];
    const label = `${formatMs(lowMs)}-${formatMs(highMs)} ms`.padStart(20);
    return `${label} ${bar.padEnd(width)} ${(probability * 100).toFixed(1)} %`;
  });
}

/** Milliseconds with four significant figures at most: `0.512`, `34.2`, `1204`. */
export function formatMs(ms: number): string {
  return ms >= 1000 ? ms.toFixed(0) : ms.toPrecision(3);
}
