/**
 * Places from MMDB files: databases of DB-IP, ip-location-db, GeoLite2 and IPinfo, of cities, countries and networks.
 *
 * @module
 */
import { Mmdb, type MmdbMap, type MmdbValue } from "../../../io/mmdb.ts";
import type { Place, PlaceSource } from "../place_table.ts";

/** Where fields are in records, with dots between names: the first that is there counts. */
const NAMES = {
  latitude: ["latitude", "location.latitude", "lat"],
  longitude: ["longitude", "location.longitude", "lng", "lon"],
  countryCode: ["country_code", "country.iso_code", "country"],
  region: ["state1", "subdivisions.0.names.en", "subdivisions.0.iso_code", "region"],
  city: ["city.names.en", "city"],
  asNumber: ["autonomous_system_number", "asn", "as_number"],
  asName: ["autonomous_system_organization", "as_name", "as_organization"],
};

/** The places of an MMDB file. */
export class MmdbPlaces implements PlaceSource {
  readonly #database: Mmdb;
  readonly #places = new Map<number, Place>();

  /** @param bytes The whole file. @param path Its name, for errors. @throws {FormatError} If it is damaged. */
  constructor(bytes: Uint8Array, path: string) {
    this.#database = new Mmdb(bytes, path);
  }

  locate(address: Uint8Array): Place | undefined {
    const record = this.#database.find(address);
    if (record === undefined) return undefined;
    let place = this.#places.get(record);
    if (!place) this.#places.set(record, place = placeOf(this.#database.record(record)));
    return place;
  }

  visitBounds(length: 4 | 16, visit: (number: number) => void): void {
    this.#database.walk(length === 4 ? 4 : 6, (upper, lower, lengthBits) => {
      if (length === 4) {
        visit(upper);
        visit(upper + 2 ** (32 - lengthBits));
        return;
      }
      const number = upper * 65_536 + (lower >>> 16);
      visit(number);
      visit(number + 2 ** Math.max(0, 48 - lengthBits));
    });
  }
}

function placeOf(record: MmdbValue): Place {
  const [latitude, longitude, asText] = [NAMES.latitude, NAMES.longitude, NAMES.asNumber].map((names) =>
    Number(String(fieldOf(record, names) ?? NaN).replace(/^AS/, ""))
  );
  const countryCode = fieldOf(record, NAMES.countryCode);
  const [region, city, asName] = [NAMES.region, NAMES.city, NAMES.asName].map((names) =>
    fieldOf(record, names)
  );
  const hasPosition = Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180;
  return {
    ...(hasPosition && { latitude, longitude }),
    ...(typeof countryCode === "string" && /^[A-Z]{2}$/.test(countryCode) && { countryCode }),
    ...(typeof region === "string" && region !== "" && { region }),
    ...(typeof city === "string" && city !== "" && { city }),
    ...(asText > 0 && { asNumber: asText }),
    ...(typeof asName === "string" && asName !== "" && { asName }),
  };
}

/** The first field of some names that is there and a number or a text. */
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
