/**
 * Places from the CSV files of ip-location-db: first and last address as numbers or text, then the country's code, or the
 * AS and its name, or country, state, county, city, postcode, latitude, longitude and time zone.
 *
 * @module
 */
import { CsvScanner } from "../../measurement/csv.ts";
import { partitionPoint } from "../../../base/collections.ts";
import { FormatError, shortened } from "../../../base/errors.ts";
import { parseAddress } from "../ip.ts";
import { addressNumber, type Place, type PlaceSource } from "../place_table.ts";

/** Ranges of one IP version. */
interface PlaceRanges {
  /** Numbers of first addresses, and the numbers after the last ones; in the order of the file. */
  readonly starts: number[];
  readonly ends: number[];
  readonly places: Place[];
}

/** The places of a CSV file, whose ranges do not overlap. */
export class CsvPlaces implements PlaceSource {
  readonly #v4: PlaceRanges = { starts: [], ends: [], places: [] };
  readonly #v6: PlaceRanges = { starts: [], ends: [], places: [] };
  /** Equal places are one object. */
  readonly #known = new Map<string, Place>();

  /** @param bytes The whole file. @param path Its name, for errors. @throws {FormatError} If a line is invalid. */
  constructor(bytes: Uint8Array, path: string) {
    const scanner = new CsvScanner();
    let line = 0;
    for (const chunk of [bytes, undefined]) {
      for (const record of scanner.push(chunk)) {
        const found = record.fault ?? this.#add(record.fields);
        line++;
        if (found === undefined) continue;
        throw new FormatError(
          `${found}; expected ranges of addresses as ip-location-db has them: first, last, and a country, or an AS, or ` +
            "country, state, county, city, postcode, latitude, longitude",
          { path, place: `record ${line}` },
        );
      }
    }
    for (const ranges of [this.#v4, this.#v6]) sortRanges(ranges);
  }

  locate(address: Uint8Array): Place | undefined {
    const { starts, ends, places } = address.length === 4 ? this.#v4 : this.#v6;
    const number = addressNumber(address);
    const index = partitionPoint(starts.length, (i) => starts[i] > number) - 1;
    return number < ends[index] ? places[index] : undefined;
  }

  visitBounds(length: 4 | 16, visit: (number: number) => void): void {
    const { starts, ends } = length === 4 ? this.#v4 : this.#v6;
    starts.forEach((start, i) => {
      visit(start);
      visit(ends[i]);
    });
  }

  /** Adds a record. @returns Its fault, if it has one. */
  #add([first, last, ...values]: string[]): string | undefined {
    const [from, to] = [first, last].map(boundOf);
    const place = this.#placeOf(values);
    if (!from || !to || from.isV4 !== to.isV4 || to.number < from.number) {
      return `the range from ${shortened(String(first))} to ${shortened(String(last))} is invalid`;
    }
    if (!place) return `found the values ${shortened(values.join(","))}`;
    const ranges = from.isV4 ? this.#v4 : this.#v6;
    ranges.starts.push(from.number);
    ranges.ends.push(to.number + 1);
    ranges.places.push(place);
    return undefined;
  }

  #placeOf(values: string[]): Place | undefined {
    const key = values.join();
    const known = this.#known.get(key);
    if (known) return known;
    const place = parsePlace(values);
    if (place) this.#known.set(key, place);
    return place;
  }
}

function parsePlace(values: string[]): Place | undefined {
  const [first, region, , city] = values;
  if (values.length === 2) {
    const asName = region === "" ? {} : { asName: region };
    return Number(first) > 0 ? { asNumber: Number(first), ...asName } : undefined;
  }
  const country = /^[A-Z]{2}$/.test(first) ? { countryCode: first } : {};
  if (values.length === 1) return country;
  if (values.length < 7) return undefined;
  const [latitude, longitude] = values.slice(5, 7).map((text) => text === "" ? NaN : Number(text));
  const hasPosition = Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180;
  return {
    ...country,
    ...(region !== "" && { region }),
    ...(city !== "" && { city }),
    ...(hasPosition && { latitude, longitude }),
  };
}

/** A bound of a range: an address, or its whole number, which of IPv6 is larger than any of IPv4. */
function boundOf(text: string | undefined): { number: number; isV4: boolean } | undefined {
  if (text === undefined) return undefined;
  if (/^\d+$/.test(text)) {
    const whole = BigInt(text);
    if (whole < 2n ** 32n) return { number: Number(whole), isV4: true };
    return whole < 2n ** 128n ? { number: Number(whole >> 80n), isV4: false } : undefined;
  }
  const address = parseAddress(text);
  return address && { number: addressNumber(address), isV4: address.length === 4 };
}

function sortRanges({ starts, ends, places }: PlaceRanges): void {
  if (starts.every((start, i) => i === 0 || starts[i - 1] <= start)) return;
  const order = Array.from(starts, (_, i) => i).sort((a, b) => starts[a] - starts[b]);
  for (const column of [starts, ends, places] as unknown[][]) {
    const sorted = order.map((i) => column[i]);
    sorted.forEach((value, i) => column[i] = value);
  }
}
