/**
 * Addresses in training data and adaptations: how often each address and each pair was measured, and when
 * last. Also determines the basis of an answer for two addresses.
 *
 * The table is exact up to {@link MAX_ADDRESSES} addresses and {@link MAX_PAIRS} pairs. Beyond that it keeps
 * the most measured ones and is marked as truncated. Addresses are sorted, IPv4 first, for binary search.
 *
 * @module
 */
import * as z from "zod";
import { getOrMake, partitionPoint } from "../../base/collections.ts";
import { ensure } from "../../base/errors.ts";
import { isPublicAddress } from "./address_book.ts";
import { formatTime } from "../../base/text.ts";
import { formatAge, type SeenJson, times } from "./measured_text.ts";
import { formatPrefix, type IpPrefix, isAddress, type PrefixMixture, prefixOfAddress } from "./ip_prefix.ts";

/** Maximum number of addresses per table. An address takes at most 64 bytes in a file. */
const MAX_ADDRESSES = 2 ** 18;
/** Maximum number of pairs per table. A pair takes 32 bytes in a file. */
const MAX_PAIRS = 2 ** 20;
/** Maximum number of addresses and of pairs to count while data are read. Further ones are ignored. */
const MAX_COUNTED = 2 ** 21;

/** How often something was measured, and when last. */
interface Seen {
  readonly measurements: number;
  /** Unix seconds; null if never measured, or at an unknown time. */
  readonly lastS: number | null;
}

/** How often something was measured in training and adaptation together. */
export interface Measured extends Seen {
  /** How many of the measurements are from the adaptation. */
  readonly inAdaptation: number;
}

interface KnownAddress {
  /** 4 or 16 bytes. */
  readonly bytes: Uint8Array;
  readonly asSource: Seen;
  readonly asDestination: Seen;
}

/** A summary of the whole training split. */
export interface DataSummary {
  /** Origin of the measurements, such as file names; empty if unknown. */
  readonly origin: string;
  /** Whether `synth` made the measurements; null if unknown. */
  readonly isSynthetic: boolean | null;
  /** Unix seconds of the first measurement; null if there are no measurements or no times. */
  readonly startS: number | null;
  /** Unix seconds of the last measurement; null in the same cases. */
  readonly endS: number | null;
  /** Number of measurements, including those without a reply. */
  readonly measurements: number;
  /** Distinct source addresses. */
  readonly sources: number;
  /** Distinct destination addresses. */
  readonly destinations: number;
}

/** The columns of a table as stored in a file. */
interface KnownColumns {
  /** IPv4 addresses, ascending, one word each. */
  readonly v4: Uint32Array;
  /** IPv6 addresses, ascending, four words each. */
  readonly v6: Uint32Array;
  /** Four words per address: measurements as source, time of the last (Unix s), and both as destination. */
  readonly seen: Uint32Array;
  /** Four words per pair, sorted: indexes of source and destination, measurements, time of the last. */
  readonly pairs: Uint32Array;
}

const NEVER: Seen = { measurements: 0, lastS: null };
const WORDS = 4;

/** The addresses and pairs that a model was trained on. */
export class KnownAddresses {
  readonly #numV4: number;
  readonly #inMixtures = new WeakMap<PrefixMixture, number>();

  /** Does not copy the columns. @param isTruncated Whether the data contained more addresses or pairs. */
  constructor(readonly columns: KnownColumns, readonly isTruncated: boolean) {
    const { v4, v6, seen, pairs } = columns;
    this.#numV4 = v4.length;
    ensure(
      seen.length === WORDS * (v4.length + v6.length / WORDS) && pairs.length % WORDS === 0,
      "the columns of known addresses are of different lengths",
    );
  }

  get numAddresses(): number {
    return this.columns.seen.length / WORDS;
  }

  get numPairs(): number {
    return this.columns.pairs.length / WORDS;
  }

  /** Looks up an address; undefined if the table does not contain it. @param bytes 4 or 16 bytes. */
  address(bytes: Uint8Array): KnownAddress | undefined {
    const index = this.indexOf(bytes);
    return index < 0 ? undefined : this.at(index);
  }

  /** The measurements from one address to another. */
  pair(source: Uint8Array, destination: Uint8Array): Seen {
    return this.measuredIn(source, { bytes: destination, length: 8 * destination.length });
  }

  /** The measurements from an address to any address in a prefix. */
  measuredIn(source: Uint8Array, destinations: IpPrefix): Seen {
    const { pairs } = this.columns;
    let measurements = 0;
    let lastS = 0;
    for (const at of this.#pairsFrom(source, this.#rangeOf(destinations))) {
      measurements += pairs[at + 2];
      lastS = Math.max(lastS, pairs[at + 3]);
    }
    return seenOf(measurements, lastS);
  }

  /** The destinations that a source measured, in address order. */
  destinationsOf(source: Uint8Array): { address: KnownAddress; seen: Seen }[] {
    const { pairs } = this.columns;
    return Array.from(this.#pairsFrom(source, [0, this.numAddresses]), (at) => ({
      address: this.at(pairs[at + 1]),
      seen: { measurements: pairs[at + 2], lastS: pairs[at + 3] },
    }));
  }

  /** Indexes into `pairs` for the pairs from one source to a range of address indexes. */
  *#pairsFrom(source: Uint8Array, [first, end]: [first: number, end: number]): Generator<number> {
    const { pairs } = this.columns;
    const a = this.indexOf(source);
    const start = partitionPoint(
      this.numPairs,
      (i) => (pairs[WORDS * i] - a || pairs[WORDS * i + 1] - first) >= 0,
    );
    for (let at = WORDS * start; pairs[at] === a && pairs[at + 1] < end; at += WORDS) yield at;
  }

  /** The most measured pairs. Pairs whose endpoints are not in an earlier pair come first. */
  mostMeasured(count: number): { source: Uint8Array; destination: Uint8Array }[] {
    const { pairs } = this.columns;
    const ats = Array.from({ length: this.numPairs }, (_, i) => WORDS * i)
      .sort((a, b) => pairs[b + 2] - pairs[a + 2]);
    const used = new Set<number>();
    const isNew = (at: number) => {
      const ends = [pairs[at], pairs[at + 1]];
      if (ends.some((end) => used.has(end))) return false;
      for (const end of ends) used.add(end);
      return true;
    };
    const { apart = [], others = [] } = Object.groupBy(ats, (at) => isNew(at) ? "apart" : "others");
    return [...apart, ...others].slice(0, count).map((at) => ({
      source: this.at(pairs[at]).bytes,
      destination: this.at(pairs[at + 1]).bytes,
    }));
  }

  /**
   * The amount that absolute discounting subtracts from each pair's count in favour of pairs that were never
   * measured: near 1 if most pairs were measured once, near 0 if hardly any was (Ney, Essen, Kneser, Computer
   * Speech and Language 8, 1994, with one more pair of each kind so that it is never exactly 0 or 1).
   */
  get pairDiscount(): number {
    const numWith = [0, 0, 0];
    for (let at = 2; at < this.columns.pairs.length; at += WORDS) {
      if (this.columns.pairs[at] <= 2) numWith[this.columns.pairs[at]]++;
    }
    return (numWith[1] + 1) / (numWith[1] + 2 * numWith[2] + 3);
  }

  /** All addresses that were measured as destinations, in address order. */
  *destinations(): Generator<KnownAddress> {
    for (let i = 0; i < this.numAddresses; i++) {
      if (this.columns.seen[WORDS * i + 2] > 0) yield this.at(i);
    }
  }

  /** All addresses, in order. */
  *addresses(): Generator<KnownAddress> {
    for (let i = 0; i < this.numAddresses; i++) yield this.at(i);
  }

  /** Pairs as indexes into {@link addresses}, in order. @param sources By default all. */
  *pairs(sources?: IpPrefix): Generator<[source: number, destination: number]> {
    const { pairs } = this.columns;
    const [first, end] = sources ? this.#rangeOf(sources) : [0, this.numAddresses];
    const start = partitionPoint(this.numPairs, (i) => pairs[WORDS * i] >= first);
    for (let at = WORDS * start; pairs[at] < end; at += WORDS) yield [pairs[at], pairs[at + 1]];
  }

  /** Number of known addresses in a prefix or place. */
  countIn(prefix: IpPrefix): number {
    const { mixture } = prefix;
    if (mixture) {
      const isIn = ({ bytes }: KnownAddress) => bytes.length === prefix.bytes.length && mixture.has(bytes);
      return getOrMake(this.#inMixtures, mixture, () => [...this.addresses().filter(isIn)].length);
    }
    const [first, end] = this.#rangeOf(prefix);
    return end - first;
  }

  /** The longest of a few prefixes around an address that contains known ones; undefined if none does. */
  prefixAround(bytes: Uint8Array): { prefix: IpPrefix; numKnown: number } | undefined {
    for (const length of bytes.length === 4 ? [24, 16, 8] : [64, 48, 32]) {
      const prefix = prefixOfAddress(bytes, length);
      const numKnown = this.countIn(prefix);
      if (numKnown > 0) return { prefix, numKnown };
    }
    return undefined;
  }

  /** Index of an address in {@link addresses}; -1 if it is not in the table. @param bytes 4 or 16 bytes. */
  indexOf(bytes: Uint8Array): number {
    const [index, end] = this.#rangeOf({ bytes, length: 8 * bytes.length });
    return end > index ? index : -1;
  }

  /** Index of the first known address in a prefix, and index of the first one after it. */
  #rangeOf({ bytes, length }: IpPrefix): [first: number, end: number] {
    const last = bytes.map((byte, i) => byte | 255 >> Math.min(8, Math.max(0, length - 8 * i)));
    return [this.#lowerBound(bytes, false), this.#lowerBound(last, true)];
  }

  /** Index of the first address of the same IP version that is at or (`isAfter`) after the given one. */
  #lowerBound(bytes: Uint8Array, isAfter: boolean): number {
    const { v4, v6 } = this.columns;
    const words = wordsOf(bytes);
    const bias = isAfter ? -1 : 0;
    const [keys, width, offset] = words.length === 1 ? [v4, 1, 0] : [v6, WORDS, this.#numV4];
    return offset +
      partitionPoint(keys.length / width, (i) => (compare(keys, width * i, words) || bias) >= 0);
  }

  /** The address at an index of {@link addresses}. */
  at(index: number): KnownAddress {
    const { v4, v6, seen } = this.columns;
    const words = index < this.#numV4
      ? v4.subarray(index, index + 1)
      : v6.subarray(WORDS * (index - this.#numV4), WORDS * (index - this.#numV4 + 1));
    const at = WORDS * index;
    return {
      bytes: Uint8Array.from({ length: 4 * words.length }, (_, i) => words[i >> 2] >>> (24 - 8 * (i & 3))),
      asSource: seenOf(seen[at], seen[at + 1]),
      asDestination: seenOf(seen[at + 2], seen[at + 3]),
    };
  }
}

function seenOf(measurements: number, lastS: number): Seen {
  return measurements === 0 ? NEVER : { measurements, lastS: lastS > 0 ? lastS : null };
}

/** Converts an address to one or four big-endian words. */
function wordsOf(bytes: Uint8Array): Uint32Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  return Uint32Array.from({ length: bytes.length / 4 }, (_, i) => view.getUint32(4 * i));
}

function compare(keys: Uint32Array, at: number, words: Uint32Array): number {
  for (let i = 0; i < words.length; i++) {
    if (keys[at + i] !== words[i]) return keys[at + i] - words[i];
  }
  return 0;
}

/** Counts addresses and pairs while measurements are read. Each takes some 0.3 kB. */
export class AddressCounts {
  readonly #ids = new Map<string, number>();
  readonly #words: Uint32Array[] = [];
  /** As in {@link KnownColumns}, but in order of appearance. */
  readonly #seen: number[] = [];
  readonly #pairIds = new Map<number, number>();
  /** Measurements and last time of each pair. */
  readonly #pairSeen: number[] = [];
  #isTruncated = false;
  #measurements = 0;
  #startS = Infinity;
  #endS = -Infinity;

  /** Continues from the counts in a table. */
  static of({ known: { columns, isTruncated }, summary }: MeasuredData): AddressCounts {
    const counts = new AddressCounts();
    const { v4, v6, seen, pairs } = columns;
    for (let at = 0; at < v4.length; at++) counts.#idOf(v4.subarray(at, at + 1));
    for (let at = 0; at < v6.length; at += WORDS) counts.#idOf(v6.subarray(at, at + WORDS));
    seen.forEach((number, i) => counts.#seen[i] = number);
    for (let at = 0; at < pairs.length; at += WORDS) {
      counts.#pairIds.set(pairs[at] * MAX_COUNTED + pairs[at + 1], at / WORDS);
      counts.#pairSeen.push(pairs[at + 2], pairs[at + 3]);
    }
    counts.#isTruncated = isTruncated;
    counts.#measurements = summary.measurements;
    counts.#startS = summary.startS ?? Infinity;
    counts.#endS = summary.endS ?? -Infinity;
    return counts;
  }

  /** The index of an address for {@link add}; -1 if there are too many. @param bytes 4 or 16 bytes. */
  id(bytes: Uint8Array): number {
    return this.#idOf(wordsOf(bytes));
  }

  #idOf(words: Uint32Array): number {
    const key = words.join();
    const found = this.#ids.get(key);
    if (found !== undefined) return found;
    const id = this.#words.length;
    if (id === MAX_COUNTED) {
      this.#isTruncated = true;
      return -1;
    }
    this.#ids.set(key, id);
    this.#words.push(words);
    this.#seen.push(0, 0, 0, 0);
    return id;
  }

  /** Counts a measurement, answered or not. @param timeS Unix seconds; null if unknown. */
  add(source: number, destination: number, timeS: number | null): void {
    this.#measurements++;
    if (timeS !== null) {
      this.#startS = Math.min(this.#startS, timeS);
      this.#endS = Math.max(this.#endS, timeS);
    }
    if (source < 0 || destination < 0) return;
    count(this.#seen, WORDS * source, timeS);
    count(this.#seen, WORDS * destination + 2, timeS);
    const key = source * MAX_COUNTED + destination;
    let pair = this.#pairIds.get(key);
    if (pair === undefined) {
      pair = this.#pairIds.size;
      if (pair === MAX_COUNTED) {
        this.#isTruncated = true;
        return;
      }
      this.#pairIds.set(key, pair);
      this.#pairSeen.push(0, 0);
    }
    count(this.#pairSeen, 2 * pair, timeS);
  }

  summary(origin: Pick<DataSummary, "origin" | "isSynthetic">): DataSummary {
    const numWith = (offset: number) =>
      this.#words.filter((_, i) => this.#seen[WORDS * i + offset] > 0).length;
    const hasTimes = this.#startS < Infinity;
    return {
      ...origin,
      startS: hasTimes ? this.#startS : null,
      endS: hasTimes ? this.#endS : null,
      measurements: this.#measurements,
      sources: numWith(0),
      destinations: numWith(2),
    };
  }

  /** Makes the table. If there are too many addresses or pairs, it keeps the most measured ones. */
  table(maxAddresses = MAX_ADDRESSES, maxPairs = MAX_PAIRS): KnownAddresses {
    const seen = this.#seen;
    const total = (id: number) => seen[WORDS * id] + seen[WORDS * id + 2];
    const ids = most(this.#words.map((_, id) => id), maxAddresses, total);
    ids.sort((a, b) => {
      const [x, y] = [this.#words[a], this.#words[b]];
      return x.length - y.length || compare(x, 0, y);
    });
    const indexOf = new Map(ids.map((id, index) => [id, index]));
    const pairs: number[][] = [];
    for (const [key, pair] of this.#pairIds) {
      const a = indexOf.get(Math.floor(key / MAX_COUNTED));
      const b = indexOf.get(key % MAX_COUNTED);
      if (a === undefined || b === undefined) continue;
      pairs.push([a, b, this.#pairSeen[2 * pair], this.#pairSeen[2 * pair + 1]]);
    }
    const kept = most(pairs, maxPairs, ([, , measurements]) => measurements);
    kept.sort((x, y) => x[0] - y[0] || x[1] - y[1]);
    const v4 = ids.filter((id) => this.#words[id].length === 1);
    const v6 = ids.slice(v4.length);
    const columns = {
      v4: Uint32Array.from(v4, (id) => this.#words[id][0]),
      v6: Uint32Array.from(v6.flatMap((id) => [...this.#words[id]])),
      seen: Uint32Array.from(ids.flatMap((id) => seen.slice(WORDS * id, WORDS * (id + 1)))),
      pairs: Uint32Array.from(kept.flat()),
    };
    const isWhole = ids.length === this.#words.length && kept.length === this.#pairIds.size;
    return new KnownAddresses(columns, this.#isTruncated || !isWhole);
  }
}

function count(seen: number[], at: number, timeS: number | null): void {
  seen[at]++;
  seen[at + 1] = Math.max(seen[at + 1], timeS ?? 0);
}

function most<T>(items: T[], limit: number, weight: (item: T) => number): T[] {
  return items.length <= limit ? items : items.toSorted((a, b) => weight(b) - weight(a)).slice(0, limit);
}

/** The measured addresses that a model stores, and a summary of all measurements. */
export interface MeasuredData {
  readonly summary: DataSummary;
  readonly known: KnownAddresses;
}

/** What a checkpoint stores about the data of its model. */
export interface TrainingData extends MeasuredData {
  /** The data that the model was later adapted to, if any. */
  readonly adaptation?: MeasuredData | undefined;
}

export const NO_DATA: TrainingData = {
  summary: new AddressCounts().summary({ origin: "", isSynthetic: null }),
  known: new AddressCounts().table(),
};

/**
 * The basis of an answer: `measured` if the pair was measured, `estimate` if only its endpoints were, `guess`
 * if an endpoint was never measured, so that the answer relies on the network or place around it.
 */
export type BasisKind = "measured" | "estimate" | "guess";

/**
 * Determines the basis from how often the pair was measured and how many addresses of each endpoint were. A
 * prefix or place never counts as `measured` as a whole.
 */
export function basisKind({ pair, src, dst }: Record<"pair" | "src" | "dst", number>): BasisKind {
  if (pair > 0) return "measured";
  return src > 0 && dst > 0 ? "estimate" : "guess";
}

interface RememberedRtt {
  readonly rttMs: number;
  /** Unix seconds; null if unknown. */
  readonly timeS: number | null;
}

interface Moment {
  /** `any`: a random moment within the data. */
  readonly kind: "any" | "asked";
  /** Readable text, such as "2020-02-01 12:00 UTC, 244 days after the pair was last measured". */
  readonly text: string;
  /** Seconds to the asked time from the pair's last measurement, else the data's; null if not later. */
  readonly ageS: number | null;
}

/**
 * Describes the moment that an answer is for.
 *
 * @param timeS The asked time in Unix seconds; null for any.
 * @param data `of`: what is known of the data; `pairS`: time of the pair's last measurement, null if there is
 *   none.
 */
export function momentOf(
  timeS: number | null,
  { of, pairS }: {
    of: readonly (Pick<DataSummary, "startS" | "endS"> | undefined)[];
    pairS: number | null;
  },
): Moment {
  const period = periodOf(of);
  if (timeS === null) {
    const text = period ? `from ${dayOf(period[0])} to ${dayOf(period[1])}` : "of the data";
    return { kind: "any", text: `any time ${text}`, ageS: null };
  }
  const text = formatTime(timeS);
  const lastS = pairS ?? period?.[1] ?? -Infinity;
  if (lastS === -Infinity || timeS <= lastS) return { kind: "asked", text, ageS: null };
  const ageS = timeS - lastS;
  const since = pairS === null ? "the newest data" : "the pair was last measured";
  return { kind: "asked", text: `${text}, ${formatAge(ageS)} after ${since}`, ageS };
}

/** The first and the last time of data, Unix seconds; undefined if they have none. */
export function periodOf(
  of: readonly (Pick<DataSummary, "startS" | "endS"> | undefined)[],
): readonly [startS: number, endS: number] | undefined {
  const times = of.flatMap((each) => [each?.startS ?? [], each?.endS ?? []].flat());
  return times.length > 0 ? [Math.min(...times), Math.max(...times)] : undefined;
}

function dayOf(timeS: number): string {
  return new Date(timeS * 1000).toISOString().slice(0, 10);
}

/** The basis of an answer for a source and a destination: how their addresses were measured in the data. */
export interface Basis {
  /** Whether the pair was measured, and if not, whether both endpoints were. */
  readonly kind: BasisKind;
  readonly text: string;
  /** Measurements of the source's address in either role, which the model does not distinguish. */
  readonly src: Measured;
  /** Measurements of the destination's address in either role. */
  readonly dst: Measured;
  readonly pair: Measured;
  /** Measured RTTs of the pair that the model remembers, newest first. */
  readonly rtts?: readonly RememberedRtt[] | undefined;
  readonly moment?: Moment | undefined;
  /** Places of the endpoints; undefined if the model knows neither. */
  readonly places?: { readonly src: string | null; readonly dst: string | null } | undefined;
}

interface BasisPlaces {
  /** The place of an address, such as "Frankfurt am Main, DE, AS3320". */
  placeOf(address: Uint8Array): string | undefined;
  /** Whether training found that an address is not where the databases say. */
  isMisplaced(address: Uint8Array): boolean;
}

/** Adds the counts of training and an adaptation. */
function together(trained: Seen, adapted: Seen = NEVER): Measured {
  const { measurements, lastS } = seenOf(
    trained.measurements + adapted.measurements,
    Math.max(trained.lastS ?? 0, adapted.lastS ?? 0),
  );
  return { measurements, inAdaptation: adapted.measurements, lastS };
}

/** The measurements from an address to any address of a prefix. */
export function measuredBy(
  { known, adaptation }: TrainingData,
  source: Uint8Array,
  destinations: IpPrefix,
): Measured {
  return together(
    known.measuredIn(source, destinations),
    adaptation?.known.measuredIn(source, destinations),
  );
}

/** Returns only the `kind` of {@link basisOf}. */
export function basisKindOf(
  data: TrainingData,
  source: IpPrefix,
  destination: IpPrefix,
): BasisKind {
  const isPair = isAddress(source) && isAddress(destination);
  const { known, adaptation } = data;
  const numKnown = (end: IpPrefix) => known.countIn(end) + (adaptation?.known.countIn(end) ?? 0);
  return basisKind({
    pair: isPair
      ? measuredBy(data, source.bytes, destination).measurements +
        measuredBy(data, destination.bytes, source).measurements
      : 0,
    src: numKnown(source),
    dst: numKnown(destination),
  });
}

/**
 * Describes the basis of an answer.
 *
 * @param data From the checkpoint.
 * @param source An address or a prefix; measurements of a prefix are not counted.
 * @param where The places known to the model.
 */
export function basisOf(
  data: TrainingData,
  source: IpPrefix,
  destination: IpPrefix,
  where?: BasisPlaces,
): Basis {
  const ends = [source, destination];
  const [from, to] = ends.map((end) => end.mixture?.name ?? where?.placeOf(end.bytes) ?? null);
  const places = from === null && to === null ? undefined : { src: from, dst: to };
  const misplaced = ends.filter((end) => isAddress(end) && where?.isMisplaced(end.bytes)).map((end) =>
    `${formatPrefix(end)} is not where the database says: its RTTs contradict that.`
  );
  const kind = basisKindOf(data, source, destination);
  const { known, summary, adaptation } = data;
  const [src, dst] = ends.map((prefix) =>
    together(seenAt(known, prefix), adaptation && seenAt(adaptation.known, prefix))
  );
  const isPair = isAddress(source) && isAddress(destination);
  const pair = isPair ? measuredBy(data, source.bytes, destination) : together(NEVER);
  const reverse = isPair ? measuredBy(data, destination.bytes, source) : together(NEVER);
  const answerFrom = (...ends: IpPrefix[]) =>
    `${kind === "guess" ? "a guess" : "an estimate"} from ${
      ends.map((end) => around(known, end, where)).join(" and ")
    }.`;
  // A measured one is an address of the networks that the model is about.
  const special = ends.filter((end, i) =>
    isAddress(end) && [src, dst][i].measurements === 0 && !isPublicAddress(end.bytes)
  ).map((end) => `${formatPrefix(end)} is not a public address (RFC 6890).`);
  const timesOf = (measured: Measured) => times(seenJson(measured));
  const never = (end: IpPrefix) => isAddress(end) ? "never" : "not a single address";
  const [isSrcMeasured, isDstMeasured] = [src, dst].map(({ measurements }) => measurements > 0);
  const sentences = [
    pair.measurements > 0
      ? `Pair ${timesOf(pair)}.`
      : kind === "measured"
      ? `Pair ${timesOf(reverse)}, in the other direction only.`
      : isSrcMeasured && isDstMeasured
      ? `Source ${timesOf(src)}, destination ${timesOf(dst)}, the pair never: an estimate from each.`
      : isSrcMeasured
      ? `Source ${timesOf(src)}, destination ${never(destination)}: ${answerFrom(destination)}`
      : isDstMeasured
      ? `Destination ${timesOf(dst)}, source ${never(source)}: ${answerFrom(source)}`
      : isPair
      ? `Neither address is in the training data: ${answerFrom(source, destination)}`
      : `Neither endpoint is a single measured address: ${answerFrom(source, destination)}`,
  ];
  if ((known.isTruncated || adaptation?.known.isTruncated) && kind !== "measured") {
    sentences.push("Only the most measured addresses and pairs are listed.");
  }
  if (summary.isSynthetic) sentences.push("The model knows a synthetic Internet, not the real one.");
  return { kind, text: [...sentences, ...new Set(special), ...misplaced].join(" "), src, dst, pair, places };
}

function seenAt(known: KnownAddresses, prefix: IpPrefix): Seen {
  const found = isAddress(prefix) ? known.address(prefix.bytes) : undefined;
  if (!found) return NEVER;
  const { asSource, asDestination } = found;
  const lastS = Math.max(asSource.lastS ?? -Infinity, asDestination.lastS ?? -Infinity);
  return seenOf(asSource.measurements + asDestination.measurements, lastS);
}

/** For example "203.0.113.0/24 (12 known addresses)". */
function around(known: KnownAddresses, place: IpPrefix, where: BasisPlaces | undefined): string {
  if (place.mixture) {
    const { name, numNetworks } = place.mixture;
    return `${name} (${numNetworks} networks, ${knownCount(known.countIn(place))})`;
  }
  const text = where?.isMisplaced(place.bytes) ? undefined : where?.placeOf(place.bytes);
  const found = isAddress(place)
    ? known.prefixAround(place.bytes)
    : { prefix: place, numKnown: known.countIn(place) };
  if (text !== undefined && !found?.numKnown) {
    return `the place of ${formatPrefix(place)}: ${text} (no measurement of this network)`;
  }
  if (!found) return `the whole network (nothing is known near ${formatPrefix(place)})`;
  const { prefix, numKnown } = found;
  return `${formatPrefix(prefix)} (${knownCount(numKnown)}${text === undefined ? "" : `; place: ${text}`})`;
}

/** For example "12 known addresses". */
export function knownCount(numKnown: number): string {
  return `${numKnown} known ${numKnown === 1 ? "address" : "addresses"}`;
}

export type { SeenJson };

export const seenSchema = z.object({
  measurements: z.int(),
  in_adaptation: z.int().describe("how many of them the model was adapted to"),
  last_seen: z.string().nullable().describe("ISO 8601; null if never measured or at unknown times"),
});

export const basisKindSchema = z.enum(["measured", "estimate", "guess"]).describe(
  "measured: the pair was measured; estimate: both addresses were, but not as a pair; guess: at least one was not, so the " +
    "answer is based on the network or place around it",
);

export const basisSchema = z.object({
  kind: basisKindSchema,
  text: z.string().describe("a summary in words"),
  src: seenSchema,
  dst: seenSchema,
  pair: seenSchema,
  rtts: z.array(z.object({
    rtt_ms: z.number(),
    time: z.string().nullable().describe("ISO 8601; null if unknown"),
  })).optional().describe(
    "measured RTTs of the pair that the model remembers, newest first; absent if there are none",
  ),
  moment: z.object({
    kind: z.enum(["any", "asked"]),
    age_s: z.number().nullable().describe(
      "seconds from the pair's last measurement, or else the newest in the data, to the asked time; null if not later",
    ),
    text: z.string().describe("a summary in words"),
  }).optional().describe(
    "the moment that the answer applies to: any time (a random moment of the data), or the asked time",
  ),
  places: z.object({ src: z.string().nullable(), dst: z.string().nullable() }).optional()
    .describe("city or region, country and AS of each; null if unknown, absent if both are"),
});

export type BasisJson = z.infer<typeof basisSchema>;

const countsSchema = z.object({
  start: z.string().nullable().describe("ISO 8601; null if unknown"),
  end: z.string().nullable(),
  measurements: z.int(),
  sources: z.int(),
  destinations: z.int(),
});
export type CountsJson = z.infer<typeof countsSchema>;

export const dataSchema = z.object({
  origin: z.string().describe("the origin of the measurements, such as file names; empty if unknown"),
  is_synthetic: z.boolean().nullable().describe("whether they are of a synthetic Internet; null if unknown"),
  ...countsSchema.shape,
  adaptation: countsSchema.nullable().describe("measurements that the model was later adapted to"),
});

export function basisJson({ kind, text, src, dst, pair, rtts = [], moment, places }: Basis): BasisJson {
  const seen = { src: seenJson(src), dst: seenJson(dst), pair: seenJson(pair) };
  const remembered = rtts.map(({ rttMs, timeS }) => ({ rtt_ms: rttMs, time: isoTime(timeS) }));
  return {
    kind,
    text,
    ...seen,
    ...(remembered.length > 0 && { rtts: remembered }),
    ...(moment && { moment: { kind: moment.kind, age_s: moment.ageS, text: moment.text } }),
    ...(places && { places }),
  };
}

export function seenJson({ measurements, inAdaptation, lastS }: Measured): SeenJson {
  return { measurements, in_adaptation: inAdaptation, last_seen: isoTime(lastS) };
}

export function dataJson(
  { summary, adaptation }: Pick<TrainingData, "summary" | "adaptation">,
): z.infer<typeof dataSchema> {
  const { origin, isSynthetic } = summary;
  return {
    origin,
    is_synthetic: isSynthetic,
    ...countsJson(summary),
    adaptation: adaptation ? countsJson(adaptation.summary) : null,
  };
}

export function countsJson({ startS, endS, measurements, sources, destinations }: DataSummary): CountsJson {
  return { start: isoTime(startS), end: isoTime(endS), measurements, sources, destinations };
}

function isoTime(timeS: number | null): string | null {
  return timeS === null ? null : new Date(timeS * 1000).toISOString();
}
