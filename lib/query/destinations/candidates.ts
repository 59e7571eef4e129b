/**
 * The destinations that a source may have measured, each with the prior of `source_prior.ts`: those known
 * from training, then the most probable others, taken from its neighbours, from all sources, and from a
 * search of the model.
 *
 * @module
 */
import { formatAddress } from "../../data/addresses/ip.ts";
import type { TrainingData } from "../../data/addresses/known_addresses.ts";
import { BYTE_BASE } from "../../data/tokens/vocab_v2.ts";
import { byteTokens } from "../draws.ts";
import type { PingModel } from "../ping_model.ts";
import type { RttQuery } from "../query_tokens.ts";
import { PrefixSearch } from "./prefix_tree.ts";
import { different, SourcePrior, tablesOf } from "./source_prior.ts";
import type { Decoder } from "../../model/decoder.ts";
import { branchRows, NO_TOKEN, rowOf } from "../decoder_rows.ts";
import { restricted } from "../rtt/rtt_bytes.ts";

/** Nodes expanded at once by a search. */
export const NODES_AT_ONCE = 16;

/** No candidates are added once their total prior reaches this. */
const ENOUGH_MASS = 0.999;

/** The model is not searched if the tabulated destinations have this much of the prior. */
const NO_SEARCH_MASS = 0.99;

const ANY_BYTE = byteTokens({ first: 0, last: 255 });

export interface Prompted {
  readonly query: Pick<RttQuery, "source" | "context">;
  readonly prompt: Uint16Array;
}

export interface Candidate {
  readonly address: Uint8Array;
  /** P(destination | source, context). */
  readonly prior: number;
}

export interface CandidateOptions {
  /** Maximum per question, in addition to the known destinations of its source. */
  readonly numCandidates: number;
  /** Number of expanded nodes after which the search ends. */
  readonly maxExpansions: number;
  readonly onSearch?: ((numExpanded: number) => void) | undefined;
  /** Whether an address is an admissible candidate (default: all are). */
  readonly isWithin?: ((address: Uint8Array) => boolean) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Chooses candidates: the destinations in the context and the known ones of the source (the 1,024 most
 * measured), then the most probable others, until all have {@link ENOUGH_MASS} together.
 *
 * @param asked All of one IP version, and no more than fit in the decoder with {@link NODES_AT_ONCE} rows
 *   each.
 */
export async function candidatesOf(
  model: PingModel,
  asked: readonly Prompted[],
  { numCandidates, maxExpansions, onSearch, isWithin = () => true, signal }: CandidateOptions,
): Promise<Candidate[][]> {
  const { decoders, trainingData } = model;
  const numBytes = asked[0].query.source.length;
  const measured = mostMeasured(trainingData, numBytes).filter(isWithin).slice(0, numCandidates);
  const priors = asked.map(({ query }) => new SourcePrior(trainingData, query));
  const listed = priors.map((prior) => {
    const others = different([...prior.ofNeighbours().filter(isWithin), ...measured]);
    return different([...prior.known, ...others.slice(0, numCandidates)]);
  });
  const logP = await decoders.continuationLogProbabilities(
    asked.map(({ prompt }, i) => ({
      prompt,
      continuations: listed[i].map((address) => Uint16Array.from(address, (byte) => BYTE_BASE + byte)),
    })),
    () => Array.from({ length: numBytes }, () => ANY_BYTE),
  );
  let first = 0;
  const chosen = listed.map((addresses, i) => {
    const ofPrompt = logP.slice(first, first += addresses.length);
    const ofModel = ofPrompt.map((ofBytes) => Math.exp(ofBytes.reduce((a, b) => a + b, 0)));
    const { known: { length } } = priors[i];
    const priorOf = priors[i].given(ofModel.slice(0, length));
    const candidates = addresses.map((address, place) => ({
      address,
      prior: priorOf(address, ofModel[place]),
    }));
    const known = candidates.slice(0, length).filter(({ address }) => isWithin(address));
    return { priorOf, known, others: candidates.slice(length) };
  });
  const isEnough = chosen.map(({ known, others }) => massOf([...known, ...others]) >= NO_SEARCH_MASS);
  const searches = chosen.map(({ known }, i) =>
    new PrefixSearch({ numBytes, top: isEnough[i] ? 0 : known.length + numCandidates })
  );
  if (!isEnough.every(Boolean)) {
    await decoders.continuePrompts(asked.map(({ prompt }) => prompt), async (decoder, ends) => {
      for (let numTaken = 0; numTaken < maxExpansions; numTaken += NODES_AT_ONCE) {
        signal?.throwIfAborted();
        if (await walkOn({ decoder, ends }, searches, NODES_AT_ONCE) === 0) break;
        onSearch?.(searches.reduce((sum, { numExpanded }) => sum + numExpanded, 0));
      }
    });
  }
  return chosen.map(({ priorOf, known, others }, i) => {
    const found = searches[i].found.map(({ bytes, mass }): Candidate => {
      const address = Uint8Array.from(bytes);
      return { address, prior: priorOf(address, mass) };
    }).filter(({ address }) => isWithin(address));
    const candidates = new Map(known.map((each) => [formatAddress(each.address), each]));
    let mass = massOf(known);
    for (const each of [...others, ...found].sort((a, b) => b.prior - a.prior)) {
      if (candidates.size >= known.length + numCandidates || mass >= ENOUGH_MASS) break;
      const name = formatAddress(each.address);
      if (candidates.has(name)) continue;
      candidates.set(name, each);
      mass += each.prior;
    }
    return [...candidates.values()];
  });
}

function massOf(candidates: readonly Candidate[]): number {
  return candidates.reduce((sum, { prior }) => sum + prior, 0);
}

/** All known destinations of an IP version, most measured first. */
function mostMeasured(data: TrainingData, numBytes: number): Uint8Array[] {
  const all = tablesOf(data).flatMap((table) => [...table.destinations()]);
  return all.filter(({ bytes }) => bytes.length === numBytes)
    .sort((a, b) => b.asDestination.measurements - a.asDestination.measurements)
    .map(({ bytes }) => bytes);
}

const ALL_BYTES = Array.from({ length: 256 }, (_, byte) => byte);

/**
 * Expands the next nodes of all searches, at any depth, and nodes below them. Every path starts after its
 * prompt and reads one byte per step: first the bytes of the chosen node, then those below it. Prefixes
 * shared by several paths are computed once.
 *
 * @param read The decoder, and log P after each of its prompts, (prompts, V) nats.
 * @param searches One per prompt.
 * @param nodesPerSearch Maximum number of nodes per search; each takes a row of the decoder.
 * @returns The number of nodes taken: 0 when all searches are done.
 */
async function walkOn(
  { decoder, ends }: { decoder: Decoder; ends: Float32Array },
  searches: readonly PrefixSearch[],
  nodesPerSearch: number,
): Promise<number> {
  const walkers = searches.flatMap((search, prompt) =>
    search.take(nodesPerSearch).map((at) => ({ search, prompt, at, isDone: false }))
  );
  if (walkers.length === 0) return 0;
  decoder.fork(searches.map(() => 1));
  let logP = ends;
  let rows = Uint32Array.from(walkers, ({ prompt }) => prompt);
  for (let depth = 0;; depth++) {
    walkers.forEach((walker, i) => {
      if (walker.isDone || walker.at.bytes.length !== depth) return;
      const next = walker.search.expand(walker.at, restricted(rowOf(logP, rows[i]), ALL_BYTES).probabilities);
      if (next) walker.at = next;
      else walker.isDone = true;
    });
    const tokens = walkers.map(({ at, isDone }) => isDone ? NO_TOKEN : BYTE_BASE + at.bytes[depth]);
    const next = branchRows(rows, tokens);
    if (logP !== ends) decoder.registry.gpu.recycle(logP);
    if (next.tokens.length === 0) return walkers.length;
    logP = await decoder.step(next.tokens, next.parents);
    rows = next.rows as typeof rows;
  }
}
