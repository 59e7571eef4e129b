/**
 * How well `place` finds addresses whose place is known, with that place hidden. Run as a program:
 *
 *     deno run -A tests/query/places/place_figures.ts RUN [NAMES.csv]
 *
 * The truth is what the database says of the measured addresses that light does not contradict. Not used for
 * an address: its own place, what its neighbours in the /24 measured, and addresses with the same name (the
 * same probe). CBG is the middle of the region that the fewest landmarks contradict (Gueye et al. 2006, with
 * 2/3 of the speed of light); "shortest" is the place of the landmark with the shortest RTT.
 *
 * @module
 */
import { meanOf, quantileOfSample } from "../../../lib/base/sample_statistics.ts";
import { formatTable } from "../../../lib/base/text_table.ts";
import { addressBytes } from "../../../lib/data/addresses/ip.ts";
import { KM_PER_MS, lightSlackKm } from "../../../lib/data/addresses/light_floor.ts";
import {
  addressNumber,
  distanceKm,
  lengthOf,
  type Position,
} from "../../../lib/data/addresses/place_table.ts";
import { openNames } from "../../../lib/data/addresses/places/open_names.ts";
import { loadModel } from "../../../lib/query/files/load_model.ts";
import { type Landmark, radiusKm } from "../../../lib/query/places/locate.ts";
import { middleOf } from "../../../lib/query/places/place_of.ts";
import { landmarksOf, locatedRtts } from "../../../lib/query/places/remembered_rtts.ts";

const MIN_LANDMARKS = 3;
const MAX_ADDRESSES = 120;
/** Points that are evenly spread over the Earth, 160 km apart. */
const NUM_POINTS = 20_000;
const GRID = Array.from({ length: NUM_POINTS }, (_, i): Position => ({
  latitude: Math.asin(1 - (2 * i + 1) / NUM_POINTS) * 180 / Math.PI,
  longitude: i * 180 * (3 - Math.sqrt(5)) % 360 - 180,
}));

/** The landmarks' own places count too, since the region may be between points. */
function cbg(landmarks: readonly Landmark[], slackKm: number): Position {
  const points = [...GRID, ...landmarks.map(({ node }) => node.position)].map((position) => ({
    position,
    contradictions:
      landmarks.filter(({ node, rttMs }) => distanceKm(node.position, position) - slackKm > KM_PER_MS * rttMs)
        .length,
  }));
  const least = points.reduce((least, each) => Math.min(least, each.contradictions), Infinity);
  return middleOf(points.filter((each) => each.contradictions === least).map(({ position }) => position));
}

if (import.meta.main) {
  const [run, ...names] = Deno.args;
  using model = await loadModel(run);
  const named = await openNames(names);
  const known = await locatedRtts(model, [], () => {});
  const { rtts, rtts: { table } } = known;
  const destinations = new Set(
    [...model.trainingData.known.destinations()].map(({ bytes }) => bytes.join()),
  );
  const nodes = [...rtts.nodes()];
  const sameName = Map.groupBy(nodes, ({ address }) => named.named(address).name ?? address);
  const rows = [[
    "addresses",
    "number",
    "landmarks",
    "error",
    "CBG",
    "in 50 %",
    "in 90 %",
    "radius 50 %",
    "90 %",
  ]];
  for (const isDestination of [true, false]) {
    const all = nodes.flatMap((node) => {
      if (!node.position || node.isMisplaced) return [];
      if (destinations.has(addressBytes(node.address).join()) !== isDestination) return [];
      const { position } = node;
      const { landmarks, nodes: neighbours } = landmarksOf(known, addressBytes(node.address), {
        withNeighbours: false,
      });
      const hidden = neighbours.union(new Set(sameName.get(named.named(node.address).name ?? node.address)));
      return landmarks.length < MIN_LANDMARKS ? [] : [{ address: node.address, position, landmarks, hidden }];
    });
    const step = Math.ceil(all.length / MAX_ADDRESSES);
    const found = all.filter((_, i) => i % step === 0).flatMap(({ address, position, landmarks, hidden }) => {
      const bytes = addressBytes(address);
      const { site, asNumber } = table.numbersAt(addressNumber(bytes), lengthOf(bytes));
      const located = known.locator().locate(landmarks, hidden, { asNumber, hiddenSite: site });
      const radii = [0.5, 0.9].map((probability) => radiusKm(located, probability));
      const errorKm = distanceKm(located.best.position, position);
      const cbgKm = distanceKm(cbg(located.used, lightSlackKm(table.stepDegrees)), position);
      const shortestKm = distanceKm(located.used[0].node.position, position);
      return [{ errorKm, cbgKm, shortestKm, radii, used: landmarks.length }];
    });
    const quantiles = (values: number[]) =>
      [0.5, 0.75, 0.9].map((q) => Math.round(quantileOfSample(values, q))).join(", ");
    const within = (k: number) =>
      (meanOf(found.map(({ errorKm, radii }) => Number(errorKm <= radii[k]))) ?? NaN).toFixed(2);
    const median = (of: (each: typeof found[number]) => number) =>
      String(Math.round(quantileOfSample(found.map(of), 0.5)));
    rows.push([
      isDestination ? "destinations" : "sources",
      String(found.length),
      median(({ used }) => used),
      quantiles(found.map(({ errorKm }) => errorKm)),
      quantiles(found.map(({ cbgKm }) => cbgKm)),
      quantiles(found.map(({ shortestKm }) => shortestKm)),
      within(0),
      within(1),
      median(({ radii }) => radii[0]),
      median(({ radii }) => radii[1]),
    ]);
  }
  console.log(formatTable(rows, { left: [0] }));
  console.log("errors: median, 75 %, 90 %, km; landmarks and radii: medians");
}
