import fc from "fast-check";
import { assert, assertEquals, assertNotEquals, assertThrows } from "@std/assert";
import { drawDistinct, philox4x32, RandomStream } from "../../lib/base/random.ts";

const ALL = 0xffffffff;

Deno.test("philox4x32() matches the known answers of Random123", () => {
  const known = [
    [[0, 0, 0, 0], [0, 0], [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]],
    [[ALL, ALL, ALL, ALL], [ALL, ALL], [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd]],
    [[0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344], [0xa4093822, 0x299f31d0], [
      0xd16cfe09,
      0x94fdcceb,
      0x5001e420,
      0x24126ea1,
    ]],
  ] as const;
  for (const [counter, key, answer] of known) {
    assertEquals([...philox4x32([...counter], [...key])], [...answer]);
  }
});

const take = (stream: RandomStream) => Array.from({ length: 9 }, () => stream.uint32());

Deno.test("RandomStream is reproducible and differs by seed, name and index", () => {
  assertEquals(take(new RandomStream(7, "a", 1, 2, 3)), take(new RandomStream(7, "a", 1, 2, 3)));
  const streams = [
    new RandomStream(7, "a"),
    new RandomStream(8, "a"),
    new RandomStream(7 + 2 ** 32, "a"),
    new RandomStream(7, "b"),
    new RandomStream(7, "a", 1),
    new RandomStream(7, "a", 0, 1),
    new RandomStream(7, "a", 0, 0, 1),
  ].map(take);
  assertEquals(new Set(streams.map(String)).size, streams.length);
  assertEquals(new Set(streams.flat()).size, streams.flat().length);
});

Deno.test("RandomStream yields the same numbers in every version", () => {
  // Written by this implementation: changing these values changes every run's data order.
  assertEquals(take(new RandomStream(42, "test", 1, 2, 3)).slice(0, 4), [
    4194536443,
    2397183975,
    3398303594,
    4061686332,
  ]);
});

Deno.test("RandomStream rejects seeds and indexes out of range", () => {
  for (const seed of [-1, 0.5, NaN, 2 ** 53]) assertThrows(() => new RandomStream(seed, "a"), RangeError);
  for (const index of [-1, 0.5, NaN, 2 ** 32]) {
    assertThrows(() => new RandomStream(0, "a", index), RangeError);
  }
  assertThrows(() => new RandomStream(0, "a", 1, 2, 3, 4), RangeError);
});

Deno.test("below() stays below n, reaches every value and rejects n outside 1..2^32", () => {
  fc.assert(fc.property(fc.nat(), fc.integer({ min: 1, max: 2 ** 32 }), (seed, n) => {
    const value = new RandomStream(seed, "below").below(n);
    return Number.isInteger(value) && value >= 0 && value < n;
  }));
  for (const n of [0, -1, 1.5, NaN, 2 ** 32 + 1]) {
    assertThrows(() => new RandomStream(0, "a").below(n), RangeError);
  }
  const stream = new RandomStream(1, "below");
  const counts = new Array(6).fill(0);
  for (let draw = 0; draw < 6000; draw++) counts[stream.below(6)]++;
  // Each count is binomial(6000, 1/6): mean 1000, standard deviation 29; bounds of 5 deviations.
  for (const count of counts) assert(Math.abs(count - 1000) < 145, `${counts}`);
});

Deno.test("below() is unbiased where 2^32 is not a multiple of n", () => {
  // With n = 3 * 2^30 a plain multiply-shift would draw multiples of 3 twice as often.
  const stream = new RandomStream(2, "bias");
  let multiples = 0;
  for (let draw = 0; draw < 9000; draw++) if (stream.below(3 * 2 ** 30) % 3 === 0) multiples++;
  assert(Math.abs(multiples - 3000) < 5 * Math.sqrt(2000), `${multiples}`);
});

function moments(draw: () => number, numDraws: number): [number, number] {
  let sum = 0;
  let squares = 0;
  for (let i = 0; i < numDraws; i++) {
    const value = draw();
    sum += value;
    squares += value * value;
  }
  return [sum / numDraws, squares / numDraws - (sum / numDraws) ** 2];
}

Deno.test("float64(), normal() and exponential() have the moments of their distributions", () => {
  const n = 40_000;
  const stream = new RandomStream(3, "moments");
  const cases: [string, () => number, number, number, number][] = [
    // name, draw, mean, variance, fourth central moment
    ["float64", () => stream.float64(), 1 / 2, 1 / 12, 1 / 80],
    ["normal", () => stream.normal(), 0, 1, 3],
    ["exponential", () => stream.exponential(), 1, 1, 9],
  ];
  for (const [name, draw, mean, variance, fourth] of cases) {
    const [foundMean, foundVariance] = moments(draw, n);
    assert(Math.abs(foundMean - mean) < 5 * Math.sqrt(variance / n), `${name}: mean ${foundMean}`);
    const deviation = Math.sqrt((fourth - variance ** 2) / n);
    assert(Math.abs(foundVariance - variance) < 5 * deviation, `${name}: variance ${foundVariance}`);
  }
});

Deno.test("shuffle() produces every order equally often", () => {
  const counts = new Map<string, number>();
  for (let draw = 0; draw < 6000; draw++) {
    const order = [0, 1, 2];
    new RandomStream(5, "shuffle", draw).shuffle(order);
    counts.set(String(order), (counts.get(String(order)) ?? 0) + 1);
  }
  assertEquals(counts.size, 6);
  for (const count of counts.values()) assert(Math.abs(count - 1000) < 145, `${[...counts]}`);
  const bytes = Uint8Array.from({ length: 100 }, (_, i) => i);
  new RandomStream(5, "bytes").shuffle(bytes);
  assertNotEquals([...bytes], [...bytes].sort((a, b) => a - b));
  assertEquals(bytes.toSorted(), Uint8Array.from({ length: 100 }, (_, i) => i));
});

Deno.test("restart() continues like a new stream with the given indexes", () => {
  const random = new RandomStream(7, "test/restart");
  for (const index of [[3], [2 ** 32 - 1, 5], [0, 0, 9], [3]]) {
    for (let i = 0; i < 5; i++) random.float64();
    random.restart(index[0], ...index.slice(1));
    const fresh = new RandomStream(7, "test/restart", ...index);
    for (let i = 0; i < 11; i++) assertEquals(random.uint32(), fresh.uint32());
  }
});

Deno.test("drawDistinct() draws every ordered choice equally often", () => {
  const counts = new Map<string, number>();
  for (let draw = 0; draw < 12_000; draw++) {
    const key = String(drawDistinct(4, 3, new RandomStream(1, "distinct", draw)));
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  assertEquals(counts.size, 24);
  // Binomial(12000, 1/24): mean 500, standard deviation 21.9; bounds of 5 deviations.
  for (const [key, count] of counts) assert(Math.abs(count - 500) < 110, `${key}: ${count}`);
});

Deno.test("drawDistinct() draws in range and without repeats, up to all values", () => {
  for (const [n, count] of [[1, 1], [5, 5], [100, 100], [1000, 3], [2 ** 31, 100], [7, 0]]) {
    const drawn = drawDistinct(n, count, new RandomStream(2, "distinct", n, count));
    assertEquals(new Set(drawn).size, count);
    assert(drawn.every((value) => value >= 0 && value < n));
  }
});
