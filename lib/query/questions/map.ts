/** `map`: the RTTs from a source to countries, or to cells in them. @module */
import * as z from "zod";
import { getOrMake } from "../../base/collections.ts";
import { formatMs, formatRange, percentText } from "../../base/text.ts";
import { formatTable } from "../../base/text_table.ts";
import { basisKindSchema } from "../../data/addresses/known_addresses.ts";
import type { PingModel } from "../ping_model.ts";
import type { MapLevel, MapRtt, RttMaps } from "../rtt/rtt_map.ts";
import {
  answeredTime,
  context,
  endNames,
  fields,
  question,
  readSource,
  src,
  step,
  time,
  timeLine,
} from "./question.ts";

/** The levels of a map, in drawing order. */
export const MAP_LEVELS = ["country", "cell"] as const satisfies readonly MapLevel[];
/** Maximum number of places per question. */
const MAX_PLACES = 512;

const placeSchema = z.object({
  country: z.string().describe("ISO 3166-1 alpha-2"),
  name: z.string()
    .describe("the country in English, or the cell's city with the most networks, if one is known"),
  latitude: z.number()
    .describe("degrees north: the middle of the cell, or where most of the country's networks are"),
  longitude: z.number().describe("degrees east"),
  cell_degrees: z.number().nullable().describe("the size of the cell; null for a whole country"),
  median_ms: z.number(),
  low_ms: z.number().describe("5 % of the replies are faster"),
  high_ms: z.number().describe("5 % of the replies are slower"),
  p_failed: z.number().describe("P(no reply)"),
  known_addresses: z.int().describe("number of measured addresses in the place"),
  basis: basisKindSchema,
}) satisfies z.ZodType<MapRtt>;

export const map = question({
  name: "map",
  summary: "RTTs from a source to countries or cells, as part of a world map",
  question: fields({
    src,
    time,
    context,
    level: z.enum(MAP_LEVELS).optional()
      .describe("the kind of places: whole countries, or cells of 2.5 degrees in them (country)"),
    first: z.int().min(0).optional().describe("the index of the first place to report (0)")
      .meta({ examples: [0] }),
    count: z.int().min(1).max(MAX_PLACES).optional().describe("number of places to report (256)")
      .meta({ examples: [256] }),
  }),
  answer: z.object({
    src: z.string(),
    src_name: endNames.src_name,
    time: answeredTime,
    level: z.enum(MAP_LEVELS),
    first: z.int(),
    position: z.object({ latitude: z.number(), longitude: z.number() }).nullable()
      .describe("where the source is; null if unknown"),
    total: z.int().describe("number of places on the whole map; those with the most networks come first"),
    places: z.array(placeSchema),
    step,
  }),
  async ask(asking, { src, level = "country", first = 0, count = 256, ...asked }) {
    const { model } = asking;
    const { RttMaps } = await import("../rtt/rtt_map.ts");
    const maps = getOrMake(mapsOfModels, model, () => new RttMaps(model));
    const { source, timeS, context } = readSource({ src, ...asked }, model.places);
    const areas = maps.areas(level, source);
    const wanted = areas.slice(first, first + count);
    const { position = null, places } = await asking.inTurn(wanted.length, async () => {
      const origin = await maps.origin(source, { timeS, context });
      const places = [];
      for await (const place of maps.rtts(wanted, origin)) {
        places.push(place);
        asking.onProgress(places.length);
      }
      return { position: origin.position, places };
    });
    const named = { src, ...model.names.namedEnds({ src }), time: timeS };
    return { ...named, level, first, position, total: areas.length, places, step: model.step };
  },
  text({ time, places }) {
    const rows = places.map(({ country, name, median_ms, low_ms, high_ms, p_failed, basis }) => [
      country,
      name,
      formatMs(median_ms),
      formatRange(low_ms, high_ms),
      percentText(p_failed),
      basis,
    ]);
    const table = formatTable([["country", "name", "median", "90 %", "no reply", "basis"], ...rows], {
      left: [0, 1, 5],
    });
    return `${table}\n${timeLine(time)}`;
  },
});

const mapsOfModels = new WeakMap<PingModel, RttMaps>();
