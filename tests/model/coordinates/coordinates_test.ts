import { assert, assertAlmostEquals, assertEquals, assertNotEquals } from "@std/assert";
import {
  Coordinates,
  coordinateShapes,
  fitCoordinates,
  type LocatedNode,
  numbersOfNode,
} from "../../../lib/model/coordinates/coordinates.ts";
import { foldOfPair, type KnownPairs } from "../../../lib/model/coordinates/known_pairs.ts";
import { logErrors, medianOf, pairsOf, planeRtts, planetLab, splitPairs } from "./low_rank.ts";
import { fromScale, toScale } from "../../../lib/model/coordinates/rtt_scale.ts";

const { known, heldOut } = splitPairs(80, planeRtts(80), 0.4);
const coordinates = fitCoordinates(known);

Deno.test("fitCoordinates recovers distances in the plane behind access links from 40 % of the pairs", () => {
  const error = medianOf(logErrors(heldOut, (a, b) => coordinates.estimate(a, b)));
  assert(error < 0.03, `median |log ratio| ${error}`);
  const outOfFold = logErrors(known, (a, b) => coordinates.estimate(a, b, coordinates.foldOf(a, b)));
  assert(medianOf(outOfFold) < 0.05, `out of fold ${medianOf(outOfFold)}`);
  assert(medianOf(outOfFold) > error, `out of fold ${medianOf(outOfFold)}, fitted to more pairs ${error}`);
});

Deno.test("Coordinates.estimate in a fold depends neither on the fold's RTTs nor on whether they are known", () => {
  const fold = 2;
  const isInFold = (i: number) => foldOfPair(known.a[i], known.b[i], 4) === fold;
  const expected = estimates(coordinates, fold);
  const changed = { ...known, rttMs: known.rttMs.map((ms, i) => isInFold(i) ? 1000 / ms : ms) };
  assertEquals(estimates(fitCoordinates(changed), fold), expected);
  const kept = [...known.rttMs.keys()].filter((i) => !isInFold(i));
  const without = pairsOf(80, kept.map((i) => [known.a[i], known.b[i], known.rttMs[i]]));
  assertEquals(estimates(fitCoordinates(without), fold), expected);
});

function estimates(coordinates: Coordinates, fold?: number) {
  return Array.from({ length: 80 }, (_, a) => coordinates.estimate(a, (a + 7) % 80, fold));
}

Deno.test("Coordinates.estimate and foldOf are symmetric", () => {
  for (let a = 0; a < 20; a++) {
    for (let b = a + 1; b < 20; b++) {
      assertEquals(coordinates.foldOf(a, b), coordinates.foldOf(b, a));
      for (let fold = 0; fold <= 4; fold++) {
        assertEquals(coordinates.estimate(a, b, fold), coordinates.estimate(b, a, fold));
      }
    }
  }
});

Deno.test("Coordinates.typical is about as far from a node as the median of the others, with a larger error", () => {
  const others = (a: number) => Array.from({ length: 80 }, (_, b) => b).filter((b) => b !== a);
  for (let a = 0; a < 80; a++) {
    const typical = coordinates.estimate(a, coordinates.typical);
    assert(typical);
    const sorted = others(a).map((b) => coordinates.estimate(a, b)?.rttMs ?? NaN).sort((x, y) => x - y);
    const rank = sorted.filter((rttMs) => rttMs < typical.rttMs).length / sorted.length;
    assert(rank > 0.2 && rank < 0.8, `node ${a}: ${typical.rttMs} ms of ${sorted[0]} to ${sorted.at(-1)} ms`);
    const errors = Float64Array.from(others(a), (b) => coordinates.estimate(a, b)?.error ?? NaN);
    assert(typical.error > medianOf(errors), `node ${a}: ${typical.error} of ${medianOf(errors)}`);
  }
  const nothing = fitCoordinates({
    numNodes: 4,
    a: known.a.slice(0, 0),
    b: known.b.slice(0, 0),
    rttMs: known.rttMs.slice(0, 0),
  });
  assertEquals(nothing.estimate(0, nothing.typical), undefined);
});

Deno.test("foldOfPair spreads each node's pairs about evenly over the folds", () => {
  for (let node = 0; node < 50; node++) {
    const counts = [0, 0, 0, 0];
    for (let other = 0; other < 400; other++) counts[foldOfPair(node, other, 4)]++;
    for (const count of counts) assert(count > 60 && count < 140, `node ${node}: ${counts}`);
  }
});

Deno.test("fitCoordinates is deterministic for a seed and differs between seeds", () => {
  const fit = (seed: number) => estimates(fitCoordinates(known, { seed }));
  assertEquals(fit(0), estimates(coordinates));
  assertNotEquals(fit(1), estimates(coordinates));
});

Deno.test("Coordinates.load restores what save wrote, in the shapes of coordinateShapes", () => {
  const saved = coordinates.save();
  const shapes = coordinateShapes(coordinates.size);
  for (const [name, shape] of Object.entries(shapes)) {
    assertEquals(saved[name as keyof typeof saved].length, shape.reduce((a, b) => a * b), name);
  }
  const loaded = Coordinates.load(coordinates.size, saved);
  for (let fold = 0; fold <= 4; fold++) assertEquals(estimates(loaded, fold), estimates(coordinates, fold));
  const measured = [{ node: 1, rttMs: 30 }, { node: 9, rttMs: 70 }];
  assertEquals(loaded.locate(measured), coordinates.locate(measured));
  assertEquals(loaded.save(), saved);
});

Deno.test("Coordinates.estimate is undefined for nodes without known pairs, or whose only one is in the fold", () => {
  // Node 80 has one known pair, node 81 has none.
  const withOne = (rttMs: number): KnownPairs => ({
    numNodes: 82,
    a: Uint32Array.of(...known.a, 80),
    b: Uint32Array.of(...known.b, 3),
    rttMs: Float64Array.of(...known.rttMs, rttMs),
  });
  const [near, far] = [15, 500].map((rttMs) => fitCoordinates(withOne(rttMs)));
  const own = far.foldOf(80, 3);
  assertEquals(far.estimate(81, 3), undefined);
  assertEquals(far.estimate(80, 3, own), undefined);
  const [least, most] = [near, far].map((fitted) => fitted.estimate(80, 3)?.rttMs ?? NaN);
  assert(
    least > 15 && least < most && most < 500,
    `${least} ms by an RTT of 15 ms, ${most} ms by one of 500 ms`,
  );
  assert(far.estimate(80, 5, (own + 1) % 4));
});

Deno.test("Coordinates.estimate is stable and in range between parts that no known pair connects", () => {
  const rtt = planeRtts(60);
  const isLeft = (node: number) => node < 30;
  const { known } = splitPairs(60, (a, b) => isLeft(a) === isLeft(b) ? rtt(a, b) : undefined, 0.6);
  const fits = [0, 1, 2].map((seed) => fitCoordinates(known, { seed }));
  const logRange = (a: number, b: number) => {
    const logs = fits.map((fit) => Math.log(fit.estimate(a, b)?.rttMs ?? NaN));
    return Math.max(...logs) - Math.min(...logs);
  };
  for (let a = 0; a < 10; a++) {
    const all = [...known.rttMs];
    const found = fits[0].estimate(a, 40 + a)?.rttMs ?? NaN;
    assert(found >= Math.min(...all) && found <= Math.max(...all), `${found} ms`);
    assert(logRange(a, 40 + a) < 0.4, `three seeds differ by ${logRange(a, 40 + a)}`);
  }
});

Deno.test("fitCoordinates handles RTTs from 0.05 ms to 10 s, few or no pairs, and pairs of a node with itself", () => {
  const extreme = fitCoordinates(pairsOf(4, [[0, 1, 0.05], [1, 2, 10_000], [2, 0, 3], [2, 2, 7], [3, 1, 0]]));
  for (const a of [0, 1, 2, 3]) {
    for (const b of [0, 1, 2, 3]) {
      const found = extreme.estimate(a, b);
      assert(
        found && found.rttMs >= 9e-4 && found.rttMs < 10_001 && found.error > 0,
        `${a} ${b} ${found?.rttMs}`,
      );
    }
  }
  assertEquals(fitCoordinates(pairsOf(3, [])).estimate(0, 1), undefined);
  const single = fitCoordinates(pairsOf(2, [[0, 1, 42]]));
  assertAlmostEquals(single.estimate(0, 1)?.rttMs ?? NaN, 42, 1e-3);
});

Deno.test("Coordinates.locate() keeps a node at its place if its only RTT agrees, and moves it if many do not", () => {
  const msBetween = (a: number | LocatedNode, b: number) => coordinates.estimate(a, b)?.rttMs ?? NaN;
  const rttsLike = (node: number, others: number[]) =>
    others.map((other) => ({ node: other, rttMs: msBetween(node, other) }));
  const others = Array.from({ length: 30 }, (_, i) => 40 + i);
  const farFrom = (node: number, located: LocatedNode) =>
    others.reduce(
      (sum, other) => sum + Math.abs(Math.log(msBetween(located, other) / msBetween(node, other))),
      0,
    );
  for (const agreeing of [20, 25, 33]) {
    const placed = coordinates.locate(rttsLike(7, [agreeing]), { place: 7 });
    assert(farFrom(7, placed) < 0.01 * others.length, `${farFrom(7, placed)} by the RTT to ${agreeing}`);
    const errorOf = (node: number | LocatedNode) =>
      medianOf(Float64Array.from(others, (other) => coordinates.estimate(node, other)?.error ?? NaN));
    assert(errorOf(placed) < 1.5 * errorOf(7), `error ${errorOf(placed)} of ${errorOf(7)}`);
  }
  const away = coordinates.locate(rttsLike(12, [15, 17, 19, 21, 23, 25, 27, 29]), { place: 7 });
  assert(farFrom(12, away) < 0.5 * farFrom(7, away));
});

Deno.test("Coordinates.put() adds a node that can be estimated by its number, and moves no other", () => {
  const before = fitCoordinates({ ...known, numNodes: 81 }, { rank: 4 });
  const after = Coordinates.load(before.size, before.save());
  const place = after.locate([{ node: 3, rttMs: 20 }, { node: 20, rttMs: 41 }]);
  assert(!after.hasCoordinates(80));
  assertEquals(after.estimate(80, 12), undefined);
  after.put(80, place);
  assert(after.hasCoordinates(80));
  assertEquals(after.estimate(80, 12), after.estimate(place, 12));
  assertEquals(after.estimate(3, 12), before.estimate(3, 12));
  assert(!before.hasCoordinates(80));
  const own = new Set(
    numbersOfNode(after.size, 80).flatMap(({ part, start, length }) =>
      Array.from({ length }, (_, i) => `${part} ${start + i}`)
    ),
  );
  const [was, is] = [before.save(), after.save()];
  for (const part of ["vectors", "nodes", "fits"] as const) {
    const moved = [...is[part].keys()].filter((i) => is[part][i] !== was[part][i]);
    assert(moved.every((i) => own.has(`${part} ${i}`)), part);
  }
});

Deno.test("fromScale inverts toScale, and steps near the typical RTT are equally long on every scale", () => {
  for (const power of [0, 0.5, 1]) {
    for (const log of [-5, -1, 0, 0.3, 4]) {
      assertAlmostEquals(fromScale(power, toScale(power, log)), log, 1e-9, `power ${power}`);
    }
    assertAlmostEquals(toScale(power, 1e-4), 1e-4, 1e-8);
    assertAlmostEquals(fromScale(power, -100), power === 0 ? -100 : Math.log(1e-3), 1e-9);
  }
});

const planet = await planetLab(0.5);

Deno.test({
  name: "Coordinates.estimate errs out of fold about as much as for unmeasured pairs (PlanetLab)",
  fn() {
    const { known, heldOut } = planet;
    const fitted = fitCoordinates(known);
    const outOfFold = logErrors(known, (a, b) => fitted.estimate(a, b, fitted.foldOf(a, b)));
    const unseen = logErrors(heldOut, (a, b) => fitted.estimate(a, b));
    const seen = logErrors(known, (a, b) => fitted.estimate(a, b));
    // The fold factorisations are fitted to three quarters of the pairs.
    for (const level of [0.25, 0.5, 0.75, 0.9]) {
      const at = (sorted: Float64Array) => sorted[Math.floor(level * sorted.length)];
      const ratio = at(outOfFold) / at(unseen);
      assert(ratio > 0.95 && ratio < 1.4, `level ${level}: ${ratio} times as far off out of fold`);
      assert(at(seen) < 0.8 * at(unseen), `level ${level}: ${at(seen)} seen, ${at(unseen)} unseen`);
    }
    assert(medianOf(unseen) < 0.06, `median |log ratio| ${medianOf(unseen)}`);
  },
});
