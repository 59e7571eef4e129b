/**
 * Destinations drawn from the model given a source and an RTT or a range of RTTs; beside the search of
 * destinations.ts for what has no few most probable ones.
 *
 * @module
 */
import { RandomStream } from "../../random/philox.ts";
import { formatPrefix, type IpPrefix, prefixOfAddress } from "../../addresses/ip_prefix.ts";
import type { PingModel } from "../ping_model.ts";
import { type ByteTree, type TreeNode, walkOn } from "./byte_walks.ts";
import {
  codeProbabilities,
  codesOf,
  type DestinationQuery,
  readPrompt,
  tailsOf,
} from "./destination_prompt.ts";
import { type DestinationOptions, type LikelyDestination, listed, prefixLengthOf } from "./destinations.ts";

/** How destinations are drawn. */
export interface DestinationSampleOptions
  extends Pick<DestinationOptions, "top" | "prefixLength" | "signal" | "onProgress"> {
  /** How many draws. */
  count: number;
  /** Seed; a draw depends on it, the query and the draw's number alone. */
  seed: number;
}

/** The answer of {@link sampleDestinations}. */
export interface SampledDestinations {
  /** The most frequent first, equally frequent ones in order of address. */
  readonly destinations: readonly LikelyDestination[];
  /** The share of the draws in prefixes that are not listed. */
  readonly unlistedProbability: number;
  /** How many different prefixes were drawn. */
  readonly numDistinct: number;
}

/**
 * Draws destinations and counts their prefixes.
 *
 * A probability is a share of the draws, its standard error sqrt(p (1 - p) / count).
 *
 * @throws {UserError} As `likelyDestinations`.
 */
export async function sampleDestinations(
  model: PingModel,
  query: DestinationQuery,
  options: DestinationSampleOptions,
): Promise<SampledDestinations> {
  const { count, seed, top = 20, signal, onProgress } = options;
  const prefixLength = prefixLengthOf(query, options.prefixLength);
  const counts = new Map<string, { prefix: IpPrefix; count: number }>();
  await readPrompt(model, query, async (prompt) => {
    const drawCode = codeDrawer(codesOf(query), await codeProbabilities(query, prompt));
    const { maxRows } = model.decoders.continuationExtent;
    for (let first = 0; first < count; first += maxRows) {
      const trees = Array.from(
        { length: Math.min(maxRows, count - first) },
        (_, i) => new Draw(new RandomStream(seed, "query/destinations", first + i), prefixLength),
      );
      const walks = trees.map((tree) => ({ tree, tails: tailsOf(query, [drawCode(tree.random)]) }));
      await walkOn({ ...prompt, walks: [walks] }, 1);
      for (const tree of trees) {
        const prefix = tree.prefix(query.source.length);
        const key = formatPrefix(prefix);
        const known = counts.get(key);
        if (known) known.count++;
        else counts.set(key, { prefix, count: 1 });
      }
      onProgress?.(first + trees.length);
      signal?.throwIfAborted();
    }
  });
  const ranked = [...counts.values()].sort((a, b) => b.count - a.count || compare(a.prefix, b.prefix));
  const described = ranked.slice(0, top).map(({ prefix, count: n }) => ({
    prefix,
    probability: n / count,
    standardError: Math.sqrt(n / count * (1 - n / count) / count),
  }));
  return { ...listed(described), numDistinct: counts.size };
}

/** A function that draws one of some codes by their probabilities. */
function codeDrawer(
  codes: readonly (number | null)[],
  probabilities: Float64Array,
): (random: RandomStream) => number | null {
  let total = 0;
  const cumulative = probabilities.map((p) => total += p);
  return (random) => {
    if (codes[0] === null) return null;
    const drawn = random.float64() * total;
    return codes[cumulative.findIndex((sum) => sum > drawn)] ?? null;
  };
}

/** One draw on its way down. */
class Draw implements ByteTree {
  readonly #bytes: number[] = [];
  #isTaken = false;

  constructor(readonly random: RandomStream, readonly prefixLength: number) {}

  take(): readonly TreeNode[] {
    if (this.#isTaken || this.prefixLength === 0) return [];
    this.#isTaken = true;
    return [{ bytes: this.#bytes }];
  }

  expand(_: TreeNode, probabilities: Float64Array): TreeNode | undefined {
    let rest = this.random.float64();
    let byte = 0;
    while (byte < 255 && rest >= probabilities[byte]) rest -= probabilities[byte++];
    this.#bytes.push(byte);
    return 8 * this.#bytes.length < this.prefixLength ? { bytes: this.#bytes } : undefined;
  }

  /** The drawn prefix. @param numBytes The length of an address. */
  prefix(numBytes: number): IpPrefix {
    const bytes = new Uint8Array(numBytes);
    bytes.set(this.#bytes);
    return prefixOfAddress(bytes, this.prefixLength);
  }
}

function compare(a: IpPrefix, b: IpPrefix): number {
  const different = a.bytes.findIndex((byte, i) => byte !== b.bytes[i]);
  return different < 0 ? 0 : a.bytes[different] - b.bytes[different];
}
