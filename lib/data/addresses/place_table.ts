/**
 * Where addresses are: the position, country, region and AS for the whole routed Internet, as ranges of
 * addresses with equal values. A checkpoint contains such a table, so that it answers for any address without
 * a database.
 *
 * Ranges consist of whole blocks, by default /24 of IPv4 and /40 of IPv6. Positions are multiples of a step.
 * Coarser tables are smaller.
 *
 * @module
 */
import { getOrMake, partitionPoint } from "../../base/collections.ts";
import { FormatError } from "../../base/errors.ts";
import type { IpPrefix } from "./ip_prefix.ts";

/** The place of an address. Unknown fields are absent. */
export interface Place {
  /** Degrees north, -90 to 90. */
  readonly latitude?: number;
  /** Degrees east, -180 to 180; present if the latitude is. */
  readonly longitude?: number;
  /** ISO 3166-1 alpha-2, such as `DE`. */
  readonly countryCode?: string;
  /** A name that is unique within the country, such as a state. */
  readonly region?: string;
  readonly city?: string;
  /** Number of the autonomous system (AS) that announces the address, at least 1. */
  readonly asNumber?: number;
  readonly asName?: string;
}

/** Degrees north and east. */
export interface Position {
  readonly latitude: number;
  readonly longitude: number;
}

export interface LocatedPlace {
  /** Rounded to the table's step; undefined if unknown. */
  readonly position: Position | undefined;
  /** The code as a number (see {@link countryNumber}); 0 if unknown. */
  readonly country: number;
  /** A hash of the name, 1 to 65535; 0 if unknown. */
  readonly region: number;
  /** 0 if unknown. */
  readonly asNumber: number;
}

/** Everything known about a range of addresses except its AS. */
export type Site = Omit<LocatedPlace, "asNumber">;

/** Names for the numbers in a table; those with the most ranges first. */
interface PlaceNames {
  /** A city may have several sites, and a site may have several cities. */
  readonly cities: readonly { readonly name: string; readonly site: number }[];
  readonly regions: readonly { readonly name: string; readonly country: number; readonly region: number }[];
  readonly networks: readonly { readonly name: string; readonly asNumber: number }[];
}

interface Coarseness {
  /** Step between positions, in quarters of a degree. */
  readonly quarterDegrees: number;
  /** A range is merged into the previous one if its number of blocks times the error in km is below this. */
  readonly maxErrorKm: number;
}

/** Step of the finest table, see {@link Coarseness}. */
const QUARTER_DEGREES = 2;
/** Increasingly coarse tables, in steps of half an octave. */
const COARSENESSES: readonly Coarseness[] = [
  { quarterDegrees: 4, maxErrorKm: 0 },
  ...Array.from({ length: 20 }, (_, i) => ({ quarterDegrees: 4, maxErrorKm: 64 * 2 ** (i / 2) })),
  ...Array.from({ length: 20 }, (_, i) => ({ quarterDegrees: 8, maxErrorKm: 65_536 * 4 ** i })),
];
/** The share of a table's bytes that names may take if the table has to shrink. */
const NAMES_SHARE = 0.1;
/** In UTF-16 units. */
const MAX_NAME_LENGTH = 40;
/** Kilometres added to the distance if the country, region or AS is different. */
const ERRORS_KM = { country: 500, region: 50, network: 300 };

/** Ranges consist of blocks of 2^n values of {@link addressNumber}. The keys are address lengths in bytes. */
type BlockBits = Readonly<Record<4 | 16, number>>;
/** Blocks are /24 for IPv4 and /40 for IPv6. */
const BLOCK_BITS: BlockBits = { 4: 8, 16: 8 };

/** How many bytes of an address determine its place. */
export const NUMBER_BYTES = { 4: 4, 16: 6 } as const;

export function lengthOf(address: Uint8Array): 4 | 16 {
  return address.length === 4 ? 4 : 16;
}

/** The first 32 bits of an IPv4 address or the first 48 bits of an IPv6 address, as a number. */
export function addressNumber(address: Uint8Array): number {
  let number = 0;
  for (let i = 0; i < NUMBER_BYTES[lengthOf(address)]; i++) number = number * 256 + address[i];
  return number;
}

/** Where addresses are, according to one or several databases. */
export interface PlaceSource {
  /** Looks up the place of an address; undefined if unknown. @param address 4 or 16 bytes. */
  locate(address: Uint8Array): Place | undefined;
  /** Visits the first number of each range with equal values and the number after its end, in any order. */
  visitBounds(length: 4 | 16, visit: (number: number) => void): void;
  /** The sources that this one combines, later ones overriding earlier ones; absent for a single source. */
  readonly parts?: readonly PlaceSource[];
}

/** The fields that are absent from all places of a source. */
export function missingFields<Field extends keyof Place>(
  source: PlaceSource,
  fields: readonly Field[],
): Field[] {
  const missing = new Set(fields);
  for (const length of [4, 16] as const) {
    source.visitBounds(length, (number) => {
      if (missing.size === 0) return;
      const place = source.locate(addressOf(number, length));
      for (const field of missing) if (place?.[field] !== undefined) missing.delete(field);
    });
  }
  return [...missing];
}

/** Merges places. Fields of later ones override those of earlier ones. */
export function composedPlace(places: readonly (Place | undefined)[]): Place | undefined {
  const found = places.filter((place) => place !== undefined);
  return found.length < 2 ? found[0] : Object.assign({}, ...found);
}

/** Ranges in order, each with a value. The last one is open-ended. */
interface Ranges {
  readonly starts: Float64Array;
  /** 0 for no value. */
  readonly values: Uint32Array;
}

interface Columns {
  readonly quarterDegrees: number;
  readonly blockBits: BlockBits;
  /** By number, from 1. */
  readonly sites: readonly Site[];
  /** Site numbers of IPv4, AS numbers of IPv4, then both of IPv6. Starts are block numbers. */
  readonly ranges: readonly Ranges[];
  /** Decoded on the first call. */
  readonly names: () => PlaceNames;
}

/** Format 1 has no names. */
const FORMAT = 2;
/** Largest country codes, region hashes and AS numbers. */
const [MOST_COUNTRY, MOST_REGION, MOST_AS] = [26 ** 2, 2 ** 16 - 1, 2 ** 32 - 1];
/** Coarsest step between positions, in quarters of a degree. */
const MOST_QUARTERS = 360;
/** Decoded tables by encoded form, so that several models of one checkpoint share one. */
const decoded = new WeakMap<Uint8Array, PlaceTable>();
const NO_NAMES: PlaceNames = { cities: [], regions: [], networks: [] };
/** The place of an address about which nothing is known. */
export const NOWHERE: LocatedPlace = { position: undefined, country: 0, region: 0, asNumber: 0 };
/** An empty table. */
const UNTRAINED: Columns = {
  quarterDegrees: QUARTER_DEGREES,
  blockBits: BLOCK_BITS,
  sites: [NOWHERE],
  ranges: Array.from({ length: 4 }, () => ({ starts: new Float64Array(), values: new Uint32Array() })),
  names: () => NO_NAMES,
};

export class PlaceTable {
  readonly #columns: Columns;

  private constructor(columns: Columns) {
    this.#columns = columns;
  }

  /**
   * Collects what a source knows about all addresses. The middle of a block determines the block's place.
   *
   * @param onBlocks Called from time to time with the number of blocks so far.
   */
  static of(source: PlaceSource, onBlocks: (count: number) => void = () => {}): PlaceTable {
    const numbers = new SiteNumbers(QUARTER_DEGREES);
    const parts = source.parts ?? [source];
    const asNames = new Map<number, string>();
    let numFound = 0;
    const ranges = ([4, 16] as const).flatMap((length) => {
      const bits = BLOCK_BITS[length];
      const [sites, networks] = [new RangeList(), new RangeList()];
      for (const block of boundaryBlocks(source, length, bits)) {
        const address = addressOf(block * 2 ** bits + 2 ** (bits - 1), length);
        const places = parts.map((part) => part.locate(address)).filter((place) => place !== undefined);
        // Few blocks contain several sites, and a single source returns the same objects again.
        const ofSites = places.filter(hasSite);
        const site = ofSites.length < 2 ? ofSites[0] : composedPlace(ofSites);
        sites.add(block, site ? numbers.of(site) : 0);
        const network = places.findLast(({ asNumber }) => asNumber !== undefined);
        networks.add(block, network?.asNumber ?? 0);
        if (network?.asNumber && network.asName) asNames.set(network.asNumber, network.asName);
        if (++numFound % 2 ** 18 === 0) onBlocks(numFound);
      }
      return [sites.ranges(), networks.ranges()];
    });
    const names: PlaceNames = { ...numbers.names(), networks: networkNames(asNames, ranges) };
    return new PlaceTable(
      byFrequency({ ...UNTRAINED, sites: numbers.sites, ranges, names: () => names }),
    );
  }

  /** Reads the output of {@link encode}. @throws {FormatError} If it is damaged. */
  static decode(bytes: Uint8Array, path: string): PlaceTable {
    return decoded.get(bytes) ?? PlaceTable.#decode(bytes, path);
  }

  static #decode(bytes: Uint8Array, path: string): PlaceTable {
    // An untrained model has all zeros.
    if (!(bytes[0] > 0)) return new PlaceTable(UNTRAINED);
    const read = new ByteReader(bytes, path);
    const format = read.number();
    if (format !== 1 && format !== FORMAT) read.fail("its format is unknown");
    const quarterDegrees = read.within(1, MOST_QUARTERS, "the step of positions");
    const blockBits: BlockBits = {
      4: read.within(0, 8 * NUMBER_BYTES[4], "the bits of IPv4 blocks"),
      16: read.within(0, 8 * NUMBER_BYTES[16], "the bits of IPv6 blocks"),
    };
    const numSites = read.number();
    const sites: Site[] = [NOWHERE];
    for (let i = 0; i < numSites; i++) {
      const latitude = read.within(0, 180 * 4 / quarterDegrees + 1, "a latitude");
      const longitude = read.within(0, 360 * 4 / quarterDegrees, "a longitude");
      const country = read.within(0, MOST_COUNTRY, "a country");
      const region = read.within(0, MOST_REGION, "a region");
      const position = latitude === 0 ? undefined : {
        latitude: (latitude - 1) * quarterDegrees / 4 - 90,
        longitude: longitude * quarterDegrees / 4 - 180,
      };
      sites.push({ position, country, region });
    }
    const ranges = [numSites, MOST_AS, numSites, MOST_AS].map((most, kind) => {
      const limit = numBlocks(blockBits, kind < 2 ? 4 : 16);
      const count = read.count();
      const starts = new Float64Array(count);
      const values = new Uint32Array(count);
      for (let i = 0, start = 0; i < count; i++) {
        starts[i] = start += read.within(i === 0 ? 0 : 1, limit - 1 - start, "the distance of ranges");
        values[i] = read.within(0, most, kind % 2 === 0 ? "a site" : "an AS");
      }
      return { starts, values };
    });
    const rest = read.rest();
    let names: PlaceNames | undefined;
    const readNames = () => names ??= format === 1 ? NO_NAMES : decodeNames(rest, sites);
    const table = new PlaceTable({ quarterDegrees, blockBits, sites, ranges, names: readNames });
    decoded.set(bytes, table);
    return table;
  }

  /** Encodes the table as bytes, a multiple of three. Format: lib/model/EXACT.md. */
  encode(): Uint8Array<ArrayBuffer> {
    const { quarterDegrees, blockBits, sites, ranges } = this.#columns;
    const bytes = new ByteWriter();
    bytes.add(FORMAT, quarterDegrees, blockBits[4], blockBits[16], sites.length - 1);
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
    encodeNames(bytes, this.names);
    return bytes.whole();
  }

  /** Step between positions in degrees. */
  get stepDegrees(): number {
    return this.#columns.quarterDegrees / 4;
  }

  /** Lengths in bits of the prefixes that form ranges. */
  get prefixLengths(): { v4: number; v6: number } {
    const { 4: v4, 16: v6 } = this.#columns.blockBits;
    return { v4: 32 - v4, v6: 48 - v6 };
  }

  /** How many ranges have a site and how many have an AS, in both IP versions together. */
  get numRanges(): { sites: number; networks: number } {
    const [a, b, c, d] = this.#columns.ranges.map(({ starts }) => starts.length);
    return { sites: a + c, networks: b + d };
  }

  /** Number of distinct combinations of position, country and region. */
  get numSites(): number {
    return this.#columns.sites.length - 1;
  }

  get names(): PlaceNames {
    return this.#columns.names();
  }

  /** By number; 0 is nowhere. */
  get sites(): readonly Site[] {
    return this.#columns.sites;
  }

  /**
   * Visits ranges of blocks with equal site and AS in ascending order, except those with neither.
   *
   * @param length Length of addresses in bytes.
   * @param visit Called with the first block, the one after the last, their site number and their AS; 0 for
   *   none.
   */
  visitRanges(
    length: 4 | 16,
    visit: (first: number, end: number, site: number, asNumber: number) => void,
  ): void {
    const { blockBits, ranges } = this.#columns;
    const [sites, networks] = ranges.slice(length === 4 ? 0 : 2);
    const limit = numBlocks(blockBits, length);
    let [i, j, first] = [0, 0, 0];
    while (first < limit) {
      const end = Math.min(sites.starts[i] ?? limit, networks.starts[j] ?? limit);
      const [site, asNumber] = [i > 0 ? sites.values[i - 1] : 0, j > 0 ? networks.values[j - 1] : 0];
      if (end > first && (site > 0 || asNumber > 0)) visit(first, end, site, asNumber);
      if (sites.starts[i] === end) i++;
      if (networks.starts[j] === end) j++;
      first = end;
    }
  }

  /**
   * The prefix of `size` blocks, a power of two that divides `first`. @param length Address length in bytes.
   */
  prefixAt(first: number, size: number, length: 4 | 16): IpPrefix {
    const bits = this.#columns.blockBits[length];
    return {
      bytes: addressOf(first * 2 ** bits, length),
      length: 8 * NUMBER_BYTES[length] - bits - Math.log2(size),
    };
  }

  /** Looks up an address. @param number See {@link addressNumber}. @param length Address length in bytes. */
  locate(number: number, length: 4 | 16): LocatedPlace {
    const { site, asNumber } = this.numbersAt(number, length);
    return { ...this.#columns.sites[site], asNumber };
  }

  /** The site number and AS of an address; the parameters are as in {@link locate}. */
  numbersAt(number: number, length: 4 | 16): { site: number; asNumber: number } {
    const { blockBits, ranges } = this.#columns;
    const block = Math.floor(number / 2 ** blockBits[length]);
    const first = length === 4 ? 0 : 2;
    return { site: valueAt(ranges[first], block), asNumber: valueAt(ranges[first + 1], block) };
  }

  /**
   * Encodes the finest table that fits in `maxBytes`, this one or a coarser one; if none fits, the coarsest.
   *
   * @param kept Addresses whose places stay exact, except that positions are rounded.
   */
  within(maxBytes: number, kept: readonly Uint8Array[] = []): Uint8Array<ArrayBuffer> {
    const own = this.encode();
    if (own.byteLength <= maxBytes) return own;
    const names = fewerNames(this.names, NAMES_SHARE * maxBytes);
    const exact = new PlaceTable({ ...this.#columns, names: () => names });
    const coarser = (i: number) => (i === 0 ? exact : exact.#coarsened(COARSENESSES[i - 1], kept)).encode();
    const last = COARSENESSES.length;
    return coarser(partitionPoint(last, (i) => coarser(i).byteLength <= maxBytes));
  }

  #coarsened({ quarterDegrees, maxErrorKm }: Coarseness, kept: readonly Uint8Array[]): PlaceTable {
    const { blockBits, sites, ranges } = this.#columns;
    const numbers = new SiteNumbers(quarterDegrees);
    const rounded = sites.map((site) => numbers.ofSite(site));
    const blocks = [4, 16].map((length) =>
      Float64Array.from(
        kept.filter((address) => address.length === length),
        (address) => blockOf(address, blockBits),
      ).sort()
    );
    const merged = ranges.map(({ starts, values }, i) => {
      const isSites = i % 2 === 0;
      const ranges = { starts, values: isSites ? values.map((site) => rounded[site]) : values };
      const errorKm = (a: number, b: number) =>
        isSites ? siteErrorKm(numbers.sites[a], numbers.sites[b]) : ERRORS_KM.network;
      return merge(ranges, { maxErrorKm, errorKm, kept: blocks[i >> 1] });
    });
    const names = {
      ...this.names,
      cities: this.names.cities.map(({ name, site }) => ({ name, site: rounded[site] })),
    };
    return new PlaceTable(
      byFrequency({ quarterDegrees, blockBits, sites: numbers.sites, ranges: merged, names: () => names }),
    );
  }
}

function siteErrorKm(a: Site, b: Site): number {
  const known = a.position && b.position ? distanceKm(a.position, b.position) : ERRORS_KM.country;
  return known + (a.country === b.country ? 0 : ERRORS_KM.country) +
    (a.region === b.region ? 0 : ERRORS_KM.region);
}

const EARTH_RADIUS_KM = 6371;

/** Great-circle distance in km (haversine formula). */
export function distanceKm(a: Position, b: Position): number {
  const radians = (degrees: number) => degrees * Math.PI / 180;
  const [latitude, longitude] = [b.latitude - a.latitude, b.longitude - a.longitude].map((degrees) =>
    Math.sin(radians(degrees) / 2) ** 2
  );
  const h = latitude + Math.cos(radians(a.latitude)) * Math.cos(radians(b.latitude)) * longitude;
  return 2 * EARTH_RADIUS_KM * Math.asin(Math.min(1, Math.sqrt(h)));
}

/** The distance of two places, km; NaN if a position is unknown. */
export function kmBetween(
  a: Pick<LocatedPlace, "position"> | undefined,
  b: Pick<LocatedPlace, "position"> | undefined,
): number {
  return a?.position && b?.position ? distanceKm(a.position, b.position) : NaN;
}

/** The cell of a given size that contains a position, from 0. Cells can span the meridian of 180 degrees. */
export function cellOf({ latitude, longitude }: Position, degrees: number): [row: number, column: number] {
  const column = Math.round((longitude + 180) / degrees) % (360 / degrees);
  return [Math.round((latitude + 90) / degrees), column];
}

export function middleOfCell(row: number, column: number, degrees: number): Position {
  return { latitude: row * degrees - 90, longitude: column * degrees - 180 };
}

function hasSite({ latitude, countryCode, region }: Place): boolean {
  return latitude !== undefined || countryCode !== undefined || region !== undefined;
}

/** Inverse of {@link addressNumber}; further bytes are 0. */
function addressOf(number: number, length: 4 | 16): Uint8Array {
  const address = new Uint8Array(length);
  for (let i = NUMBER_BYTES[length] - 1; i >= 0; i--) {
    address[i] = number % 256;
    number = Math.floor(number / 256);
  }
  return address;
}

function numBlocks(bits: BlockBits, length: 4 | 16): number {
  return 2 ** (8 * NUMBER_BYTES[length] - bits[length]);
}

function blockOf(address: Uint8Array, bits: BlockBits): number {
  return Math.floor(addressNumber(address) / 2 ** bits[lengthOf(address)]);
}

/** Merges ranges into the previous one if it has a value, the error is small and no block in them is kept. */
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
  const found: number[] = [];
  source.visitBounds(length, (number) => {
    // A range that begins inside a block determines the next block, but not always this one.
    const block = Math.floor(number / 2 ** bits);
    for (const each of block * 2 ** bits === number ? [block] : [block, block + 1]) {
      if (each < limit && found.at(-1) !== each) found.push(each);
    }
  });
  return new Float64Array(found).sort().filter((block, i, all) => i === 0 || block !== all[i - 1]);
}

/** The value of the range that contains a block; 0 for none. */
function valueAt({ starts, values }: Ranges, block: number): number {
  const index = partitionPoint(starts.length, (i) => starts[i] > block) - 1;
  return index < 0 ? 0 : values[index];
}

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

interface Counted {
  /** Number of ranges with it. */
  count: number;
}

/** Numbers sites from 1 in order of appearance. */
class SiteNumbers {
  readonly sites: Site[] = [NOWHERE];
  readonly #numbers = new Map<string, number>();
  /** Numbers of places already seen: sources return the same objects repeatedly. */
  readonly #known = new WeakMap<Place, { number: number; city: Counted | undefined }>();
  readonly #cities = new Map<string, Counted & { name: string; site: number }>();
  readonly #regions = new Map<string, { name: string; country: number; region: number }>();
  readonly #step: number;

  constructor(quarterDegrees: number) {
    this.#step = quarterDegrees / 4;
  }

  of(place: Place): number {
    const known = getOrMake(this.#known, place, () => this.#add(place));
    if (known.city) known.city.count++;
    return known.number;
  }

  #add({ latitude, longitude, countryCode = "", region = "", city = "" }: Place) {
    const [country, regionHash] = [countryNumber(countryCode), regionNumber(region)];
    const number = this.ofSite({
      position: latitude === undefined || longitude === undefined ? undefined : { latitude, longitude },
      country,
      region: regionHash,
    });
    if (regionHash > 0) {
      const named = { name: shortName(region), country, region: regionHash };
      this.#regions.set(`${country} ${regionHash}`, named);
    }
    // For example, "Berlin (Mitte)" is Berlin.
    const name = shortName(city.replace(/ \(.*\)$/, ""));
    if (name === "" || number === 0) return { number, city: undefined };
    return {
      number,
      city: getOrMake(this.#cities, `${number} ${name}`, () => ({ name, site: number, count: 0 })),
    };
  }

  names(): Pick<PlaceNames, "cities" | "regions"> {
    const cities = [...this.#cities.values()].sort((a, b) => b.count - a.count);
    return { cities: cities.map(({ name, site }) => ({ name, site })), regions: [...this.#regions.values()] };
  }

  /** The number of a site, whose position is first rounded; 0 if nothing is known. */
  ofSite({ position, country, region }: Site): number {
    const rounded = (degrees: number) => Math.round(degrees / this.#step) * this.#step;
    const site: Site = {
      position: position && { latitude: rounded(position.latitude), longitude: rounded(position.longitude) },
      country,
      region,
    };
    const key = `${site.position?.latitude} ${site.position?.longitude} ${country} ${region}`;
    const isKnown = site.position || country > 0 || region > 0;
    return getOrMake(this.#numbers, key, () => isKnown ? this.sites.push(site) - 1 : 0);
  }
}

/** Renumbers sites by decreasing frequency, so that frequent numbers are short, and drops unused ones. */
function byFrequency({ sites, ranges, names, ...rest }: Columns): Columns {
  const counts = new Uint32Array(sites.length);
  for (const { values } of [ranges[0], ranges[2]]) for (const site of values) counts[site]++;
  const order = Array.from({ length: sites.length - 1 }, (_, i) => i + 1).filter((site) => counts[site] > 0)
    .sort((a, b) => counts[b] - counts[a] || a - b);
  const numbers = new Uint32Array(sites.length);
  order.forEach((site, i) => numbers[site] = i + 1);
  const renumbered = ({ starts, values }: Ranges) => (
    { starts, values: values.map((site) => numbers[site]) }
  );
  const seen = new Set<string>();
  const { cities, ...others } = names();
  const known: PlaceNames = {
    ...others,
    cities: cities.map(({ name, site }) => ({ name, site: numbers[site] })).filter(({ name, site }) => {
      const key = `${site} ${name}`;
      return site > 0 && !seen.has(key) && seen.add(key);
    }),
  };
  return {
    ...rest,
    sites: [NOWHERE, ...order.map((site) => sites[site])],
    ranges: [renumbered(ranges[0]), ranges[1], renumbered(ranges[2]), ranges[3]],
    names: () => known,
  };
}

/** Names of ASes, those with the most ranges first. */
function networkNames(names: ReadonlyMap<number, string>, ranges: readonly Ranges[]): PlaceNames["networks"] {
  const counts = new Map<number, number>();
  for (const { values } of [ranges[1], ranges[3]]) {
    for (const asNumber of values) counts.set(asNumber, (counts.get(asNumber) ?? 0) + 1);
  }
  return [...names].map(([asNumber, name]) => ({ name: shortName(name), asNumber }))
    .sort((a, b) => (counts.get(b.asNumber) ?? 0) - (counts.get(a.asNumber) ?? 0) || a.asNumber - b.asNumber);
}

function shortName(name: string): string {
  return name.trim().slice(0, MAX_NAME_LENGTH);
}

/** Shortens the lists of names: a fifth of the bytes for regions, two fifths each for cities and ASes. */
function fewerNames({ cities, regions, networks }: PlaceNames, maxBytes: number): PlaceNames {
  const first = <T extends { name: string }>(all: readonly T[], maxBytes: number) => {
    let numBytes = 0;
    const end = all.findIndex(({ name }) => (numBytes += 6 + 2 * name.length) > 2 * maxBytes);
    return end < 0 ? all : all.slice(0, end);
  };
  return {
    cities: first(cities, 0.4 * maxBytes),
    regions: first(regions, 0.2 * maxBytes),
    networks: first(networks, 0.4 * maxBytes),
  };
}

function encodeNames(bytes: ByteWriter, { cities, regions, networks }: PlaceNames): void {
  for (
    const list of [
      cities.map(({ name, site }) => ({ name, numbers: [site] })),
      regions.map(({ name, country, region }) => ({ name, numbers: [country, region] })),
      networks.map(({ name, asNumber }) => ({ name, numbers: [asNumber] })),
    ]
  ) {
    bytes.add(list.length);
    for (const { name, numbers } of list) {
      bytes.add(...numbers);
      bytes.addText(name);
    }
  }
}

function decodeNames(read: ByteReader, sites: readonly Site[]): PlaceNames {
  const listOf = <T>(entry: () => T) => Array.from({ length: read.count() }, entry);
  return {
    cities: listOf(() => ({ site: read.within(0, sites.length - 1, "a site"), name: read.text() })),
    regions: listOf(() => ({
      country: read.within(0, MOST_COUNTRY, "a country"),
      region: read.within(0, MOST_REGION, "a region"),
      name: read.text(),
    })),
    networks: listOf(() => ({ asNumber: read.within(0, MOST_AS, "an AS"), name: read.text() })),
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

/** FNV-1a of the name's UTF-16 units, folded to 16 bits: 1 to 65535, or 0 for an empty name. */
function regionNumber(name: string): number {
  if (name === "") return 0;
  let hash = 0x811c9dc5;
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193);
  return ((hash >>> 16 ^ hash) & 0xffff) || 1;
}

/** Writes whole numbers as LEB128: seven bits per byte, lowest first; the highest bit says if more follow. */
class ByteWriter {
  #bytes = new Uint8Array(1024);
  #length = 0;

  add(...numbers: number[]): void {
    for (let number of numbers) {
      this.#make(8);
      while (number >= 128) {
        this.#bytes[this.#length++] = 128 | number % 128;
        number = Math.floor(number / 128);
      }
      this.#bytes[this.#length++] = number;
    }
  }

  /** Writes the UTF-8 length of a text, then the text. */
  addText(text: string): void {
    const bytes = new TextEncoder().encode(text);
    this.add(bytes.length);
    this.#make(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  #make(numBytes: number): void {
    if (this.#length + numBytes <= this.#bytes.length) return;
    const larger = new Uint8Array(2 * this.#bytes.length + numBytes);
    larger.set(this.#bytes);
    this.#bytes = larger;
  }

  /** The bytes, padded with zeros to a multiple of three, the unit of `PlacesConfig.tableSize`. */
  whole(): Uint8Array<ArrayBuffer> {
    this.#make(2);
    return this.#bytes.slice(0, Math.ceil(this.#length / 3) * 3);
  }
}

class ByteReader {
  #at = 0;

  constructor(readonly bytes: Uint8Array, readonly path: string) {}

  number(): number {
    let value = 0;
    for (let scale = 1;; scale *= 128) {
      if (this.#at >= this.bytes.length) this.fail("it ends too early");
      const byte = this.bytes[this.#at++];
      value += (byte & 127) * scale;
      if (byte < 128) return value;
      if (scale > 2 ** 42) this.fail("a number is too long");
    }
  }

  within(least: number, most: number, what: string): number {
    const value = this.number();
    if (value < least || value > most) {
      this.fail(`found ${value} for ${what}, expected ${least} to ${most}`);
    }
    return value;
  }

  /** Reads the number of entries, each of which takes at least a byte. */
  count(): number {
    const count = this.number();
    if (count > this.bytes.length - this.#at) this.fail("it has fewer entries than it states");
    return count;
  }

  text(): string {
    const end = this.count() + this.#at;
    const text = new TextDecoder().decode(this.bytes.subarray(this.#at, end));
    this.#at = end;
    return text;
  }

  /** A reader for a copy of the remaining bytes. */
  rest(): ByteReader {
    return new ByteReader(this.bytes.slice(this.#at), this.path);
  }

  fail(found: string): never {
    throw new FormatError(`the table of places is damaged: ${found}; use an earlier checkpoint`, {
      path: this.path,
    });
  }
}
