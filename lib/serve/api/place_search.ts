/**
 * Meanings of a text while it is typed: an address, a name of one, a known address that begins so, a place or an AS.
 *
 * @module
 */
import { formatAddress } from "../../data/addresses/ip.ts";
import { faultOfPrefix, parsePrefix } from "../../data/addresses/ip_prefix.ts";
import { placeText } from "../../data/addresses/place_index.ts";
import type { PingModel } from "../../query/ping_model.ts";
import type { PlacesApiAnswer } from "./schemas.ts";

type FoundPlace = PlacesApiAnswer["places"][number];

/** Searches what a model knows. */
export class PlaceSearch {
  readonly #model: Pick<PingModel, "names" | "places" | "trainingData">;
  /** All known addresses; found when first asked for. */
  #known: readonly string[] | undefined;

  constructor(model: Pick<PingModel, "names" | "places" | "trainingData">) {
    this.#model = model;
  }

  /**
   * Finds what a text may stand for.
   *
   * @param limit How many are found at most.
   * @returns The text itself if it is an address or prefix; then addresses by name, known addresses, places. If there are many,
   *   half of them are places.
   */
  find(text: string, limit: number): FoundPlace[] {
    const wanted = text.trim();
    const { names, places } = this.#model;
    const cell = /^(-?\d+(?:\.\d+)?)\s*,\s*(-?\d+(?:\.\d+)?)$/.exec(wanted);
    if (cell && places) {
      return [{ text: wanted, position: { latitude: Number(cell[1]), longitude: Number(cell[2]) } }];
    }
    const isWhole = faultOfPrefix(wanted) === undefined;
    const addresses = [
      ...(isWhole ? [wanted] : names.search(wanted, limit).map(({ prefix }) => prefix)),
      ...this.#knownFrom(wanted.toLowerCase(), limit),
    ];
    const found = isWhole ? [] : (places?.searchPlaces(wanted, limit) ?? []).map(({ name, position }) => (
      { text: name, position: position ?? null }
    ));
    const room = Math.max(limit - found.length, Math.ceil(limit / 2));
    const listed = [...new Set(addresses)].slice(0, room).map((address) => this.#describe(address));
    return [...listed, ...found].slice(0, limit);
  }

  #describe(text: string): FoundPlace {
    const { names, places } = this.#model;
    const known = places?.describe(parsePrefix(text).bytes) ?? {};
    const { latitude, longitude } = known;
    const place = placeText(known);
    return {
      text,
      ...names.named(text),
      ...(place !== undefined && { place }),
      position: latitude === undefined || longitude === undefined ? null : { latitude, longitude },
    };
  }

  /** Known addresses and named prefixes that begin with digits. */
  #knownFrom(wanted: string, limit: number): string[] {
    if (!/^(?:\d|[\da-f]*:)[\d.:a-f/]*$/.test(wanted)) return [];
    this.#known ??= [
      ...Array.from(this.#model.names.entries(), ([prefix]) => prefix),
      ...Array.from(this.#model.trainingData?.known.addresses() ?? [], ({ bytes }) => formatAddress(bytes)),
    ];
    const found = new Set<string>();
    for (const each of this.#known) {
      if (found.size === limit) break;
      if (each.startsWith(wanted)) found.add(each);
    }
    return [...found];
  }
}
