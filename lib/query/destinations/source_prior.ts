/**
 * P(destination | source, context), not given the result. It combines what the source measured in training,
 * what other sources in its prefixes measured, and the model.
 *
 * A model that was trained for minutes does not know well which destinations a source measures; the table in
 * its checkpoint does. An address in a provider's pool that training saw for a day does not reveal all that
 * its probe measures either; other addresses of the pool do. If n(d) of the n measurements of this source in
 * training (and adaptation) went to destination d, and T destinations were measured,
 *
 *     P(d) = (1 - U) (max(0, n(d) - D) + D T R(d)) / n + U Q(d),    or Q(d) if the source is unknown,
 *
 * which is absolute discounting with the D of {@link KnownAddresses.pairDiscount} (Ney, Essen, Kneser,
 * Computer Speech and Language 8, 1994). A source that measures the same destinations repeatedly is expected
 * to continue, and one that measured each pair once is expected to measure a new one. So half of R is Q over
 * the destinations that the source never measured, normalised; the other half is Q over all, as questions
 * about the only measurement of a pair are usual too. Repetitions follow a schedule, so their number says
 * little about a question outside the schedule: a share {@link UNMEASURED} of the questions is assumed to be
 * about any destination.
 *
 * Q interpolates from the model to the longest prefix. If m(d) of the m pairs of the other sources of a
 * prefix go to d,
 *
 *     Q(d) = w m(d) / m + (1 - w) Q'(d),
 *
 * where Q' is Q of the next shorter prefix and, after the shortest, P_model(d).
 *
 * The weights w, one per prefix length, maximise the likelihood of each pair of the table given all pairs of
 * other sources (deleted interpolation: Jelinek, Mercer, "Interpolated Estimation of Markov Source Parameters
 * from Sparse Data", 1980). They are near 0 if neighbours measure different destinations. P_model is the
 * product of the probabilities of the address's bytes, each normalised over the 256 bytes, so all of these
 * sum to 1 over all addresses.
 *
 * @module
 */
import { equals } from "@std/bytes";
import { getOrMake } from "../../base/collections.ts";
import { formatAddress } from "../../data/addresses/ip.ts";
import { prefixOfAddress } from "../../data/addresses/ip_prefix.ts";
import type { KnownAddresses, TrainingData } from "../../data/addresses/known_addresses.ts";
import type { RttQuery } from "../query_tokens.ts";

/** Maximum number of known destinations per source. */
const MAX_KNOWN = 1024;

/** U above: the share of questions assumed to be about any destination, whatever the source measured. */
const UNMEASURED = 0.02;
/** The share of R that is over all destinations, measured or not. */
const REPEATED = 0.5;

/** Prefix lengths of a source, bits, by the number of bytes of an address. */
const PREFIX_LENGTHS: Readonly<Record<number, readonly number[]>> = { 4: [8, 16, 24], 16: [32, 48, 64] };

/** Destinations measured by the other sources of a prefix. */
interface Neighbours {
  readonly weight: number;
  /** For each table, the number of sources that measured a destination, by the destination's index. */
  readonly counts: readonly ReadonlyMap<number, number>[];
  /** Sum of these counts. */
  readonly total: number;
}

/** The known destinations of a source and the prior probabilities of all destinations. */
export class SourcePrior {
  /** Destinations in the context, training and adaptation, most measured first. */
  readonly known: readonly Uint8Array[];
  readonly #tables: readonly KnownAddresses[];
  readonly #counts = new Map<string, number>();
  readonly #discount: number;
  readonly #total: number;
  readonly #neighbours: readonly Neighbours[];

  constructor(data: TrainingData, { source, context }: Pick<RttQuery, "source" | "context">) {
    this.#tables = tablesOf(data);
    const measured = this.#tables.flatMap((table) => table.destinationsOf(source));
    for (const { address, seen } of measured) {
      const name = formatAddress(address.bytes);
      this.#counts.set(name, (this.#counts.get(name) ?? 0) + seen.measurements);
    }
    this.#discount = data.known.pairDiscount;
    this.#total = this.#counts.values().reduce((sum, count) => sum + count, 0);
    measured.sort((a, b) => b.seen.measurements - a.seen.measurements);
    const recent = context.filter((each) => formatAddress(each.source) === formatAddress(source));
    this.known = different([
      ...recent.map(({ destination }) => destination),
      ...measured.map(({ address }) => address.bytes),
    ]).slice(0, MAX_KNOWN);
    this.#neighbours = prefixWeights(data.known, source.length).map((weight, level) => {
      const prefix = prefixOfAddress(source, PREFIX_LENGTHS[source.length][level]);
      const counts = this.#tables.map((table) => {
        const own = table.indexOf(source);
        return countsOf(table.pairs(prefix).filter(([from]) => from !== own).map(([, to]) => to));
      });
      return { weight, counts, total: sumOf(counts.flatMap((of) => [...of.values()])) };
    }).filter(({ total }) => total > 0);
  }

  /** Destinations of the other sources of its prefixes, most probable first. */
  ofNeighbours(): Uint8Array[] {
    const places = this.#neighbours.at(0)?.counts ?? [];
    const addresses = places.flatMap((of, i) =>
      [...of.keys()].map((place) => this.#tables[i].at(place).bytes)
    );
    const shares = different(addresses).map((address) => ({ address, share: this.#backedOff(address, 0) }));
    return shares.sort((a, b) => b.share - a.share).map(({ address }) => address);
  }

  /**
   * @param ofKnown The model's probabilities of the known destinations.
   * @returns P(destination | source, context) from a destination and the model's probability of it.
   */
  given(ofKnown: readonly number[]): (address: Uint8Array, ofModel: number) => number {
    const countOf = (address: Uint8Array) => this.#counts.get(formatAddress(address)) ?? 0;
    const unmeasured = 1 - sumOf(
      this.known.map((address, i) => countOf(address) > 0 ? this.#backedOff(address, ofKnown[i]) : 0),
    );
    return (address, ofModel) => {
      const backedOff = this.#backedOff(address, ofModel);
      if (this.#total === 0) return backedOff;
      const count = countOf(address);
      // The difference from 1 may round to less than its part.
      const ofNew = count > 0 || backedOff === 0 ? 0 : backedOff / Math.max(backedOff, unmeasured);
      const ofOthers = REPEATED * backedOff + (1 - REPEATED) * ofNew;
      const discounted = this.#discount * this.#counts.size * ofOthers;
      const ofSource = (Math.max(0, count - this.#discount) + discounted) / this.#total;
      return (1 - UNMEASURED) * ofSource + UNMEASURED * backedOff;
    };
  }

  #backedOff(address: Uint8Array, ofModel: number): number {
    const places = this.#tables.map((table) => table.indexOf(address));
    return this.#neighbours.reduce((backedOff, { weight, counts, total }) => {
      const count = sumOf(counts.map((of, i) => of.get(places[i]) ?? 0));
      return weight * count / total + (1 - weight) * backedOff;
    }, ofModel);
  }
}

/** The tables of training and adaptation. */
export function tablesOf({ known, adaptation }: TrainingData): KnownAddresses[] {
  return [known, ...adaptation ? [adaptation.known] : []];
}

/** Removes duplicate addresses. */
export function different(addresses: readonly Uint8Array[]): Uint8Array[] {
  return [...new Map(addresses.map((address) => [formatAddress(address), address])).values()];
}

const ITERATIONS = 20;
const weightsOf = new WeakMap<KnownAddresses, Map<number, readonly number[]>>();

/** The weight of each prefix length for addresses of `numBytes` bytes; cached for each table. */
export function prefixWeights(known: KnownAddresses, numBytes: number): readonly number[] {
  const ofTable = weightsOf.get(known) ?? new Map<number, readonly number[]>();
  weightsOf.set(known, ofTable);
  return getOrMake(ofTable, numBytes, () => fitPrefixWeights(known, numBytes));
}

/** Pairs of a table, sorted, by the indexes of their endpoints. */
interface Pairs {
  readonly sources: Int32Array;
  readonly destinations: Int32Array;
}

/** Expectation maximisation over all pairs of sources of `numBytes` bytes, starting from equal weights. */
function fitPrefixWeights(known: KnownAddresses, numBytes: number): number[] {
  const columns: number[][] = [[], []];
  for (const pair of known.pairs({ bytes: new Uint8Array(numBytes), length: 0 })) {
    pair.forEach((place, end) => columns[end].push(place));
  }
  const [sources, destinations] = columns.map((places) => Int32Array.from(places));
  const numPairs = sources.length;
  const numOfSource = countsOf(sources);
  const numTo = countsOf(destinations);
  // Adds a fraction of a source to each destination, so that none is impossible.
  const ofAll = Float64Array.from(
    sources,
    (source, i) =>
      ((numTo.get(destinations[i]) ?? 0) - 1 + 1 / numTo.size) /
      (numPairs - (numOfSource.get(source) ?? 0) + 1),
  );
  const shares = PREFIX_LENGTHS[numBytes].map((length) =>
    sharesOfOthers(known, { sources, destinations }, numOfSource, length)
  );
  let weights = shares.map(() => 0.5);
  const upTo = new Float64Array(weights.length + 1);
  for (let iteration = 0; iteration < ITERATIONS; iteration++) {
    const responsible = weights.map(() => 0);
    const asked = weights.map(() => 0);
    for (let i = 0; i < numPairs; i++) {
      upTo[0] = ofAll[i];
      for (let level = 0; level < weights.length; level++) {
        const share = shares[level][i];
        const weight = isNaN(share) ? 0 : weights[level];
        upTo[level + 1] = weight === 0 ? upTo[level] : weight * share + (1 - weight) * upTo[level];
      }
      let left = 1;
      for (let level = weights.length - 1; level >= 0; level--) {
        const share = shares[level][i];
        if (isNaN(share)) continue;
        const here = weights[level] * share / upTo[level + 1];
        responsible[level] += left * here;
        asked[level] += left;
        left *= 1 - here;
      }
    }
    weights = weights.map((_, level) => asked[level] > 0 ? responsible[level] / asked[level] : 0);
  }
  return weights;
}

/** For each pair, the share of pairs to its destination among its prefix's other sources; NaN if none. */
function sharesOfOthers(
  known: KnownAddresses,
  { sources, destinations }: Pairs,
  numOfSource: ReadonlyMap<number, number>,
  length: number,
): Float64Array {
  const shares = new Float64Array(sources.length);
  const prefixAt = (i: number) => prefixOfAddress(known.at(sources[i]).bytes, length).bytes;
  // Sources of a prefix are contiguous.
  for (let first = 0, end = 0; first < sources.length; first = end) {
    const prefix = prefixAt(first);
    do end++; while (
      end < sources.length && (sources[end] === sources[end - 1] || equals(prefixAt(end), prefix))
    );
    const counts = countsOf(destinations.subarray(first, end));
    for (let i = first; i < end; i++) {
      const numOfOthers = end - first - (numOfSource.get(sources[i]) ?? 0);
      shares[i] = numOfOthers > 0 ? ((counts.get(destinations[i]) ?? 0) - 1) / numOfOthers : NaN;
    }
  }
  return shares;
}

function countsOf(values: Iterable<number>): Map<number, number> {
  const counts = new Map<number, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}
