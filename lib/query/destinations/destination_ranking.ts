/**
 * The most probable destinations given a source and an RTT, by Bayes' rule: candidates are weighed by
 *
 *     P(RTT in the range | source, destination, time, context) P(destination | source, context)
 *
 * and their weights sum to 1. The first factor is the answer of `query rtt`, with its quantile calibration: the sum of the
 * exact distribution over all codes of the range, or P(no reply). The second is the prior of `candidates.ts`; it sums to 1
 * over all addresses, so the sum over the candidates says how much of the prior the answer covers. An address that is not a
 * candidate cannot be listed.
 *
 * All of it is asked in the order of queries, destination before RTT, which models are trained on most. The order RTT before
 * destination would need no candidates, but a small share of the training contexts has it, so its answers are worse.
 *
 * @module
 */
import * as z from "zod";
import { formatPrefix, type IpPrefix, prefixOfAddress } from "../../data/addresses/ip_prefix.ts";
import { measuredBy, seenJson, seenSchema } from "../../data/addresses/known_addresses.ts";
import { BYTE_BASE, DST_IPV4, DST_IPV6, FAILED, RTT_START, VOCAB_SIZE } from "../../data/tokens/vocab_v2.ts";
import { groupsOf } from "../decoder_extent.ts";
import { rowOf } from "../decoder_rows.ts";
import type { PingModel } from "../ping_model.ts";
import { encodeQuery } from "../query_tokens.ts";
import { failureProbability, rangeMass } from "../rtt/rtt_bytes.ts";
import { type Candidate, candidatesOf, NODES_AT_ONCE, type Prompted } from "./candidates.ts";
import { codeRangeOf, type DestinationQuery, prefixLengthOf } from "./destination_query.ts";

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

/** The answer to one question in JSON. */
export const destinationsSchema = z.object({
  destinations: z.array(z.object({
    prefix: z.string(),
    name: z.string().optional().describe("of the prefix, if it has one"),
    probability: z.number(),
    measured: seenSchema.nullable()
      .describe("by the source, in the training data; null if the model does not say what these were"),
  })).describe("the most probable first"),
  unlistedProbability: z.number().describe("that of the candidates that are not listed"),
  candidates: z.int().describe("how many destinations were ranked"),
  priorMass: z.number()
    .describe("the probability of all candidates before the RTT was known; others cannot be listed"),
});

/** The answer to one question in JSON. @param source The question's. */
export function destinationsJson(
  { destinations, ...numbers }: RankedDestinations,
  source: Uint8Array,
  { trainingData, names }: Pick<PingModel, "trainingData" | "names">,
): z.infer<typeof destinationsSchema> {
  const listed = destinations.map(({ prefix, probability }) => ({
    prefix: formatPrefix(prefix),
    ...names.named(formatPrefix(prefix)),
    probability,
    measured: trainingData ? seenJson(measuredBy(trainingData, source, prefix)) : null,
  }));
  return { destinations: listed, ...numbers };
}

/** Options of a ranking. */
export interface RankOptions {
  /** How many destinations are ranked at most, besides the known ones of the source (256). */
  numCandidates?: number;
  /** How many of them are listed (20). */
  top?: number;
  /** Bits of the prefixes that are listed, each with the probability of the candidates in it (those of an address). */
  prefixLength?: number | undefined;
  /** After how many expanded nodes the search for the most probable destinations ends (512). */
  maxExpansions?: number;
  /** Called with the number of nodes that were expanded for the questions at hand. */
  onSearch?: (numExpanded: number) => void;
  /** Called with the number of questions done. */
  onProgress?: (done: number) => void;
  /** Ends the work. */
  signal?: AbortSignal | undefined;
}

/**
 * Ranks destinations, many questions at once.
 *
 * @param queries All of one IP version.
 * @throws {UserError} If an RTT or the prefix length is invalid, or a query does not fit the model's sequence.
 */
export async function rankDestinations(
  model: PingModel,
  queries: readonly DestinationQuery[],
  options: RankOptions = {},
): Promise<RankedDestinations[]> {
  const { numCandidates = 256, top = 20, maxExpansions = 512, onSearch, onProgress, signal } = options;
  const asked = queries.map((query) => askedOf(query, model.config.sequenceLength));
  const prompts = asked.map(({ prompt }) => prompt);
  const ranked: RankedDestinations[] = [];
  for (const group of groupsOf(prompts, model.decoders.continuationExtent, { numChildren: NODES_AT_ONCE })) {
    const prefixLength = prefixLengthOf(queries[0], options.prefixLength);
    const ofGroup = asked.slice(ranked.length, ranked.length + group.length);
    const candidates = await candidatesOf(model, ofGroup, { numCandidates, maxExpansions, onSearch, signal });
    for (const [i, each] of ofGroup.entries()) {
      const likelihoods = await resultProbabilities(model, { ...each, candidates: candidates[i], signal });
      ranked.push(rank(candidates[i], likelihoods, { top, prefixLength }));
      onProgress?.(ranked.length);
    }
  }
  return ranked;
}

/** A question as tokens. */
interface Asked extends Prompted {
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

/**
 * The probability of the result after each candidate, which are read after the prompt with the time and the result.
 *
 * @returns P(result | source, destination, time, context) of each.
 */
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
    const pFailed = failureProbability(rowAt(low, 0));
    if (!codes) return pFailed;
    const { address } = candidates[candidate];
    const given = { first: rowAt(low, 1), ofLow: rowAt(low, 2), ofHigh: rowAt(high, 2) };
    const mass = rangeMass(codes, given, model.pooled({ ...query, destination: address }));
    return (1 - pFailed) * (model.calibration?.massOf(mass) ?? mass.within);
  });
  model.gpu.recycle(read);
  return probabilities;
}

/** The tokens before which the result's probabilities are asked for; of a range those of its ends' first bytes. */
function resultsOf(codes: Asked["codes"]): number[][] {
  if (!codes) return [[FAILED]];
  const firsts = new Set(codes.map((code) => code >> 8));
  return Array.from(firsts, (byte) => [RTT_START, BYTE_BASE + byte, BYTE_BASE]);
}

function rank(
  candidates: readonly Candidate[],
  likelihoods: readonly number[],
  { top, prefixLength }: { top: number; prefixLength: number },
): RankedDestinations {
  const weights = candidates.map(({ prior }, i) => prior * likelihoods[i]);
  const total = weights.reduce((a, b) => a + b, 0);
  const prefixes = new Map<string, LikelyDestination>();
  candidates.forEach(({ address }, i) => {
    const prefix = prefixOfAddress(address, prefixLength);
    const key = formatPrefix(prefix);
    // Where no candidate can have the RTT, none is likelier than another.
    const share = total > 0 ? weights[i] / total : 1 / candidates.length;
    prefixes.set(key, { prefix, probability: (prefixes.get(key)?.probability ?? 0) + share });
  });
  const destinations = [...prefixes.values()].sort((a, b) => b.probability - a.probability).slice(0, top);
  const listed = destinations.reduce((sum, { probability }) => sum + probability, 0);
  return {
    destinations,
    unlistedProbability: Math.max(0, 1 - listed),
    candidates: candidates.length,
    priorMass: candidates.reduce((sum, { prior }) => sum + prior, 0),
  };
}
