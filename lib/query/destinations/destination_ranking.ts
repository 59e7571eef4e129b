/**
 * The most probable destinations given a source and an RTT, by Bayes' rule. Each candidate has the weight
 *
 *     P(RTT in the range | source, destination, time, context) P(destination | source, context)
 *
 * and the weights are normalised. The first factor is the answer of `query rtt`, with its quantile
 * calibration. The second is the prior of `candidates.ts`; its sum over the candidates is the share of the
 * prior that the answer covers. Addresses that are not candidates cannot be listed.
 *
 * Tokens are in the order of queries, destination before RTT, on which models are trained most. With the RTT
 * before the destination no candidates would be needed, but few training contexts have that order, so the
 * answers are worse.
 *
 * @module
 */
import { UserError } from "../../base/errors.ts";
import { formatAddress } from "../../data/addresses/ip.ts";
import { formatPrefix, type IpPrefix, prefixOfAddress } from "../../data/addresses/ip_prefix.ts";
import { encodeRttCode } from "../../data/tokens/rtt_code.ts";
import {
  BYTE_BASE,
  DST_IPV4,
  DST_IPV6,
  FAILED,
  RTT_START,
  type TokenMeasurement,
  VOCAB_SIZE,
} from "../../data/tokens/vocab_v2.ts";
import { groupsOf } from "../model_decoders.ts";
import { rowOf } from "../decoder_rows.ts";
import type { PingModel } from "../ping_model.ts";
import { requirePossible } from "../possible.ts";
import { encodeQuery, type RttQuery } from "../query_tokens.ts";
import { type AddressDrawOptions, drawSources } from "../rtt/prefix_query.ts";
import { failureProbability, rangeMass } from "../rtt/rtt_bytes.ts";
import { type Candidate, candidatesOf, NODES_AT_ONCE } from "./candidates.ts";

/** A question for destinations. They have the source's IP version. */
export interface DestinationQuery {
  /** Source address, 4 or 16 bytes. */
  source: Uint8Array;
  /** Lowest and highest RTT, ms, inclusive; twice the same for a single RTT code; null for no reply. */
  rttMs: readonly [lowMs: number, highMs: number] | null;
  /** Unix seconds; null for any time. */
  timeS: number | null;
  /** Earlier measurements, oldest first. The newest that fit in the model's sequence are used. */
  context: readonly TokenMeasurement[];
}

/** The lowest and highest RTT code of a range. @throws {UserError} If the range is invalid. */
export function codeRangeOf(
  [lowMs, highMs]: readonly [lowMs: number, highMs: number],
): readonly [low: number, high: number] {
  if (!(lowMs >= 0 && lowMs <= highMs && highMs < Infinity)) {
    throw new UserError(
      `Cannot ask for destinations at an RTT of ${lowMs}..${highMs} ms: expected two numbers of at least 0, the lower first`,
    );
  }
  return [encodeRttCode(lowMs), encodeRttCode(highMs)];
}

/** Validates a prefix length. @throws {UserError} If it is invalid for the source's IP version. */
export function prefixLengthOf(
  { source }: Pick<DestinationQuery, "source">,
  length: number | undefined,
): number {
  const numBits = 8 * source.length;
  if (length === undefined) return numBits;
  if (Number.isInteger(length) && length >= 0 && length <= numBits) return length;
  throw new UserError(
    `Cannot ask for prefixes of ${length} bits: expected 0 to ${numBits} for the destinations of an IPv${
      numBits === 32 ? 4 : 6
    } source`,
  );
}

interface LikelyDestination {
  /** A whole address unless `prefixLength` is set. */
  readonly prefix: IpPrefix;
  /** P(destination in the prefix | source, RTT, time, context, the destination is a candidate). */
  readonly probability: number;
}

export interface RankedDestinations {
  /** Most probable first. */
  readonly destinations: readonly LikelyDestination[];
  /** Probability of the candidates that are not listed. */
  readonly unlistedProbability: number;
  /** Number of destinations ranked. */
  readonly candidates: number;
  /** P(the destination is a candidate | source, context), not given the RTT. */
  readonly priorMass: number;
}

interface RankOptions {
  /** Whether an address is an admissible destination (default: all are). */
  isWithin?: ((address: Uint8Array) => boolean) | undefined;
  /** Maximum number of destinations to rank, in addition to the source's known ones (256). */
  numCandidates?: number;
  /** Number of destinations to list (20). */
  top?: number;
  /** Length of the prefixes to list, bits; each sums its candidates (default: whole addresses). */
  prefixLength?: number | undefined;
  /** Number of expanded nodes after which the search for probable destinations ends (512). */
  maxExpansions?: number;
  /** Called with the number of nodes expanded. */
  onSearch?: (numExpanded: number) => void;
  /** Called with the number of questions answered. */
  onProgress?: (done: number) => void;
  signal?: AbortSignal | undefined;
}

/**
 * Ranks destinations for many questions at once.
 *
 * @param queries All of one IP version.
 * @throws {UserError} If an RTT or the prefix length is invalid, or a query does not fit the model's
 *   sequence.
 */
export async function rankDestinations(
  model: PingModel,
  queries: readonly DestinationQuery[],
  options: RankOptions = {},
): Promise<RankedDestinations[]> {
  const ranked: RankedDestinations[] = [];
  await weigh(model, queries, options, (candidates) => {
    ranked.push(rank(candidates, queries[0], options));
    options.onProgress?.(ranked.length);
  });
  return ranked;
}

/** A question for the destinations of a source that may be a prefix or a place. */
interface PrefixDestinationQuery extends Omit<DestinationQuery, "source"> {
  /** The source, or the prefix that contains it. */
  readonly source: IpPrefix;
}

/** Small because every drawn source takes as long as a separate question. */
const DEFAULT_NUM_SOURCES = 8;

/**
 * Ranks the destinations of sources that the model draws within a prefix or place. Each destination's weight
 * is its mean over the draws.
 *
 * @throws {UserError} See {@link rankDestinations}.
 */
export async function rankDestinationsFrom(
  model: PingModel,
  query: PrefixDestinationQuery,
  { numDraws = DEFAULT_NUM_SOURCES, seed = 0, ...options }: RankOptions & Partial<AddressDrawOptions> = {},
): Promise<RankedDestinations> {
  const sources = await drawSources(model, query, { numDraws, seed });
  const total = sources.reduce((sum, { count }) => sum + count, 0);
  const merged = new Map<string, WeighedCandidate>();
  let numDone = 0;
  await weigh(model, sources.map(({ source }) => ({ ...query, source })), options, (candidates) => {
    const share = sources[numDone++].count / total;
    for (const { address, prior, weight } of candidates) {
      const key = formatAddress(address);
      const known = merged.get(key);
      merged.set(key, {
        address,
        prior: (known?.prior ?? 0) + share * prior,
        weight: (known?.weight ?? 0) + share * weight,
      });
    }
    options.onProgress?.(numDone);
  });
  return rank([...merged.values()], { source: query.source.bytes }, options);
}

/** A destination whose weight is its prior times the probability of the result. */
interface WeighedCandidate extends Candidate {
  readonly weight: number;
}

/** Number of candidates, and of nodes expanded in search of them. */
export const SEARCH_LIMITS = { numCandidates: 256, maxExpansions: 512 } as const;

/** Weighs the candidates of many questions. @param take Receives those of each question, in order. */
async function weigh(
  model: PingModel,
  queries: readonly DestinationQuery[],
  { prefixLength, onSearch, isWithin, signal, ...limits }: RankOptions,
  take: (candidates: WeighedCandidate[]) => void,
): Promise<void> {
  const asked = queries.map((query) => askedOf(query, model.config.sequenceLength));
  queries.forEach((query) => prefixLengthOf(query, prefixLength));
  const prompts = asked.map(({ prompt }) => prompt);
  let first = 0;
  for (const group of groupsOf(prompts, model.decoders.continuationExtent, { numChildren: NODES_AT_ONCE })) {
    const ofGroup = asked.slice(first, first += group.length);
    const chosen = { ...SEARCH_LIMITS, ...limits, onSearch, isWithin, signal };
    const candidates = await candidatesOf(model, ofGroup, chosen);
    for (const [i, each] of ofGroup.entries()) {
      const likelihoods = await resultProbabilities(model, { ...each, candidates: candidates[i], signal });
      take(candidates[i].map((candidate, c) => ({ ...candidate, weight: candidate.prior * likelihoods[c] })));
    }
  }
}

interface Asked extends ReturnType<typeof promptOf<DestinationQuery>> {
  /** Lowest and highest RTT code; null for no reply. */
  readonly codes: readonly [low: number, high: number] | null;
}

function askedOf(query: DestinationQuery, sequenceLength: number): Asked {
  const codes = query.rttMs && codeRangeOf(query.rttMs);
  return { ...promptOf(query, sequenceLength), codes };
}

/** The tokens before a destination's bytes, and the tokens between them and the result. */
export function promptOf<Q extends Omit<RttQuery, "destination">>(query: Q, sequenceLength: number) {
  const { source } = query;
  const whole = encodeQuery({ ...query, destination: source }, sequenceLength);
  const start = whole.lastIndexOf(source.length === 4 ? DST_IPV4 : DST_IPV6) + 1;
  return { query, prompt: whole.slice(0, start), time: [...whole.subarray(start + source.length)] };
}

/** P(result | source, destination, time, context) for each candidate. */
async function resultProbabilities(
  model: PingModel,
  { query, prompt, candidates, time, codes, signal }: Asked & {
    candidates: readonly Candidate[];
    signal: AbortSignal | undefined;
  },
): Promise<number[]> {
  const results = resultsOf(codes);
  const continuations = candidates.flatMap(({ address }) =>
    results.map((result) =>
      Uint16Array.of(...Array.from(address, (byte) => BYTE_BASE + byte), ...time, ...result)
    )
  );
  const start = query.source.length + time.length;
  const numRows = results[0].length;
  const read = model.gpu.array(continuations.length * numRows * VOCAB_SIZE);
  const rowAt = (continuation: number, row: number) => rowOf(read, continuation * numRows + row);
  await model.decoders.visitContinuations([{ prompt, continuations }], (logP, continuation, depth) => {
    signal?.throwIfAborted();
    if (depth >= start) rowAt(continuation, depth - start).set(logP);
  });
  const probabilities = candidates.map((_, candidate) => {
    const low = results.length * candidate;
    const high = low + results.length - 1;
    const pool = model.pooled({ ...query, destination: candidates[candidate].address });
    const pFailed = failureProbability(rowAt(low, 0), pool);
    if (!codes) return pFailed;
    const given = { first: rowAt(low, 1), ofLow: rowAt(low, 2), ofHigh: rowAt(high, 2) };
    const mass = rangeMass(codes, given, pool);
    return (1 - pFailed) * (model.calibration?.massOf(mass) ?? mass.within);
  });
  model.gpu.recycle(read);
  return probabilities;
}

/** The result tokens to read probabilities at; for a range, one path per first byte of its two ends. */
function resultsOf(codes: Asked["codes"]): number[][] {
  if (!codes) return [[FAILED]];
  const firsts = new Set(codes.map((code) => code >> 8));
  return Array.from(firsts, (byte) => [RTT_START, BYTE_BASE + byte, BYTE_BASE]);
}

function rank(
  candidates: readonly WeighedCandidate[],
  { source }: Pick<DestinationQuery, "source">,
  { top = 20, prefixLength }: RankOptions,
): RankedDestinations {
  if (candidates.length === 0) {
    throw new UserError(
      "Cannot rank destinations: no candidate is within the requested place; use a larger place, or more " +
        "candidates or expansions",
    );
  }
  const length = prefixLengthOf({ source }, prefixLength);
  const total = candidates.reduce((sum, { weight }) => sum + weight, 0);
  const prefixes = new Map<string, LikelyDestination>();
  candidates.forEach(({ address, weight }) => {
    const prefix = prefixOfAddress(address, length);
    const key = formatPrefix(prefix);
    // If the RTT is impossible for all candidates, they are equally likely.
    const share = total > 0 ? weight / total : 1 / candidates.length;
    prefixes.set(key, { prefix, probability: (prefixes.get(key)?.probability ?? 0) + share });
  });
  const destinations = [...prefixes.values()].sort((a, b) => b.probability - a.probability).slice(0, top);
  const listed = destinations.reduce((sum, { probability }) => sum + probability, 0);
  return {
    destinations,
    unlistedProbability: Math.max(0, 1 - listed),
    candidates: candidates.length,
    priorMass: candidates.reduce((sum, { prior }) => sum + requirePossible("P(destination)", prior), 0),
  };
}
