/**
 * The model's forecasts for the cases of an evaluation, with different context sizes.
 *
 * @module
 */
import type { PingModel } from "../../query/ping_model.ts";
import { type RttDistribution, RTTS_MS } from "../../query/rtt/rtt_distribution.ts";
import { type TakeDistribution, withoutFloor } from "../../query/rtt/rtt_distributions.ts";
import type { RttQuery } from "../../query/query_tokens.ts";
import { type EvalCase, queryOf, withContexts } from "../cases.ts";
import { crpsMs } from "../metrics/forecast_errors.ts";

export interface ForecastOptions {
  /** Context sizes, such as 0, 1, 2, 5, 10, 20. */
  contexts: readonly number[];
  /** Whether each case is forecast with each context size; otherwise they take turns. */
  everyContext?: boolean;
  /**
   * The probability of first bytes of RTT codes that may be spread evenly instead of being computed (0.01).
   * The first byte of the measured RTT is always computed, so its bits and its position in the distribution
   * are exact; median and CRPS hardly change.
   */
  maxSpreadMass?: number;
  onProgress?: ((done: number, total: number) => void) | undefined;
  signal?: AbortSignal | undefined;
}

/** One entry per forecast; those of RTTs are NaN without a reply. */
export interface RttForecasts {
  caseIndex: Uint32Array;
  numContext: Uint32Array;
  /** Median of the RTT given a reply. */
  predictedMs: Float64Array;
  /** See `RttDistribution.likeliest`. */
  likeliestMs: Float64Array;
  crpsMs: Float64Array;
  /** -log2 P(the RTT's code | a reply). */
  codeBits: Float64Array;
  /** P(an earlier code | a reply), and P(this or an earlier one). */
  below: Float64Array;
  upTo: Float64Array;
  pFailed: Float64Array;
  spreadMass: Float64Array;
  /** The mass below the floor, which was cut off; NaN without a floor, as are the fields below. */
  massBelowFloor: Float64Array;
  /** The fields above without the floor. */
  predictedWithoutFloorMs: Float64Array;
  crpsWithoutFloorMs: Float64Array;
  belowWithoutFloor: Float64Array;
  upToWithoutFloor: Float64Array;
}

/** Cases whose queries are in memory at a time. */
const CASES_AT_ONCE = 512;

/**
 * Forecasts the cases.
 *
 * @returns In the order of the cases.
 * @throws {UserError} If a measurement does not fit the model's sequence.
 */
export async function forecastRtts(
  model: PingModel,
  cases: readonly EvalCase[],
  { contexts, everyContext = false, maxSpreadMass = 0.01, onProgress, signal }: ForecastOptions,
): Promise<RttForecasts> {
  const asked = withContexts(cases.length, { contexts, everyContext });
  const forecasts = forecastsOf(asked.length, () => NaN);
  const { caseIndex, numContext } = forecasts;
  caseIndex.set(asked.map(({ index }) => index));
  numContext.set(asked.map(({ context }) => context));
  for (let first = 0; first < caseIndex.length; first += CASES_AT_ONCE) {
    const part: EvalCase[] = [];
    const queries: RttQuery[] = [];
    for (let i = first; i < Math.min(first + CASES_AT_ONCE, caseIndex.length); i++) {
      const drawn = cases[caseIndex[i]];
      part.push(drawn);
      queries.push(queryOf(drawn, numContext[i]));
    }
    const codes = part.map(({ measurement }) => measurement.rttCode);
    const take: TakeDistribution = (distribution, i, mixedWith) => {
      const free = () => mixedWith(withoutFloor);
      record(forecasts, first + i, { distribution, withoutFloor: free, rttMs: part[i].rttMs });
      onProgress?.(first + i + 1, caseIndex.length);
    };
    await model.likelyRttDistributions(queries, take, { maxSpreadMass, codes, withoutFloors: true });
    signal?.throwIfAborted();
  }
  return forecasts;
}

export function selectForecasts(forecasts: RttForecasts, places: readonly number[]): RttForecasts {
  return forecastsOf(places.length, (key, i) => forecasts[key][places[i]]);
}

export function joinForecasts(parts: readonly RttForecasts[]): RttForecasts {
  const all = parts.flatMap((part) => Array.from(part.caseIndex, (_, place) => ({ part, place })));
  return forecastsOf(all.length, (key, i) => all[i].part[key][all[i].place]);
}

const WHOLE_FIELDS = ["caseIndex", "numContext"] as const;
const FLOAT_FIELDS = [
  "predictedMs",
  "likeliestMs",
  "crpsMs",
  "codeBits",
  "below",
  "upTo",
  "pFailed",
  "spreadMass",
  "massBelowFloor",
  "predictedWithoutFloorMs",
  "crpsWithoutFloorMs",
  "belowWithoutFloor",
  "upToWithoutFloor",
] as const;

/** @param valueAt The value of a field at an index; NaN becomes 0 in integer fields. */
function forecastsOf(
  length: number,
  valueAt: (key: keyof RttForecasts, place: number) => number,
): RttForecasts {
  const whole = WHOLE_FIELDS.map((key) => [key, Uint32Array.from({ length }, (_, i) => valueAt(key, i))]);
  const floats = FLOAT_FIELDS.map((key) => [key, Float64Array.from({ length }, (_, i) => valueAt(key, i))]);
  return Object.fromEntries([...whole, ...floats]);
}

function record(
  forecasts: RttForecasts,
  place: number,
  { distribution, withoutFloor, rttMs }: {
    distribution: RttDistribution;
    withoutFloor: () => RttDistribution;
    rttMs: number | null;
  },
): void {
  forecasts.pFailed[place] = distribution.pFailed;
  forecasts.spreadMass[place] = distribution.spreadMass;
  forecasts.predictedMs[place] = distribution.quantileMs(0.5);
  if (rttMs === null) return;
  forecasts.likeliestMs[place] = distribution.likeliest().rttMs;
  const [probability, upTo] = [distribution.probabilityOf(rttMs), distribution.cdf(rttMs)];
  forecasts.crpsMs[place] = crpsMs(distribution, rttMs);
  forecasts.codeBits[place] = -Math.log2(probability);
  forecasts.upTo[place] = upTo;
  forecasts.below[place] = upTo - probability;
  if (distribution.floorMs === null) return;
  const free = withoutFloor();
  const first = free.indexOf(distribution.quantileMs(0));
  forecasts.massBelowFloor[place] = first === 0 ? 0 : free.cdf(RTTS_MS[first - 1]);
  forecasts.predictedWithoutFloorMs[place] = free.quantileMs(0.5);
  forecasts.crpsWithoutFloorMs[place] = crpsMs(free, rttMs);
  forecasts.upToWithoutFloor[place] = free.cdf(rttMs);
  forecasts.belowWithoutFloor[place] = free.cdf(rttMs) - free.probabilityOf(rttMs);
  // As in `score`: a too short RTT means that a place is wrong.
  if (probability === 0) forecasts.codeBits[place] = -Math.log2(free.probabilityOf(rttMs));
}
