/** Where the labels of a logarithmic axis stand. @module */

/** How many decades are between labels where there is room for few. */
const STRIDES = [6, 4, 3, 2];
/** Steps of labels within a decade, from few to many. */
const STEPS = [[1], [1, 3], [1, 2, 5], [1, 1.5, 2, 3, 5, 7]];

/**
 * Round numbers in a range, about evenly spread on a logarithmic axis.
 *
 * @param low The least, greater than 0.
 * @param high The greatest.
 * @param most How many labels there is room for.
 */
export function logTicks(low: number, high: number, most: number): number[] {
  const firstDecade = Math.floor(Math.log10(low));
  const lastDecade = Math.ceil(Math.log10(high));
  const decades = Array.from({ length: lastDecade - firstDecade + 1 }, (_, i) => firstDecade + i);
  const isInside = (value: number) => value >= low && value <= high;
  const sparse = STRIDES.map((stride) =>
    decades.filter((decade) => decade % stride === 0).map((decade) => Number(`1e${decade}`))
  );
  const dense = STEPS.map((steps) =>
    decades.flatMap((decade) => steps.map((step) => Number(`${step}e${decade}`)))
  );
  const choices = [...sparse, ...dense].map((ticks) => ticks.filter(isInside));
  const best = choices.filter(({ length }) => length <= most).at(-1) ?? [];
  // A range shorter than a decade is nearly linear.
  return best.length < Math.min(4, most) && high < 10 * low ? linearTicks(low, high, most) : best;
}

function linearTicks(low: number, high: number, most: number): number[] {
  const least = (high - low) / Math.max(1, most);
  const decade = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 5, 10].map((factor) => factor * decade).find((value) => value >= least) ?? least;
  const ticks: number[] = [];
  for (let i = Math.ceil(low / step); i * step <= high; i++) ticks.push(Number((i * step).toPrecision(12)));
  return ticks;
}
