/**
 * The most probable destinations given a source and an RTT, by Bayes' rule: candidates are weighed by
 *
 *     P(RTT in the range | source, destination, time, context) P(destination | source, context)
 *
 * and their weights are normalised. The first factor is the answer of `query rtt`, with its quantile
 * calibration. The second is the prior of `candidates.ts`; its sum over the candidates says how much of the
 * prior the answer covers. An address that is not a candidate cannot be listed.
 *
 * Everything is asked in the order of queries, destination before RTT, on which models are trained most. RTT
 * before destination would need no candidates, but few training contexts have that order, so its answers are
 * worse.
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
import { encodeQuery } from "../query_tokens.ts";
import { type AddressDrawOptions, drawSources } from "../rtt/prefix_query.ts";
import { failureProbability, rangeMass } from "../rtt/rtt_bytes.ts";
import { type Candidate, candidatesOf, NODES_AT_ONCE, type Prompted } from "./candidates.ts";

/** A question for destinations; they are of the source's IP version. */
export interface DestinationQuery {
  /** Source address, 4 or 16 bytes. */
  source: Uint8Array;
  /** The least and the greatest RTT, ms, both included; the same twice for one RTT code; null: no reply came. */
  rttMs: readonly [lowMs: number, highMs: number] | null;
  /** When, Unix seconds, or null for any time. */
  timeS: number | null;
  /** Measurements made before, oldest first; the newest that fit the model's sequence are used. */
  context: readonly TokenMeasurement[];
}

/** The RTT codes of a range: the least and the greatest. @throws {UserError} If it is no range. */
export function codeRangeOf(
  [lowMs, highMs]: readonly [lowMs: number, highMs: number],
): readonly [low: number, high: number] {
  if (!(lowMs >= 0 && lowMs <= highMs && highMs < Infinity)) {
    throw new UserError(
      `Cannot ask for destinations at an RTT of ${lowMs}..${highMs} ms: expected 0 or more, the lesser first`,
    );
  }
  return [encodeRttCode(lowMs), encodeRttCode(highMs)];
}

/** The prefix length of a question. @throws {UserError} If it is invalid for the source's IP version. */
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

/** A prefix that destinations may have. */
export interface LikelyDestination {
  /** The prefix; a whole address without `prefixLength`. */
  readonly prefix: IpPrefix;
  /** P(destination in the prefix | source, RTT, time, context, the destination is a candidate). */
  readonly probability: number;
}

/** The answer to one question. */
export interface RankedDestinations {
  /** The most probable first. */
  readonly destinations: readonly LikelyDestination[];
  /** The probability of the candidates that are not listed. */
  readonly unlistedProbability: number;
  /** How many destinations were ranked. */
  readonly candidates: number;
  /** P(the destination is a candidate | source, context), before the RTT is known. */
  readonly priorMass: number;
}

/** Options of a ranking. */
export interface RankOptions {
  /** Whether an address may be a destination (all may). */
  isWithin?: ((address: Uint8Array) => boolean) | undefined;
  /** The most destinations that are ranked, in addition to the known ones of the source (256). */
  numCandidates?: number;
  /** The number that is listed (20). */
  top?: number;
  /** Bits of the prefixes that are listed, each with the probability of the candidates in it (those of an address). */
  prefixLength?: number | undefined;
  /** The number of expanded nodes after which the search for likely destinations ends (512). */
  maxExpansions?: number;
  /** Called with the number of expanded nodes. */
  onSearch?: (numExpanded: number) => void;
  /** Called with the number of questions done. */
  onProgress?: (done: number) => void;
  /** Ends the work. */
  signal?: AbortSignal | undefined;
}

/**
 * Ranks destinations, many questions at once. @param queries All of one IP version.
 *
 * @throws {UserError} If an RTT or the prefix length is invalid, or a query does not fit the model's sequence.
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

/** A question for destinations of a source that may be a prefix or a place. */
export interface PrefixDestinationQuery extends Omit<DestinationQuery, "source"> {
  /** The source, or where it lies. */
  readonly source: IpPrefix;
}

/** Each source of a place takes as long as a question of its own. */
const DEFAULT_NUM_SOURCES = 8;

/**
 * Ranks destinations of a source that is drawn from the model within its prefix or place: by the means of their
 * weights over the draws.
 *
 * @throws {UserError} As {@link rankDestinations}.
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

/** A destination with its prior times the probability of the result. */
interface WeighedCandidate extends Candidate {
  readonly weight: number;
}

/** Weighs the candidates of many questions. @param take Gets those of each, in order. */
async function weigh(
  model: PingModel,
  queries: readonly DestinationQuery[],
  { numCandidates = 256, maxExpansions = 512, prefixLength, onSearch, isWithin, signal }: RankOptions,
  take: (candidates: WeighedCandidate[]) => void,
): Promise<void> {
  const asked = queries.map((query) => askedOf(query, model.config.sequenceLength));
  queries.forEach((query) => prefixLengthOf(query, prefixLength));
  const prompts = asked.map(({ prompt }) => prompt);
  let first = 0;
  for (const group of groupsOf(prompts, model.decoders.continuationExtent, { numChildren: NODES_AT_ONCE })) {
    const ofGroup = asked.slice(first, first += group.length);
    const chosen = { numCandidates, maxExpansions, onSearch, isWithin, signal };
    const candidates = await candidatesOf(model, ofGroup, chosen);
    for (const [i, each] of ofGroup.entries()) {
      const likelihoods = await resultProbabilities(model, { ...each, candidates: candidates[i], signal });
      take(candidates[i].map((candidate, c) => ({ ...candidate, weight: candidate.prior * likelihoods[c] })));
    }
  }
}

interface Asked extends Prompted {
  readonly query: DestinationQuery;
  /** The tokens between the destination's bytes and the result. */
  readonly time: readonly number[];
  /** The least and the greatest RTT code; null: no reply came. */
  readonly codes: readonly [low: number, high: number] | null;
}

function askedOf(query: DestinationQuery, sequenceLength: number): Asked {
  const { source, rttMs, timeS, context } = query;
  const codes = rttMs && codeRangeOf(rttMs);
  const whole = encodeQuery({ source, destination: source, timeS, context }, sequenceLength);
  const start = whole.lastIndexOf(source.length === 4 ? DST_IPV4 : DST_IPV6) + 1;
  return { query, codes, prompt: whole.slice(0, start), time: [...whole.subarray(start + source.length)] };
}

/** P(result | source, destination, time, context) of each candidate. */
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

/** The tokens before which the result's probabilities are read; of a range those of the first bytes of its ends. */
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
      "Cannot rank destinations: found none within the place that was asked for; use a larger place, or more " +
        "candidates or expansions",
    );
  }
  const length = prefixLengthOf({ source }, prefixLength);
  const total = candidates.reduce((sum, { weight }) => sum + weight, 0);
  const prefixes = new Map<string, LikelyDestination>();
  candidates.forEach(({ address, weight }) => {
    const prefix = prefixOfAddress(address, length);
    const key = formatPrefix(prefix);
    // If no candidate can have the RTT, all are equally likely.
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
