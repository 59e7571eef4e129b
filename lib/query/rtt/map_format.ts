/** Maps of RTTs as pictures, GeoJSON (RFC 7946) and CSV. @module */
import { type MapPlace, worldMap } from "../../base/report/world_map.ts";
import { onWhite } from "../../base/report/theme.ts";
import { csvField, formatMs, formatRange } from "../../base/text.ts";
import { type PlaceCredit, placeCredits } from "../../data/addresses/place_credits.ts";
import type { MapRtt } from "./rtt_map.ts";

/** What a map's shading shows: the median RTT, or the width of the interval with 90 % of the replies. */
export const MAP_LAYERS = ["median", "interval"] as const;
export type MapLayer = (typeof MAP_LAYERS)[number];

/** Class bounds of a map, ms. */
export const MAP_BOUNDS_MS: readonly number[] = [10, 25, 50, 100, 150, 200, 300];

export interface RttMapFile {
  readonly src: string;
  readonly places: readonly MapRtt[];
  readonly layer: MapLayer;
  /** Position of the source, if known. */
  readonly mark: { readonly latitude: number; readonly longitude: number } | undefined;
  /** Place files that the model was trained with. */
  readonly geoFiles: readonly string[];
}

export const SHAPE_CREDIT: PlaceCredit = {
  text: "Shapes by Natural Earth",
  url: "https://www.naturalearthdata.com",
};

function creditLines({ geoFiles }: RttMapFile): string[] {
  return [...placeCredits(geoFiles), SHAPE_CREDIT].map(({ text, url }) => `${text}, ${url}`);
}

/** Meaning of a hatched country. */
export const HATCHED_TEXT = "no address measured there";

export function layerTitle(layer: MapLayer, src: string): string {
  return `${layer === "median" ? "Median RTT" : "Width of the interval with 90 % of the RTTs"} from ${src}`;
}

function layerMs({ median_ms, low_ms, high_ms }: MapRtt, layer: MapLayer): number {
  return layer === "median" ? median_ms : high_ms - low_ms;
}

export function describeMapRtt(
  { name, country, cell_degrees, median_ms, low_ms, high_ms, p_failed, basis }: MapRtt,
): string {
  const where = cell_degrees === null ? name : `near ${name}, ${country}`;
  return `${where}: median ${formatMs(median_ms)}, 90 % in ${formatRange(low_ms, high_ms)}, ` +
    `no reply ${Math.round(100 * p_failed)} %; ${basis}`;
}

export function picturePlaces(places: readonly MapRtt[], layer: MapLayer): MapPlace[] {
  return places.map((place) => {
    const { country, cell_degrees, latitude, longitude } = place;
    const position = { latitude, longitude };
    return {
      country,
      position,
      ...(cell_degrees !== null && { cell: { ...position, degrees: cell_degrees } }),
      value: layerMs(place, layer),
      isHatched: place.known_addresses === 0,
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
    ...(places.some(({ known_addresses }) => known_addresses === 0) && { hatched: HATCHED_TEXT }),
    credits: creditLines(map),
    mark,
  }));
}

/** Cells are polygons, countries points. */
function geoJson(map: RttMapFile): string {
  const { src, places } = map;
  const features = places.map((place) => {
    const { latitude, longitude, ...properties } = place;
    const { cell_degrees } = properties;
    const half = (cell_degrees ?? 0) / 2;
    const [south, north] = [-half, half].map((step) => Math.max(-90, Math.min(90, latitude + step)));
    const [west, east] = [longitude - half, longitude + half];
    const ring = [[west, south], [east, south], [east, north], [west, north], [west, south]];
    const geometry = cell_degrees === null
      ? { type: "Point", coordinates: [longitude, latitude] }
      : { type: "Polygon", coordinates: [ring] };
    return JSON.stringify({ type: "Feature", geometry, properties });
  });
  const attribution = creditLines(map);
  const members = JSON.stringify({ type: "FeatureCollection", src, attribution }).slice(0, -1);
  return `${members},"features":[\n${features.join(",\n")}\n]}\n`;
}

/** The fields of a place in CSV, and the columns whose names differ. */
const CSV_FIELDS = [
  ...["country", "name", "latitude", "longitude", "cell_degrees"] as const,
  ...["median_ms", "low_ms", "high_ms", "p_failed", "known_addresses", "basis"] as const,
];
const CSV_COLUMNS: Partial<Record<string, string>> = { low_ms: "q0.05_ms", high_ms: "q0.95_ms" };

function csv({ places }: RttMapFile): string {
  const head = CSV_FIELDS.map((field) => CSV_COLUMNS[field] ?? field);
  const rows = places.map((place) => {
    const { country, name, p_failed } = place;
    const texts = { country: csvField(country), name: csvField(name), p_failed: p_failed.toFixed(6) };
    return CSV_FIELDS.map((field) => ({ ...place, ...texts })[field] ?? "");
  });
  return [head, ...rows].map((cells) => `${cells.join()}\n`).join("");
}

export const MAP_FORMATS: ReadonlyMap<string, (map: RttMapFile) => string> = new Map([
  ["svg", svg],
  ["geojson", geoJson],
  ["json", geoJson],
  ["csv", csv],
]);
