/**
 * Where addresses are: the position, country, region and AS of the whole routed Internet, as ranges of addresses with
 * equal values. A checkpoint holds such a table, so that it answers for any address without a database.
 *
 * Ranges consist of whole blocks, by default /24 of IPv4 and /40 of IPv6; positions are multiples of a step. Coarser
 * tables are smaller.
 *
 * @module
 */
import { partitionPoint } from "../../base/collections.ts";
import { ensure, FormatError } from "../../base/errors.ts";

/** What is known of an address; a field that is not known is absent. */
export interface Place {
  /** Degrees north, -90 to 90. */
  readonly latitude?: number;
  /** Degrees east, -180 to 180; present if the latitude is. */
  readonly longitude?: number;
  /** ISO 3166-1 alpha-2, such as `DE`. */
  readonly countryCode?: string;
  /** The region's name, such as that of a state; unique within its country. */
  readonly region?: string;
  /** Number of the autonomous system that announces the address, from 1. */
  readonly asNumber?: number;
}

/** What a table knows of an address. */
export interface LocatedPlace {
  /** Degrees north and east, rounded to the table's step; undefined if unknown. */
  readonly position: { readonly latitude: number; readonly longitude: number } | undefined;
  /** The country's code as a number, see {@link countryNumber}; 0 if unknown. */
  readonly country: number;
  /** A hash of the region's name, 1 to 65535; 0 if unknown. */
  readonly region: number;
  /** The AS; 0 if unknown. */
  readonly asNumber: number;
}

/** How coarse a table is. */
export interface Coarseness {
  /** Positions are multiples of so many quarters of a degree. */
  readonly quarterDegrees: number;
  /** A range belongs to the one before it if its number of blocks times the error in km is below it. */
  readonly maxErrorKm: number;
}

/** Positions of the finest table, see {@link Coarseness}. */
const QUARTER_DEGREES = 2;
/** Of coarser tables, from fine to coarse: steps of half an octave. */
const COARSENESSES: readonly Coarseness[] = [
  { quarterDegrees: 4, maxErrorKm: 0 },
  ...Array.from({ length: 20 }, (_, i) => ({ quarterDegrees: 4, maxErrorKm: 64 * 2 ** (i / 2) })),
  ...Array.from({ length: 20 }, (_, i) => ({ quarterDegrees: 8, maxErrorKm: 65_536 * 4 ** i })),
];
/** Another country, region or AS counts as so many km besides the distance. */
const ERRORS_KM = { country: 500, region: 50, network: 300 };

/** Ranges consist of blocks of 2^n numbers of {@link addressNumber}. */
interface BlockBits {
  readonly v4: number;
  readonly v6: number;
}
/** Blocks are /24 of IPv4 and /40 of IPv6. */
const BLOCK_BITS: BlockBits = { v4: 8, v6: 8 };

/** The number of bytes of an address that decide its place. */
export const NUMBER_BYTES = { 4: 4, 16: 6 } as const;

/** The first 32 bits of an IPv4 address or the first 48 bits of an IPv6 address as a number. */
export function addressNumber(address: Uint8Array): number {
  let number = 0;
  for (let i = 0; i < NUMBER_BYTES[address.length === 4 ? 4 : 16]; i++) number = number * 256 + address[i];
  return number;
}

/** Where addresses are, as one or several databases say. */
export interface PlaceSource {
  /** What is known of an address; undefined if nothing is. @param address 4 or 16 bytes. */
  locate(address: Uint8Array): Place | undefined;
  /** Visits the first number of each range with equal values, and the number after it; in any order. */
  visitBounds(length: 4 | 16, visit: (number: number) => void): void;
  /** The sources that this one is composed of, of which later ones override earlier ones; absent for a single one. */
  readonly parts?: readonly PlaceSource[];
}

/** Several places as one: fields of later ones override those of earlier ones. */
export function composedPlace(places: readonly (Place | undefined)[]): Place | undefined {
  const found = places.filter((place) => place !== undefined);
  return found.length < 2 ? found[0] : Object.assign({}, ...found);
}

/** Ranges in order, each with a value; the last one has no end. */
interface Ranges {
  readonly starts: Float64Array;
  /** 0 for no value. */
  readonly values: Uint32Array;
}

/** A place without its AS. */
type Site = Omit<LocatedPlace, "asNumber">;

interface Columns {
  /** See {@link Coarseness}. */
  readonly quarterDegrees: number;
  readonly blockBits: BlockBits;
  /** By number from 1. */
  readonly sites: readonly Site[];
  /** Numbers of sites of IPv4, AS numbers of IPv4, the same of IPv6; starts are blocks. */
  readonly ranges: readonly Ranges[];
}

const FORMAT = 1;
const NO_RANGES: readonly Ranges[] = Array.from({ length: 4 }, () => ({
  starts: new Float64Array(),
  values: new Uint32Array(),
}));
/** Where nothing is known of an address. */
export const NOWHERE: LocatedPlace = { position: undefined, country: 0, region: 0, asNumber: 0 };

/** The places of all addresses. */
export class PlaceTable {
  readonly #columns: Columns;

  private constructor(columns: Columns) {
    this.#columns = columns;
  }

  /**
   * Gathers what a source knows of all addresses. A block has the place of the address in its middle.
   *
   * @param onBlocks Called now and then with the number of blocks that were looked up.
   */
  static of(source: PlaceSource, onBlocks: (count: number) => void = () => {}): PlaceTable {
    const numbers = new SiteNumbers(QUARTER_DEGREES);
    const parts = source.parts ?? [source];
    let numBlocks = 0;
    const ranges = ([4, 16] as const).flatMap((length) => {
      const bits = bitsOf(BLOCK_BITS, length);
      const blocks = boundaryBlocks(source, length, bits);
      const [sites, networks] = [new RangeList(), new RangeList()];
      for (const block of blocks) {
        const address = addressOf(block * 2 ** bits + 2 ** (bits - 1), length);
        const places = parts.map((part) => part.locate(address)).filter((place) => place !== undefined);
        // Few blocks have several sites, and those of one source are the same objects again.
        const ofSites = places.filter(hasSite);
        const site = ofSites.length < 2 ? ofSites[0] : composedPlace(ofSites);
        sites.add(block, site ? numbers.of(site) : 0);
        networks.add(block, places.findLast(({ asNumber }) => asNumber !== undefined)?.asNumber ?? 0);
        if (++numBlocks % 2 ** 18 === 0) onBlocks(numBlocks);
      }
      return [sites.ranges(), networks.ranges()];
    });
    const { sites } = numbers;
    return new PlaceTable(
      byFrequency({ quarterDegrees: QUARTER_DEGREES, blockBits: BLOCK_BITS, sites, ranges }),
    );
  }

  /** A table as {@link encode} writes it. @throws {FormatError} If it is damaged. */
  static decode(numbers: Float32Array, path: string): PlaceTable {
    // A model that was not trained yet has zeros.
    if (!(numbers[0] > 0)) {
      return new PlaceTable({
        quarterDegrees: QUARTER_DEGREES,
        blockBits: BLOCK_BITS,
        sites: [NOWHERE],
        ranges: NO_RANGES,
      });
    }
    const read = new ByteReader(bytesOf(numbers), path);
    if (read.number() !== FORMAT) read.fail("its format is unknown");
    const [quarterDegrees, v4, v6, numSites] = Array.from({ length: 4 }, () => read.number());
    const sites: Site[] = [NOWHERE];
    for (let i = 0; i < numSites; i++) {
      const [latitude, longitude, country, region] = Array.from({ length: 4 }, () => read.number());
      const position = latitude === 0 ? undefined : {
        latitude: (latitude - 1) * quarterDegrees / 4 - 90,
        longitude: longitude * quarterDegrees / 4 - 180,
      };
      sites.push({ position, country, region });
    }
    const ranges = Array.from({ length: 4 }, () => {
      const count = read.number();
      if (count > 3 * numbers.length) read.fail("it has fewer ranges than it says");
      const starts = new Float64Array(count);
      const values = new Uint32Array(count);
      for (let i = 0, start = 0; i < count; i++) {
        starts[i] = start += read.number();
        values[i] = read.number();
      }
      return { starts, values };
    });
    for (const { values } of [ranges[0], ranges[2]]) {
      if (values.some((site) => site > numSites)) read.fail("it has a number of no site");
    }
    return new PlaceTable({ quarterDegrees, blockBits: { v4, v6 }, sites, ranges });
  }

  /** The table as whole numbers below 2^24, which float32 holds exactly; lib/model/EXACT.md has the format. */
  encode(): Float32Array<ArrayBuffer> {
    const { quarterDegrees, blockBits, sites, ranges } = this.#columns;
    const bytes = new ByteWriter();
    bytes.add(FORMAT, quarterDegrees, blockBits.v4, blockBits.v6, sites.length - 1);
    for (const { position, country, region } of sites.slice(1)) {
      const steps = (degrees: number) => Math.round(degrees * 4 / quarterDegrees);
      bytes.add(
        position ? 1 + steps(position.latitude + 90) : 0,
        position ? steps(position.longitude + 180) : 0,
      );
      bytes.add(country, region);
    }
    for (const { starts, values } of ranges) {
      bytes.add(starts.length);
      for (let i = 0; i < starts.length; i++) bytes.add(starts[i] - (i > 0 ? starts[i - 1] : 0), values[i]);
    }
    return numbersOf(bytes.bytes());
  }

  /** Positions are multiples of so many degrees. */
  get stepDegrees(): number {
    return this.#columns.quarterDegrees / 4;
  }

  /** The lengths of the prefixes that ranges consist of, bits. */
  get prefixLengths(): { v4: number; v6: number } {
    const { v4, v6 } = this.#columns.blockBits;
    return { v4: 32 - v4, v6: 48 - v6 };
  }

  /** The number of ranges with a site and with an AS, of both IP versions. */
  get numRanges(): { sites: number; networks: number } {
    const [a, b, c, d] = this.#columns.ranges.map(({ starts }) => starts.length);
    return { sites: a + c, networks: b + d };
  }

  /** The number of different positions, countries and regions. */
  get numSites(): number {
    return this.#columns.sites.length - 1;
  }

  /** What the table knows of an address. @param number See {@link addressNumber}. @param length Of the address, bytes. */
  locate(number: number, length: 4 | 16): LocatedPlace {
    const { blockBits, sites, ranges } = this.#columns;
    const block = Math.floor(number / 2 ** bitsOf(blockBits, length));
    const first = length === 4 ? 0 : 2;
    return { ...sites[valueAt(ranges[first], block)], asNumber: valueAt(ranges[first + 1], block) };
  }

  /** The table in which some addresses, with all of their blocks, have other places; of one block the last one counts. */
  with(placed: readonly { readonly address: Uint8Array; readonly place: LocatedPlace }[]): PlaceTable {
    const { quarterDegrees, blockBits, sites, ranges } = this.#columns;
    const numbers = new SiteNumbers(quarterDegrees);
    // They keep their numbers.
    for (const site of sites) numbers.ofSite(site);
    const changed = ranges.map(({ starts, values }, i) => {
      const length = i < 2 ? 4 : 16;
      const own = new Map(
        placed.filter(({ address }) => address.length === length).map(({ address, place }) => [
          Math.floor(addressNumber(address) / 2 ** bitsOf(blockBits, length)),
          i % 2 === 0 ? numbers.ofSite(place) : place.asNumber,
        ]),
      );
      const bounds = Float64Array.of(...[...own.keys()].flatMap((block) => [block, block + 1]));
      const all = new Float64Array(starts.length + bounds.length);
      all.set(starts);
      all.set(bounds, starts.length);
      const list = new RangeList();
      for (const start of all.sort()) list.add(start, own.get(start) ?? valueAt({ starts, values }, start));
      return list.ranges();
    });
    return new PlaceTable({ quarterDegrees, blockBits, sites: numbers.sites, ranges: changed });
  }

  /**
   * The finest table, of this one and coarser ones, whose {@link encode} takes at most so many bytes, or the coarsest.
   *
   * @param kept Addresses whose places stay exact, but for the rounding of positions.
   */
  within(maxBytes: number, kept: readonly Uint8Array[] = []): Float32Array<ArrayBuffer> {
    const own = this.encode();
    if (own.byteLength <= maxBytes) return own;
    const coarser = (i: number) => this.#coarsened(COARSENESSES[i], kept).encode();
    const last = COARSENESSES.length - 1;
    return coarser(partitionPoint(last, (i) => coarser(i).byteLength <= maxBytes));
  }

  #coarsened({ quarterDegrees, maxErrorKm }: Coarseness, kept: readonly Uint8Array[]): PlaceTable {
    const { blockBits, sites, ranges } = this.#columns;
    const numbers = new SiteNumbers(quarterDegrees);
    const rounded = sites.map((site) => numbers.ofSite(site));
    const blocks = ([4, 16] as const).map((length) => {
      const own = kept.filter((address) => address.length === length);
      return Float64Array.from(
        own,
        (address) => Math.floor(addressNumber(address) / 2 ** bitsOf(blockBits, length)),
      ).sort();
    });
    const merged = ranges.map(({ starts, values }, i) => {
      const isSites = i % 2 === 0;
      const ranges = { starts, values: isSites ? values.map((site) => rounded[site]) : values };
      const errorKm = (a: number, b: number) =>
        isSites ? siteErrorKm(numbers.sites[a], numbers.sites[b]) : ERRORS_KM.network;
      return merge(ranges, { maxErrorKm, errorKm, kept: blocks[i >> 1] });
    });
    return new PlaceTable(byFrequency({ quarterDegrees, blockBits, sites: numbers.sites, ranges: merged }));
  }
}

/** How far one site is from another, km. */
function siteErrorKm(a: Site, b: Site): number {
  const known = a.position && b.position ? distanceKm(a.position, b.position) : ERRORS_KM.country;
  return known + (a.country === b.country ? 0 : ERRORS_KM.country) +
    (a.region === b.region ? 0 : ERRORS_KM.region);
}

const EARTH_RADIUS_KM = 6371;

/** The great-circle distance of two positions, km (haversine formula). */
export function distanceKm(
  a: { latitude: number; longitude: number },
  b: { latitude: number; longitude: number },
): number {
  const radians = (degrees: number) => degrees * Math.PI / 180;
  const [latitude, longitude] = [b.latitude - a.latitude, b.longitude - a.longitude].map((degrees) =>
    Math.sin(radians(degrees) / 2) ** 2
  );
  const h = latitude + Math.cos(radians(a.latitude)) * Math.cos(radians(b.latitude)) * longitude;
  return 2 * EARTH_RADIUS_KM * Math.asin(Math.min(1, Math.sqrt(h)));
}

/** Whether more is known than an AS. */
function hasSite({ latitude, countryCode, region }: Place): boolean {
  return latitude !== undefined || countryCode !== undefined || region !== undefined;
}

/** The address of a number, whose further bytes are 0. */
function addressOf(number: number, length: 4 | 16): Uint8Array {
  const address = new Uint8Array(length);
  for (let i = NUMBER_BYTES[length] - 1; i >= 0; i--) {
    address[i] = number % 256;
    number = Math.floor(number / 256);
  }
  return address;
}

function bitsOf({ v4, v6 }: BlockBits, length: 4 | 16): number {
  return length === 4 ? v4 : v6;
}

/** Lets ranges belong to the range before them, if that has a value, the error is small and no block of theirs is kept. */
function merge(
  { starts, values }: Ranges,
  { maxErrorKm, errorKm, kept }: {
    maxErrorKm: number;
    errorKm: (a: number, b: number) => number;
    kept: Float64Array;
  },
): Ranges {
  const list = new RangeList();
  let last = 0;
  let nextKept = 0;
  starts.forEach((start, i) => {
    const end = starts[i + 1] ?? Infinity;
    while (kept[nextKept] < start) nextKept++;
    const isKept = kept[nextKept] < end;
    const canMerge = last > 0 && !isKept && end - start < Infinity;
    if (canMerge && (end - start) * errorKm(last, values[i]) < maxErrorKm) return;
    last = values[i];
    list.add(start, last);
  });
  return list.ranges();
}

/** The blocks in which ranges begin, ascending. */
function boundaryBlocks(source: PlaceSource, length: 4 | 16, bits: number): Float64Array {
  const limit = 2 ** (8 * NUMBER_BYTES[length] - bits);
  let found = new Float64Array(1024);
  let count = 0;
  source.visitBounds(length, (number) => {
    // A range that begins in a block has the next block too, but not always this one.
    const block = Math.floor(number / 2 ** bits);
    for (const each of block * 2 ** bits === number ? [block] : [block, block + 1]) {
      if (each >= limit || (count > 0 && found[count - 1] === each)) continue;
      if (count === found.length) {
        const larger = new Float64Array(2 * count);
        larger.set(found);
        found = larger;
      }
      found[count++] = each;
    }
  });
  return found.subarray(0, count).sort().filter((block, i, all) => i === 0 || block !== all[i - 1]);
}

/** The value of the range that has a block; 0 for none. */
function valueAt({ starts, values }: Ranges, block: number): number {
  const index = partitionPoint(starts.length, (i) => starts[i] > block) - 1;
  return index < 0 ? 0 : values[index];
}

/** Gathers ranges; neighbours of equal value become one. */
class RangeList {
  readonly #starts: number[] = [];
  readonly #values: number[] = [];

  add(start: number, value: number): void {
    if (value === (this.#values.at(-1) ?? 0)) return;
    this.#starts.push(start);
    this.#values.push(value);
  }

  ranges(): Ranges {
    return { starts: Float64Array.from(this.#starts), values: Uint32Array.from(this.#values) };
  }
}

/** Numbers sites from 1 in the order of appearance. */
class SiteNumbers {
  readonly sites: Site[] = [NOWHERE];
  readonly #numbers = new Map<string, number>();
  /** The numbers of places that were asked before: sources give the same objects again. */
  readonly #known = new WeakMap<Place, number>();
  readonly #step: number;

  /** @param quarterDegrees See {@link Coarseness}. */
  constructor(quarterDegrees: number) {
    this.#step = quarterDegrees / 4;
  }

  of(place: Place): number {
    const known = this.#known.get(place);
    if (known !== undefined) return known;
    const { latitude, longitude, countryCode = "", region = "" } = place;
    const number = this.ofSite({
      position: latitude === undefined || longitude === undefined ? undefined : { latitude, longitude },
      country: countryNumber(countryCode),
      region: regionNumber(region),
    });
    this.#known.set(place, number);
    return number;
  }

  /** The number of a site, whose position is rounded; 0 if nothing is known. */
  ofSite({ position, country, region }: Site): number {
    const rounded = (degrees: number) => Math.round(degrees / this.#step) * this.#step;
    const site: Site = {
      position: position && { latitude: rounded(position.latitude), longitude: rounded(position.longitude) },
      country,
      region,
    };
    const key = `${site.position?.latitude} ${site.position?.longitude} ${country} ${region}`;
    let number = this.#numbers.get(key);
    if (number === undefined) {
      number = site.position || country > 0 || region > 0 ? this.sites.push(site) - 1 : 0;
      this.#numbers.set(key, number);
    }
    return number;
  }
}

/** Numbers sites anew, the most frequent first, so that their numbers are short; unused ones are left out. */
function byFrequency({ sites, ranges, ...rest }: Columns): Columns {
  const counts = new Uint32Array(sites.length);
  for (const { values } of [ranges[0], ranges[2]]) for (const site of values) counts[site]++;
  const order = Array.from({ length: sites.length - 1 }, (_, i) => i + 1).filter((site) => counts[site] > 0)
    .sort((a, b) => counts[b] - counts[a] || a - b);
  const numbers = new Uint32Array(sites.length);
  order.forEach((site, i) => numbers[site] = i + 1);
  const renumbered = ({ starts, values }: Ranges) => ({
    starts,
    values: values.map((site) => numbers[site]),
  });
  return {
    ...rest,
    sites: [NOWHERE, ...order.map((site) => sites[site])],
    ranges: [renumbered(ranges[0]), ranges[1], renumbered(ranges[2]), ranges[3]],
  };
}

/** A country's code as a number from 1 to 676; 0 if it is not two letters from A to Z. */
export function countryNumber(code: string): number {
  if (!/^[A-Z]{2}$/.test(code)) return 0;
  return 26 * (code.charCodeAt(0) - 65) + code.charCodeAt(1) - 64;
}

/** The inverse of {@link countryNumber}; empty for 0. */
export function countryCode(number: number): string {
  if (number === 0) return "";
  return String.fromCharCode(65 + Math.floor((number - 1) / 26), 65 + (number - 1) % 26);
}

/** A hash of a region's name: FNV-1a of its UTF-16 units in 16 bits, 1 to 65535. */
function regionNumber(name: string): number {
  if (name === "") return 0;
  let hash = 0x811c9dc5;
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193);
  return ((hash >>> 16 ^ hash) & 0xffff) || 1;
}

/** Writes whole numbers as LEB128: seven bits a byte, the lowest first, the highest bit set if more follow. */
class ByteWriter {
  #bytes = new Uint8Array(1024);
  #length = 0;

  add(...numbers: number[]): void {
    for (let number of numbers) {
      if (this.#length + 8 > this.#bytes.length) {
        const larger = new Uint8Array(2 * this.#bytes.length);
        larger.set(this.#bytes);
        this.#bytes = larger;
      }
      while (number >= 128) {
        this.#bytes[this.#length++] = 128 | number % 128;
        number = Math.floor(number / 128);
      }
      this.#bytes[this.#length++] = number;
    }
  }

  bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }
}

class ByteReader {
  readonly #bytes: Uint8Array;
  readonly #path: string;
  #at = 0;

  constructor(bytes: Uint8Array, path: string) {
    this.#bytes = bytes;
    this.#path = path;
  }

  number(): number {
    let value = 0;
    for (let scale = 1;; scale *= 128) {
      if (this.#at >= this.#bytes.length) this.fail("it ends too early");
      const byte = this.#bytes[this.#at++];
      value += (byte & 127) * scale;
      if (byte < 128) return value;
      if (scale > 2 ** 42) this.fail("a number is too long");
    }
  }

  fail(found: string): never {
    throw new FormatError(`the table of places is damaged: ${found}; use an earlier checkpoint`, {
      path: this.#path,
    });
  }
}

/** Three bytes a number, the first one highest; zeros are added at the end. */
function numbersOf(bytes: Uint8Array): Float32Array<ArrayBuffer> {
  const numbers = new Float32Array(Math.ceil(bytes.length / 3));
  for (let i = 0, at = 0; i < numbers.length; i++, at += 3) {
    numbers[i] = bytes[at] * 65_536 + (bytes[at + 1] ?? 0) * 256 + (bytes[at + 2] ?? 0);
  }
  return numbers;
}

function bytesOf(numbers: Float32Array): Uint8Array {
  const bytes = new Uint8Array(3 * numbers.length);
  for (let i = 0, at = 0; i < numbers.length; i++) {
    const number = numbers[i];
    ensure(number >= 0 && number < 2 ** 24, "a number of the table of places is out of range");
    bytes[at++] = number >> 16;
    bytes[at++] = number >> 8;
    bytes[at++] = number;
  }
  return bytes;
}
