/**
 * Opens place files: MMDB, CSV of ip-location-db and the probe archive of RIPE Atlas, compressed or not. The
 * content of a file determines its format. Several files are merged field by field; later ones override
 * earlier ones.
 *
 * @module
 */
import { isMmdb, Mmdb, type MmdbMap, type MmdbValue } from "../../../io/mmdb.ts";
import {
  addressNumber,
  composedPlace,
  lengthOf,
  NUMBER_BYTES,
  type Place,
  type PlaceSource,
} from "../place_table.ts";
import { readWhole } from "../../../io/compression/decompress.ts";
import { CsvScanner } from "../../../io/text/csv.ts";
import { getOrMake, isObject, partitionPoint } from "../../../base/collections.ts";
import { FormatError, shortened } from "../../../base/errors.ts";
import { parseAddress } from "../ip.ts";
import { faultOfPrefix, parsePrefix } from "../ip_prefix.ts";
import { JsonObjectScanner, parsePiece } from "../../../io/text/json_stream.ts";
import { ToUtf8 } from "../../../io/text/utf8.ts";

/**
 * Opens place files as one source.
 *
 * @param paths At least one file.
 * @throws {UserError} If a file cannot be read.
 * @throws {FormatError} If a file is damaged or has none of these formats.
 */
export async function openPlaces(paths: readonly string[]): Promise<PlaceSource> {
  const sources: PlaceSource[] = [];
  for (const path of paths) sources.push(placesOf(await readWhole(path), path));
  return sources.length === 1 ? sources[0] : new ComposedPlaces(sources);
}

function placesOf(whole: Uint8Array, path: string): PlaceSource {
  if (isMmdb(whole)) return new MmdbPlaces(new Mmdb(whole, path));
  const bytes = new ToUtf8().push(whole, true);
  const first = bytes.find((byte) => byte > 0x20);
  const isJson = first === "[".charCodeAt(0) || first === "{".charCodeAt(0);
  return isJson ? new AtlasPlaces(bytes, path) : new CsvPlaces(bytes, path);
}

class ComposedPlaces implements PlaceSource {
  constructor(readonly parts: readonly PlaceSource[]) {}

  locate(address: Uint8Array): Place | undefined {
    return composedPlace(this.parts.map((part) => part.locate(address)));
  }

  visitBounds(length: 4 | 16, visit: (number: number) => void): void {
    for (const part of this.parts) part.visitBounds(length, visit);
  }
}

/** Keeps the valid fields of a place. */
function placeOf(
  { latitude, longitude, countryCode, asNumber, ...texts }: Partial<Record<keyof Place, unknown>>,
): Place {
  const isWithin = (value: unknown, most: number): value is number =>
    typeof value === "number" && Math.abs(value) <= most;
  return {
    ...(isWithin(latitude, 90) && isWithin(longitude, 180) && { latitude, longitude }),
    ...(typeof countryCode === "string" && /^[A-Z]{2}$/.test(countryCode) && { countryCode }),
    ...(typeof asNumber === "number" && asNumber > 0 && { asNumber }),
    ...Object.fromEntries(
      Object.entries(texts).filter(([, text]) => typeof text === "string" && text !== ""),
    ),
  };
}

/** Dot-separated paths of fields in MMDB records. The first one that a record has is used. */
const NAMES = {
  latitude: ["latitude", "location.latitude", "lat"],
  longitude: ["longitude", "location.longitude", "lng", "lon"],
  countryCode: ["country_code", "country.iso_code", "country"],
  region: ["state1", "subdivisions.0.names.en", "subdivisions.0.iso_code", "region"],
  city: ["city.names.en", "city"],
  asNumber: ["autonomous_system_number", "asn", "as_number"],
  asName: ["autonomous_system_organization", "as_name", "as_organization"],
};

/** A database of cities, countries or networks from DB-IP, ip-location-db, GeoLite2 or IPinfo. */
class MmdbPlaces implements PlaceSource {
  /** Places by record. */
  readonly #places = new Map<number, Place>();

  constructor(readonly database: Mmdb) {}

  locate(address: Uint8Array): Place | undefined {
    const record = this.database.find(address);
    if (record === undefined) return undefined;
    return getOrMake(this.#places, record, () => mmdbPlace(this.database.record(record)));
  }

  visitBounds(length: 4 | 16, visit: (number: number) => void): void {
    this.database.walk(length === 4 ? 4 : 6, (upper, lower, lengthBits) => {
      const number = length === 4 ? upper : upper * 65_536 + (lower >>> 16);
      visit(number);
      visit(number + 2 ** Math.max(0, 8 * NUMBER_BYTES[length] - lengthBits));
    });
  }
}

function mmdbPlace(record: MmdbValue): Place {
  const [latitude, longitude, asNumber] = [NAMES.latitude, NAMES.longitude, NAMES.asNumber].map((names) =>
    Number(String(fieldOf(record, names) ?? NaN).replace(/^AS/, ""))
  );
  const [countryCode, region, city, asName] = [NAMES.countryCode, NAMES.region, NAMES.city, NAMES.asName]
    .map((names) => fieldOf(record, names));
  return placeOf({ latitude, longitude, countryCode, region, city, asNumber, asName });
}

/** The first of several fields that is a number or text. */
function fieldOf(record: MmdbValue, names: readonly string[]): MmdbValue | undefined {
  for (const name of names) {
    let value: MmdbValue | undefined = record;
    for (const part of name.split(".")) {
      value = typeof value === "object" && part in value ? (value as MmdbMap)[part] : undefined;
    }
    if (typeof value === "number" || typeof value === "string") return value;
  }
  return undefined;
}

/** Ranges of one IP version. */
interface PlaceRanges {
  /** Numbers of the first addresses; `ends` holds those after the last. In file order until sorted. */
  readonly starts: number[];
  readonly ends: number[];
  readonly places: Place[];
}

const RANGES =
  "expected address ranges in the form of ip-location-db: first, last, and a country, or an AS, or " +
  "country, state, county, city, postcode, latitude, longitude";

/**
 * A CSV file of ip-location-db with ranges that do not overlap. Columns: the first and last address as
 * numbers or text, then the country's code, or the AS and its name, or country, state, county, city,
 * postcode, latitude, longitude and time zone.
 */
class CsvPlaces implements PlaceSource {
  /** By address length. */
  readonly #ranges: Record<4 | 16, PlaceRanges> = {
    4: { starts: [], ends: [], places: [] },
    16: { starts: [], ends: [], places: [] },
  };
  /** Equal places share one object. */
  readonly #known = new Map<string, Place | undefined>();

  /** @param bytes The whole file. @param path For errors. @throws {FormatError} If a line is invalid. */
  constructor(bytes: Uint8Array, path: string) {
    const scanner = new CsvScanner();
    let line = 0;
    for (const chunk of [new TextDecoder().decode(bytes), undefined]) {
      scanner.push(chunk, (record) => {
        const found = record.fault ?? this.#add(record.fields);
        line++;
        if (found !== undefined) {
          throw new FormatError(`${found}; ${RANGES}`, { path, place: `record ${line}` });
        }
      });
    }
    if (line === 0) throw new FormatError(`found no ranges; ${RANGES}`, { path });
    for (const ranges of Object.values(this.#ranges)) sortRanges(ranges);
  }

  locate(address: Uint8Array): Place | undefined {
    const { starts, ends, places } = this.#ranges[lengthOf(address)];
    const number = addressNumber(address);
    const index = partitionPoint(starts.length, (i) => starts[i] > number) - 1;
    return number < ends[index] ? places[index] : undefined;
  }

  visitBounds(length: 4 | 16, visit: (number: number) => void): void {
    const { starts, ends } = this.#ranges[length];
    starts.forEach((start, i) => {
      visit(start);
      visit(ends[i]);
    });
  }

  /** Adds a record. @returns What is wrong with it; undefined if it is valid. */
  #add([first, last, ...values]: string[]): string | undefined {
    const [from, to] = [first, last].map(boundOf);
    if (!from || !to || from.length !== to.length || to.number < from.number) {
      return `the range from ${shortened(String(first))} to ${shortened(String(last))} is invalid`;
    }
    const place = getOrMake(this.#known, values.join(), () => parsePlace(values));
    if (!place) return `found the values ${shortened(values.join(","))}`;
    const ranges = this.#ranges[from.length];
    ranges.starts.push(from.number);
    ranges.ends.push(to.number + 1);
    ranges.places.push(place);
    return undefined;
  }
}

function parsePlace(values: string[]): Place | undefined {
  const [first, second, , city] = values;
  if (values.length === 2) {
    return Number(first) > 0 ? placeOf({ asNumber: Number(first), asName: second }) : undefined;
  }
  if (values.length === 1) return placeOf({ countryCode: first });
  if (values.length < 7) return undefined;
  const [latitude, longitude] = values.slice(5, 7).map((text) => text === "" ? NaN : Number(text));
  return placeOf({ latitude, longitude, countryCode: first, region: second, city });
}

/** Parses a bound of a range: an address or a number. Numbers below 2^32 are IPv4. */
function boundOf(text: string | undefined): { number: number; length: 4 | 16 } | undefined {
  if (text === undefined) return undefined;
  if (/^\d+$/.test(text)) {
    const whole = BigInt(text);
    if (whole < 2n ** 32n) return { number: Number(whole), length: 4 };
    return whole < 2n ** 128n ? { number: Number(whole >> 80n), length: 16 } : undefined;
  }
  const address = parseAddress(text);
  return address && { number: addressNumber(address), length: lengthOf(address) };
}

function sortRanges({ starts, ends, places }: PlaceRanges): void {
  if (starts.every((start, i) => i === 0 || starts[i - 1] <= start)) return;
  const order = Array.from(starts, (_, i) => i).sort((a, b) => starts[a] - starts[b]);
  for (const column of [starts, ends, places] as unknown[][]) {
    const sorted = order.map((i) => column[i]);
    sorted.forEach((value, i) => column[i] = value);
  }
}

/** A probe's address determines the place of the prefix of this length, a block of a `PlaceTable`. */
const OWN_BITS = { 4: 24, 16: 40 } as const;

/** Size of the pieces in which probes are read. */
const CHUNK_BYTES = 1 << 18;

/**
 * Probes and anchors of RIPE Atlas, located where their hosts say:
 * https://ftp.ripe.net/ripe/atlas/probes/archive/ and the objects of https://atlas.ripe.net/api/v2/probes/
 * and https://atlas.ripe.net/api/v2/anchors/. A probe's address determines the place of its /24 or /40, but
 * only the AS of the announced prefix around it.
 */
class AtlasPlaces implements PlaceSource {
  /** Keyed by address length, prefix length in bits, and first number of the prefix. */
  readonly #places = { 4: new Map<number, Map<number, Place>>(), 16: new Map<number, Map<number, Place>>() };
  #numProbes = 0;

  /** @param bytes The whole file. @param path For errors. @throws {FormatError} If it has no probes. */
  constructor(bytes: Uint8Array, path: string) {
    const scanner = new JsonObjectScanner(path);
    for (let at = 0; at < bytes.length; at += CHUNK_BYTES) {
      const piece = scanner.push(bytes.subarray(at, at + CHUNK_BYTES));
      parsePiece(piece, (object) => this.#addAll(object));
    }
    scanner.end();
    if (this.#numProbes > 0) return;
    throw new FormatError(
      "found no probes; expected the probe archive of RIPE Atlas, a list of objects with `id`",
      {
        path,
      },
    );
  }

  locate(address: Uint8Array): Place | undefined {
    const length = lengthOf(address);
    const number = addressNumber(address);
    let place: Place | undefined;
    // From general to specific, field by field.
    for (const bits of [...this.#places[length].keys()].sort((a, b) => a - b)) {
      const found = this.#places[length].get(bits)?.get(firstOf(number, bits, length));
      if (found) place = place ? { ...place, ...found } : found;
    }
    return place;
  }

  visitBounds(length: 4 | 16, visit: (number: number) => void): void {
    for (const [bits, places] of this.#places[length]) {
      for (const number of places.keys()) {
        visit(number);
        visit(number + 2 ** (8 * NUMBER_BYTES[length] - bits));
      }
    }
  }

  #addAll(value: Record<string, unknown> | undefined): void {
    if (Array.isArray(value?.objects)) {
      for (const each of value.objects) if (isObject(each)) this.#addAll(each);
    } else if (typeof value?.id === "number") this.#add(value);
  }

  #add(probe: Record<string, unknown>): void {
    this.#numProbes++;
    const coordinates = isObject(probe.geometry) ? probe.geometry.coordinates : undefined;
    const [longitude, latitude] = Array.isArray(coordinates)
      ? coordinates
      : [probe.longitude, probe.latitude];
    const own = placeOf({ latitude, longitude, countryCode: probe.country_code ?? probe.country });
    for (const version of ["v4", "v6"]) {
      const network = placeOf({ asNumber: probe[`asn_${version}`] ?? probe[`as_${version}`] });
      const prefix = probe[`prefix_${version}`];
      if (typeof prefix === "string" && network.asNumber !== undefined && !faultOfPrefix(prefix)) {
        const { bytes, length } = parsePrefix(prefix);
        this.#put(bytes, length, network);
      }
      const address = parseAddress(String(probe[`address_${version}`] ?? probe[`ip_${version}`]));
      if (address) this.#put(address, OWN_BITS[lengthOf(address)], { ...own, ...network });
    }
  }

  #put(address: Uint8Array, bits: number, place: Place): void {
    const length = lengthOf(address);
    const known = Math.min(bits, 8 * NUMBER_BYTES[length]);
    const places = getOrMake(this.#places[length], known, () => new Map<number, Place>());
    places.set(firstOf(addressNumber(address), known, length), place);
  }
}

/** The first number of the prefix of a given length that contains a number. */
function firstOf(number: number, bits: number, length: 4 | 16): number {
  const scale = 2 ** (8 * NUMBER_BYTES[length] - bits);
  return Math.floor(number / scale) * scale;
}
