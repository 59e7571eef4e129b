/**
 * The baselines of every evaluation, by their names in reports: those that win on some data set, the usual
 * network coordinates, and, if the model knows places, those that know places too. Means and medians of the
 * newest RTTs, a moving average and a temporal factorisation are left out because none of them is
 * significantly better than all of these on any data set in RESULTS.md.
 *
 * @module
 */
import { type Baseline, FallBackBaseline, MirroredBaseline } from "./baseline.ts";
import { BiasedFactorisationBaseline, DmfsgdBaseline, LogAlsBaseline } from "./factorisations.ts";
import { HiddenMarkovBaseline } from "./hidden_markov.ts";
import { LastSeenBaseline, MedianBaseline } from "./histories.ts";
import { ALL_KERNELS, KERNEL_AVERAGE, PairKernelBaseline } from "./pair_kernels.ts";
import type { PlaceOf } from "../../model/pool/forecast.ts";
import { CountryBaseline, DistanceBaseline, PlaceForestBaseline } from "./place_rivals.ts";
import { TunedBaseline } from "./tuned.ts";
import { VivaldiBaseline } from "./vivaldi.ts";

/** Baselines with different settings, by their settings in words; the usual ones first. */
type Candidates = Record<string, () => Baseline>;

export const PLACE_BASELINES = ["distance regression", "country median", "forest with places"] as const;

/**
 * Makes all baselines, untrained. One without an answer predicts the source's median, else the destination's,
 * else that of all measurements. So each predicts something after one answered measurement.
 *
 * @param seed Seed of baselines with random initial values.
 * @param placeOf Where addresses are; without it there are no {@link PLACE_BASELINES}.
 * @returns In the order of a report.
 */
export function standardBaselines(seed: number, placeOf?: PlaceOf): Map<string, Baseline> {
  const own: Record<string, Candidates> = {
    "global median": { "": () => new MedianBaseline("all") },
    "source median": { "": () => new MedianBaseline("source") },
    "destination median": { "": () => new MedianBaseline("destination") },
    "pair median": { "": () => new MedianBaseline("pair") },
    "pair kernel in time": candidates(
      ["6 h", "3 h", "1 d", "3 d"] as const,
      (name) => [name, () => new PairKernelBaseline([name])],
    ),
    "pair kernel hour of day": { "": () => new PairKernelBaseline(["hour of day"]) },
    [KERNEL_AVERAGE]: { "": () => new PairKernelBaseline(ALL_KERNELS) },
    "pair last seen": { "": () => new LastSeenBaseline() },
    "pair hidden Markov model": candidates(
      [3, 1, 6],
      (numLevels) => [`${numLevels} levels`, () => new HiddenMarkovBaseline({ numLevels })],
    ),
    "Vivaldi": candidates(
      [[4, 5], [2, 20], [8, 20]],
      ([numDimensions, numPasses]) => [
        `${numDimensions} dimensions, ${numPasses} passes`,
        () => new VivaldiBaseline({ seed, numDimensions, numPasses }),
      ],
    ),
    "DMFSGD": candidates([[10, 0.1], [10, 0.01], [20, 0.03]], ([rank, regularisation]) => [
      `rank ${rank}, regularisation ${regularisation}`,
      () => new MirroredBaseline(new DmfsgdBaseline({ seed, rank, regularisation })),
    ]),
    "biased factorisation": candidates([[16, 0.02], [16, 0.1], [4, 0.02]], ([rank, regularisation]) => [
      `rank ${rank}, regularisation ${regularisation}`,
      () => new MirroredBaseline(new BiasedFactorisationBaseline({ seed, rank, regularisation })),
    ]),
    "log-ALS": candidates([[10, 1], [10, 0.3], [20, 1], [40, 3]], ([rank, regularisation]) => [
      `rank ${rank}, regularisation ${regularisation}`,
      () => new MirroredBaseline(new LogAlsBaseline({ seed, rank, regularisation })),
    ]),
  };
  const withPlaces = placeOf ? placeBaselines(seed, placeOf) : [];
  return new Map([...Object.entries(own).map(([name, each]) => [name, tuned(each)] as const), ...withPlaces]);
}

/** Baselines by name; those that need places are left out if there are none. */
export function chosenBaselines(
  names: readonly string[],
  seed: number,
  placeOf: PlaceOf | undefined,
): Map<string, Baseline> {
  return new Map([...standardBaselines(seed, placeOf)].filter(([name]) => names.includes(name)));
}

function placeBaselines(seed: number, placeOf: PlaceOf): [name: string, baseline: Baseline][] {
  const [distance, countries, forest] = PLACE_BASELINES;
  return [
    [
      distance,
      tuned(candidates([true, false], (hasEnds) => [
        hasEnds ? "and both endpoints" : "alone",
        () => new MirroredBaseline(new DistanceBaseline(placeOf, hasEnds)),
      ])),
    ],
    [
      countries,
      tuned(candidates([30, 3], (minCount) => [
        `of ${minCount} or more`,
        () => new CountryBaseline(placeOf, minCount),
      ])),
    ],
    // It has no settings and its own distributions, so it is not trained again for tuning.
    [forest, withMedians(new MirroredBaseline(new PlaceForestBaseline(placeOf, seed)))],
  ];
}

function candidates<T>(settings: readonly T[], make: (setting: T) => [string, () => Baseline]): Candidates {
  return Object.fromEntries(settings.map(make));
}

function tuned(each: Candidates): Baseline {
  const makers = Object.entries(each).map(([settings, make]) =>
    [settings, () => withMedians(make())] as const
  );
  return new TunedBaseline(new Map(makers));
}

function withMedians(baseline: Baseline): Baseline {
  return new FallBackBaseline(
    baseline,
    new MedianBaseline("source"),
    new MedianBaseline("destination"),
    new MedianBaseline("all"),
  );
}
