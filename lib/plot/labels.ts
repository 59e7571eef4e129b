/**
 * Where the labels of curves and axes go, so that none lies over another.
 *
 * @module
 */

/**
 * Moves positions apart as little as makes each pair of neighbours differ by a gap (pool adjacent violators: those
 * that press on each other move together, to the mean of where they want to be).
 *
 * @param wantedPx Where each would be by itself, in any order.
 * @param options `gapPx` between neighbours; `minPx`, `maxPx`: where they may be; ignored if they do not all fit.
 * @returns A position for each, in the same order.
 */
export function spreadApart(
  wantedPx: readonly number[],
  { gapPx, minPx, maxPx }: { gapPx: number; minPx: number; maxPx: number },
): number[] {
  const order = wantedPx.map((_, i) => i).sort((a, b) => wantedPx[a] - wantedPx[b] || a - b);
  // Less a gap for each before it, positions need only ascend.
  const groups: { sum: number; count: number }[] = [];
  order.forEach((index, rank) => {
    let group = { sum: wantedPx[index] - rank * gapPx, count: 1 };
    for (let last = groups.at(-1); last && last.sum / last.count > group.sum / group.count;) {
      group = { sum: group.sum + last.sum, count: group.count + last.count };
      groups.pop();
      last = groups.at(-1);
    }
    groups.push(group);
  });
  const highest = Math.max(minPx, maxPx - (wantedPx.length - 1) * gapPx);
  const slots = groups.flatMap(({ sum, count }) =>
    Array<number>(count).fill(Math.min(highest, Math.max(minPx, sum / count)))
  );
  const result = new Array<number>(wantedPx.length);
  order.forEach((index, rank) => result[index] = slots[rank] + rank * gapPx);
  return result;
}

/** About how wide a text is in the page's font, in pixels; on the safe side. */
export function textWidthPx(text: string, fontSizePx: number): number {
  return 0.66 * fontSizePx * text.length + 4;
}

/** Decades of a logarithmic axis that have room for 1, 2 and 5 times each power of ten. */
const MAX_FULL_DECADES = 3;

/** Round numbers along a logarithmic axis: 1, 2, 5, 10, … or, over many decades, powers of ten. */
export function logTicks([low, high]: readonly [number, number]): number[] {
  const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
  const steps = Math.log10(high / low) > MAX_FULL_DECADES ? [1] : [1, 2, 5];
  const ticks: number[] = [];
  for (let exponent = first; exponent <= last; exponent++) {
    // Read from decimal text: 2 * 10 ** -1 is not 0.2 to the last bit everywhere.
    for (const step of steps) ticks.push(Number(`${step}e${exponent}`));
  }
  return ticks.filter((tick) => tick >= low && tick <= high);
}
