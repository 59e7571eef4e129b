/**
 * The RTT between prefixes of any length: addresses drawn from the model, each with its exact distribution.
 *
 * @module
 */
import { isAddress } from "../../addresses/ip_prefix.ts";
import { type AddressDraws, drawAddresses } from "./address_draws.ts";
import type { PingModel } from "../ping_model.ts";
import type { RttDistribution } from "./rtt_distribution.ts";
import type { PrefixQuery } from "../query_tokens.ts";
import { parsePrefixQuestion, type RttQuestion } from "./rtt_question.ts";
import { mixtureOfOne, MixtureSums, type RttMixture } from "./rtt_mixture.ts";

/** Distributions that are in memory at once; each takes 0.5 MB. */
const PAIRS_PER_PART = 124;

/** Enough for a standard error of a sixteenth of the spread between addresses, within a second. */
export const DEFAULT_NUM_DRAWS = 64;

/** How an RTT between prefixes is computed. */
export interface RttMixtureOptions {
  /** How many addresses, or pairs of them, to draw: at least 2 (64). */
  numDraws?: number | undefined;
  /** Seed of the draws (0). */
  seed?: number | undefined;
  /** Called with how many of `total` different pairs are computed. */
  onProgress?: ((done: number, total: number) => void) | undefined;
}

/** The RTT between prefixes, and how much of the model's mass lies in them. */
export interface PrefixAnswer extends Omit<AddressDraws, "pairs"> {
  /** The distribution of the RTT; exact between two addresses. */
  readonly mixture: RttMixture;
}

/**
 * The distribution of the RTT from a source prefix to a destination prefix: of a measurement whose source is drawn
 * from the model within its prefix and whose destination is drawn within its own, given the source.
 *
 * @param asked As bytes or as text, such as `{ src: "10.2.0.0/16", dst: "198.51.100.7" }`.
 * @throws {UserError} If the prefixes are none, of different IP versions or the measurement does not fit the model's
 *   sequence.
 * @throws {RangeError} If there are fewer than two draws.
 */
export async function rttBetweenPrefixes(
  model: PingModel,
  asked: PrefixQuery | RttQuestion,
  options: RttMixtureOptions = {},
): Promise<PrefixAnswer> {
  const query = "source" in asked ? asked : parsePrefixQuestion(asked);
  const { numDraws = DEFAULT_NUM_DRAWS, seed = 0, onProgress = () => {} } = options;
  if (!(Number.isInteger(numDraws) && numDraws >= 2)) {
    throw new RangeError(`Cannot draw ${numDraws} addresses: a whole number of at least 2 was wanted`);
  }
  if (isAddress(query.source) && isAddress(query.destination)) {
    const { source, destination } = query;
    const pair = { ...query, source: source.bytes, destination: destination.bytes };
    return exactAnswer(await model.rttDistribution(pair));
  }
  const { pairs, ...masses } = await drawAddresses(model, query, { numDraws, seed });
  const sums = new MixtureSums();
  for (let first = 0; first < pairs.length; first += PAIRS_PER_PART) {
    const part = pairs.slice(first, first + PAIRS_PER_PART);
    const queries = part.map(({ source, destination }) => ({ ...query, source, destination }));
    const distributions = await model.rttDistributions(queries);
    distributions.forEach((distribution, i) => sums.add(distribution, part[i].count));
    onProgress(first + part.length, pairs.length);
  }
  return { mixture: sums.mixture(), ...masses };
}

/** The answer between two addresses. */
export function exactAnswer(distribution: RttDistribution): PrefixAnswer {
  return {
    mixture: mixtureOfOne(distribution),
    sourceProbability: null,
    destinationProbability: null,
    destinationProbabilityError: 0,
  };
}
