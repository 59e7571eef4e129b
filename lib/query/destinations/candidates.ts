/**
 * The destinations that a source may have measured, each with P(destination | source, context): those that it is known to
 * measure, and the most probable others, from the most measured ones of all sources and from a search of the model.
 *
 * A model that was trained for minutes does not know well which destinations a source measures; the table in its checkpoint
 * does: after 382 steps on the measurements of MENOG 19, the first guess among the known destinations of the source was right
 * in 38 % of 80 cases by the model's own probabilities, and in 49 % by the counts.
 *
 * With n(d) measurements of a destination by this source among n in training (and an adaptation), of T destinations, the
 * probability is absolutely discounted and backs off to the model,
 *
 *     P(d) = (max(0, n(d) - D) + D T P_model(d)) / n,    P_model(d) where the source is not known,
 *
 * with the D of {@link KnownAddresses.pairDiscount} (Ney, Essen, Kneser, 1994). So a source that measures the same
 * destinations repeatedly is expected to continue, and one that measured each pair once to measure another. P_model is the
 * product of the probabilities of the address's bytes, each among the 256 bytes, so it sums to 1 over all addresses.
 *
 * @module
 */
import { formatAddress } from "../../data/addresses/ip.ts";
import type { KnownAddresses, TrainingData } from "../../data/addresses/known_addresses.ts";
import { BYTE_BASE } from "../../data/tokens/vocab_v2.ts";
import { byteTokens } from "../draws.ts";
import type { PingModel } from "../ping_model.ts";
import { walkOn } from "./byte_walks.ts";
import type { DestinationQuery } from "./destination_query.ts";
import { PrefixSearch } from "./prefix_tree.ts";

/** Nodes that a search expands at once. */
export const NODES_AT_ONCE = 16;

/** No candidates are added to those that have this much of the prior. */
const ENOUGH_MASS = 0.999;

/** The largest number of known destinations of a source. */
const MAX_KNOWN = 1024;

const ANY_BYTE = byteTokens({ first: 0, last: 255 });

/** A question up to the destination's bytes. */
export interface Prompted {
  readonly query: DestinationQuery;
  /** Its tokens. */
  readonly prompt: Uint16Array;
}

/** A destination. */
export interface Candidate {
  readonly address: Uint8Array;
  /** P(destination | source, context). */
  readonly prior: number;
}

/** How many candidates there may be. */
interface CandidateOptions {
  /** How many each question has at most, besides the known ones of its source. */
  readonly numCandidates: number;
  /** After how many expanded nodes the search for the most probable ones ends, whether or not they are found. */
  readonly maxExpansions: number;
  /** Called with the number of nodes expanded so far. */
  readonly onSearch?: ((numExpanded: number) => void) | undefined;
  /** Whether an address may be one (all may). */
  readonly isWithin?: ((address: Uint8Array) => boolean) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Chooses candidates: the destinations of the context and the known ones of the source, at most 1,024 and those the most
 * measured; then the most probable others, until all have {@link ENOUGH_MASS} together.
 *
 * @param asked All of one IP version, as many as the decoder holds with {@link NODES_AT_ONCE} rows each.
 * @returns Different addresses for each question.
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
  const knowns = priors.map(({ known }) => known.filter(isWithin));
  const listed = knowns.map((known) => different([...known, ...measured]));
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
    const candidates = addresses.map((address, place): Candidate => {
      const ofModel = Math.exp(ofPrompt[place].reduce((a, b) => a + b, 0));
      return { address, prior: priors[i].of(address, ofModel) };
    });
    const { length } = knowns[i];
    return { known: candidates.slice(0, length), others: candidates.slice(length) };
  });
  const isEnough = chosen.map(({ known, others }) => massOf([...known, ...others]) >= ENOUGH_MASS);
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
  return chosen.map(({ known, others }, i) => {
    const found = searches[i].found.map(({ bytes, mass }): Candidate => {
      const address = Uint8Array.from(bytes);
      return { address, prior: priors[i].of(address, mass) };
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

/** What a source is known to measure. */
class SourcePrior {
  /** The destinations of the context and of training and adaptation, the most measured first. */
  readonly known: readonly Uint8Array[];
  readonly #counts = new Map<string, number>();
  readonly #discount: number;
  readonly #total: number;

  constructor(data: TrainingData | undefined, { source, context }: DestinationQuery) {
    const measured = tablesOf(data).flatMap((table) => table.destinationsOf(source));
    for (const { address, seen } of measured) {
      const name = formatAddress(address.bytes);
      this.#counts.set(name, (this.#counts.get(name) ?? 0) + seen.measurements);
    }
    this.#discount = data?.known.pairDiscount ?? 1;
    this.#total = this.#counts.values().reduce((sum, count) => sum + count, 0);
    measured.sort((a, b) => b.seen.measurements - a.seen.measurements);
    const recent = context.filter((each) => formatAddress(each.source) === formatAddress(source));
    this.known = different([
      ...recent.map(({ destination }) => destination),
      ...measured.map(({ address }) => address.bytes),
    ]).slice(0, MAX_KNOWN);
  }

  /** P(destination | source, context). @param ofModel What the model gives it. */
  of(address: Uint8Array, ofModel: number): number {
    if (this.#total === 0) return ofModel;
    const count = this.#counts.get(formatAddress(address)) ?? 0;
    const ofOthers = this.#discount * this.#counts.size * ofModel;
    return (Math.max(0, count - this.#discount) + ofOthers) / this.#total;
  }
}

/** All known destinations of an IP version, the most measured first. */
function mostMeasured(data: TrainingData | undefined, numBytes: number): Uint8Array[] {
  const all = tablesOf(data).flatMap((table) => [...table.destinations()]);
  return all.filter(({ bytes }) => bytes.length === numBytes)
    .sort((a, b) => b.asDestination.measurements - a.asDestination.measurements)
    .map(({ bytes }) => bytes);
}

function tablesOf(data: TrainingData | undefined): KnownAddresses[] {
  return data ? [data.known, ...data.adaptation ? [data.adaptation.known] : []] : [];
}

function different(addresses: readonly Uint8Array[]): Uint8Array[] {
  return [...new Map(addresses.map((address) => [formatAddress(address), address])).values()];
}
