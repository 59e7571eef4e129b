/**
 * P(destination | source, context) before the result is known: by what the source measured in training, then by what the
 * other sources of its prefixes measured, then by the model.
 *
 * A model that was trained for minutes does not know well which destinations a source measures; the table in its checkpoint
 * does. Nor does an address of a provider's pool that training has seen for a day tell all that its probe measures; other
 * addresses of the pool do. With n(d) measurements of a destination by this source among n in training (and an adaptation),
 * of T destinations,
 *
 *     P(d) = (1 - U) (max(0, n(d) - D) + D T Q(d)) / n + U Q(d),    Q(d) where the source is not known,
 *
 * which is absolute discounting with the D of {@link KnownAddresses.pairDiscount} (Ney, Essen, Kneser, Computer Speech and
 * Language 8, 1994). So a source that measures the same destinations repeatedly is expected to continue, and one that measured
 * each pair once to measure another. Repetitions follow a schedule, so their number says little about a question that is not
 * of the schedule: a share {@link UNMEASURED} of the questions is taken to be of any destination.
 *
 * Q interpolates from the model to the longest prefix, where m(d) of the m pairs of the other sources of a prefix go to d:
 *
 *     Q(d) = w m(d) / m + (1 - w) Q'(d),    Q' of the next shorter prefix, at last P_model(d).
 *
 * The weights w, one by length, are those with which each pair of the table is likeliest by all pairs of other sources
 * (deleted interpolation: Jelinek, Mercer, "Interpolated Estimation of Markov Source Parameters from Sparse Data", 1980). They
 * are near 0 where neighbours measure different destinations. P_model is the product of the probabilities of the address's
 * bytes, each among the 256 bytes, so all of these sum to 1 over all addresses.
 *
 * @module
 */
import { getOrMake, isSameBytes } from "../../base/collections.ts";
import { formatAddress } from "../../data/addresses/ip.ts";
import { prefixOfAddress } from "../../data/addresses/ip_prefix.ts";
import type { KnownAddresses, TrainingData } from "../../data/addresses/known_addresses.ts";
import type { RttQuery } from "../query_tokens.ts";

/** The largest number of known destinations of a source. */
const MAX_KNOWN = 1024;

/** The share of questions that are taken to be of any destination, whatever the source measured: U above. */
const UNMEASURED = 0.02;

/** Bits of the prefixes of a source, by the bytes of an address. */
const PREFIX_LENGTHS: Readonly<Record<number, readonly number[]>> = { 4: [8, 16, 24], 16: [32, 48, 64] };

/** The destinations of the other sources of a prefix. */
interface Neighbours {
  readonly weight: number;
  /** How many of them measured a destination, by its place, for each table. */
  readonly counts: readonly ReadonlyMap<number, number>[];
  /** The sum of these numbers. */
  readonly total: number;
}

/** The known destinations of a source and their probabilities. */
export class SourcePrior {
  /** The destinations of the context and of training and adaptation, the most measured first. */
  readonly known: readonly Uint8Array[];
  readonly #tables: readonly KnownAddresses[];
  readonly #counts = new Map<string, number>();
  readonly #discount: number;
  readonly #total: number;
  readonly #neighbours: readonly Neighbours[];

  /** @param data Undefined if the model does not have it: the prior is the model's. */
  constructor(data: TrainingData | undefined, { source, context }: Pick<RttQuery, "source" | "context">) {
    this.#tables = tablesOf(data);
    const measured = this.#tables.flatMap((table) => table.destinationsOf(source));
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
    const weights = data ? prefixWeights(data.known, source.length) : [];
    this.#neighbours = weights.map((weight, level) => {
      const prefix = prefixOfAddress(source, PREFIX_LENGTHS[source.length][level]);
      const counts = this.#tables.map((table) => {
        const own = table.indexOf(source);
        return countsOf(table.pairs(prefix).filter(([from]) => from !== own).map(([, to]) => to));
      });
      return { weight, counts, total: sumOf(counts.flatMap((of) => [...of.values()])) };
    }).filter(({ total }) => total > 0);
  }

  /** The destinations of the other sources of its prefixes, the likeliest first. */
  ofNeighbours(): Uint8Array[] {
    const places = this.#neighbours.at(0)?.counts ?? [];
    const addresses = places.flatMap((of, i) =>
      [...of.keys()].map((place) => this.#tables[i].at(place).bytes)
    );
    const shares = different(addresses).map((address) => ({ address, share: this.#backedOff(address, 0) }));
    return shares.sort((a, b) => b.share - a.share).map(({ address }) => address);
  }

  /** P(destination | source, context). @param ofModel What the model gives it. */
  of(address: Uint8Array, ofModel: number): number {
    const backedOff = this.#backedOff(address, ofModel);
    if (this.#total === 0) return backedOff;
    const count = this.#counts.get(formatAddress(address)) ?? 0;
    const ofOthers = this.#discount * this.#counts.size * backedOff;
    const ofSource = (Math.max(0, count - this.#discount) + ofOthers) / this.#total;
    return (1 - UNMEASURED) * ofSource + UNMEASURED * backedOff;
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
export function tablesOf(data: TrainingData | undefined): KnownAddresses[] {
  return data ? [data.known, ...data.adaptation ? [data.adaptation.known] : []] : [];
}

/** The addresses, each once. */
export function different(addresses: readonly Uint8Array[]): Uint8Array[] {
  return [...new Map(addresses.map((address) => [formatAddress(address), address])).values()];
}

const ITERATIONS = 20;
const weightsOf = new WeakMap<KnownAddresses, Map<number, readonly number[]>>();

/** The weight of each prefix length, of addresses of so many bytes; remembered for each table. */
export function prefixWeights(known: KnownAddresses, numBytes: number): readonly number[] {
  const ofTable = weightsOf.get(known) ?? new Map<number, readonly number[]>();
  weightsOf.set(known, ofTable);
  return getOrMake(ofTable, numBytes, () => fitPrefixWeights(known, numBytes));
}

/** Pairs of a table, sorted, by the places of their ends. */
interface Pairs {
  readonly sources: Int32Array;
  readonly destinations: Int32Array;
}

/** Expectation maximisation over all pairs of sources of so many bytes, from even weights. */
function fitPrefixWeights(known: KnownAddresses, numBytes: number): number[] {
  const columns: number[][] = [[], []];
  for (const pair of known.pairs({ bytes: new Uint8Array(numBytes), length: 0 })) {
    pair.forEach((place, end) => columns[end].push(place));
  }
  const [sources, destinations] = columns.map((places) => Int32Array.from(places));
  const numPairs = sources.length;
  const numOfSource = countsOf(sources);
  const numTo = countsOf(destinations);
  // Each destination counts a share of a source more, so that none is impossible.
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

/** The share to its destination of the pairs of the other sources of each pair's prefix; NaN if there are none. */
function sharesOfOthers(
  known: KnownAddresses,
  { sources, destinations }: Pairs,
  numOfSource: ReadonlyMap<number, number>,
  length: number,
): Float64Array {
  const shares = new Float64Array(sources.length);
  const prefixAt = (i: number) => prefixOfAddress(known.at(sources[i]).bytes, length).bytes;
  // The sources of a prefix follow each other.
  for (let first = 0, end = 0; first < sources.length; first = end) {
    const prefix = prefixAt(first);
    do end++; while (
      end < sources.length && (sources[end] === sources[end - 1] || isSameBytes(prefixAt(end), prefix))
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
