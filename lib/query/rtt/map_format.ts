/**
 * A map of RTTs as a picture, as GeoJSON (RFC 7946) and as CSV.
 *
 * @module
 */
import { type MapPlace, worldMap } from "../../base/report/world_map.ts";
import { onWhite } from "../../base/report/theme.ts";
import { csvField, formatMs } from "../../base/text.ts";
import { type PlaceCredit, placeCredits } from "../../data/addresses/place_credits.ts";
import type { MapLevel, MapRtt } from "./rtt_map.ts";

/** The levels of a map, in the order in which they are drawn. */
export const MAP_LEVELS = ["country", "cell"] as const satisfies readonly MapLevel[];

/** The quantities that shade a map: the median RTT, or the width of the interval with 90 % of the replies. */
export const MAP_LAYERS = ["median", "interval"] as const;
/** See {@link MAP_LAYERS}. */
export type MapLayer = (typeof MAP_LAYERS)[number];

/** Where classes of a map end, ms. */
export const MAP_BOUNDS_MS: readonly number[] = [10, 25, 50, 100, 150, 200, 300];

/** A map to write. */
export interface RttMapFile {
  /** From where, as people read it. */
  readonly src: string;
  readonly places: readonly MapRtt[];
  readonly layer: MapLayer;
  /** Where the source is, if that is known. */
  readonly mark: { readonly latitude: number; readonly longitude: number } | undefined;
  /** The names of the files of places that the model was trained with. */
  readonly geoFiles: readonly string[];
}

/** The places whose shapes are drawn. */
export const SHAPE_CREDIT: PlaceCredit = {
  text: "Shapes by Natural Earth",
  url: "https://www.naturalearthdata.com",
};

/** Credits of a map. */
function creditLines({ geoFiles }: RttMapFile): string[] {
  return [...placeCredits(geoFiles), SHAPE_CREDIT].map(({ text, url }) => `${text}, ${url}`);
}

/** What lines over a country mean. */
export const HATCHED_TEXT = "no address measured there";

/** The title of a layer. */
export function layerTitle(layer: MapLayer, src: string): string {
  return `${layer === "median" ? "Median RTT" : "Width of the interval with 90 % of the RTTs"} from ${src}`;
}

/** The number that shades a place, ms. */
function layerMs({ medianMs, lowMs, highMs }: MapRtt, layer: MapLayer): number {
  return layer === "median" ? medianMs : highMs - lowMs;
}

/** A place with its numbers, in words. */
export function describeMapRtt(
  { name, country, cellDegrees, medianMs, lowMs, highMs, pFailed, basis }: MapRtt,
): string {
  const where = cellDegrees === null ? name : `near ${name}, ${country}`;
  return `${where}: median ${formatMs(medianMs)} ms, 90 % from ${formatMs(lowMs)} to ${
    formatMs(highMs)
  } ms, ` +
    `no reply ${Math.round(100 * pFailed)} %; ${basis}`;
}

/** The places of a picture. */
export function picturePlaces(places: readonly MapRtt[], layer: MapLayer): MapPlace[] {
  return places.map((place) => {
    const { country, cellDegrees, latitude, longitude } = place;
    const position = { latitude, longitude };
    return {
      country,
      position,
      ...(cellDegrees !== null && { cell: { ...position, degrees: cellDegrees } }),
      value: layerMs(place, layer),
      isHatched: place.knownAddresses === 0,
      text: describeMapRtt(place),
    };
  });
}

function svg(map: RttMapFile): string {
  const { src, places, layer, mark } = map;
  return onWhite(worldMap(picturePlaces(places, layer), {
    title: layerTitle(layer, src),
    bounds: MAP_BOUNDS_MS,
    unit: "ms",
    ...(places.some(({ knownAddresses }) => knownAddresses === 0) && { hatched: HATCHED_TEXT }),
    credits: creditLines(map),
    mark,
  }));
}

/** A place as answers and GeoJSON have it. */
export function mapPlace(
  { cellDegrees, medianMs, lowMs, highMs, pFailed, knownAddresses, basis, ...place }: MapRtt,
) {
  return {
    ...place,
    cell_degrees: cellDegrees,
    median_ms: medianMs,
    low_ms: lowMs,
    high_ms: highMs,
    p_failed: pFailed,
    known_addresses: knownAddresses,
    basis,
  };
}

/** Cells are polygons, countries points. */
function geoJson(map: RttMapFile): string {
  const { src, places } = map;
  const features = places.map((place) => {
    const { latitude, longitude, ...properties } = mapPlace(place);
    const { cell_degrees: cellDegrees } = properties;
    const half = (cellDegrees ?? 0) / 2;
    const [south, north] = [-half, half].map((step) => Math.max(-90, Math.min(90, latitude + step)));
    const [west, east] = [longitude - half, longitude + half];
    const ring = [[west, south], [east, south], [east, north], [west, north], [west, south]];
    const geometry = cellDegrees === null
      ? { type: "Point", coordinates: [longitude, latitude] }
      : { type: "Polygon", coordinates: [ring] };
    return JSON.stringify({ type: "Feature", geometry, properties });
  });
  const attribution = creditLines(map);
  const members = JSON.stringify({ type: "FeatureCollection", src, attribution }).slice(0, -1);
  return `${members},"features":[\n${features.join(",\n")}\n]}\n`;
}

function csv({ places }: RttMapFile): string {
  const rows = places.map((place) =>
    [
      csvField(place.country),
      csvField(place.name),
      place.latitude,
      place.longitude,
      place.cellDegrees ?? "",
      place.medianMs,
      place.lowMs,
      place.highMs,
      place.pFailed.toFixed(6),
      place.knownAddresses,
      place.basis,
    ].join(",")
  );
  return `${
    [
      "country,name,latitude,longitude,cell_degrees,median_ms,q0.05_ms,q0.95_ms,p_failed,known_addresses,basis",
      ...rows,
    ].join("\n")
  }\n`;
}

/** The formats, by the ends of files' names. */
export const MAP_FORMATS: ReadonlyMap<string, (map: RttMapFile) => string> = new Map([
  ["svg", svg],
  ["geojson", geoJson],
  ["json", geoJson],
  ["csv", csv],
]);
