/**
 * The RTT between prefixes of any length. Addresses are drawn from the model, each with its exact
 * distribution.
 *
 * @module
 */
import { RandomStream } from "../../base/random.ts";
import {
  byteRange,
  type IpPrefix,
  isAddress,
  isPlace,
  prefixOfAddress,
} from "../../data/addresses/ip_prefix.ts";
import { BYTE_BASE, type Field } from "../../data/tokens/vocab_v2.ts";
import { byteMass, byteTokens, type DrawnRow, drawRows, drawToken } from "../draws.ts";
import type { PingModel } from "../ping_model.ts";
import { encodeMeasurement, type PrefixQuery, type RttQuery } from "../query_tokens.ts";
import { ensure } from "../../base/errors.ts";
import { CANONICAL_RTT_CODES } from "../../data/tokens/rtt_code.ts";
import { RttDistribution } from "./rtt_distribution.ts";
import { parsePrefixQuestion, type RttQuestion } from "./rtt_question.ts";

/** Pairs between calls of `onProgress`: two of the decoder's largest groups. */
const PAIRS_PER_PART = 124;

/** Enough for a standard error of one sixteenth of the spread between addresses, within a second. */
export const DEFAULT_NUM_DRAWS = 64;

export interface RttMixtureOptions {
  /** Number of addresses, or pairs of them, to draw; at least 2 (64). */
  numDraws?: number | undefined;
  /** Seed of the draws (0). */
  seed?: number | undefined;
  /** Called with the number of distinct pairs computed, out of `total`. */
  onProgress?: ((done: number, total: number) => void) | undefined;
}

/** The RTT between prefixes, with the model's probability of the prefixes. */
export interface PrefixAnswer extends Omit<AddressDraws, "pairs"> {
  /** Distribution of the RTT; exact between two addresses. */
  readonly mixture: RttMixture;
}

/**
 * The distribution of the RTT if the model draws a source within its prefix and, given the source, a
 * destination within its prefix.
 *
 * @param asked As bytes or as text, such as `{ src: "10.2.0.0/16", dst: "198.51.100.7" }`.
 * @throws {UserError} If the prefixes are invalid, differ in version, or do not fit the model's sequence.
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
    throw new RangeError(`Cannot draw ${numDraws} addresses: expected a whole number of at least 2`);
  }
  if (isAddress(query.source) && isAddress(query.destination)) {
    const { source, destination } = query;
    const pair = { ...query, source: source.bytes, destination: destination.bytes };
    return exactAnswer(await model.rttDistribution(pair));
  }
  const { pairs, ...masses } = await drawAddresses(model, query, { numDraws, seed });
  const sums = new MixtureSums();
  const isOfPlaces = isPlace(query.source) && isPlace(query.destination);
  for (let first = 0; first < pairs.length; first += PAIRS_PER_PART) {
    const part = pairs.slice(first, first + PAIRS_PER_PART);
    const queries = part.map(({ source, destination }) => ({ ...query, source, destination, isOfPlaces }));
    await model.likelyRttDistributions(queries, (distribution, i) => sums.add(distribution, part[i].count));
    onProgress(first + part.length, pairs.length);
  }
  return { mixture: sums.mixture(), ...masses };
}

export function exactAnswer(distribution: RttDistribution): PrefixAnswer {
  return {
    mixture: mixtureOfOne(distribution),
    sourceProbability: null,
    destinationProbability: null,
    destinationProbabilityError: 0,
  };
}

/**
 * A mixture of exact RTT distributions. Standard errors account for the sampling of addresses; they are 0 for
 * a single pair of addresses.
 *
 * Each draw i has a probability of a reply w_i, a CDF F_i and a mean m_i, all exact. The mixture's CDF given
 * a reply, sum w_i F_i / sum w_i, is a ratio of means, whose standard error follows by linearisation
 * (Cochran, Sampling Techniques, 3rd ed. 1977, section 6.4), as does that of the mean. The standard error of
 * a quantile is half the distance between the quantiles one standard error of the CDF below and above it
 * (Woodruff, JASA 47, 1952; Francisco and Fuller, Annals of Statistics 19, 1991). This does not need a
 * density, which RTTs do not have.
 */
export interface RttMixture {
  /** Distribution of the RTT between addresses of the prefixes. */
  readonly distribution: RttDistribution;
  /** Number of draws; 0 for a single pair of addresses, which is exact. */
  readonly numDraws: number;
  readonly numDistinct: number;
  /** Standard error of the distribution's `pFailed`. */
  readonly pFailedError: number;
  /** Standard error of the distribution's `meanMs`, ms. */
  readonly meanErrorMs: number;
  /** Standard error of the distribution's `cdf(rttMs)`. */
  cdfError(rttMs: number): number;
  /** Standard error of the distribution's `quantileMs(q)`, ms. */
  quantileErrorMs(q: number): number;
}

function mixtureOfOne(distribution: RttDistribution): RttMixture {
  return {
    distribution,
    numDraws: 0,
    numDistinct: 1,
    pFailedError: 0,
    meanErrorMs: 0,
    cdfError: () => 0,
    quantileErrorMs: () => 0,
  };
}

/** Sums the distributions of draws; memory does not depend on their number. */
export class MixtureSums {
  #numDraws = 0;
  #numDistinct = 0;
  readonly #failed = new Moments();
  #canonicalMass = 0;
  /** The lowest floor of the draws; 0 if one has none. */
  #floorMs = Infinity;
  /** Sums of w. */
  readonly #weight = new Moments();
  /** Sums of v m and of v, where v is the probability of a reply within the limit of the mean. */
  readonly #mean = new Moments();
  readonly #meanWeight = new Moments();
  /** For each code, sums of w p, (w F)^2 and w (w F), where p is the code's probability. */
  readonly #probabilities = new Float64Array(CANONICAL_RTT_CODES.length);
  readonly #squares = new Float64Array(CANONICAL_RTT_CODES.length);
  readonly #products = new Float64Array(CANONICAL_RTT_CODES.length);

  /** Adds a distribution that was drawn `count` times. */
  add(distribution: RttDistribution, count: number): void {
    const { pFailed, probabilities } = distribution;
    // P(no reply) may round to 1; a mixture of such draws still needs weights.
    const weight = Math.max(1 - pFailed, Number.EPSILON);
    this.#numDraws += count;
    this.#numDistinct++;
    this.#canonicalMass += count * distribution.canonicalMass;
    this.#floorMs = Math.min(this.#floorMs, distribution.floorMs ?? 0);
    this.#failed.add({ y: pFailed, w: 1, count });
    this.#weight.add({ y: weight, w: weight, count });
    const within = weight * distribution.withinPingLimit;
    this.#mean.add({ y: within * distribution.meanMs, w: within, count });
    this.#meanWeight.add({ y: within, w: within, count });
    let cumulative = 0;
    for (let i = 0; i < probabilities.length; i++) {
      const share = weight * probabilities[i];
      cumulative += share;
      this.#probabilities[i] += count * share;
      this.#squares[i] += count * cumulative * cumulative;
      this.#products[i] += count * cumulative * weight;
    }
  }

  /** The mixture; needs at least two draws. */
  mixture(): RttMixture {
    const n = this.#numDraws;
    ensure(n >= 2, `${n} draws have no standard error`);
    const weight = this.#weight;
    const distribution = new RttDistribution(
      this.#failed.sum / n,
      this.#probabilities.map((sum) => sum / weight.sum),
      this.#canonicalMass / n,
      { floorMs: this.#floorMs || null },
    );
    const errorOf = (moments: Pick<Moments, "squares" | "products">, ratio: number, of = weight) => {
      const residual = moments.squares - 2 * ratio * moments.products + ratio ** 2 * of.squares;
      return Math.sqrt(Math.max(0, residual) * n / (n - 1)) / of.sum;
    };
    const cdfError = (rttMs: number) => {
      const index = distribution.indexOf(rttMs);
      return errorOf(
        { squares: this.#squares[index], products: this.#products[index] },
        distribution.cdf(rttMs),
      );
    };
    const failedVariance = this.#failed.squares / n - (this.#failed.sum / n) ** 2;
    return {
      distribution,
      numDraws: n,
      numDistinct: this.#numDistinct,
      cdfError,
      pFailedError: Math.sqrt(Math.max(0, failedVariance) / (n - 1)),
      meanErrorMs: this.#meanWeight.sum === 0
        ? 0
        : errorOf(this.#mean, this.#mean.sum / this.#meanWeight.sum, this.#meanWeight),
      quantileErrorMs: (q) => {
        const error = cdfError(distribution.quantileMs(q));
        const highMs = distribution.quantileMs(Math.min(1, q + error));
        return (highMs - distribution.quantileMs(Math.max(0, q - error))) / 2;
      },
    };
  }
}

/** Sums of y, y^2 and y w over draws. */
class Moments {
  sum = 0;
  squares = 0;
  products = 0;

  add({ y, w, count }: { y: number; w: number; count: number }): void {
    this.sum += count * y;
    this.squares += count * y * y;
    this.products += count * y * w;
  }
}

/** Addresses come after the time, so that they are drawn given the time. */
const DRAW_ORDER: readonly Field[] = ["time", "source", "destination", "result"];

export interface AddressDrawOptions {
  /** Number of draws, at least 2. */
  readonly numDraws: number;
  /** Seed. A draw depends only on it, the query and the draw's index. */
  readonly seed: number;
}

interface DrawnPair {
  /** 4 or 16 bytes. */
  readonly source: Uint8Array;
  /** Has the same address length as the source. */
  readonly destination: Uint8Array;
  /** How often the pair was drawn. */
  readonly count: number;
}

/** Drawn addresses, with the model's probability of the prefixes. */
interface AddressDraws {
  /** Distinct pairs, in the order of their first draws. */
  readonly pairs: readonly DrawnPair[];
  /** P(source in its prefix | its IP version); null for an address or a place. */
  readonly sourceProbability: number | null;
  /** P(destination in its prefix | its source), averaged over sources; null for an address or a place. */
  readonly destinationProbability: number | null;
  /** Standard error of `destinationProbability`; above 0 if sources are drawn. */
  readonly destinationProbabilityError: number;
}

/**
 * Draws pairs of addresses byte by byte. Bytes within the prefix are fixed, the byte in which it ends is
 * drawn from the values it allows, and later bytes from all values.
 *
 * A place or network is a mixture of prefixes, each drawn in proportion to its share. Addresses that training
 * found elsewhere are excluded.
 *
 * @throws {UserError} If the prefixes differ in version or do not fit the model's sequence.
 */
export async function drawAddresses(
  model: PingModel,
  query: PrefixQuery,
  options: AddressDrawOptions,
): Promise<AddressDraws> {
  const prefixesOf = prefixDraws(query, options.numDraws);
  const plan = planOf(query, model.config.sequenceLength);
  const fixed = await fixedMass(model, plan);
  const { seed } = options;
  const begin = (index: number) =>
    new DrawnAddresses(model, plan, fixed, { index, seed, prefixes: prefixesOf(index) });
  const rows = drawRows(model.decoders, plan.prompt, { count: options.numDraws, begin });
  return summarize(query, await Array.fromAsync(rows, (row) => row.result()));
}

/** Draws addresses that represent a source; an address represents itself. */
export async function drawSources(
  model: PingModel,
  { source, timeS, context }: Omit<PrefixQuery, "destination">,
  options: AddressDrawOptions,
): Promise<{ source: Uint8Array; count: number }[]> {
  if (isAddress(source)) return [{ source: source.bytes, count: 1 }];
  // Any destination will do, since it comes after the source.
  const destination = prefixOfAddress(source.bytes);
  const { pairs } = await drawAddresses(model, { source, destination, timeS, context }, options);
  return pairs.map(({ source, count }) => ({ source, count }));
}

/**
 * Draws an address in each of several prefixes of one IP version, as a destination of one source.
 *
 * @param prefixes Each with the index of its draw, which determines the random numbers.
 */
export async function drawDestinations(
  model: PingModel,
  { source, timeS, context }: Omit<RttQuery, "destination">,
  prefixes: readonly { readonly prefix: IpPrefix; readonly index: number }[],
  seed: number,
): Promise<Uint8Array[]> {
  if (prefixes.every(({ prefix }) => isAddress(prefix))) return prefixes.map(({ prefix }) => prefix.bytes);
  const from = prefixOfAddress(source);
  const anywhere = { bytes: new Uint8Array(source.length), length: 0 };
  const query = { source: from, destination: anywhere, timeS, context };
  const plan = {
    ...planOf(query, model.config.sequenceLength),
    isMixed: { source: false, destination: true },
    isPlace: { source: false, destination: true },
  };
  const begin = (i: number) => {
    const { prefix, index } = prefixes[i];
    const ends = { source: from, destination: prefix };
    return new DrawnAddresses(model, plan, { source: 1, destination: 1 }, { index, seed, prefixes: ends });
  };
  const rows = drawRows(model.decoders, plan.prompt, { count: prefixes.length, begin });
  return await Array.fromAsync(rows, (row) => row.result().destination);
}

type Ends = Pick<PrefixQuery, "source" | "destination">;

/** Fractional part of the golden ratio, whose multiples modulo 1 are spread evenly over [0, 1). */
const GOLDEN = (Math.sqrt(5) - 1) / 2;

/**
 * Maps points in [0, 1) to prefixes of a mixture by their shares, or all to the only prefix.
 *
 * @internal
 */
export function prefixChooser(end: IpPrefix, maxPrefixes: number): (at: number) => IpPrefix {
  const prefixes = end.mixture?.take(maxPrefixes);
  if (!prefixes) return () => end;
  let sum = 0;
  const ends = prefixes.map(({ share }) => sum += share);
  return (at) => prefixes[Math.max(0, ends.findIndex((each) => at * sum < each))].prefix;
}

function prefixDraws({ source, destination }: Ends, numDraws: number): (index: number) => Ends {
  const [sourceAt, destinationAt] = [source, destination].map((end) => prefixChooser(end, numDraws));
  const even = (index: number) => (index + 0.5) / numDraws;
  return (index) => ({
    source: sourceAt(even(index)),
    // Independent of the order of the sources.
    destination: destinationAt(source.mixture ? (0.5 + (index + 1) * GOLDEN) % 1 : even(index)),
  });
}

interface DrawnResult extends Pick<DrawnPair, "source" | "destination"> {
  readonly mass: Masses;
}

interface PlannedByte {
  readonly side: "source" | "destination";
  readonly index: number;
}

/** A role token, or a byte of an address. */
type Planned = number | PlannedByte;

interface Plan {
  readonly isMixed: Record<"source" | "destination", boolean>;
  readonly isPlace: Record<"source" | "destination", boolean>;
  /** The tokens shared by all draws. */
  readonly prompt: Uint16Array;
  /** The last tokens of the prompt, starting with the source's role. */
  readonly fixed: readonly Planned[];
  /** The tokens after the prompt, up to the last drawn one. */
  readonly drawn: readonly Planned[];
}

function planOf({ source, destination, timeS, context }: PrefixQuery, sequenceLength: number): Plan {
  const asked = { source: source.bytes, destination: destination.bytes, rttCode: null, timeS };
  const tokens = encodeMeasurement(asked, { context, order: DRAW_ORDER, sequenceLength });
  const block = 1 + source.bytes.length;
  // The last token is the result.
  const start = tokens.length - 1 - 2 * block;
  const tail = (["source", "destination"] as const).flatMap((side, i) => {
    const prefix = side === "source" ? source : destination;
    const bytes = Array.from(prefix.bytes.keys(), (index): Planned => ({ side, index }));
    return [tokens[start + i * block], ...bytes];
  });
  const isFree = (each: Planned) => {
    if (typeof each === "number") return false;
    const { first, last } = byteRange(each.side === "source" ? source : destination, each.index);
    return first < last;
  };
  const numFixed = tail.findIndex(isFree);
  return {
    isMixed: { source: source.mixture !== undefined, destination: destination.mixture !== undefined },
    isPlace: { source: isPlace(source), destination: isPlace(destination) },
    prompt: tokens.slice(0, start + numFixed),
    fixed: tail.slice(0, numFixed),
    drawn: tail.slice(numFixed, tail.findLastIndex(isFree) + 1),
  };
}

/** The model's probability of each side's bytes in the prompt. */
async function fixedMass(model: PingModel, { prompt, fixed }: Plan): Promise<Masses> {
  const [logP] = await model.decoders.tokenLogProbabilities([prompt], fixed.length);
  const masses = { source: 1, destination: 1 };
  fixed.forEach((each, i) => {
    if (typeof each !== "number") masses[each.side] *= Math.exp(logP[i]);
  });
  return masses;
}

type Masses = Record<"source" | "destination", number>;

/** The last tokens that do not complete an address that training found elsewhere; all if none remain. */
export function tokensInPlace(
  model: Pick<PingModel, "isMisplaced">,
  bytes: Iterable<number>,
  tokens: readonly number[],
): number[] {
  const before = [...bytes];
  const kept = tokens.filter((token) => !model.isMisplaced(Uint8Array.of(...before, token - BYTE_BASE)));
  return kept.length > 0 ? kept : [...tokens];
}

class DrawnAddresses implements DrawnRow {
  /** Drawn bytes by index. */
  readonly #bytes = { source: new Map<number, number>(), destination: new Map<number, number>() };
  readonly #model: Pick<PingModel, "isMisplaced">;
  readonly #plan: Plan;
  readonly #random: RandomStream;
  /** The model's probability of the prefixes so far. */
  readonly #mass: Masses;
  readonly #prefixes: Ends;
  #at = 0;
  lastToken = 0;

  constructor(
    model: Pick<PingModel, "isMisplaced">,
    plan: Plan,
    fixed: Masses,
    { index, seed, prefixes }: { index: number; seed: number; prefixes: Ends },
  ) {
    this.#model = model;
    this.#plan = plan;
    this.#prefixes = prefixes;
    this.#mass = { ...fixed };
    this.#random = new RandomStream(seed, "query/prefix", index);
  }

  get isComplete(): boolean {
    return this.#at === this.#plan.drawn.length;
  }

  draw(logP: Float32Array): void {
    const next = this.#plan.drawn[this.#at++];
    if (typeof next === "number") {
      this.lastToken = next;
      return;
    }
    const { side, index } = next;
    const range = byteRange(this.#prefixes[side], index);
    if (this.#plan.isMixed[side] && range.first === range.last) {
      // Uses no random number, so that a single prefix has the same draws.
      this.lastToken = BYTE_BASE + range.first;
      return;
    }
    if (range.last - range.first < 255) this.#mass[side] *= byteMass(logP, range);
    const tokens = this.#inPlace(side, index, byteTokens(range));
    this.lastToken = drawToken(logP, { tokens, random: this.#random });
    this.#bytes[side].set(index, this.lastToken - BYTE_BASE);
  }

  #inPlace(side: "source" | "destination", index: number, tokens: number[]): number[] {
    const address = this.#addressOf(side);
    if (!this.#plan.isPlace[side] || index < address.length - 1) return tokens;
    return tokensInPlace(this.#model, address.subarray(0, -1), tokens);
  }

  result(): DrawnResult {
    return {
      source: this.#addressOf("source"),
      destination: this.#addressOf("destination"),
      mass: this.#mass,
    };
  }

  #addressOf(side: "source" | "destination"): Uint8Array {
    return this.#prefixes[side].bytes.map((byte, i) => this.#bytes[side].get(i) ?? byte);
  }
}

function summarize({ source, destination }: PrefixQuery, results: readonly DrawnResult[]): AddressDraws {
  const pairs = new Map<string, { source: Uint8Array; destination: Uint8Array; count: number }>();
  for (const { mass: _, ...drawn } of results) {
    const key = `${drawn.source} ${drawn.destination}`;
    const known = pairs.get(key);
    if (known) known.count++;
    else pairs.set(key, { ...drawn, count: 1 });
  }
  const masses = results.map(({ mass }) => mass.destination);
  const n = results.length;
  const mean = masses.reduce((sum, mass) => sum + mass, 0) / n;
  const variance = masses.reduce((sum, mass) => sum + (mass - mean) ** 2, 0) / (n - 1);
  const hasNoMass = isAddress(destination) || destination.mixture !== undefined;
  return {
    pairs: [...pairs.values()],
    // Draws from a mixture have different prefixes.
    sourceProbability: isAddress(source) || source.mixture ? null : results[0].mass.source,
    destinationProbability: hasNoMass ? null : mean,
    // With a single source all draws have the same probability, up to rounding.
    destinationProbabilityError: isAddress(source) || hasNoMass ? 0 : Math.sqrt(variance / n),
  };
}
