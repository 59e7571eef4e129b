/**
 * The nearest of some candidates to a source, without probing: each has the distribution of `query rtt`, and
 * they are compared as if they were independent.
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
import { roundedMeanMs } from "../questions/rtt.ts";

/** A candidate among the others. */
export interface NearestCandidate {
  /** As given. */
  readonly candidate: string;
  /** Its name, if it has one. */
  readonly name?: string | undefined;
  /** The median RTT. */
  readonly median_ms: number;
  /** The mean of the replies up to 60 s, to four digits. */
  readonly mean_ms: number;
  /** P(no reply). */
  readonly p_failed: number;
  /** P(its reply comes before those of all others), ties shared. */
  readonly p_nearest: number;
  /** How much longer its RTT is than the shortest of all, on average over times when all reply. */
  readonly regret_ms: number;
  /** How often the ends were measured. */
  readonly basis: BasisJson;
  /** For people. */
  readonly notes?: string[] | undefined;
}

/** The nearest of some candidates. */
export interface Nearest {
  /** The nearest first. */
  readonly nearest: NearestCandidate[];
  /** How many different ones were compared. */
  readonly candidates: number;
  /** P(no candidate replies). */
  readonly p_no_reply: number;
  /** The mean of the shortest RTT of all candidates when all reply. */
  readonly min_ms: number;
}

/** How candidates are ranked. */
export interface NearestOptions extends AnswerOptions {
  /** The order of the ranking; the other one breaks ties. */
  readonly by: "median" | "probability";
  /** How many are listed. */
  readonly top: number;
  /** The largest number of candidates; each takes 0.14 MB. */
  readonly maxCandidates: number;
  /** The unit of a query's `line`, for errors. */
  readonly counted: "line" | "candidate";
  /** Called with the number of candidates that are done; it may throw to end the work. */
  readonly onProgress: (done: number) => void;
}

/**
 * Ranks candidates; a destination that comes again is left out. @param queries From one source to each
 * candidate.
 *
 * @throws {UserError} If there are none or too many, or one cannot be answered.
 */
export async function nearestOf(
  model: PingModel,
  queries: Iterable<FileQuery | BadLine> | AsyncIterable<FileQuery | BadLine>,
  { by, top, maxCandidates, counted, onProgress, ...options }: NearestOptions,
): Promise<Nearest> {
  const candidates = new Map<string, Candidate>();
  for await (const answer of answerQueries(model, distinct(queries, maxCandidates), options, candidateOf)) {
    if ("error" in answer) throw new UserError(`${counted} ${answer.line}: ${answer.error}`);
    candidates.set(formatPrefix(answer.query.destination), answer);
    onProgress(candidates.size);
  }
  if (candidates.size === 0) throw new UserError(`found no candidates, expected 1 to ${maxCandidates}`);
  const list = [...candidates.values()];
  const { pNearest, regretsMs, pNoReply: p_no_reply, minMs: min_ms } = raceOf(list);
  const ranked = list.map((each, i) => ({ ...each, p_nearest: pNearest[i], regret_ms: regretsMs[i] }));
  type Ranked = (typeof ranked)[number];
  const orders = {
    median: (a: Ranked, b: Ranked) => a.median_ms - b.median_ms,
    probability: (a: Ranked, b: Ranked) => b.p_nearest - a.p_nearest,
  };
  const other = by === "median" ? "probability" : "median";
  ranked.sort((a, b) => orders[by](a, b) || orders[other](a, b));
  const nearest = ranked.slice(0, top).map(
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

/** A candidate's distribution, in single precision. */
interface Candidate extends Runner, Pick<NearestCandidate, "median_ms" | "mean_ms"> {
  readonly query: FileQuery;
  readonly notes: string[];
}

function candidateOf(answered: AnsweredQuery): Candidate {
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

/** Leaves out destinations that came before. @throws {UserError} If there are more than `most`. */
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
    if (seen.size > most) throw new UserError(`found more than ${most} candidates, expected 1 to ${most}`);
    yield query;
  }
}

interface Runner {
  /** P(no reply). */
  readonly pFailed: number;
  /** P(code | a reply came) of each canonical code; their sum is taken for 1. */
  readonly probabilities: Float32Array;
}

/** The result of a race. */
interface Race {
  /** P(the candidate replies, and before all others) of each. */
  readonly pNearest: Float64Array;
  /** E(its RTT - the shortest RTT | all reply within `MAX_PING_RTT_MS`) of each, ms. */
  readonly regretsMs: Float64Array;
  /** P(no candidate replies). */
  readonly pNoReply: number;
  /** E(the shortest RTT | all reply within `MAX_PING_RTT_MS`), ms. */
  readonly minMs: number;
}

/** The largest error of the probabilities of one code. */
const TOLERANCE = 1e-14;

/**
 * The race of independent RTTs over the same codes, in one pass from the longest to the shortest, without
 * cancellation.
 *
 * Let S_j be the probability that candidate j takes longer than a code, no reply included, and p_j that it has
 * the code. If several have it, each is as likely to be the first of them, as if every RTT lay evenly within
 * its code. Then i is the first with an RTT of the code with probability
 *
 *     p_i * integral from 0 to 1 of prod_{j != i} (S_j + u p_j) du,
 *
 * whose integrand is a polynomial in u of degree n - 1. The Gauss-Legendre rule with m nodes is exact up to
 * degree 2 m - 1; the coefficient of degree d is at most prod (S_j + p_j) lambda^d / d! with lambda = sum p_j /
 * (S_j + p_j), so few nodes are enough where the mass of a code is small.
 */
export function raceOf(runners: readonly Runner[]): Race {
  const n = runners.length;
  const pNearest = new Float64Array(n);
  // P(longer than the code at hand), and P(the code).
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
  // P(at least the RTT of the code at hand | a reply within the limit); 1 where there is none.
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

/** The least number of nodes with an error below the tolerance. */
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
 * The nodes and weights of the Gauss-Legendre rule from 0 to 1, by Newton's method on the recurrence of Legendre
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
