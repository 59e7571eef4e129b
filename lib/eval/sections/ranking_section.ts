/**
 * The section on rankings: how well the nearest of several destinations is found before any of them is
 * measured. The candidates are the destinations that a source measured within one time window in the held-out
 * rows. The model ranks them as `query nearest` does, by the median and by the probability of being the
 * nearest; baselines rank them by their predictions.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { getOrMake } from "../../base/collections.ts";
import { drawDistinct, RandomStream } from "../../base/random.ts";
import { meanOf, quantileOfSample } from "../../base/sample_statistics.ts";
import type { ProbeRowSource } from "../../data/loader/row_source.ts";
import { FAILED_RTT_MS } from "../../data/formats/batch.ts";
import { EventLoopPacer, type StageHooks } from "../../io/threads/stage_hooks.ts";
import { raceOf } from "../../query/destinations/nearest.ts";
import type { PingModel } from "../../query/ping_model.ts";
import type { RttDistribution } from "../../query/rtt/rtt_distribution.ts";
import type { BaselineForecasts } from "../baselines/baseline_forecasts.ts";
import { type EvalCase, queryOf, type RowPlace } from "../cases.ts";
import { ClusterBootstrap, type ComparedIntervals, comparedWithFirst } from "../metrics/bootstrap.ts";

interface RankedGroup {
  /** The first measurement of each candidate in the window, which is predicted. */
  readonly places: readonly RowPlace[];
  /** The median of each candidate's replies in the window. */
  readonly rttsMs: readonly number[];
}

export interface DrawnRankings {
  /** Length of the windows, seconds; null for the whole time. */
  readonly windowS: number | null;
  readonly groups: readonly RankedGroup[];
}

interface ChoiceScores {
  /** Mean excess of the first choice's RTT over the shortest RTT of its candidates. */
  regretMs: number;
  /** The share of choices that were right. */
  rightShare: number;
}

/** The choices of one method, compared with the model's by the median. */
export interface RankingMethod extends ChoiceScores, ComparedIntervals<keyof ChoiceScores> {
  /** `model, by median`, `model, by probability`, a baseline's name, or `at random`. */
  method: string;
}

export interface RankingSection {
  windowS: number | null;
  /** Choices, their distinct sources, and the mean number of candidates. */
  numChoices: number;
  numSources: number;
  meanCandidates: number;
  numContext: number;
  /** The model's two methods first. A method with equal predictions chooses among them at random. */
  methods: RankingMethod[];
}

/** The first length with enough choices is used, else the one with the most. */
const WINDOWS_S = [3600, 86_400, Infinity];
const MIN_CHOICES = 32;
/** Maximum of choices, and minimum and maximum of candidates per choice. */
const MAX_CHOICES = 64;
const [MIN_CANDIDATES, MAX_CANDIDATES] = [3, 6];
/** Choices that the model is asked about together; each distribution takes 0.14 MB meanwhile. */
const CHOICES_AT_ONCE = 32;
/** Largest context size. The model also sees the newest RTTs of the pair. */
const MAX_CONTEXT = 10;
/** Probability that may be spread over unlikely codes instead of being computed. */
const MAX_SPREAD_MASS = 0.01;

/**
 * Draws choices in one pass over the rows. A source's choice among the same candidates counts once, however many
 * windows repeat it, and is taken from any of these windows. All different choices are equally likely: those
 * with the smallest hashes are kept (bottom-k sketch: Cohen, Kaplan, "Summarizing Data Using Bottom-k
 * Sketches", PODC 2007).
 *
 * @throws {FormatError} If a row cannot be read.
 */
export async function drawRankings(
  rows: ProbeRowSource,
  { seed, signal }: { seed: number; signal?: AbortSignal | undefined },
): Promise<DrawnRankings> {
  const pacer = new EventLoopPacer({ signal });
  const random = new RandomStream(seed, "evaluate/rankings");
  // Keyed by the hash of the source and the candidates.
  const drawn = WINDOWS_S.map((windowS) => ({
    windowS,
    kept: new Map<string, { order: number; group: RankedGroup }>(),
  }));
  for (let row = 0; row < rows.numRows; row++) {
    const { srcId, eventTimeUs, srcAddrs, srcIndex, dstAddrs, dstIndex, rttMs } = rows.row(row);
    for (const { windowS, kept } of drawn) {
      const windows = new Map<number, Map<number, number[]>>();
      rttMs.forEach((ms, i) => {
        if (ms === FAILED_RTT_MS) return;
        const window = windowS === Infinity ? 0 : Math.floor(eventTimeUs[i] / 1e6 / windowS);
        const ofSource = getOrMake(windows, window * srcAddrs.length + srcIndex[i], () => new Map());
        getOrMake(ofSource, dstIndex[i], () => []).push(i);
      });
      for (const ofWindow of windows.values()) {
        if (ofWindow.size < MIN_CANDIDATES) continue;
        const all = [...ofWindow];
        const some = Array.from(
          drawDistinct(all.length, Math.min(all.length, MAX_CANDIDATES), random),
          (k) => all[k],
        ).sort(([a], [b]) => dstAddrs[a] < dstAddrs[b] ? -1 : 1);
        const order = random.float64();
        const names = [seed, srcId, ...some.map(([dst]) => dstAddrs[dst])];
        const hash = createHash("sha256").update(names.join()).digest("hex");
        const known = kept.get(hash);
        if (known ? known.order < order : kept.size === MAX_CHOICES && hash > largestOf(kept)) continue;
        kept.set(hash, {
          order,
          group: {
            places: some.map(([, [index]]) => ({ row, index })),
            rttsMs: some.map(([, indexes]) => quantileOfSample(indexes.map((i) => rttMs[i]), 0.5)),
          },
        });
        if (kept.size > MAX_CHOICES) kept.delete(largestOf(kept));
      }
    }
    await pacer.yieldToEventLoop();
  }
  const most = drawn.toSorted((a, b) => b.kept.size - a.kept.size)[0];
  const { windowS, kept } = drawn.find(({ kept }) => kept.size >= MIN_CHOICES) ?? most;
  const groups = Array.from(kept.values(), ({ group }) => group);
  return { windowS: windowS === Infinity ? null : windowS, groups };
}

function largestOf(kept: ReadonlyMap<string, unknown>): string {
  return kept.keys().reduce((a, b) => a > b ? a : b);
}

interface RankingOptions extends Pick<StageHooks, "signal"> {
  readonly drawn: DrawnRankings;
  /** Forecasts for the same cases. */
  readonly baselines: BaselineForecasts;
  /** The `maxContext` that the cases were drawn with. */
  readonly maxContext: number;
  readonly seed: number;
  readonly onProgress?: (done: number, total: number) => void;
}

/**
 * Lets the model and the baselines choose.
 *
 * @param cases The cases of all groups, one group after the other.
 * @returns Undefined if no source has enough candidates.
 * @throws {UserError} If a measurement does not fit the model's sequence.
 */
export async function evaluateRankings(
  model: PingModel,
  cases: readonly EvalCase[],
  { drawn: { windowS, groups }, baselines, maxContext, seed, signal, onProgress }: RankingOptions,
): Promise<RankingSection | undefined> {
  if (groups.length === 0) return undefined;
  const numContext = Math.min(MAX_CONTEXT, maxContext);
  let next = 0;
  const ranges = groups.map(({ places }) => [next, next += places.length] as const);
  // Smaller is better in all of these.
  const medians = new Float64Array(cases.length);
  const unlikely = new Float64Array(cases.length);
  for (let at = 0; at < ranges.length; at += CHOICES_AT_ONCE) {
    const some = ranges.slice(at, at + CHOICES_AT_ONCE);
    const [[first], [, end]] = [some[0], some[some.length - 1]];
    const asked = cases.slice(first, end);
    const runners: { pFailed: number; probabilities: Float32Array }[] = [];
    const take = (distribution: RttDistribution, i: number) => {
      medians[first + i] = distribution.quantileMs(0.5);
      const { pFailed, probabilities } = distribution;
      runners.push({ pFailed, probabilities: Float32Array.from(probabilities) });
    };
    const codes = asked.map(({ measurement }) => measurement.rttCode);
    await model.likelyRttDistributions(asked.map((each) => queryOf(each, numContext)), take, {
      maxSpreadMass: MAX_SPREAD_MASS,
      codes,
    });
    for (const [from, to] of some) {
      const { pNearest } = raceOf(runners.slice(from - first, to - first));
      pNearest.forEach((p, i) => unlikely[from + i] = -p);
    }
    onProgress?.(end, cases.length);
    signal?.throwIfAborted();
  }
  const orders: [method: string, of: Float64Array][] = [
    ["model, by median", medians],
    ["model, by probability", unlikely],
    ...[...baselines.methods].map(([name, { predictedMs }]) => [name, predictedMs] as [string, Float64Array]),
    ["at random", new Float64Array(cases.length)],
  ];
  const sources = new Map<string, number>();
  const clusterOf = Uint32Array.from(
    ranges,
    ([first]) => getOrMake(sources, cases[first].sourceKey, () => sources.size),
  );
  return {
    windowS,
    numChoices: groups.length,
    numSources: sources.size,
    meanCandidates: cases.length / groups.length,
    numContext,
    methods: scoreChoices(
      orders.map(([method, of]) => ({
        method,
        choices: ranges.map(([first, end], i) => choiceOf(of.subarray(first, end), groups[i].rttsMs)),
      })),
      new ClusterBootstrap(clusterOf, { seed }),
    ),
  };
}

/** Whether a method of the section is one of the model's. */
export function isOfModel(method: string): boolean {
  return method.startsWith("model");
}

/** The regret of a choice, and the probability that it is right. */
export interface Choice {
  readonly regretMs: number;
  readonly right: number;
}

/** Chooses the smallest value. Ties, or candidates about which nothing is known, are broken at random. */
export function choiceOf(values: Float64Array, rttsMs: readonly number[]): Choice {
  const least = values.reduce((a, b) => Number.isNaN(b) ? a : Math.min(a, b), Infinity);
  const nearestMs = Math.min(...rttsMs);
  const chosen = rttsMs.filter((_, i) => values[i] === least || least === Infinity);
  return {
    regretMs: meanOf(chosen.map((ms) => ms - nearestMs)) ?? 0,
    right: meanOf(chosen.map((ms) => ms === nearestMs ? 1 : 0)) ?? 0,
  };
}

/** @param methods The model's by the median first; choices are in the order of the bootstrap. */
function scoreChoices(
  methods: readonly { method: string; choices: readonly Choice[] }[],
  bootstrap: ClusterBootstrap,
): RankingMethod[] {
  const numbers = methods.map(({ choices }) => ({
    regretMs: choices.map(({ regretMs }) => regretMs),
    rightShare: choices.map(({ right }) => right),
  }));
  const compared = comparedWithFirst(numbers.map(({ regretMs, rightShare }) => ({
    regretMs: bootstrap.mean(regretMs, [...regretMs.keys()]),
    rightShare: bootstrap.mean(rightShare, [...rightShare.keys()]),
  })));
  return methods.map(({ method }, i): RankingMethod => ({
    method,
    regretMs: meanOf(numbers[i].regretMs) ?? 0,
    rightShare: meanOf(numbers[i].rightShare) ?? 0,
    ...compared[i],
  }));
}
