/** `places`: possible meanings of a text while it is typed. @module */
import * as z from "zod";
import { getOrMake } from "../../base/collections.ts";
import { formatTable } from "../../base/text_table.ts";
import { formatAddress } from "../../data/addresses/ip.ts";
import { faultOfPrefix, formatPrefix, parsePrefix, withName } from "../../data/addresses/ip_prefix.ts";
import { placeText } from "../../data/addresses/place_index.ts";
import type { PingModel } from "../ping_model.ts";
import { fields, question } from "./question.ts";

const place = z.object({
  text: z.string().describe("the text to use as src or dst"),
  name: z.string().optional().describe("the name of an address or prefix, if any"),
  place: z.string().optional().describe("where the address is, if known"),
  position: z.object({ latitude: z.number(), longitude: z.number() }).nullable()
    .describe("where it is, or its city with the most networks; null if unknown or an AS"),
});
type FoundPlace = z.infer<typeof place>;

/** Does not run the model, so it never waits for it. */
export const places = question({
  name: "places",
  summary: "what a text may mean as it is typed: addresses, names, cities, regions, countries, ASes",
  question: fields({
    q: z.string().min(1).max(120)
      .describe("the beginning of an address, a name, a city, region, country or AS, or something similar")
      .meta({ examples: ["Berlin"] }),
    count: z.int().min(1).max(50).optional().describe("number of places to list (8)").meta({ examples: [8] }),
  }),
  answer: z.object({ q: z.string(), places: z.array(place).describe("best match first") }),
  async ask({ model }, { q, count = 8 }) {
    const search = getOrMake(searches, model, () => new PlaceSearch(model));
    return await Promise.resolve({ q, places: search.find(q, count) });
  },
  text({ places }) {
    return formatTable(places.map(({ text, name, place = "" }) => [withName(text, name), place]), {
      left: [0, 1],
    });
  },
});

const searches = new WeakMap<PingModel, PlaceSearch>();

/** Finds addresses, names, known addresses, places and ASes that match a partly typed text. */
class PlaceSearch {
  readonly #model: Pick<PingModel, "names" | "places" | "trainingData">;
  /** All known addresses, collected at first use. */
  #known: readonly string[] | undefined;

  constructor(model: Pick<PingModel, "names" | "places" | "trainingData">) {
    this.#model = model;
  }

  /**
   * Finds meanings of a text: the text itself if it is an address or prefix, then addresses by name, known
   * addresses, and places. If there are many, half of them are places.
   */
  find(text: string, limit: number): FoundPlace[] {
    const typed = text.trim();
    const isWhole = faultOfPrefix(typed) === undefined;
    // In canonical spelling, so that nothing is listed twice.
    const wanted = isWhole ? formatPrefix(parsePrefix(typed)) : typed;
    const { names, places } = this.#model;
    const cell = /^(-?\d+(?:\.\d+)?)\s*,\s*(-?\d+(?:\.\d+)?)$/.exec(wanted);
    if (cell && places) {
      return [{ text: wanted, position: { latitude: Number(cell[1]), longitude: Number(cell[2]) } }];
    }
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

  /** Known addresses and named prefixes that start with the text, if the text looks like an address. */
  #knownFrom(wanted: string, limit: number): string[] {
    if (!/^(?:\d|[\da-f]*:)[\d.:a-f/]*$/.test(wanted)) return [];
    this.#known ??= [
      ...Array.from(this.#model.names.entries(), ([prefix]) => prefix),
      ...Array.from(this.#model.trainingData.known.addresses(), ({ bytes }) => formatAddress(bytes)),
    ];
    const found = new Set<string>();
    for (const each of this.#known) {
      if (found.size === limit) break;
      if (each.startsWith(wanted)) found.add(each);
    }
    return [...found];
  }
}
