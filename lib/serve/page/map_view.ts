/** The visible part of the map, and how wheel, fingers and keys change it. @module */
import { mapPoint, type MapPosition, type MapView, WORLD } from "../../base/report/world_map.ts";

/** The whole world is shown if data fill a larger share of it than this. */
const MOST_FILLED = 0.7;
/** The smallest share of the world's width that a view can have. */
const LEAST_SHARE = 1 / 32;
/** The smallest share of the world's width for a view of data. */
const LEAST_DATA_SHARE = 1 / 6;
/** The share of the weight that may lie beyond each side of a view. */
const ASIDE = 0.03;
/** Margin around data, relative to their extent. */
const MARGIN = 0.15;

/** Magnification relative to the whole map. */
export function zoomOf({ width }: MapView): number {
  return WORLD.width / width;
}

interface WeighedPosition extends MapPosition {
  readonly weight: number;
}

/** The view of most of the weight, ignoring a few remote places; the whole world if that is about as wide. */
export function viewOf(positions: readonly WeighedPosition[]): MapView {
  if (positions.length === 0) return WORLD;
  const points = positions.map((position) => ({ ...mapPoint(position), weight: position.weight }));
  const [[left, right], [top, bottom]] = [points.map(({ x }) => x), points.map(({ y }) => y)].map((values) =>
    extentOf(values, points)
  );
  const extents = [(right - left) / WORLD.width, (bottom - top) / WORLD.height].map((each) =>
    (1 + 2 * MARGIN) * each
  );
  const share = Math.max(...extents, LEAST_DATA_SHARE);
  return share > MOST_FILLED ? WORLD : within({ x: (left + right) / 2, y: (top + bottom) / 2 }, share);
}

/** The range that contains most of the weight. */
function extentOf(
  values: readonly number[],
  points: readonly { readonly weight: number }[],
): [number, number] {
  const order = [...values.keys()].sort((a, b) => values[a] - values[b]);
  const beyond = ASIDE * points.reduce((sum, { weight }) => sum + weight, 0);
  const first = (indexes: readonly number[]) => {
    let before = 0;
    return values[indexes.find((i) => (before += points[i].weight) > beyond) ?? indexes[0]];
  };
  return [first(order), first(order.toReversed())];
}

/**
 * Zooms in by a factor, or out if it is below 1.
 *
 * @param at The point that stays in place, as shares of the view from its left and top.
 */
export function zoomed(view: MapView, factor: number, at = { x: 0.5, y: 0.5 }): MapView {
  const share = Math.min(1, Math.max(LEAST_SHARE, 1 / (factor * zoomOf(view))));
  const shrunk = share * WORLD.width / view.width;
  return within({
    x: view.x + view.width * (at.x + (0.5 - at.x) * shrunk),
    y: view.y + view.height * (at.y + (0.5 - at.y) * shrunk),
  }, share);
}

/** Moves the view by shares of its size. */
export function moved({ x, y, width, height }: MapView, byX: number, byY: number): MapView {
  return within({ x: x + width * (0.5 + byX), y: y + height * (0.5 + byY) }, width / WORLD.width);
}

/** Moves the view only if a position is outside it. */
export function showing(view: MapView, position: MapPosition): MapView {
  const { x, y } = mapPoint(position);
  const isIn = x > view.x && x < view.x + view.width && y > view.y && y < view.y + view.height;
  return isIn ? view : within({ x, y }, view.width / WORLD.width);
}

/** A view around a point, as a share of the world's width, moved to lie within the world. */
function within(middle: { x: number; y: number }, share: number): MapView {
  const [width, height] = [share * WORLD.width, share * WORLD.height];
  const clamp = (value: number, low: number, high: number) => Math.max(low, Math.min(high, value));
  return {
    x: clamp(middle.x - width / 2, WORLD.x, WORLD.x + WORLD.width - width),
    y: clamp(middle.y - height / 2, WORLD.y, WORLD.y + WORLD.height - height),
    width,
    height,
  };
}
