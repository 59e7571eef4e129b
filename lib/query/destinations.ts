/**
 * The most probable destinations given a source and an RTT or a range of RTTs: P(destination | source, RTT, time,
 * context), searched best first with exact masses, or drawn.
 *
 * The model's mass on what is no byte of an address is left out. A range of more RTT codes than wanted is stood
 * for by some of them (code_mixture.ts) in the search; draws take every code.
 *
 * @module
 */
import { UserError } from "../errors.ts";
import type { ModelConfig } from "../model/model_config.ts";
import type { DecoderExtent } from "../model/decoder_buffers.ts";
import type { IpPrefix } from "../addresses/ip_prefix.ts";
import { type Continuation, walkOn } from "./byte_walks.ts";
import {
  codeProbabilities,
  codesOf,
  type DestinationQuery,
  encodeDestinationPrompt,
  type ReadPrompt,
  tailsOf,
} from "./destination_prompt.ts";
import { type FoundPrefix, maxNodes, PrefixSearch } from "./prefix_tree.ts";
import { certainMixture, type CodeMixture, mixtureError, rangeMixture } from "./code_mixture.ts";

/**
 * Nodes that are looked into at once; ASSUMPTION that more would often be in vain, the answer being that of 20 or
 * so prefixes.
 */
const NODES_AT_ONCE = 64;

/** A model whose prompts can be continued; a `PingModel` is one. */
export interface ContinuingModel {
  /** Its extents. */
  readonly config: ModelConfig;
  /** How many tokens of prompts and rows it holds. */
  readonly continuationExtent: DecoderExtent;
  /** See `PingModel.continuePrompts`. */
  continuePrompts(
    prompts: readonly Uint16Array[],
    work: (decoder: Continuation, ends: Float32Array) => Promise<void>,
  ): Promise<void>;
}

/** What a search may take. */
export interface DestinationOptions {
  /** How many prefixes are wanted (20). */
  top?: number;
  /** Bits of the prefixes (those of an address). */
  prefixLength?: number | undefined;
  /** How many codes a range of RTTs is stood for by, at most (32). */
  maxCodes?: number;
  /** After how many expanded nodes to end without a proof (4,096), at the latest when they take 2 GiB: 2 kB for every code. */
  maxExpansions?: number;
  /** Ends the search. */
  signal?: AbortSignal | undefined;
  /** Told how many nodes are expanded. */
  onProgress?: (numExpanded: number) => void;
}

/** A prefix that destinations may have. */
export interface LikelyDestination {
  /** It; as long as the address where addresses were asked for. */
  readonly prefix: IpPrefix;
  /** P(destination in the prefix | source, RTT, time, context). */
  readonly probability: number;
  /** Standard error of the probability: of the codes that stand for a range, or of drawing; 0 if it is exact. */
  readonly standardError: number;
}

/** The answer of {@link likelyDestinations}. */
export interface LikelyDestinations {
  /** The most probable first. */
  readonly destinations: readonly LikelyDestination[];
  /** The probability of all prefixes that are not listed. */
  readonly unlistedProbability: number;
  /** No prefix that is not listed is more probable than this, by the codes that were used. */
  readonly unlistedAtMost: number;
  /** Whether nothing unlisted is more probable than what is listed; false if the search ended before it was known. */
  readonly isProven: boolean;
  /** How many nodes of the tree were expanded. */
  readonly numExpanded: number;
  /** How many RTT codes the query has, and how many stood for them. */
  readonly codes: { readonly inRange: number; readonly used: number };
}

/**
 * Searches the most probable destinations.
 *
 * @throws {UserError} If the RTT or the prefix length is none, or the query does not fit the model's sequence.
 */
export async function likelyDestinations(
  model: ContinuingModel,
  query: DestinationQuery,
  options: DestinationOptions = {},
): Promise<LikelyDestinations> {
  const { top = 20, maxCodes = 32, maxExpansions = 4096, signal, onProgress } = options;
  const prefixLength = prefixLengthOf(query, options.prefixLength);
  return await readPrompt(model, query, async (prompt) => {
    const mixture = await mixtureOf(query, prompt, maxCodes);
    const search = new PrefixSearch(mixture.weights, { prefixLength, top });
    const walk = { tree: search, tails: tailsOf(query, mixture.codes) };
    const prompts = { ...prompt, ends: prompt.end, walks: [[walk]] };
    const nodes = nodesAtOnce(model, mixture.codes.length);
    const most = Math.min(maxExpansions, maxNodes({ numComponents: mixture.codes.length, top }));
    while (search.numExpanded < most && await walkOn(prompts, nodes) > 0) {
      onProgress?.(search.numExpanded);
      signal?.throwIfAborted();
    }
    const { isProven, numExpanded, unfoundAtMost } = search;
    const describe = (found: FoundPrefix) => describeFound(found, { mixture, prefixLength, query });
    return {
      ...listed(search.found.map(describe)),
      ...{ isProven, numExpanded, unlistedAtMost: unfoundAtMost },
      codes: { inRange: codesOf(query).length, used: mixture.codes.length },
    };
  });
}

/** Destinations with the probability of all others. */
export function listed(
  destinations: readonly LikelyDestination[],
): Pick<LikelyDestinations, "destinations" | "unlistedProbability"> {
  const total = destinations.reduce((sum, { probability }) => sum + probability, 0);
  return { destinations, unlistedProbability: Math.max(0, 1 - total) };
}

/** The prefix length of a question. @throws {UserError} If it is none of the source's IP version. */
export function prefixLengthOf(
  { source }: Pick<DestinationQuery, "source">,
  length: number | undefined,
): number {
  const numBits = 8 * source.length;
  if (length === undefined) return numBits;
  if (Number.isInteger(length) && length >= 0 && length <= numBits) return length;
  throw new UserError(
    `Cannot ask for prefixes of ${length} bits: 0 to ${numBits} were wanted for the destinations of an IPv${
      numBits === 32 ? 4 : 6
    } source`,
  );
}

/** Reads the prompt of a query; nothing else is computed until `work` is done. */
export async function readPrompt<T>(
  model: ContinuingModel,
  query: DestinationQuery,
  work: (prompt: ReadPrompt) => Promise<T>,
): Promise<T> {
  const tokens = encodeDestinationPrompt(query, model.config.sequenceLength);
  const results: T[] = [];
  await model.continuePrompts([tokens], async (decoder, end) => {
    results.push(await work({ decoder, config: model.config, end }));
  });
  return results[0];
}

async function mixtureOf(
  query: DestinationQuery,
  prompt: ReadPrompt,
  maxCodes: number,
): Promise<CodeMixture> {
  const codes = codesOf(query);
  if (codes.length <= 1) return certainMixture(codes[0] ?? null);
  const rows = Math.min(maxCodes, 1024);
  return rangeMixture(codes, { probabilities: await codeProbabilities(query, prompt), maxCodes: rows });
}

function nodesAtOnce({ continuationExtent }: ContinuingModel, numCodes: number): number {
  return Math.max(1, Math.min(NODES_AT_ONCE, Math.floor(continuationExtent.maxRows / numCodes)));
}

function describeFound(
  { bytes, joint, mass }: FoundPrefix,
  asked: { mixture: CodeMixture; prefixLength: number; query: DestinationQuery },
): LikelyDestination {
  const address = new Uint8Array(asked.query.source.length);
  address.set(bytes);
  const prefix = { bytes: address, length: asked.prefixLength };
  return { prefix, probability: mass, standardError: mixtureError(asked.mixture, joint) };
}
