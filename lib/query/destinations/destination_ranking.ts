/**
 * Destinations by Bayes' rule: the most probable destinations of a source, ranked by how probable each of them makes
 * the result, P(destination | source) P(time, result | source, destination). The result is an RTT code, a range of RTTs
 * or no reply.
 *
 * It asks the model in the order of queries, destination before result. A model that was trained mostly in that order
 * knows it far better than the order of the direct search (destinations.ts), which is exact over all addresses where
 * this one looks at some; were the model's joint distribution the same in all orders, they would agree.
 *
 * @module
 */
import { formatPrefix, prefixOfAddress } from "../../addresses/ip_prefix.ts";
import { BYTE_BASE, DST_IPV4, DST_IPV6, QUERY_ORDER, type TokenMeasurement } from "../../tokens/vocab_v2.ts";
import { walkOn } from "./byte_walks.ts";
import { groupsOf } from "../decoder_extent.ts";
import { codesOf, type DestinationQuery } from "./destination_prompt.ts";
import { type LikelyDestination, listed, prefixLengthOf } from "./destinations.ts";
import { maxNodes, PrefixSearch } from "./prefix_tree.ts";
import type { PingModel } from "../ping_model.ts";
import { encodeMeasurement, encodeQuery } from "../query_tokens.ts";

/** Nodes of a search that are looked into at once. */
const NODES_AT_ONCE = 16;

/** The answer to one question. */
export interface RankedDestinations {
  /** The most probable candidates first; `probability` is among all candidates. */
  readonly destinations: readonly LikelyDestination[];
  /** The probability of the candidates that are not listed, among all candidates. */
  readonly unlistedProbability: number;
  /** How many destinations were ranked. */
  readonly candidates: number;
  /** P(the destination is a candidate | source, context), before the result is known. */
  readonly priorMass: number;
}

/** What a ranking may take. */
export interface RankOptions {
  /** How many destinations of each question are ranked. */
  numCandidates: number;
  /** How many of them are listed (all). */
  top?: number;
  /** Bits of the prefixes that are listed, each with the probability of the candidates in it (those of an address). */
  prefixLength?: number | undefined;
  /** After how many expanded nodes the search for them ends, whether or not they are the likeliest (512; 2 GiB of them). */
  maxExpansions?: number;
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
  options: RankOptions,
): Promise<RankedDestinations[]> {
  const { numCandidates, top = numCandidates, maxExpansions = 512, onProgress, signal } = options;
  const asked = queries.map((query) => askedOf(query, model.config.sequenceLength));
  const prompts = asked.map(({ prompt }) => prompt);
  const ranked: RankedDestinations[] = [];
  for (const group of groupsOf(prompts, model.decoders.continuationExtent, NODES_AT_ONCE)) {
    signal?.throwIfAborted();
    const prefixLength = prefixLengthOf(queries[0], options.prefixLength);
    const numBits = 8 * queries[0].source.length;
    const found = await candidatesOf(model, group, { numCandidates, maxExpansions, numBits, signal });
    const ofGroup = asked.slice(ranked.length, ranked.length + group.length);
    const logP = await model.decoders.continuationLogProbabilities(ofGroup.map(({ prompt, tail }, i) => ({
      prompt,
      continuations: found[i].map(({ address }) =>
        Uint16Array.from([...Array.from(address, (byte) => BYTE_BASE + byte), ...tail])
      ),
    })));
    let first = 0;
    for (const [i, candidates] of found.entries()) {
      const joint = logP.slice(first, first += candidates.length).map((nats) =>
        nats.reduce((a, b) => a + b, 0)
      );
      const { rangeMs } = ofGroup[i];
      if (rangeMs) {
        const query = { ...queries[ranked.length], rangeMs };
        const inRange = await rangeProbabilities(model, query, { candidates, signal });
        inRange.forEach((probability, place) => joint[place] += Math.log(probability));
      }
      ranked.push(rank(candidates, joint, { top, prefixLength }));
    }
    onProgress?.(ranked.length);
  }
  return ranked;
}

interface Candidate {
  readonly address: Uint8Array;
  readonly prior: number;
}

/** The most probable destinations behind each prompt, before any result. */
async function candidatesOf(
  model: PingModel,
  prompts: readonly Uint16Array[],
  options: Pick<RankOptions, "numCandidates" | "signal"> & { maxExpansions: number; numBits: number },
): Promise<Candidate[][]> {
  const { numCandidates, maxExpansions, numBits, signal } = options;
  const searches = prompts.map(() =>
    new PrefixSearch(Float64Array.of(1), { prefixLength: numBits, top: numCandidates })
  );
  const walks = searches.map((tree) => [{ tree, tails: [[]] }]);
  const fitting = maxNodes({ numComponents: 1, top: numCandidates }) / prompts.length;
  await model.decoders.continuePrompts(prompts, async (decoder, ends) => {
    for (let numTaken = 0; numTaken < Math.min(maxExpansions, fitting); numTaken += NODES_AT_ONCE) {
      if (await walkOn({ decoder, ends, walks }, NODES_AT_ONCE) === 0) break;
      signal?.throwIfAborted();
    }
  });
  return searches.map(({ found }) =>
    found.map(({ bytes, mass }) => ({ address: Uint8Array.from(bytes), prior: mass }))
  );
}

/** P(RTT in the range, a reply came | source, candidate, time, context) of each candidate, as `query rtt` has it. */
async function rangeProbabilities(
  model: PingModel,
  { source, rangeMs: [lowMs, highMs], timeS, context }: DestinationQuery & { rangeMs: readonly number[] },
  { candidates, signal }: { candidates: readonly Candidate[]; signal: AbortSignal | undefined },
): Promise<number[]> {
  const inRange: number[] = [];
  const asked = candidates.map(({ address }) => ({ source, destination: address, timeS, context }));
  await model.likelyRttDistributions(asked, (rtts) => {
    signal?.throwIfAborted();
    const ofRange = rtts.probabilities.subarray(rtts.indexOf(lowMs), rtts.indexOf(highMs) + 1);
    inRange.push((1 - rtts.pFailed) * ofRange.reduce((sum, p) => sum + p, 0));
  });
  return inRange;
}

/** @param joint log P of each candidate with the time and the result, nats; -Infinity for an impossible one. */
function rank(
  candidates: readonly Candidate[],
  joint: readonly number[],
  { top, prefixLength }: { top: number; prefixLength: number },
): RankedDestinations {
  const most = Math.max(...joint);
  // Where no candidate can have the RTT, none is likelier than another.
  const weights = joint.map((nats) => most === -Infinity ? 1 : Math.exp(nats - most));
  const total = weights.reduce((a, b) => a + b, 0);
  const prefixes = new Map<string, LikelyDestination>();
  candidates.forEach(({ address }, i) => {
    const prefix = prefixOfAddress(address, prefixLength);
    const key = formatPrefix(prefix);
    const probability = (prefixes.get(key)?.probability ?? 0) + weights[i] / total;
    prefixes.set(key, { prefix, probability, standardError: 0 });
  });
  const ranked = [...prefixes.values()].sort((a, b) => b.probability - a.probability);
  return {
    ...listed(ranked.slice(0, top)),
    candidates: candidates.length,
    priorMass: candidates.reduce((sum, { prior }) => sum + prior, 0),
  };
}

/** The tokens of a question up to the destination's bytes, and those after them; of a range without the result. */
function askedOf(
  query: DestinationQuery,
  sequenceLength: number,
): { rangeMs: DestinationQuery["rttMs"]; prompt: Uint16Array; tail: readonly number[] } {
  const codes = codesOf(query);
  const rangeMs = codes.length > 1 ? query.rttMs : null;
  const { source, timeS, context } = query;
  const measurement: TokenMeasurement = { source, destination: source, rttCode: codes[0], timeS };
  const whole = rangeMs
    ? encodeQuery({ source, destination: source, timeS, context }, sequenceLength)
    : encodeMeasurement(measurement, { context, order: QUERY_ORDER, sequenceLength });
  const start = whole.lastIndexOf(source.length === 4 ? DST_IPV4 : DST_IPV6) + 1;
  return { rangeMs, prompt: whole.slice(0, start), tail: [...whole.subarray(start + source.length)] };
}
