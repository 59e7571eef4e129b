/** `place`: where an address is by its RTTs, and the addresses that are not where the database says. @module */
import * as z from "zod";
import { formatCount, formatMs, formatShare } from "../../base/text.ts";
import { formatTable } from "../../base/text_table.ts";
import { withName } from "../../data/addresses/ip_prefix.ts";
import { addressBytes, formatAddress, parseAddress } from "../../data/addresses/ip.ts";
import type { MisplacedAddress } from "../../data/addresses/least_rtts.ts";
import { placeText } from "../../data/addresses/place_index.ts";
import type { PingModel } from "../ping_model.ts";
import { constantEnds, context, endNames, fields, notes, question, readSource, step } from "./question.ts";

/** Maximum number of contradicted addresses per answer. */
const MAX_LISTED = 100_000;
const SERVED_LISTED = 1000;

const listed = (most: number) =>
  z.int().min(1).max(most).optional()
    .describe("number of addresses to list that are not where the database says, without src (100)")
    .meta({ examples: [100] });

const placeName = z.string().nullable().describe("city or region and country; null if unknown");
const position = {
  latitude: z.number().describe("degrees north, a multiple of the step of the model's table of places"),
  longitude: z.number().describe("degrees east"),
};
const atPlace = { place: placeName, ...position };
const landmarkRtt = {
  rtt_ms: z.number().describe("the shortest RTT"),
  distance_km: z.number(),
};

const contradictedSchema = z.object({
  address: z.string(),
  name: z.string().optional().describe("name of the address, if any"),
  kind: z.enum(["misplaced", "anycast"])
    .describe(
      "anycast: no single place explains its RTTs; misplaced: only the database's place is impossible",
    ),
  ...atPlace,
  landmark: z.string().describe("the measured address whose RTT proves it by the largest amount"),
  landmark_name: z.string().optional(),
  landmark_place: placeName,
  ...landmarkRtt,
  least_ms: z.number().describe("the RTT of light in fibre over this distance, less the rounding of places"),
  too_fast: z.int().describe("number of addresses with a place whose RTT is shorter than light allows"),
  pairs: z.int().describe("number of addresses with a place and an RTT"),
});

const located = z.object({
  ...atPlace,
  radius50_km: z.number().describe("the address is within this distance with a probability of 50 %"),
  radius90_km: z.number().describe("the same, with 90 %"),
  places: z.array(z.object({ ...atPlace, probability: z.number() })).describe("the likeliest, best first"),
  light: z.object({
    ...position,
    radius_km: z.number().describe("distance to the farthest of these places"),
    places: z.int().describe("number of places from which light contradicts the fewest landmarks"),
    of: z.int().describe("number of all places in the table that have networks"),
    contradicted: z.int().describe("number of landmarks that contradict each of these places"),
  }).describe("the region that light allows, with the mean position of its places"),
  landmarks: z.object({
    used: z.int().describe(
      "number of landmarks: measured addresses with a place, those with the shortest RTTs",
    ),
    of_neighbours: z.int().describe("how many of all landmarks only neighbours in its network have measured"),
    excluded: z.int().describe(
      "number of measured addresses that are none, since light contradicts their place",
    ),
    agree: z.int().describe("for how many light allows the best place"),
    nearest: z.array(z.object({
      address: z.string(),
      name: z.string().optional(),
      place: placeName,
      ...landmarkRtt,
      reach_km: z.number().describe("the distance that light covers in half of the RTT"),
      agrees: z.boolean(),
    })).describe(
      "those with the shortest RTTs, and all that do not agree; distances are from the best place",
    ),
  }),
  database: z.object({
    ...atPlace,
    distance_km: z.number().describe("from the best place"),
    probability: z.number().describe("P(the address is within 100 km of it), by its RTTs alone"),
    contradicted: z.boolean().describe("whether light proves that it is wrong; see `contradicted`"),
  }).nullable().describe("what the database says, which does not count in the answer; null if nothing"),
});

export const place = question({
  name: "place",
  summary: "where an address is by its RTTs, and which addresses are not where the database says",
  question: fields({
    src: constantEnds.src.describe(
      "the address to locate; without it, all contradicted addresses are listed",
    ),
    context,
    count: listed(MAX_LISTED),
  }),
  served: { count: listed(SERVED_LISTED) },
  answer: z.object({
    src: z.string().optional(),
    src_name: endNames.src_name,
    located: located.optional().describe("where the address is; absent if no RTT tells"),
    contradicted: z.array(contradictedSchema)
      .describe("what light proves to be wrong in the database: of the address, or of all"),
    total: z.int().describe("number of all contradicted addresses"),
    addresses: z.int().describe("number of measured addresses"),
    notes,
    step,
  }),
  async ask(asking, { src, context, count = 100 }) {
    const { model } = asking;
    const { landmarksOf, locatedRtts } = await import("../places/remembered_rtts.ts");
    const { placeOf } = await import("../places/place_of.ts");
    const { context: given } = readSource({ src: src ?? "0.0.0.0", context }, model.places);
    const known = await locatedRtts(model, given, (done) => asking.onProgress(done));
    const { misplaced } = known;
    const answer = { total: misplaced.length, addresses: [...known.rtts.nodes()].length, step: model.step };
    if (src === undefined) {
      return { contradicted: misplaced.slice(0, count).map((each) => rowOf(model, each)), ...answer };
    }
    const address = addressBytes(src);
    const measured = landmarksOf(known, address);
    const target = { address, ...measured };
    const located = measured.landmarks.length === 0
      ? undefined
      : await asking.inTurn(LOCATED_COST, () => Promise.resolve(placeOf(model, known, target)));
    const own = misplaced.filter((each) => each.address === formatAddress(address));
    const notes = [
      ...located ? [] : [`${src} has no RTT to an address with a known place: give some in context`],
      ...own.some(({ kind }) => kind === "anycast")
        ? [`${src} seems to be anycast: no single place explains its RTTs`]
        : [],
    ];
    return {
      src,
      ...model.names.namedEnds({ src }),
      ...(located && { located }),
      contradicted: own.map((each) => rowOf(model, each)),
      ...answer,
      ...(notes.length > 0 && { notes }),
    };
  },
  text({ src, src_name, located, contradicted, total, addresses }) {
    const rows = contradicted.map((each) => [
      withName(each.address, each.name),
      each.kind,
      each.place ?? "",
      `${formatMs(each.rtt_ms)} (light: ${formatMs(each.least_ms)})`,
      km(each.distance_km),
      withName(each.landmark, each.landmark_name),
      each.landmark_place ?? "",
      `${each.too_fast} of ${each.pairs}`,
    ]);
    const head = ["address", "kind", "place in the database", "RTT", "distance", "from", "at", "too fast"];
    const table = rows.length > 0 ? [formatTable([head, ...rows], { left: [0, 1, 2, 5, 6] })] : [];
    if (src !== undefined && !located) {
      return [`${withName(src, src_name)} cannot be located`, ...table].join("\n");
    }
    if (!located || src === undefined) {
      const shown = contradicted.length < total ? `, ${contradicted.length} of them listed` : "";
      return [
        ...table,
        `${formatCount(total)} of ${
          formatCount(addresses)
        } addresses are not where the database says${shown}`,
      ].join("\n");
    }
    const { places, light, landmarks, database } = located;
    const at = (each: { place: string | null; latitude: number; longitude: number }) =>
      each.place ?? `${each.latitude},${each.longitude}`;
    return [
      `${withName(src, src_name)} is at ${at(located)}: 50 % within ${km(located.radius50_km)}, ` +
      `90 % within ${km(located.radius90_km)}`,
      formatTable(
        [["place", "probability"], ...places.map((each) => [at(each), formatShare(each.probability)])],
        { left: [0] },
      ),
      `${landmarks.agree} of ${landmarks.used} landmarks agree with it; light allows ${
        formatCount(light.places)
      } of ${formatCount(light.of)} places, within ${
        km(light.radius_km)
      } of ${light.latitude},${light.longitude}` +
      (light.contradicted > 0 ? `, and contradicts ${light.contradicted} landmarks anywhere` : ""),
      formatTable([
        ["landmark", "place", "RTT", "distance", "light reaches", "agrees"],
        ...landmarks.nearest.map((each) => [
          withName(each.address, each.name),
          each.place ?? "",
          formatMs(each.rtt_ms),
          km(each.distance_km),
          km(each.reach_km),
          each.agrees ? "yes" : "no",
        ]),
      ], { left: [0, 1] }),
      database
        ? `the database says ${at(database)}, ${km(database.distance_km)} away: ` +
          (database.contradicted
            ? "contradicted by light"
            : `not contradicted by light; P(within 100 km of it) by the RTTs ${
              formatShare(database.probability)
            }`)
        : "the database does not know where it is",
      ...table,
    ].join("\n");
  },
});

/** Cost of an answer, in distributions that take about as long. */
const LOCATED_COST = 64;

function km(distance: number): string {
  return `${formatCount(Math.round(distance))} km`;
}

function rowOf(model: PingModel, found: MisplacedAddress): z.infer<typeof contradictedSchema> {
  const { address, kind, latitude, longitude, tooFast, pairs, worst } = found;
  const placeAt = (text: string) => {
    const bytes = parseAddress(text);
    const { asNumber: _, ...place } = bytes && model.places?.describe(bytes) || {};
    return placeText(place) ?? null;
  };
  const { name } = model.names.named(worst.other);
  return {
    address,
    ...model.names.named(address),
    kind,
    place: placeAt(address),
    latitude,
    longitude,
    landmark: worst.other,
    ...(name !== undefined && { landmark_name: name }),
    landmark_place: placeAt(worst.other),
    rtt_ms: worst.rttMs,
    distance_km: worst.distanceKm,
    least_ms: worst.floorMs,
    too_fast: tooFast,
    pairs,
  };
}
