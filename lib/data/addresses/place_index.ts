/**
 * Finds the prefixes of a country, a region, a city, a cell or an AS in a place table. It visits the table's
 * ranges twice, which takes up to a second for the whole Internet. Answers are cached.
 *
 * A place consists of networks: runs of adjacent blocks of one AS. Networks are weighted by the square roots
 * of their sizes, so that neither the largest carrier nor the many smallest networks dominate. Addresses that
 * no AS announces count only if the place has no others.
 *
 * @module
 */
import { getOrMake } from "../../base/collections.ts";
import { shown, UserError } from "../../base/errors.ts";
import { adviceOnName, type IpPrefix } from "./ip_prefix.ts";
import { comparable, matchingNames, type SearchedName } from "./name_search.ts";
import {
  addressNumber,
  cellOf,
  countryCode,
  countryNumber,
  distanceKm,
  lengthOf,
  middleOfCell,
  type Place,
  type PlaceTable,
  type Position,
  type Site,
} from "./place_table.ts";

/** Conditions on addresses, all of which must be met. */
interface PlaceSelector {
  /** Only addresses of this AS. */
  readonly asNumber?: number | undefined;
  /** Only addresses at sites for which this is true; all sites if absent. */
  readonly isAt?: ((site: Site, number: number) => boolean) | undefined;
}

/** A prefix that represents a place or a part of it. */
export interface PlacePrefix {
  readonly prefix: IpPrefix;
  /** Its share of the place's weight. Shares add up to 1. */
  readonly share: number;
}

/** All prefixes of a place, or some that represent it. */
export interface PlacePrefixes {
  /** In address order; empty if the place has no address of the IP version. */
  readonly prefixes: readonly PlacePrefix[];
  readonly isWhole: boolean;
  /** Number of networks: runs of adjacent blocks of one AS. */
  readonly numNetworks: number;
  /** Sum of the networks' weights. */
  readonly weight: number;
}

export interface NamedPlace {
  /** A readable name: "Berlin, DE", "AS3320 Deutsche Telekom AG". */
  readonly name: string;
  readonly selector: PlaceSelector;
}

/** Size of the cells of `52.5,13.4`. As in the model's keys, cells are centred on multiples of it. */
const CELL_DEGREES = 5;
/** Cities with the same name that are at most this far apart count as one city. */
const SAME_CITY_KM = 100;
/** Maximum number of cities, regions or ASes that a message or a search lists. */
const MAX_CANDIDATES = 5;
/** Maximum number of cached answers. */
const MAX_REMEMBERED = 1024;

/** Finds places by name and number. */
export class PlaceIndex {
  /** @internal */
  readonly table: PlaceTable;
  #cities: readonly City[] | undefined;
  #citiesByCountry: ReadonlyMap<number, readonly City[]> | undefined;
  #citiesOfSites: ReadonlyMap<number, string> | undefined;
  #networks: ReadonlyMap<number, string> | undefined;
  #regions: ReadonlyMap<string, string> | undefined;
  #announcing: ReadonlySet<number> | undefined;
  #searched: readonly SearchedPlace[] | undefined;
  readonly #found = new Map<string, NamedPlace>();
  readonly #asked = new Map<NamedPlace, Map<number, IpPrefix>>();

  /** @internal */
  constructor(table: PlaceTable, readonly isMisplaced: (address: Uint8Array) => boolean = () => false) {
    this.table = table;
  }

  /** @internal What the table knows about an address. @param address 4 or 16 bytes. */
  describe(address: Uint8Array): Place {
    const { site, asNumber } = this.table.numbersAt(addressNumber(address), lengthOf(address));
    const asName = this.#networkName(asNumber);
    return { ...this.describeSite(site), ...(asNumber > 0 && { asNumber }), ...(asName && { asName }) };
  }

  /** @internal What the table knows about a site. @param site Its number. */
  describeSite(site: number): Place {
    const { position, country, region } = this.table.sites[site];
    const regionName = this.#regionName(country, region);
    const city = this.#cityOf(site);
    return {
      ...position,
      ...(country > 0 && { countryCode: countryCode(country) }),
      ...(regionName && { region: regionName }),
      ...(city !== undefined && { city }),
    };
  }

  /**
   * The prefixes of a place: all of them up to a maximum, otherwise a selection that is evenly spread over
   * the weight.
   *
   * @param length Length of addresses in bytes.
   * @internal
   */
  prefixes(selector: PlaceSelector, maxPrefixes: number, length: 4 | 16): PlacePrefixes {
    const groups = this.groups(() => 0, maxPrefixes, length, selector);
    return groups.get(0) ?? { prefixes: [], isWhole: true, numNetworks: 0, weight: 0 };
  }

  /** @internal Whether an address is in a place. Only its AS counts if it is not where the table says. */
  has({ selector: { asNumber, isAt } }: NamedPlace, address: Uint8Array): boolean {
    const found = this.table.numbersAt(addressNumber(address), lengthOf(address));
    if (asNumber !== undefined && found.asNumber !== asNumber) return false;
    return !isAt || isAt(this.table.sites[found.site], found.site) && !this.isMisplaced(address);
  }

  /**
   * Converts a place to an endpoint of a question: its only prefix, or a mixture of all its prefixes.
   *
   * @param length Length of addresses in bytes.
   * @throws {UserError} If it has no address of the IP version.
   * @internal
   */
  ask(place: NamedPlace, length: 4 | 16): IpPrefix {
    const asked = getOrMake(this.#asked, place, () => new Map<number, IpPrefix>());
    return getOrMake(asked, length, () => this.#ask(place, length));
  }

  #ask(place: NamedPlace, length: 4 | 16): IpPrefix {
    const { name, selector } = place;
    const found = this.prefixes(selector, 1, length);
    if (found.prefixes.length === 0) {
      const version = length === 4 ? 4 : 6;
      throw new UserError({
        value: name,
        found: `which has no IPv${version} prefixes in the table of places`,
        advice: "choose another place",
      });
    }
    if (found.isWhole) return { ...found.prefixes[0].prefix, isWholePlace: true };
    const taken = new Map<number, PlacePrefixes["prefixes"]>();
    const take = (maxPrefixes: number) =>
      getOrMake(taken, maxPrefixes, () => this.prefixes(selector, maxPrefixes, length).prefixes);
    return {
      bytes: new Uint8Array(length),
      length: 0,
      mixture: { name, numNetworks: found.numNetworks, has: (address) => this.has(place, address), take },
    };
  }

  /**
   * The prefixes of groups of sites.
   *
   * @param keyOf Returns the group of a site; undefined if it is in no group.
   * @param length Length of addresses in bytes.
   * @internal
   */
  groups(
    keyOf: (site: Site) => number | undefined,
    maxPrefixes: number,
    length: 4 | 16,
    { asNumber, isAt }: PlaceSelector = {},
  ): Map<number, PlacePrefixes> {
    const table = this.table;
    const keys = table.sites.map((site, number) => isAt && !isAt(site, number) ? undefined : keyOf(site));
    const groups = new Map<number, Group>();
    const visitRuns = (visit: (group: Group, first: number, end: number) => void, isRouted: boolean) => {
      let [key, first, end, network]: [number | undefined, number, number, number] = [undefined, 0, 0, 0];
      const finish = () => {
        if (key === undefined) return;
        visit(getOrMake(groups, key, () => new Group(maxPrefixes)), first, end);
      };
      table.visitRanges(length, (start, next, site, as) => {
        const isIn = (asNumber === undefined || as === asNumber) && (!isRouted || as > 0);
        const found = isIn ? keys[site] : undefined;
        if (found === key && as === network && start === end) {
          end = next;
          return;
        }
        finish();
        [key, first, end, network] = [found, start, next, as];
      });
      finish();
    };
    const isRouted = table.numRanges.networks > 0;
    const count = (isRouted: boolean) => visitRuns((group, first, end) => group.count(first, end), isRouted);
    count(isRouted);
    // Some places have only unrouted addresses.
    const hasOnlyUnrouted = isRouted && groups.size === 0;
    if (hasOnlyUnrouted) count(false);
    visitRuns((group, first, end) => group.choose(first, end), isRouted && !hasOnlyUnrouted);
    const prefixAt = (first: number, size: number) => table.prefixAt(first, size, length);
    return new Map([...groups].map(([key, group]) => [key, group.result(prefixAt)]));
  }

  /**
   * Finds a place by its name: a city ("Berlin, DE", "Springfield, Illinois, US"), a region ("Bavaria, DE"),
   * a country ("DE", "Germany"), an AS ("AS3320"), both ("AS3320@DE"), or the cell of a position
   * ("52.5,13.4").
   *
   * @throws {UserError} If the name is unknown or ambiguous. The message lists similar names or the
   *   candidates.
   * @internal
   */
  find(text: string): NamedPlace {
    if (this.#found.size === MAX_REMEMBERED) {
      this.#found.clear();
      this.#asked.clear();
    }
    return getOrMake(this.#found, text, () => this.#find(text));
  }

  #find(text: string): NamedPlace {
    const [, as, at] = /^\s*AS(\d{1,10})(?: [^@]*)?(?:@(.*))?$/i.exec(text) ?? [];
    if (as !== undefined) return this.#network(Number(as), at);
    const position = /^\s*(-?\d+(?:\.\d+)?)\s*,\s*(-?\d+(?:\.\d+)?)\s*$/.exec(text);
    if (position) return cellPlace(Number(position[1]), Number(position[2]));
    const parts = text.split(",").map((part) => part.trim());
    const country = this.#country(parts.at(-1) ?? "");
    if (parts.length === 1 && country) return country;
    const names = country ? parts.slice(0, -1) : parts;
    const inCountry = country ? countryNumber(country.code) : undefined;
    if (names.length <= 2 && names[0] !== "") {
      const found = this.#city(names, inCountry) ??
        (names.length === 1 ? this.#region(names[0], inCountry) : undefined);
      if (found) return found;
    }
    const near = this.search(text, MAX_CANDIDATES);
    const similar = near.length > 0 ? `similar: ${near.join("; ")}` : undefined;
    throw new UserError({
      value: shown(text),
      found: "which the table of places does not contain",
      expected:
        "a city or region with the code of its country (NAME, CC), a country, a network (AS3320, AS3320@DE), an address or a prefix",
      advice: (/\.[a-z]/i.test(text) && adviceOnName(text)) || similar,
    });
  }

  /**
   * Names of places for {@link find}: those that begin with a text, then those that contain it, then similar
   * ones. A country is also found by its code, an AS by the beginning of its number, such as `AS33`.
   */
  search(text: string, limit: number = MAX_CANDIDATES): string[] {
    return this.searchPlaces(text, limit).map(({ name }) => name);
  }

  /**
   * {@link search} with the position of the city with the most networks in each place. An AS has no position,
   * since it is in many places.
   *
   * @internal
   */
  searchPlaces(text: string, limit: number): { name: string; position?: Position | undefined }[] {
    const found = matchingNames(this.#searched ??= this.#allNames(), comparable(text.split(",")[0]), limit);
    return Array.from(found, ([name, { site }]) => (
      { name, position: site === undefined ? undefined : this.table.sites[site].position }
    ));
  }

  #allNames(): SearchedPlace[] {
    const { networks, regions, cities } = this.table.names;
    // The first site of a country or region is in its city with the most networks, if cities have names.
    const sites = new Map<string, number>();
    for (const site of [...cities.map(({ site }) => site), ...this.table.sites.keys()]) {
      const { country, region, position } = this.table.sites[site];
      if (!position) continue;
      for (const key of [`${country}`, `${country} ${region}`]) if (!sites.has(key)) sites.set(key, site);
    }
    const countries = new Set(this.table.sites.map(({ country }) => country));
    return [
      ...[...countries].filter((country) => country > 0).map((country) => {
        const code = countryCode(country);
        const name = countryName(code);
        const [key, site] = [comparable(name), sites.get(`${country}`)];
        return { key, code: code.toLowerCase(), site, name: () => name };
      }),
      ...this.#allCities().map((city) => (
        { key: city.key, site: city.site, name: () => this.#cityName(city) }
      )),
      ...regions.map(({ name, country, region }) => ({
        key: comparable(name),
        site: sites.get(`${country} ${region}`),
        name: () => country > 0 ? `${name}, ${countryCode(country)}` : name,
      })),
      ...[...new Set([...networks.map(({ asNumber }) => asNumber), ...this.#asNumbers])].map((asNumber) => ({
        key: comparable(this.#networkName(asNumber) ?? ""),
        code: `as${asNumber}`,
        name: () => this.#networkText(asNumber),
      })),
    ];
  }

  #network(asNumber: number, at: string | undefined): NamedPlace {
    if (!this.#asNumbers.has(asNumber)) {
      throw new UserError({
        value: `AS${asNumber}`,
        found: "which the table of places does not contain",
        expected: "an AS that announced prefixes when its files were made",
      });
    }
    const name = this.#networkText(asNumber);
    if (at === undefined) return { name, selector: { asNumber } };
    const place = this.find(at);
    return { name: `${name} in ${place.name}`, selector: { ...place.selector, asNumber } };
  }

  /** All ASes that announce prefixes. */
  get #asNumbers(): ReadonlySet<number> {
    if (this.#announcing) return this.#announcing;
    const found = new Set<number>();
    for (const length of [4, 16] as const) {
      this.table.visitRanges(length, (_first, _end, _site, as) => void (as > 0 && found.add(as)));
    }
    return this.#announcing = found;
  }

  #country(text: string): (NamedPlace & { code: string }) | undefined {
    const codes = new Set(this.table.sites.map(({ country }) => countryCode(country)));
    const wanted = comparable(text);
    const code = /^[a-z]{2}$/.test(wanted)
      ? wanted.toUpperCase()
      : [...codes].find((code) => code !== "" && comparable(countryName(code)) === wanted);
    if (code === undefined || !codes.has(code)) return undefined;
    const country = countryNumber(code);
    return { code, name: countryName(code), selector: { isAt: (site) => site.country === country } };
  }

  #region(text: string, inCountry: number | undefined): NamedPlace | undefined {
    const wanted = comparable(text);
    const found = this.table.names.regions.filter(({ name, country }) =>
      comparable(name) === wanted && (inCountry === undefined || inCountry === country)
    );
    if (found.length === 0) return undefined;
    const names = found.map(({ name, country }) => `${name}, ${countryCode(country)}`);
    if (found.length > 1) throw ambiguous(text, names);
    const [{ country, region }] = found;
    return {
      name: names[0],
      selector: { isAt: (site) => site.country === country && site.region === region },
    };
  }

  /** @param names The names of the city and optionally of its region. */
  #city([cityText, regionText]: readonly string[], inCountry: number | undefined): NamedPlace | undefined {
    const wanted = comparable(cityText);
    const region = regionText === undefined ? undefined : comparable(regionText);
    const isIn = ({ site }: City) => {
      const { country, region: number } = this.table.sites[site];
      if (inCountry !== undefined && country !== inCountry) return false;
      return region === undefined || comparable(this.#regionName(country, number) ?? "") === region;
    };
    const cities = this.#allCities();
    const first = cities.findIndex((city) => city.key === wanted && isIn(city));
    // "Frankfurt" means Frankfurt am Main, which has more networks than Frankfurt (Oder).
    const longer = region === undefined
      ? cities.slice(0, first < 0 ? cities.length : first).filter((city) =>
        city.key.startsWith(`${wanted} `) && isIn(city)
      )
      : [];
    const exact = first < 0 ? [] : cities.filter((city) => city.key === wanted && isIn(city));
    const groups: City[][] = [];
    for (const city of [...longer, ...exact]) {
      const near = groups.find(([first]) => first.key === city.key && this.#isNear(first, city));
      if (near) near.push(city);
      else groups.push([city]);
    }
    if (groups.length === 0) return undefined;
    if (groups.length > 1) throw ambiguous(cityText, groups.map(([city]) => this.#cityName(city)));
    const sites = new Set(groups[0].map(({ site }) => site));
    return { name: this.#cityName(groups[0][0]), selector: { isAt: (_site, number) => sites.has(number) } };
  }

  #isNear(a: City, b: City): boolean {
    const [p, q] = [a, b].map(({ site }) => this.table.sites[site]);
    if (p.country !== q.country) return false;
    if (!p.position || !q.position) return p.region === q.region;
    return distanceKm(p.position, q.position) <= SAME_CITY_KM;
  }

  /** Includes the region if the name and country would also match another city. */
  #cityName(city: City): string {
    const { country, region } = this.table.sites[city.site];
    let isAfter = false;
    this.#citiesByCountry ??= Map.groupBy(this.#allCities(), ({ site }) => this.table.sites[site].country);
    const isUnique = this.#citiesByCountry.get(country)?.every((other) => {
      isAfter ||= other === city;
      const isMeant = other.key === city.key || (!isAfter && other.key.startsWith(`${city.key} `));
      return !isMeant || this.table.sites[other.site].region === region;
    });
    const regionName = isUnique ? undefined : this.#regionName(country, region);
    return [city.name, regionName, countryCode(country)].filter(Boolean).join(", ");
  }

  #regionName(country: number, region: number): string | undefined {
    this.#regions ??= new Map(
      this.table.names.regions.map(({ name, country, region }) => [`${country} ${region}`, name]),
    );
    return this.#regions.get(`${country} ${region}`);
  }

  #networkName(asNumber: number): string | undefined {
    this.#networks ??= new Map(this.table.names.networks.map(({ asNumber, name }) => [asNumber, name]));
    return this.#networks.get(asNumber);
  }

  /** For example "AS3320 Deutsche Telekom AG". */
  #networkText(asNumber: number): string {
    return [`AS${asNumber}`, this.#networkName(asNumber)].filter(Boolean).join(" ");
  }

  /** The city with the most networks at a site. */
  #cityOf(site: number): string | undefined {
    // Reversed, since cities with the most networks are first.
    this.#citiesOfSites ??= new Map(
      this.table.names.cities.toReversed().map(({ name, site }) => [site, name]),
    );
    return this.#citiesOfSites.get(site);
  }

  #allCities(): readonly City[] {
    return this.#cities ??= this.table.names.cities.map((city) => ({ ...city, key: comparable(city.name) }));
  }
}

interface SearchedPlace extends SearchedName {
  /** Site of the city with the most networks; undefined for an AS, which is in many places. */
  readonly site?: number | undefined;
}

/** A city at one of its sites. */
interface City {
  readonly name: string;
  readonly key: string;
  readonly site: number;
}

/** The networks at a group of sites, and the prefixes that represent them. */
class Group {
  #weight = 0;
  #numNetworks = 0;
  #numPrefixes = 0;
  /** Weight of the networks visited so far in the second pass. */
  #passed = 0;
  readonly #chosen: { first: number; size: number; share: number }[] = [];

  constructor(readonly maxPrefixes: number) {}

  count(first: number, end: number): void {
    this.#weight += Math.sqrt(end - first);
    this.#numNetworks++;
    if (this.#numPrefixes <= this.maxPrefixes) this.#numPrefixes += alignedBlocks(first, end).length;
  }

  /** Takes the prefixes that represent a network. All networks must have been counted before. */
  choose(first: number, end: number): void {
    const weight = Math.sqrt(end - first);
    if (this.#numPrefixes <= this.maxPrefixes) {
      for (const part of alignedBlocks(first, end)) this.#take(part, weight * part.size / (end - first));
      return;
    }
    const step = this.#weight / this.maxPrefixes;
    for (let i = Math.ceil(this.#passed / step - 0.5);; i++) {
      const at = (i + 0.5) * step - this.#passed;
      if (at >= weight || i >= this.maxPrefixes) break;
      const block = Math.min(end - 1, first + Math.floor(Math.max(0, at) / weight * (end - first)));
      const part = alignedBlocks(first, end).find((each) => block < each.first + each.size);
      if (part) this.#take(part, step);
    }
    this.#passed += weight;
  }

  #take({ first, size }: Blocks, weight: number): void {
    const share = weight / this.#weight;
    const last = this.#chosen.at(-1);
    if (last?.first === first) last.share += share;
    else this.#chosen.push({ first, size, share });
  }

  result(prefixAt: (first: number, size: number) => IpPrefix): PlacePrefixes {
    return {
      prefixes: this.#chosen.map(({ first, size, share }) => ({ prefix: prefixAt(first, size), share })),
      isWhole: this.#numPrefixes <= this.maxPrefixes,
      numNetworks: this.#numNetworks,
      weight: this.#weight,
    };
  }
}

interface Blocks {
  readonly first: number;
  readonly size: number;
}

/** Splits a range of blocks into the smallest number of prefixes. */
function alignedBlocks(first: number, end: number): Blocks[] {
  const parts: Blocks[] = [];
  while (first < end) {
    let size = 1;
    while (first % (2 * size) === 0 && first + 2 * size <= end) size *= 2;
    parts.push({ first, size });
    first += size;
  }
  return parts;
}

function cellPlace(latitude: number, longitude: number): NamedPlace {
  if (Math.abs(latitude) > 90 || Math.abs(longitude) > 180) {
    const expected = "degrees north and east: -90 to 90, -180 to 180";
    throw new UserError({ value: `${latitude},${longitude}`, expected });
  }
  const [row, column] = cellOf({ latitude, longitude }, CELL_DEGREES);
  const middle = middleOfCell(row, column, CELL_DEGREES);
  return {
    name: `within ${CELL_DEGREES / 2} degrees of ${middle.latitude},${middle.longitude}`,
    selector: {
      isAt: ({ position }) => {
        if (!position) return false;
        const cell = cellOf(position, CELL_DEGREES);
        return cell[0] === row && cell[1] === column;
      },
    },
  };
}

/** The English name of a country; its code if there is no name. */
export function countryName(code: string): string {
  displayNames ??= new Intl.DisplayNames(["en"], { type: "region", fallback: "code" });
  return displayNames.of(code) ?? code;
}
let displayNames: Intl.DisplayNames | undefined;

/** A short description, such as "Frankfurt am Main, DE, AS3320"; undefined if nothing is known. */
export function placeText(place: Place): string | undefined {
  const { latitude, longitude, city, region, countryCode, asNumber } = place;
  const position = latitude === undefined ? undefined : `${latitude},${longitude}`;
  const parts = [
    city ?? region ?? (countryCode ? undefined : position),
    countryCode,
    asNumber && `AS${asNumber}`,
  ];
  return parts.filter(Boolean).join(", ") || undefined;
}

function ambiguous(text: string, candidates: readonly string[]): UserError {
  const listed = candidates.slice(0, MAX_CANDIDATES);
  const more = candidates.length - listed.length;
  return new UserError({
    value: shown(text),
    found: "which is ambiguous",
    advice: `choose one of: ${listed.join("; ")}${more > 0 ? `; and ${more} more` : ""}`,
  });
}
