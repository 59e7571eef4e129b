import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import * as fc from "fast-check";
import { mapPoint, type MapView, WORLD } from "../../../lib/base/report/world_map.ts";
import { moved, showing, viewOf, zoomed, zoomOf } from "../../../lib/serve/page/map_view.ts";

const place = (latitude: number, longitude: number, weight = 1) => ({ latitude, longitude, weight });
const BERLIN = place(52.5, 13.4);
const SYDNEY = place(-33.9, 151.2);

function has({ x, y, width, height }: MapView, position: Parameters<typeof mapPoint>[0]): boolean {
  const point = mapPoint(position);
  return point.x >= x && point.x <= x + width && point.y >= y && point.y <= y + height;
}

Deno.test("the map starts where most measured addresses are, or with the world if they are spread out", () => {
  assertEquals(viewOf([]), WORLD);
  assertEquals(viewOf([BERLIN, SYDNEY]), WORLD);
  const europe = [place(48.9, 2.4, 30), place(52.5, 13.4, 40), place(41.9, 12.5, 30)];
  const view = viewOf([...europe, { ...SYDNEY, weight: 1 }]);
  assert(zoomOf(view) > 3);
  for (const each of europe) assert(has(view, each));
  assert(!has(view, SYDNEY));
  assertAlmostEquals(zoomOf(viewOf([BERLIN])), 6);
});

Deno.test("zooming keeps the point under the pointer, and moving stays within the world", () => {
  const share = fc.double({ min: 0.1, max: 0.9, noNaN: true });
  const isIn = ({ x, y, width, height }: MapView) =>
    x >= WORLD.x - 1e-6 && y >= WORLD.y - 1e-6 && x + width <= WORLD.x + WORLD.width + 1e-6 &&
    y + height <= WORLD.y + WORLD.height + 1e-6;
  fc.assert(fc.property(share, share, fc.double({ min: 1, max: 8, noNaN: true }), (x, y, factor) => {
    const view = zoomed(WORLD, factor, { x, y });
    assertAlmostEquals(zoomOf(view), factor, 1e-9);
    assertAlmostEquals(view.x + view.width * x, WORLD.x + WORLD.width * x, 1e-6);
    assertAlmostEquals(view.y + view.height * y, WORLD.y + WORLD.height * y, 1e-6);
    assert(isIn(moved(view, 20 * (x - 0.5), 20 * (y - 0.5))));
    for (const each of [BERLIN, SYDNEY]) assert(has(showing(view, each), each));
  }));
  assertEquals(zoomed(WORLD, 0.5), WORLD);
  assertAlmostEquals(zoomOf(zoomed(WORLD, 1e6)), 32);
});
