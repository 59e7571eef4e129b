/**
 * Ranks candidates by their RTTs from many sources, and chooses those that serve them best together. The RTT
 * from a source has the distribution of `query rtt`; the distributions of all sources are mixed by weights.
 *
 * @module
 */
import { UserError } from "../../base/errors.ts";
import { quantilesOfWeighted } from "../../base/sample_statistics.ts";
import { formatPrefix, isAddress } from "../../data/addresses/ip_prefix.ts";
import type { PingModel } from "../ping_model.ts";
import { roundedMeanMs } from "../questions/rtt.ts";
import { type AnswerOptions, answerQueries } from "../rtt/answer_queries.ts";
import type { FileQuery } from "../rtt/query_file.ts";
import { RttDistribution, RTTS_MS } from "../rtt/rtt_distribution.ts";
import { faultIn } from "../rtt/rtt_question.ts";
import { type Candidate, candidateOf, type NearestCandidate, orderBy, raceOf } from "./nearest.ts";
import { chooseSites } from "./site_choice.ts";

/** Exact quantiles of each pair. Other RTTs are spread evenly over codes of the same first byte, a fifth. */
const EXACT_QUANTILES = [0.05, 0.25, 0.5, 0.75, 0.95];
/** Pairs computed together, but all of a source; each takes 0.14 MB. */
const PAIRS_AT_ONCE = 512;
const HIGH = 0.95;

/** The pairs of sources and candidates; each side is paired with the first of the other. */
export interface SitePairs {
  readonly sources: readonly FileQuery[];
  readonly candidates: readonly FileQuery[];
  /** The weight of each source, above 0. */
  readonly weights: readonly number[];
}

export interface SitesOptions extends Pick<AnswerOptions, "numDraws" | "seed" | "onDraws"> {
  readonly by: "median" | "probability";
  /** Number of candidates to list. */
  readonly top: number;
  /** Number of candidates to choose. */
  readonly best: number;
  /** Called with the number of pairs done; may throw to cancel. */
  readonly onProgress: (done: number) => void;
}

/** How well a candidate serves the sources. Means are weighted. */
export interface SiteCandidate extends Omit<NearestCandidate, "basis" | "notes"> {
  /** The {@link HIGH} quantile. */
  readonly high_ms: number;
  /** The longest median RTT of a source, and that source. */
  readonly worst_ms: number;
  readonly worst_src: string;
  readonly worst_src_name?: string | undefined;
  /** Number of sources whose pair with it was measured. */
  readonly measured: number;
}

/** Candidates that are chosen together, each source using the one with the shortest median RTT. */
export interface ChosenSites
  extends Pick<SiteCandidate, "high_ms" | "worst_ms" | "worst_src" | "worst_src_name" | "p_failed"> {
  readonly candidates: string[];
  /** The share of the sources that use each candidate, by weight. */
  readonly shares: number[];
  /** Mean of the sources' median RTTs. */
  readonly mean_ms: number;
  readonly optimum_ms: number;
  readonly is_exact: boolean;
  readonly better?: string[] | undefined;
}

export interface Sites {
  readonly sources: number;
  readonly nearest: SiteCandidate[];
  readonly candidates: number;
  readonly p_no_reply: number;
  readonly min_ms: number;
  readonly best: ChosenSites[];
}

/** @throws {UserError} If a pair cannot be answered. */
export async function sitesOf(
  model: PingModel,
  { sources, candidates, weights: given }: SitePairs,
  { by, top, best, onProgress, ...options }: SitesOptions,
): Promise<Sites> {
  const [numSources, numSites] = [sources.length, candidates.length];
  const total = given.reduce((sum, weight) => sum + weight, 0);
  const weights = given.map((weight) => weight / total);
  const mean = (value: (source: number) => number) =>
    weights.reduce((sum, weight, source) => sum + weight * value(source), 0);
  const sums = candidates.map(() => new SiteSums());
  // (sources, candidates).
  const mediansMs = new Float64Array(numSources * numSites);
  const pFailed = new Float64Array(numSources * numSites);
  let [p_no_reply, min_ms] = [0, 0];
  const asked = { ...options, context: [], quantiles: () => EXACT_QUANTILES };
  const perPart = Math.max(1, Math.floor(PAIRS_AT_ONCE / numSites));
  for (let first = 0; first < numSources; first += perPart) {
    const queries = sources.slice(first, first + perPart).flatMap(({ src, source }) =>
      candidates.map((to, s): FileQuery => ({ ...to, src, source, line: s }))
    );
    const rows: Omit<Candidate, "query" | "notes">[] = queries.map(() => ITSELF);
    const others = [...queries.keys()].filter((i) => !isItself(queries[i]));
    let done = 0;
    for await (const answer of answerQueries(model, others.map((i) => queries[i]), asked, candidateOf)) {
      if ("error" in answer) throw new UserError(faultIn(["candidates", answer.line], answer.error));
      rows[others[done++]] = answer;
      onProgress(first * numSites + done);
    }
    for (let from = 0; from < rows.length; from += numSites) {
      const row = rows.slice(from, from + numSites);
      const source = first + from / numSites;
      const race = raceOf(row);
      p_no_reply += weights[source] * race.pNoReply;
      min_ms += weights[source] * race.minMs;
      row.forEach((each, s) => {
        mediansMs[source * numSites + s] = each.median_ms;
        pFailed[source * numSites + s] = each.pFailed;
        sums[s].add(each, { weight: weights[source], p: race.pNearest[s], regretMs: race.regretsMs[s] });
      });
    }
  }
  const shown = (source: number) => {
    const { src: worst_src } = sources[source];
    const { name: worst_src_name } = model.names.named(worst_src);
    return { worst_src, ...(worst_src_name !== undefined && { worst_src_name }) };
  };
  const ranked = candidates.map(({ dst, destination }, s): SiteCandidate => {
    const worst = greatest(numSources, (source) => mediansMs[source * numSites + s]);
    const isMeasured = ({ source }: FileQuery) => model.basisKindOf({ source, destination }) === "measured";
    return {
      candidate: dst,
      ...model.names.named(dst),
      ...sums[s].summary(mean((source) => pFailed[source * numSites + s])),
      worst_ms: mediansMs[worst * numSites + s],
      ...shown(worst),
      measured: sources.filter(isMeasured).length,
    };
  });
  const choices = chooseSites(mediansMs, { weights, numSites, most: best });
  const chosen = choices.map(({ nearest, mean: mean_ms, optimum, isExact, better }, k): ChosenSites => {
    const medianMs = (source: number) => mediansMs[source * numSites + nearest[source]];
    const order = [...weights.keys()].sort((a, b) => medianMs(a) - medianMs(b));
    const worst = order[numSources - 1];
    const used = choices.slice(0, k + 1).map(({ site }) => site);
    return {
      candidates: used.map((s) => candidates[s].dst),
      shares: used.map((s) => mean((source) => nearest[source] === s ? 1 : 0)),
      mean_ms,
      high_ms: quantilesOfWeighted(order.map(medianMs), order.map((source) => weights[source]), [HIGH])[0],
      worst_ms: medianMs(worst),
      ...shown(worst),
      p_failed: mean((source) => pFailed[source * numSites + nearest[source]]),
      optimum_ms: optimum,
      is_exact: isExact,
      ...(better && { better: better.map((s) => candidates[s].dst) }),
    };
  });
  return {
    sources: numSources,
    nearest: ranked.sort(orderBy(by)).slice(0, top),
    candidates: numSites,
    p_no_reply,
    min_ms,
    best: chosen,
  };
}

/** An address needs no time to itself. The model knows no such RTT. */
const ITSELF: Omit<Candidate, "query" | "notes"> = {
  median_ms: 0,
  mean_ms: 0,
  pFailed: 0,
  probabilities: Float32Array.from(RTTS_MS, (_, code) => code === 0 ? 1 : 0),
};

function isItself({ source, destination }: FileQuery): boolean {
  return isAddress(source) && formatPrefix(source) === formatPrefix(destination);
}

/** The first index with the greatest value. */
function greatest(length: number, value: (index: number) => number): number {
  let found = 0;
  for (let i = 1; i < length; i++) if (value(i) > value(found)) found = i;
  return found;
}

/** Sums over the sources of a candidate. */
class SiteSums {
  /** Weights times P(code). */
  readonly #codes = new Float64Array(RTTS_MS.length);
  #pNearest = 0;
  #regretMs = 0;

  add(
    { pFailed, probabilities }: Pick<Candidate, "pFailed" | "probabilities">,
    { weight, p, regretMs }: { weight: number; p: number; regretMs: number },
  ): void {
    // P(no reply) may round to 1; a mixture of such sources still needs weights.
    const share = weight * Math.max(1 - pFailed, Number.EPSILON);
    for (let code = 0; code < probabilities.length; code++) this.#codes[code] += share * probabilities[code];
    this.#pNearest += weight * p;
    this.#regretMs += weight * regretMs;
  }

  summary(pFailed: number) {
    const sum = this.#codes.reduce((total, each) => total + each, 0);
    const distribution = new RttDistribution(pFailed, this.#codes.map((each) => each / sum), 1);
    return {
      median_ms: distribution.quantileMs(0.5),
      high_ms: distribution.quantileMs(HIGH),
      mean_ms: roundedMeanMs(distribution),
      p_failed: pFailed,
      p_nearest: this.#pNearest,
      regret_ms: this.#regretMs,
    };
  }
}
