/**
 * A map of the world as SVG, shaded by a number for each country and for each cell of latitudes and
 * longitudes in it. It also runs in a browser. Its colours are the page's CSS variables for viridis, which is
 * perceptually uniform and whose colours people with any kind of colour vision can order
 * (https://bids.github.io/colormap/); on black, its dark end is lighter.
 *
 * Projection: Equal Earth (Šavrič, Patterson and Jenny, Int. J. Geogr. Inf. Sci. 33(3), 2019). Shapes:
 * Natural Earth (https://www.naturalearthdata.com, public domain), made by
 * `tests/base/report/world_shapes.ts`.
 *
 * @module
 */
import { escapeHtml } from "../text.ts";
import { NUM_HEATS } from "./theme.ts";
import shapes from "./world.json" with { type: "json" };

/** The central meridian: the map is cut at 168.75 degrees west, where there is the least land. */
export const CENTRAL_LONGITUDE = 11.25;
const HALF_WIDTH = 1000;
/** Half the width of Equal Earth for a sphere of radius 1. */
const UNIT_HALF_WIDTH = 2.706629978319691;
/** Map units per unit of the projection. */
export const WORLD_SCALE = HALF_WIDTH / UNIT_HALF_WIDTH;
/** From 84 degrees north to 57 south, which includes all countries. */
const [TOP, BOTTOM] = [-pointOf(84, 0).y, -pointOf(-57, 0).y].map(Math.round);
/** The map without its legend, in map units. */
export const WORLD: MapView = { x: -HALF_WIDTH, y: TOP, width: 2 * HALF_WIDTH, height: BOTTOM - TOP };
const LEGEND_HEIGHT = 130;
const CREDIT_HEIGHT = 24;

const SHAPES: ReadonlyMap<string, string> = new Map(Object.entries(shapes));

/** A part of the map, in map units. */
export interface MapView {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** A point on the earth, in degrees north and east. */
export interface MapPosition {
  readonly latitude: number;
  readonly longitude: number;
}

export interface MapPlace {
  /** ISO 3166-1 alpha-2. */
  readonly country: string;
  /** A point in the country. A country too small for a shape is drawn as a disc there. */
  readonly position: MapPosition;
  /** The cell's centre and size; absent for a whole country. A cell is drawn only within its country. */
  readonly cell?: MapPosition & { readonly degrees: number };
  readonly value: number;
  /** Whether the whole country is hatched (false). */
  readonly isHatched?: boolean;
  /** A description for tooltips and screen readers. */
  readonly text: string;
}

interface MapOptions {
  readonly title: string;
  /** The upper bounds of the classes of values, ascending: {@link NUM_HEATS} - 1 of them. */
  readonly bounds: readonly number[];
  /** The unit of values, for a legend below the map; omitted on pages with their own legend. */
  readonly unit?: string;
  /** What hatching means, for the legend. */
  readonly hatched?: string;
  readonly credits?: readonly string[];
  readonly mark?: MapPosition | undefined;
  readonly dot?: MapPosition | undefined;
}

/** Projects a position to the map, in map units. */
export function mapPoint({ latitude, longitude }: MapPosition): { x: number; y: number } {
  // From 180 degrees west to 180 degrees east of the central meridian; the western and eastern edges are the
  // same meridian.
  const east = (longitude - CENTRAL_LONGITUDE + 540) % 360 - 180;
  const { x, y } = pointOf(latitude, east);
  return { x, y: -y };
}

/** Equal Earth, in map units. */
function pointOf(latitude: number, longitude: number): { x: number; y: number } {
  const [a1, a2, a3, a4] = [1.340264, -0.081106, 0.000893, 0.003796];
  const t = Math.asin(Math.sqrt(3) / 2 * Math.sin(latitude * Math.PI / 180));
  const slope = 9 * a4 * t ** 8 + 7 * a3 * t ** 6 + 3 * a2 * t ** 2 + a1;
  const x = 2 * Math.sqrt(3) * (longitude * Math.PI / 180) * Math.cos(t) / (3 * slope);
  return { x: WORLD_SCALE * x, y: WORLD_SCALE * (a4 * t ** 9 + a3 * t ** 7 + a2 * t ** 3 + a1 * t) };
}

/** The number of a value's class, whose colour is `--heat0` and so on. */
export function heatOf(value: number, bounds: readonly number[]): number {
  return bounds.filter((bound) => value >= bound).length;
}

export function heatNames(bounds: readonly number[], unit: string): string[] {
  return [...bounds, Infinity].map((bound, i) => {
    if (i === 0) return `< ${bound} ${unit}`;
    return bound === Infinity ? `≥ ${bounds[i - 1]} ${unit}` : `${bounds[i - 1]}–${bound}`;
  });
}

/**
 * Draws a map.
 *
 * @param places Countries, and cells in them. Parts of a country without cells show the country's value.
 * @returns One `svg` element. Elements of places have their index as `data-place`, and countries are
 *   focusable.
 */
export function worldMap(places: readonly MapPlace[], options: MapOptions): string {
  const { title, bounds, unit, credits = [], mark, dot } = options;
  const numbered = places.map((place, index) => ({ ...place, index }));
  const byCountry = Map.groupBy(numbered, ({ country }) => country);
  const height = BOTTOM - TOP + (unit === undefined ? 0 : LEGEND_HEIGHT + CREDIT_HEIGHT * credits.length);
  const fill = ({ value }: MapPlace) => `var(--heat${heatOf(value, bounds)})`;
  // The browser's tooltip, if no page shows what is pointed at.
  const saying = ({ text }: MapPlace) => unit === undefined ? "" : `<title>${escapeHtml(text)}</title>`;
  const known = [...byCountry].map(([code, all]) => {
    const whole = all.find(({ cell }) => !cell);
    const cells = all.filter(({ cell }) => cell);
    const shape = SHAPES.get(code);
    const own = whole ?? cells[0];
    const label = escapeHtml(whole?.text ?? code);
    const group =
      `<g class="country" tabindex="-1" role="img" aria-label="${label}" data-place="${own.index}"`;
    if (shape === undefined) {
      const { x, y } = mapPoint(own.position);
      if (y > BOTTOM) return "";
      const disc = `<circle cx="${x.toFixed(0)}" cy="${y.toFixed(0)}" r="7"`;
      const lines = own.isHatched ? `${disc} ${HATCHED}/>` : "";
      return `${group} fill="${fill(own)}">${disc}/>${lines}${saying(own)}</g>`;
    }
    const parts = cells.map((place) =>
      `<path data-place="${place.index}" fill="${fill(place)}" d="${cellPath(place)}">${saying(place)}</path>`
    );
    const area = whole ? `<use href="#shape-${code}" fill="${fill(whole)}">${saying(whole)}</use>` : "";
    const clip = `<clipPath id="in-${code}"><use href="#shape-${code}"/></clipPath>`;
    // Edges without antialiasing leave no lines between neighbours.
    const inside = `${clip}<g clip-path="url(#in-${code})" shape-rendering="crispEdges">${
      parts.join("")
    }</g>`;
    const lines = whole?.isHatched ? `<use href="#shape-${code}" ${HATCHED}/>` : "";
    return `${group}>${area}${parts.length === 0 ? "" : inside}${lines}</g>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="${-HALF_WIDTH} ${TOP} ${
      2 * HALF_WIDTH
    } ${height}" role="group" aria-label="${escapeHtml(title)}">`,
    `<defs><g id="shapes">${
      [...SHAPES].map(([code, shape]) => `<path id="shape-${code}" d="${shape}"/>`).join("\n")
    }</g>${HATCH}</defs>`,
    `<use href="#shapes" fill="var(--land)"/>`,
    ...known,
    `<use class="borders" href="#shapes" fill="none" stroke="var(--paper)" stroke-width="1.5" pointer-events="none"/>`,
    mark === undefined ? "" : markAt(mark),
    dot === undefined ? "" : dotAt(dot),
    unit === undefined ? "" : legend(heatNames(bounds, unit), options),
    "</svg>\n",
  ].filter((part) => part !== "").join("\n");
}

const HATCH = '<pattern id="hatch" width="9" height="9" patternUnits="userSpaceOnUse" ' +
  'patternTransform="rotate(45)"><path d="M0 0V9" stroke="var(--paper)" stroke-width="7"/></pattern>';
const HATCHED = 'fill="url(#hatch)" pointer-events="none"';

/** The outline of a cell, as wide at each latitude as in the projection. */
function cellPath({ cell }: MapPlace): string {
  if (!cell) return "";
  const { latitude, longitude, degrees } = cell;
  const edges = [-degrees / 2, degrees / 2].map((step) => {
    const edge = Math.max(-90, Math.min(90, latitude + step));
    const { x, y } = mapPoint({ latitude: edge, longitude });
    // Not by the longitudes of its corners: the map's edge is at both sides.
    const halfWidth = mapPoint({ latitude: edge, longitude: CENTRAL_LONGITUDE + degrees / 2 }).x;
    return [x - halfWidth, x + halfWidth, y].map(Math.round);
  });
  const [[x0, x1, y0], [x2, x3, y1]] = edges;
  return `M${x0} ${y0}H${x1}L${x3} ${y1}H${x2}z`;
}

function markAt(position: MapPosition): string {
  const { x, y } = mapPoint(position);
  const circle = (r: number, stroke: string, width: number) =>
    `<circle class="mark" cx="${x.toFixed(0)}" cy="${
      y.toFixed(0)
    }" r="${r}" fill="none" stroke="var(--${stroke})" stroke-width="${width}" pointer-events="none"/>`;
  return circle(12, "paper", 9) + circle(12, "contrast", 5);
}

function dotAt(position: MapPosition): string {
  const { x, y } = mapPoint(position);
  const at = `cx="${x.toFixed(0)}" cy="${y.toFixed(0)}"`;
  return `<circle class="dot" ${at} r="9" fill="var(--contrast)" stroke="var(--paper)" stroke-width="4" pointer-events="none"/>`;
}

function legend(names: readonly string[], { title, hatched, credits = [] }: MapOptions): string {
  const width = 2 * HALF_WIDTH / (NUM_HEATS + 1);
  const left = -HALF_WIDTH + width / 2;
  const text = (x: number, y: number, content: string, style = 'font-size="26" fill="var(--ink)"') =>
    `<text x="${x.toFixed(0)}" y="${BOTTOM + y}" font-family="system-ui, sans-serif" ${style}>${
      escapeHtml(content)
    }</text>`;
  const classes = names.map((name, i) => {
    const x = left + i * width;
    const size = `x="${x.toFixed(0)}" y="${BOTTOM + 56}" width="${(width - 8).toFixed(0)}" height="24"`;
    return `<rect ${size} fill="var(--heat${i})"/>${text(x, 110, name)}`;
  });
  const below = credits.map((line, i) =>
    text(left, 146 + i * CREDIT_HEIGHT, line, 'font-size="18" fill="var(--muted)"')
  );
  const box = `x="${-left - 24}" y="${BOTTOM + 20}" width="24" height="24"`;
  const lines = hatched === undefined ? [] : [
    `<rect ${box} fill="var(--heat${NUM_HEATS >> 1})"/><rect ${box} ${HATCHED}/>`,
    text(-left - 32, 40, hatched, 'text-anchor="end" font-size="26" fill="var(--ink)"'),
  ];
  return [text(left, 40, title), ...lines, ...classes, ...below].join("\n");
}
