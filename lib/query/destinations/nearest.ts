/**
 * Ranks candidates by their RTT from a source without probing. Each candidate has the distribution of `query
 * rtt`; the RTTs are assumed to be independent.
 *
 * @module
 */
import { getOrMake } from "../../base/collections.ts";
import { UserError } from "../../base/errors.ts";
import { formatPrefix } from "../../data/addresses/ip_prefix.ts";
import { type BasisJson, basisJson } from "../../data/addresses/known_addresses.ts";
import type { PingModel } from "../ping_model.ts";
import { type AnsweredQuery, type AnswerOptions, answerQueries, notesOn } from "../rtt/answer_queries.ts";
import type { BadLine, FileQuery } from "../rtt/query_file.ts";
import { MAX_PING_RTT_MS, RTTS_MS } from "../rtt/rtt_distribution.ts";
import { faultIn } from "../rtt/rtt_question.ts";
import { roundedMeanMs } from "../questions/rtt.ts";

export interface NearestCandidate {
  /** The candidate as given. */
  readonly candidate: string;
  readonly name?: string | undefined;
  readonly median_ms: number;
  /** Mean RTT of replies within 60 s, to four digits. */
  readonly mean_ms: number;
  /** P(no reply). */
  readonly p_failed: number;
  /** P(its reply comes before all others); ties are shared. */
  readonly p_nearest: number;
  /** Mean excess of its RTT over the shortest RTT, given that all candidates reply. */
  readonly regret_ms: number;
  /** How often the endpoints were measured. */
  readonly basis: BasisJson;
  readonly notes?: string[] | undefined;
}

interface Nearest {
  /** Nearest first. */
  readonly nearest: NearestCandidate[];
  /** Number of different candidates compared. */
  readonly candidates: number;
  /** P(no candidate replies). */
  readonly p_no_reply: number;
  /** Mean of the shortest RTT, given that all candidates reply. */
  readonly min_ms: number;
}

export interface NearestOptions extends AnswerOptions {
  /** The criterion of the ranking; the other one breaks ties. */
  readonly by: "median" | "probability";
  /** Number of candidates to list. */
  readonly top: number;
  /** Maximum number of candidates; each takes 0.14 MB. */
  readonly maxCandidates: number;
  /** Called with the number of candidates done; may throw to cancel. */
  readonly onProgress: (done: number) => void;
}

/**
 * Ranks candidates, ignoring repeated destinations. @param queries From one source to each candidate.
 *
 * @throws {UserError} If there are none or too many, or one cannot be answered.
 */
export async function nearestOf(
  model: PingModel,
  queries: Iterable<FileQuery | BadLine> | AsyncIterable<FileQuery | BadLine>,
  { by, top, maxCandidates, onProgress, ...options }: NearestOptions,
): Promise<Nearest> {
  const candidates = new Map<string, Candidate>();
  for await (const answer of answerQueries(model, distinct(queries, maxCandidates), options, candidateOf)) {
    if ("error" in answer) throw new UserError(faultIn(["candidates", answer.line - 1], answer.error));
    candidates.set(formatPrefix(answer.query.destination), answer);
    onProgress(candidates.size);
  }
  if (candidates.size === 0) {
    throw new UserError({ found: "no candidates were given", expected: `1 to ${maxCandidates}` });
  }
  const list = [...candidates.values()];
  const { pNearest, regretsMs, pNoReply: p_no_reply, minMs: min_ms } = raceOf(list);
  const ranked = list.map((each, i) => ({ ...each, p_nearest: pNearest[i], regret_ms: regretsMs[i] }));
  const nearest = ranked.sort(orderBy(by)).slice(0, top).map(
    ({ query, median_ms, mean_ms, pFailed: p_failed, p_nearest, regret_ms, notes }): NearestCandidate => ({
      candidate: query.dst,
      ...model.names.named(query.dst),
      ...{ median_ms, mean_ms, p_failed, p_nearest, regret_ms },
      basis: basisJson(model.basisOf(query)),
      ...(notes.length > 0 && { notes }),
    }),
  );
  return { nearest, candidates: list.length, p_no_reply, min_ms };
}

type Ranked = Pick<NearestCandidate, "median_ms" | "p_nearest">;

/** The order of candidates, the nearest first. */
export function orderBy(by: NearestOptions["by"]): (a: Ranked, b: Ranked) => number {
  const orders = {
    median: (a: Ranked, b: Ranked) => a.median_ms - b.median_ms,
    probability: (a: Ranked, b: Ranked) => b.p_nearest - a.p_nearest,
  };
  const other = by === "median" ? "probability" : "median";
  return (a, b) => orders[by](a, b) || orders[other](a, b);
}

/** A candidate's distribution in single precision. */
export interface Candidate extends Runner, Pick<NearestCandidate, "median_ms" | "mean_ms"> {
  readonly query: FileQuery;
  readonly notes: string[];
}

export function candidateOf(answered: AnsweredQuery): Candidate {
  const { query, answer } = answered;
  const { distribution } = answer.mixture;
  return {
    query,
    median_ms: distribution.quantileMs(0.5),
    mean_ms: roundedMeanMs(distribution),
    pFailed: distribution.pFailed,
    probabilities: Float32Array.from(distribution.probabilities),
    notes: notesOn(answered),
  };
}

/** Drops repeated destinations. @throws {UserError} If there are more than `most`. */
async function* distinct(
  queries: Iterable<FileQuery | BadLine> | AsyncIterable<FileQuery | BadLine>,
  most: number,
): AsyncGenerator<FileQuery | BadLine> {
  const seen = new Set<string>();
  for await (const query of queries) {
    if (!("error" in query)) {
      const key = formatPrefix(query.destination);
      if (seen.has(key)) continue;
      seen.add(key);
    }
    if (seen.size > most) {
      throw new UserError({ found: `more than ${most} candidates were given`, expected: `1 to ${most}` });
    }
    yield query;
  }
}

interface Runner {
  /** P(no reply). */
  readonly pFailed: number;
  /** P(code | reply) of each canonical code. The sum is normalised to 1. */
  readonly probabilities: Float32Array;
}

/** The result of {@link raceOf}; arrays have an element for each candidate. */
interface Race {
  /** P(the candidate replies, before all others). */
  readonly pNearest: Float64Array;
  /** E(RTT - the shortest RTT | all reply within `MAX_PING_RTT_MS`), ms. */
  readonly regretsMs: Float64Array;
  /** P(no candidate replies). */
  readonly pNoReply: number;
  /** E(the shortest RTT | all reply within `MAX_PING_RTT_MS`), ms. */
  readonly minMs: number;
}

/** Maximum error of the probabilities of one code. */
const TOLERANCE = 1e-14;

/**
 * Compares independent RTTs over the same codes, in one pass from the longest to the shortest, without
 * cancellation.
 *
 * Let S_j be the probability that candidate j takes longer than a code, including no reply, and p_j the
 * probability that it has the code. If several have it, each is equally likely to be first, as if RTTs were
 * uniform within a code. Then the probability that i is first with an RTT of the code is
 *
 *     p_i * integral from 0 to 1 of prod_{j != i} (S_j + u p_j) du,
 *
 * whose integrand is a polynomial in u of degree n - 1. The Gauss-Legendre rule with m nodes is exact up to
 * degree 2 m - 1. The coefficient of degree d is at most prod (S_j + p_j) lambda^d / d! with lambda = sum p_j
 * / (S_j + p_j), so few nodes are enough if the probability of a code is small.
 */
export function raceOf(runners: readonly Runner[]): Race {
  const n = runners.length;
  const pNearest = new Float64Array(n);
  // P(longer than the current code), and P(the current code).
  const longer = Float64Array.from(runners, ({ pFailed }) => pFailed);
  const p = new Float64Array(n);
  const weights = runners.map(({ pFailed, probabilities }) => (1 - pFailed) / sumOf(probabilities));
  const pNoReply = longer.reduce((product, each) => product * each, 1);
  for (let code = RTTS_MS.length - 1; code >= 0; code--) {
    let noneShorter = 1;
    let hazard = 0;
    for (let i = 0; i < n; i++) {
      p[i] = weights[i] * runners[i].probabilities[code];
      const rest = longer[i] + p[i];
      noneShorter *= rest;
      if (p[i] > 0) hazard += p[i] / rest;
    }
    if (noneShorter * hazard > TOLERANCE) {
      for (const { at, weight } of gaussLegendre(numNodes({ hazard, noneShorter, n }))) {
        let product = weight;
        for (let i = 0; i < n; i++) product *= longer[i] + at * p[i];
        for (let i = 0; i < n; i++) if (p[i] > 0) pNearest[i] += p[i] * product / (longer[i] + at * p[i]);
      }
    }
    for (let i = 0; i < n; i++) longer[i] += p[i];
  }
  return { pNearest, pNoReply, ...regretsOf(runners) };
}

function regretsOf(runners: readonly Runner[]): Pick<Race, "regretsMs" | "minMs"> {
  const numCodes = RTTS_MS.findLastIndex((rttMs) => rttMs <= MAX_PING_RTT_MS) + 1;
  const withins = runners.map(({ probabilities }) => sumOf(probabilities.subarray(0, numCodes)));
  // P(at least the RTT of the current code | a reply within the limit); 1 if no reply can be within it.
  const least = Float64Array.from(withins, (within) => within > 0 ? 0 : 1);
  const meansMs = Float64Array.from(least, (each) => each * (MAX_PING_RTT_MS - RTTS_MS[numCodes - 1]));
  let minMs = least.every((each) => each === 1) ? meansMs[0] : 0;
  for (let code = numCodes - 1; code >= 0; code--) {
    const stepMs = RTTS_MS[code] - (code > 0 ? RTTS_MS[code - 1] : 0);
    let all = 1;
    runners.forEach(({ probabilities }, i) => {
      if (withins[i] > 0) least[i] += probabilities[code] / withins[i];
      meansMs[i] += stepMs * least[i];
      all *= least[i];
    });
    minMs += stepMs * all;
  }
  return { minMs, regretsMs: meansMs.map((meanMs) => Math.max(0, meanMs - minMs)) };
}

function sumOf(values: Float32Array): number {
  let sum = 0;
  for (let i = values.length - 1; i >= 0; i--) sum += values[i];
  return sum;
}

/** The smallest number of nodes with an error below the tolerance. */
function numNodes({ hazard, noneShorter, n }: Record<"hazard" | "noneShorter" | "n", number>): number {
  const bound = TOLERANCE * Math.exp(-hazard);
  let term = noneShorter * hazard;
  let m = 1;
  while (2 * m < n && (term *= hazard * hazard / ((2 * m - 1) * 2 * m)) > bound) m++;
  return m;
}

interface QuadratureNode {
  readonly at: number;
  readonly weight: number;
}

const rules = new Map<number, readonly QuadratureNode[]>();

/**
 * Nodes and weights of the Gauss-Legendre rule on [0, 1], by Newton's method on the recurrence of Legendre
 * polynomials (Press et al., Numerical Recipes, 3rd ed. 2007, section 4.6).
 */
function gaussLegendre(m: number): readonly QuadratureNode[] {
  return getOrMake(rules, m, () =>
    Array.from({ length: m }, (_, i) => {
      let x = Math.cos(Math.PI * (i + 0.75) / (m + 0.5));
      for (let step = 0;; step++) {
        let [last, value] = [0, 1];
        for (let d = 1; d <= m; d++) [last, value] = [value, ((2 * d - 1) * x * value - (d - 1) * last) / d];
        const slope = m * (x * value - last) / (x * x - 1);
        const change = value / slope;
        if (Math.abs(change) < 1e-15 || step === 20) {
          return { at: (1 + x) / 2, weight: 1 / ((1 - x * x) * slope * slope) };
        }
        x -= change;
      }
    }));
}
