import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import {
  CENTRAL_LONGITUDE,
  heatNames,
  heatOf,
  type MapPlace,
  mapPoint,
  worldMap,
} from "../../../lib/base/report/world_map.ts";
import { NUM_HEATS, onWhite } from "../../../lib/base/report/theme.ts";
import { WORLD_FILE, worldProjection, worldShapes } from "./world_shapes.ts";
import { faultOfXml } from "./xml.ts";

const BOUNDS = [10, 25, 50, 100, 150, 200, 300];

Deno.test("the countries' shapes match what world_shapes.ts computes from Natural Earth", () => {
  assertEquals(JSON.parse(Deno.readTextFileSync(WORLD_FILE)), worldShapes());
});

Deno.test("each two-letter country code has a shape, all within the map", () => {
  const shapes = worldShapes();
  assertEquals(Object.keys(shapes).length, 174);
  for (const code of ["US", "DE", "FR", "NO", "XK", "SO", "CY", "TW", "EH", "PS"]) assert(shapes[code], code);
  for (const [code, path] of Object.entries(shapes)) {
    assert(/^[A-Z]{2}$/.test(code) && /^(M-?\d+[ -]\d+l[-\d ]+z)+$/.test(path), `${code} ${path}`);
    for (const { x, y } of pointsOf(path)) {
      assert(Math.abs(x) <= 1000 && Math.abs(y) <= 500, `${code} at ${x}, ${y}`);
    }
  }
});

/** The corners of a shape's path. */
function pointsOf(path: string): { x: number; y: number }[] {
  return path.split("M").slice(1).flatMap((ring) => {
    const numbers = (ring.match(/-?\d+/g) ?? []).map(Number);
    const points = [];
    for (let i = 0, x = 0, y = 0; i < numbers.length; i += 2) {
      points.push({ x: x += numbers[i], y: y += numbers[i + 1] });
    }
    return points;
  });
}

Deno.test("positions match d3's projection", () => {
  const project = worldProjection();
  for (const latitude of [-56, -33.5, 0, 0.25, 47, 83]) {
    for (const longitude of [-169.9, -168.8, -168.7, -75, 0, CENTRAL_LONGITUDE, 179.9, 180, -180]) {
      const { x, y } = mapPoint({ latitude, longitude });
      const [wantedX, wantedY] = project([longitude, latitude]);
      assertAlmostEquals(x, wantedX, 1e-6);
      assertAlmostEquals(y, wantedY, 1e-6);
    }
  }
});

Deno.test("values fall into classes from the lowest colour to the highest, which the legend names", () => {
  assertEquals([-1, 0, 9.99, 10, 99, 100, 300, 1e9].map((value) => heatOf(value, BOUNDS)), [
    0,
    0,
    0,
    1,
    3,
    4,
    7,
    7,
  ]);
  assertEquals(heatNames(BOUNDS, "ms"), [
    ...["< 10 ms", "10–25", "25–50", "50–100", "100–150", "150–200", "200–300", "≥ 300 ms"],
  ]);
  assertEquals(BOUNDS.length + 1, NUM_HEATS);
});

const GERMANY = { latitude: 51, longitude: 10 };
const PLACES: MapPlace[] = [
  { country: "DE", position: GERMANY, value: 12, text: "Germany: 12 ms" },
  {
    country: "DE",
    position: GERMANY,
    cell: { latitude: 50, longitude: 10, degrees: 2.5 },
    value: 5,
    text: "5 ms",
  },
  { country: "AQ", position: { latitude: -80, longitude: 0 }, value: 400, text: "Antarctica" },
  { country: "SG", position: { latitude: 1.5, longitude: 104 }, value: 400, text: "Singapore <&>: 400 ms" },
];

Deno.test("a map draws its places in their colours, and labels them", () => {
  const svg = worldMap(PLACES, { title: "RTT", bounds: BOUNDS });
  assertEquals(faultOfXml(svg), undefined);
  const fillOf = (place: number) => new RegExp(`data-place="${place}"[^]*?fill="([^"]*)"`).exec(svg)?.[1];
  assertEquals([0, 1, 3].map(fillOf), ["var(--heat1)", "var(--heat0)", "var(--heat7)"]);
  assert(svg.includes('aria-label="Singapore &lt;&amp;&gt;: 400 ms"') && svg.includes('aria-label="RTT"'));
  // A country without a shape is a disc; any other is its shape, which contains its cells.
  assertEquals(svg.match(/<circle/g)?.length, 1);
  assertEquals(svg.includes("Antarctica"), false, "it is south of the map");
  assertEquals(/clip-path="url\(#in-(..)\)"/.exec(svg)?.[1], "DE");
  assertEquals(svg.includes("<text") || svg.includes("<title"), false);
});

Deno.test("a map as a file contains a legend, tooltips and a mark", () => {
  const mark = { latitude: 48, longitude: 2 };
  const svg = onWhite(
    worldMap(PLACES, { title: "RTT from <here>", bounds: BOUNDS, unit: "ms", mark, credits: ["By & by"] }),
  );
  assertEquals(faultOfXml(svg), undefined);
  for (
    const text of [
      "RTT from &lt;here&gt;",
      "≥ 300 ms",
      "<title>Germany: 12 ms</title>",
      "<title>5 ms</title>",
    ]
  ) {
    assert(svg.includes(text), text);
  }
  assertEquals(/var\(/.test(svg), false, "a file needs no style of a page");
});

Deno.test("hatched places are drawn with lines, which the legend of a file explains", () => {
  const [germany, cell, , singapore] = PLACES;
  const hatchedOf = (isHatched: boolean, hatched?: string) => {
    const places = [{ ...germany, isHatched }, cell, { ...singapore, isHatched }];
    const svg = worldMap(places, { title: "", bounds: BOUNDS, unit: "ms", ...(hatched && { hatched }) });
    assertEquals(faultOfXml(svg), undefined);
    return [svg.match(/fill="url\(#hatch\)"/g)?.length ?? 0, svg.includes(">nothing measured<")];
  };
  assertEquals(hatchedOf(false), [0, false]);
  assertEquals(hatchedOf(true), [2, false]);
  assertEquals(hatchedOf(true, "nothing measured"), [3, true]);
});

Deno.test("cells of the last column before the map's edge stay on their side", () => {
  const country = "RU";
  for (const [longitude, side] of [[-170, 1], [-167.5, -1]]) {
    const cell = { latitude: 65, longitude, degrees: 2.5 };
    const svg = worldMap([{ country, position: cell, cell, value: 1, text: "" }], {
      title: "",
      bounds: BOUNDS,
    });
    const path = /data-place="0" fill="[^"]*" d="M(\S+) \S+H(\S+?)L(\S+) \S+?H(\S+)z"/.exec(svg) ?? [];
    assertEquals(path.length, 5);
    for (const x of path.slice(1).map(Number)) assert(x * side > 600, `${x}`);
  }
});
