/**
 * Makes `lib/base/report/world.json`, the countries of the map, from Natural Earth's countries in the package
 * world-atlas: `deno run --allow-read --allow-write --allow-env tests/base/report/world_shapes.ts`.
 *
 * @module
 */
import { projection, read } from "vega";
import atlas from "world-atlas/countries-110m.json" with { type: "json" };
import { CENTRAL_LONGITUDE, WORLD_SCALE } from "../../../lib/base/report/world_map.ts";

export const WORLD_FILE = new URL("../../../lib/base/report/world.json", import.meta.url);

/** Areas of Natural Earth without an ISO 3166-1 number, with the code that address databases use for them. */
const UNNUMBERED = new Map([["N. Cyprus", "CY"], ["Somaliland", "SO"], ["Kosovo", "XK"]]);
/** Nobody measures there, and it would take a quarter of the map. */
const ANTARCTICA = "AQ";

interface Area {
  readonly id?: string;
  readonly properties: { readonly name: string };
}
interface Projection {
  (position: readonly [longitude: number, latitude: number]): [x: number, y: number];
  rotate(degrees: readonly number[]): Projection;
  scale(scale: number): Projection;
  translate(to: readonly number[]): Projection;
  precision(px: number): Projection;
  readonly path: (area: Area) => string | null;
}

/** The map's projection in d3, which clips areas at the edge of the map. */
export function worldProjection(): Projection {
  // Missing in Vega's types.
  return (projection as unknown as (name: string) => () => Projection)("equalEarth")()
    .rotate([-CENTRAL_LONGITUDE, 0]).scale(WORLD_SCALE).translate([0, 0]).precision(0.5);
}

/** SVG paths by ISO 3166-1 alpha-2 in map units, as whole numbers, all relative except the first. */
export function worldShapes(): Record<string, string> {
  const map = worldProjection();
  const areas = read(JSON.stringify(atlas), { type: "topojson", feature: "countries" }) as unknown as Area[];
  const shapes: Record<string, string> = {};
  for (const area of areas) {
    const code = UNNUMBERED.get(area.properties.name) ?? codeOf(area.id ?? "");
    const path = code === ANTARCTICA ? "" : compact(map.path(area) ?? "");
    if (path !== "") shapes[code] = (shapes[code] ?? "") + path;
  }
  return Object.fromEntries(Object.entries(shapes).sort(([a], [b]) => a < b ? -1 : 1));
}

/** The letters of a country's number, from Unicode's canonical form of a locale (UTS 35, annex C). */
function codeOf(number: string): string {
  return Intl.getCanonicalLocales(`und-${number}`)[0].slice(-2);
}

/** Rounds a path of absolute lines to whole numbers. Rings without an area are left out. */
function compact(path: string): string {
  return path.split("M").slice(1).map((ring) => {
    const points = ring.replace(/Z$/, "").split("L").map((point) =>
      point.split(",").map((text) => Math.round(Number(text)))
    );
    const moves = points.slice(1).map(([x, y], i) => [x - points[i][0], y - points[i][1]])
      .filter(([x, y]) => x !== 0 || y !== 0);
    if (moves.length < 3) return "";
    return `M${points[0].join(" ")}l${moves.map((move) => move.join(" ")).join(" ")}z`;
  }).join("").replaceAll(" -", "-");
}

if (import.meta.main) Deno.writeTextFileSync(WORLD_FILE, `${JSON.stringify(worldShapes(), null, 2)}\n`);
