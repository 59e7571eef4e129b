/**
 * What the model says about the destinations of held-out measurements given their source, RTT and time: the bits of
 * the true address, and its most probable addresses.
 *
 * @module
 */
import { type ByteTree, type TreeNode, walkOn } from "../query/byte_walks.ts";
import { groupsOf } from "../query/decoder_extent.ts";
import { type DestinationQuery, encodeDestinationPrompt } from "../query/destination_prompt.ts";
import type { ContinuingModel } from "../query/destinations.ts";
import { PrefixSearch } from "../query/prefix_tree.ts";

/** Prefixes of one search that are looked into at once, and how often: what the budget of an evaluation allows. */
const NODES_AT_ONCE = 5;
const MAX_ROUNDS = 4;

/** A destination that is to be guessed. */
export interface DestinationCase {
  /** What is known of it. */
  readonly query: DestinationQuery;
  /** What it is, as long as the source. */
  readonly destination: Uint8Array;
}

/** The model's word on one of them. */
export interface DestinationGuess {
  /** -log2 P(destination | source, RTT, time, context), of its bytes, given the IP version. */
  readonly bits: number;
  /** The addresses found, the most probable first; fewer than asked for where the search ended early. */
  readonly guesses: readonly Uint8Array[];
  /** Whether they are known to be the most probable ones. */
  readonly isProven: boolean;
}

/**
 * Asks the model, many cases at once.
 *
 * @param cases All of one IP version.
 * @param options `numGuesses`: how many addresses are wanted; `onProgress`: told how many cases are done.
 * @throws {UserError} If a case does not fit the model's sequence.
 */
export async function guessDestinations(
  model: ContinuingModel,
  cases: readonly DestinationCase[],
  options: { numGuesses: number; onProgress?: (done: number) => void; signal?: AbortSignal | undefined },
): Promise<DestinationGuess[]> {
  const { config, continuationExtent } = model;
  const prompts = cases.map(({ query }) => encodeDestinationPrompt(query, config.sequenceLength));
  const guesses: DestinationGuess[] = [];
  for (const group of groupsOf(prompts, continuationExtent, 1 + NODES_AT_ONCE)) {
    options.signal?.throwIfAborted();
    const asked = cases.slice(guesses.length, guesses.length + group.length).map(({ destination }) => ({
      path: new KnownPath(destination),
      search: new PrefixSearch(Float64Array.of(1), {
        prefixLength: 8 * destination.length,
        top: options.numGuesses,
      }),
    }));
    const walks = asked.map((trees) => [trees.path, trees.search].map((tree) => ({ tree, tails: [[]] })));
    await model.continuePrompts(group, async (decoder, ends) => {
      for (let round = 0; round < MAX_ROUNDS; round++) {
        if (await walkOn({ decoder, config, ends, walks }, NODES_AT_ONCE) === 0) break;
      }
    });
    for (const { path, search } of asked) {
      const found = search.found.map(({ bytes }) => Uint8Array.from(bytes));
      guesses.push({ bits: path.bits, guesses: found, isProven: search.isProven });
    }
    options.onProgress?.(guesses.length);
  }
  return guesses;
}

/** Walks to an address that is known, and adds up its bits. */
class KnownPath implements ByteTree {
  bits = 0;
  readonly #address: Uint8Array;
  #isTaken = false;

  constructor(address: Uint8Array) {
    this.#address = address;
  }

  take(): readonly TreeNode[] {
    if (this.#isTaken) return [];
    this.#isTaken = true;
    return [{ bytes: [] }];
  }

  expand({ bytes }: TreeNode, probabilities: Float64Array): TreeNode | undefined {
    const byte = this.#address[bytes.length];
    this.bits -= Math.log2(probabilities[byte]);
    return bytes.length + 1 < this.#address.length ? { bytes: [...bytes, byte] } : undefined;
  }
}
