import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { drawDistinct, RandomStream } from "../../../lib/base/random.ts";
import { meanOf } from "../../../lib/base/sample_statistics.ts";
import {
  type DesignPair,
  gainOf,
  measure,
  MeasurementDesign,
  varianceOf,
  want,
} from "../../../lib/model/coordinates/design.ts";
import { fitCoordinates } from "../../../lib/model/coordinates/coordinates.ts";
import { logErrors, NUM_NODES, pairsOf, planeRtts, planetLab, splitPairs } from "./low_rank.ts";

const NUM_MEASURED = 8;
const plane = splitPairs(40, planeRtts(40), 0.6).known;
const fitted = fitCoordinates(plane, { rank: 8 });
const design = () => new MeasurementDesign(fitted.fits[fitted.size.folds]);

Deno.test("gainOf() equals the decrease in the sum of the wanted variances", () => {
  const made = design();
  const [x, y, a, b, c] = [-1, -1, 3, 7, 12].map((node) => made.node(node, node < 0 ? [1, 2] : [0, 1, 2, 4]));
  const pairs: DesignPair[] = [[x, a], [b, x], [y, c], [x, y]];
  for (const pair of pairs) want(pair);
  const sum = () => pairs.reduce((sum, pair) => sum + varianceOf(pair), 0);
  for (const pair of pairs) {
    const [before, gain] = [sum(), gainOf(pair)];
    measure(pair);
    assert(gain > 0);
    assertAlmostEquals(before - sum(), gain, 1e-9 * before);
  }
});

Deno.test("a node with given measurements equals a measured one, and an unknown node has the mean features", () => {
  const made = design();
  const [known, own] = [made.node(-1, [5, 9, -1, 4000]), made.node(-1)];
  for (const node of [5, 9]) measure([own, made.node(node)]);
  const spread = (node: typeof own) => varianceOf([node, made.node(20)]);
  assertAlmostEquals(spread(known), spread(own), 1e-9);
  assert(spread(known) < 0.9 * spread(made.node(-1)));
  assertEquals(made.node(4000).features, made.node(-1).features);
});

Deno.test("8 advised measurements place left-out nodes better than 8 random ones (PlanetLab)", async () => {
  const { known, heldOut } = await planetLab(0.3);
  const isNew = (node: number) => node % 5 === 0;
  const rows = [known, heldOut].flatMap(({ a, b, rttMs }) =>
    Array.from(a, (a, i) => [a, b[i], rttMs[i]] as const)
  );
  const rtts = new Map(rows.flatMap(([a, b, rttMs]) => [[`${a} ${b}`, rttMs], [`${b} ${a}`, rttMs]]));
  const old = rows.slice(0, known.a.length).filter(([a, b]) => !isNew(a) && !isNew(b));
  const fitted = fitCoordinates(pairsOf(NUM_NODES, old));
  const made = new MeasurementDesign(fitted.fits[fitted.size.folds]);
  const random = new RandomStream(3, "test/design");
  const errors: Record<"advised" | "random", number[]> = { advised: [], random: [] };
  for (let node = 0; node < NUM_NODES; node += 5) {
    const others = [...Array(NUM_NODES).keys()].filter((other) =>
      !isNew(other) && rtts.has(`${node} ${other}`)
    );
    random.shuffle(others);
    const [targets, candidates] = [others.slice(0, 50), others.slice(50)];
    const own = made.node(-1);
    const left = new Map(candidates.map((other): [number, DesignPair] => [other, [own, made.node(other)]]));
    for (const target of targets) want([own, made.node(target)]);
    const advised = Array.from({ length: NUM_MEASURED }, () => {
      const gains = Array.from(left, ([other, pair]) => ({ other, pair, gain: gainOf(pair) }));
      const { other: best, pair } = gains.reduce((a, b) => b.gain > a.gain ? b : a);
      measure(pair);
      left.delete(best);
      return best;
    });
    const judge = (measured: readonly number[]) => {
      const rttMs = (other: number) => rtts.get(`${node} ${other}`) ?? NaN;
      const place = fitted.locate(measured.map((other) => ({ node: other, rttMs: rttMs(other) })));
      const judged = pairsOf(NUM_NODES, targets.map((other) => [node, other, rttMs(other)]));
      return [...logErrors(judged, (_, other) => fitted.estimate(place, other))];
    };
    errors.advised.push(...judge(advised));
    for (let i = 0; i < 5; i++) {
      errors.random.push(
        ...judge([...drawDistinct(candidates.length, NUM_MEASURED, random)].map((j) => candidates[j])),
      );
    }
  }
  const [advised, randomly] = [errors.advised, errors.random].map(meanOf);
  assert(
    Number(advised) < 0.97 * Number(randomly),
    `mean |log ratio| ${advised} advised, ${randomly} at random`,
  );
});
