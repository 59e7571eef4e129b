/**
 * How well a setting of the change detector does on series that it was not chosen on: cross-validation over series.
 *
 * @module
 */
import { RandomStream } from "../../base/random.ts";
import { meanOf, medianOf } from "../../base/sample_statistics.ts";
import type { ChangeOptions } from "../../query/changes/change_detector.ts";

type Searched = Omit<ChangeOptions, "delay">;

/** Where settings are drawn from, evenly over the logarithm. */
const RANGES: Record<keyof Searched, readonly [number, number]> = {
  penalty: [7, 16],
  outlierShare: [0.003, 0.03],
  memory: [8, 60],
  spreadMs: [0.2, 1.5],
  minShiftMs: [0.3, 1.5],
  minBriefShiftMs: [0.7, 3],
  minShiftSpreads: [0.7, 3],
};
/** The number of divisions into folds; one alone says little of some 25 series. */
const NUM_DIVISIONS = 20;

/** Draws a setting. @param number Which one. */
export function drawSetting(seed: number, number: number): Searched {
  const random = new RandomStream(seed, "bench/changes/setting", number);
  const drawn = Object.entries(RANGES).map(([name, [low, high]]) => [
    name,
    low * (high / low) ** random.float64(),
  ]);
  return Object.fromEntries(drawn);
}

/** The median F2 of held-out series, with the setting that is best on the others. */
export interface CrossValidation {
  /** Its mean over the divisions into folds. */
  mean: number;
  /** Its least and largest over these. */
  range: [number, number];
}

/**
 * Cross-validates the choice of a setting.
 *
 * @param f2 Of each setting, for each series.
 * @param numFolds The series are divided into so many parts, each of which is held out once.
 */
export function crossValidate(
  f2: readonly (readonly number[])[],
  numFolds: number,
  seed: number,
): CrossValidation {
  const medians = Array.from({ length: NUM_DIVISIONS }, (_, division) => {
    const order = f2[0].map((_, series) => series);
    new RandomStream(seed, "bench/changes/folds", division).shuffle(order);
    const held: number[] = [];
    for (let fold = 0; fold < numFolds; fold++) {
      const isHeld = (place: number) => place % numFolds === fold;
      const chosen = bestOf(f2, order.filter((_, place) => !isHeld(place)));
      held.push(...order.filter((_, place) => isHeld(place)).map((series) => chosen[series]));
    }
    return medianOf(held) ?? NaN;
  });
  return { mean: meanOf(medians) ?? NaN, range: [Math.min(...medians), Math.max(...medians)] };
}

/** The setting with the largest sum of the median and the mean over some series: the median alone is rough. */
function bestOf(f2: readonly (readonly number[])[], series: readonly number[]): readonly number[] {
  const goodness = f2.map((each) => {
    const values = series.map((place) => each[place]);
    return (medianOf(values) ?? 0) + (meanOf(values) ?? 0);
  });
  return f2[goodness.indexOf(Math.max(...goodness))];
}
