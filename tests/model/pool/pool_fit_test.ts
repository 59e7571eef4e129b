import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { NUM_CODES } from "../../../lib/model/pool/kernel_mixture.ts";
import { RandomStream } from "../../../lib/base/random.ts";
import { eventsOf, fitPool, type PoolCase } from "../../../lib/model/pool/pool_fit.ts";
import { END_OF_MEMORY, EVEN, FIRST_OF_MEMORY, NUM_COMPONENTS } from "../../../lib/model/pool/forecasts.ts";
import { allKinds, NUM_KINDS } from "../../../lib/model/pool/question_kinds.ts";

const NUM_OUTCOMES = 40;

/** Distributions over outcomes, one per component, and outcomes drawn from one of them. */
function drawnFrom(truth: number, count: number, seed = 0): PoolCase["events"] {
  const random = new RandomStream(seed, "tests/pool");
  return Array.from({ length: count }, () => {
    const distributions = Array.from({ length: NUM_COMPONENTS }, () => {
      const weights = Array.from({ length: NUM_OUTCOMES }, () => random.float64() ** 6);
      const sum = weights.reduce((a, b) => a + b, 0);
      return weights.map((weight) => weight / sum);
    });
    let left = random.float64();
    const outcome = Math.max(0, distributions[truth].findIndex((p) => (left -= p) < 0));
    return { masses: Float64Array.from(distributions, (distribution) => distribution[outcome]), weight: 1 };
  });
}

const firstWeights = fitPool([]).ofKinds.subarray(0, NUM_COMPONENTS);

Deno.test("the component that generated the measurements gets nearly all the weight, the model included", () => {
  const kinds = allKinds();
  // The model has no weight for measured pairs.
  for (const [truth, kind] of [[0, kinds[kinds.length - 1]], [3, kinds[0]]] as const) {
    const { ofKinds: weights } = fitPool(drawnFrom(truth, 1000).map((event) => ({ kind, events: [event] })));
    const weight = weights[kind.number * NUM_COMPONENTS + truth];
    assert(weight > 0.93, `${weight}`);
  }
  const [kind] = kinds;
  const { ofKinds: weights } = fitPool(drawnFrom(0, 1000).map((event) => ({ kind, events: [event] })));
  assertEquals(weights[kind.number * NUM_COMPONENTS], 0);
});

Deno.test("kinds without measurements get their group's weights, and none for components without RTTs", () => {
  const kinds = allKinds();
  assertEquals(kinds.map(({ number }) => number), Array.from({ length: NUM_KINDS }, (_, i) => i));
  const [kind, sibling] = kinds.filter(({ groups }) => groups.at(-1) === kinds[0].groups.at(-1));
  const cases = drawnFrom(2, 300).map((event) => ({ kind, events: [event] }));
  const { ofKinds: weights } = fitPool(cases);
  const of = (
    number: number,
  ) => [...weights.subarray(number * NUM_COMPONENTS, (number + 1) * NUM_COMPONENTS)];
  assert(of(kind.number)[2] > 0.8 && of(sibling.number)[2] > 0.8);
  for (const { number, groups } of kinds) {
    assertAlmostEquals(of(number).reduce((a, b) => a + b, 0), 1, 1e-12);
    assertEquals(of(number)[EVEN], firstWeights[EVEN]);
    if (groups[0] === "pair") continue;
    assertEquals(of(number).slice(FIRST_OF_MEMORY, END_OF_MEMORY), [0, 0]);
    assertAlmostEquals(of(number)[0], groups[0] === "placed" ? 0.12 : 0.3, 1e-9);
  }
});

Deno.test("weights learned for unplaced kinds do not count for placed ones", () => {
  const kinds = allKinds().slice(-(2 * 3 + 1) * 3);
  const isUnplaced = ({ groups }: typeof kinds[number]) => groups[0] === "unplaced";
  const unplaced = kinds.filter(isUnplaced);
  // Neither endpoint, the destination, the source is known, with three numbers of RTTs in the context.
  assertEquals(unplaced, kinds.slice(0, 9));
  const { ofKinds: weights } = fitPool(
    unplaced.flatMap((kind) => drawnFrom(EVEN - 1, 50).map((event) => ({ kind, events: [event] }))),
  );
  for (const kind of kinds) {
    const last = weights[kind.number * NUM_COMPONENTS + EVEN - 1];
    if (isUnplaced(kind)) assert(last > 0.6, `${kind.number}: ${last}`);
    else assertAlmostEquals(last, 0.25, 1e-9);
  }
});

Deno.test("a measurement is scored by its code, by longer runs of codes and by quantiles of the model", () => {
  const model = new Float64Array(NUM_CODES).fill(1 / NUM_CODES);
  for (const index of [0, 254, 255, 256, 2047, 2048, 20_000, NUM_CODES - 1]) {
    const ranges: (readonly [number, number])[] = [];
    const events = eventsOf(index, model, (first, end) => {
      ranges.push([first, end]);
      return Float64Array.of((end - first) / NUM_CODES);
    });
    const [ofCode, ofRun, ofLongRun] = events.map(({ weight }) => weight);
    assert(ofCode < ofRun && ofRun < ofLongRun);
    const runs = ranges.slice(0, 3);
    assertEquals(runs[0], [index, index + 1]);
    runs.forEach(([first, end], i) => assert(i === 0 || (first <= runs[i - 1][0] && end >= runs[i - 1][1])));
    ranges.slice(3).forEach(([first, end], i) => {
      assertEquals(first, 0);
      assertAlmostEquals(events[3 + i].masses[0], index < end ? end / NUM_CODES : 1 - end / NUM_CODES, 1e-12);
    });
    assertEquals(ranges.slice(3).map(([, end]) => Math.round(100 * end / NUM_CODES)), [
      1,
      5,
      25,
      50,
      75,
      95,
      99,
    ]);
  }
});

Deno.test("a case counts in proportion to its weight", () => {
  const [kind] = allKinds();
  const event = (truth: number) => ({
    masses: Float64Array.from({ length: NUM_COMPONENTS }, (_, k) => k === truth ? 0.9 : 0.01),
    weight: 1,
  });
  const three = Array.from({ length: 3 }, () => ({ kind, events: [event(2)] }));
  const others = Array.from({ length: 3 }, () => ({ kind, events: [event(3)] }));
  const { ofKinds: counted } = fitPool([...three, ...others.map((each) => ({ ...each, weight: 1 / 3 }))]);
  fitPool([...three, others[0]]).ofKinds.forEach((weight, i) => assertAlmostEquals(counted[i], weight, 1e-9));
});
