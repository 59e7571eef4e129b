import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import fc from "fast-check";
import { CANONICAL_RTT_CODES, rttCodeBounds } from "../../../lib/data/tokens/rtt_code.ts";
import {
  FIRST_INDEXES,
  indexOfCode,
  type Kernel,
  KernelMixture,
  kernelWidth,
  logOfCode,
  NUM_CODES,
} from "../../../lib/model/pool/kernel_mixture.ts";

/** Kernels of at least this width do not distinguish the codes of a block. */
const WIDE = 0.03;
const BLOCK_CODES = 8;

function cdf(x: number, { log, width }: Kernel): number {
  return x < log ? 0.5 * Math.exp((x - log) / width) : 1 - 0.5 * Math.exp((log - x) / width);
}

/** The probability of every code by definition; wide kernels are even within each block. */
function referenceOf(
  given: readonly Kernel[],
  [first, end]: readonly [number, number],
  even: number,
): number[] {
  const edges = Array.from(CANONICAL_RTT_CODES, (code) => Math.log(rttCodeBounds(code).lowMs));
  edges.push(Infinity);
  const inside = (log: number) => Math.min(edges[end], Math.max(edges[first], log));
  const kernels = given.map((kernel) => ({ ...kernel, log: inside(kernel.log) }));
  const masses = Array.from(CANONICAL_RTT_CODES, (_, i) => {
    const isOwn = i < 1023;
    const block = isOwn ? i : 1023 + Math.floor((i - 1023) / BLOCK_CODES) * BLOCK_CODES;
    const size = isOwn ? 1 : BLOCK_CODES;
    return kernels.reduce(
      (sum, kernel) =>
        sum +
        kernel.mass * (kernel.width < WIDE
            ? cdf(edges[i + 1], kernel) - cdf(edges[i], kernel)
            : (cdf(edges[block + size], kernel) - cdf(edges[block], kernel)) / size),
      0,
    );
  });
  const whole = kernels.reduce((sum, { mass }) => sum + mass, 0);
  const within = masses.slice(first, end).reduce((a, b) => a + b, 0);
  return masses.map((mass, i) => i < first || i >= end ? 0 : mass * whole / within + even / (end - first));
}

const kernels = fc.array(
  fc.record({
    log: fc.double({ min: Math.log(0.01), max: Math.log(5000), noNaN: true }),
    width: fc.constantFrom(2 ** -12, 2 ** -8, 2 ** -5, 2 ** -4, 1),
    mass: fc.double({ min: 0.01, max: 1, noNaN: true }),
  }),
  { minLength: 1, maxLength: 5 },
);
const range = fc.tuple(fc.nat(9000), fc.integer({ min: 20_000, max: NUM_CODES }));

Deno.test("a kernel mixture matches its kernels' distribution functions, per code and over ranges", () => {
  fc.assert(
    fc.property(kernels, range, fc.nat(NUM_CODES), fc.nat(NUM_CODES), (given, [first, end], a, b) => {
      const scale = 0.9 / given.reduce((sum, { mass }) => sum + mass, 0);
      const scaled = given.map((kernel) => ({ ...kernel, mass: kernel.mass * scale }));
      const mixture = new KernelMixture(scaled, [first, end], 0.1);
      const expected = referenceOf(scaled, [first, end], 0.1);
      const found = new Float64Array(NUM_CODES);
      mixture.addTo(found, 1);
      let total = 0;
      for (let i = 0; i < NUM_CODES; i++) {
        total += found[i];
        if (Math.abs(found[i] - expected[i]) > 1e-9) {
          assertAlmostEquals(found[i], expected[i], 1e-9, `code ${i}`);
        }
      }
      assertAlmostEquals(total, 1, 1e-9);
      const ofBytes = new Float64Array(FIRST_INDEXES.length - 1);
      mixture.addToFirstBytes(ofBytes, 0.5, 1e-6);
      ofBytes.forEach((mass, place) => {
        const codes = expected.slice(FIRST_INDEXES[place], FIRST_INDEXES[place + 1]);
        assertAlmostEquals(mass, codes.reduce((sum, p) => sum + 0.5 * p + 1e-6, 0), 1e-9);
      });
      const [low, high] = [Math.min(a, b), Math.max(a, b)];
      const part = new Float64Array(NUM_CODES);
      mixture.addTo(part, 0.5, 1e-6, [low, high]);
      const isOff = (mass: number, i: number) =>
        Math.abs(mass - (i >= low && i < high ? 0.5 * expected[i] + 1e-6 : 0)) > 1e-9;
      assertEquals(part.findIndex(isOff), -1);
      const wanted = expected.slice(low, high).reduce((sum, mass) => sum + mass, 0);
      assertAlmostEquals(mixture.massBetween(low, high), wanted, 1e-9);
      if (low < NUM_CODES) assertAlmostEquals(mixture.massBetween(low, low + 1), expected[low], 1e-9);
    }),
    { numRuns: 20 },
  );
});

Deno.test("the mass of a code far from every kernel keeps its precision", () => {
  const mixture = new KernelMixture([{ log: Math.log(100), width: 2 ** -6, mass: 1 }], [0, NUM_CODES]);
  const index = indexOfCode(CANONICAL_RTT_CODES[16_000]);
  const { lowMs, highMs } = rttCodeBounds(CANONICAL_RTT_CODES[index]);
  const tail = (ms: number) => 0.5 * (ms / 100) ** -64;
  const expected = tail(lowMs) - tail(highMs);
  assert(expected > 0 && expected < 1e-100);
  assertAlmostEquals(mixture.massBetween(index, index + 1) / expected, 1, 1e-9);
});

Deno.test("indexOfCode() indexes canonical codes, and logOfCode() lies within the code's bucket", () => {
  CANONICAL_RTT_CODES.forEach((code, i) => {
    assertEquals(indexOfCode(code), i);
    if (i === 0 || i === NUM_CODES - 1) return;
    const { lowMs, highMs } = rttCodeBounds(code);
    assert(logOfCode(code) > Math.log(lowMs) && logOfCode(code) < Math.log(highMs));
  });
  assertEquals([0.1, 0.125, 0.13].map(kernelWidth), [2 ** -3.5, 2 ** -3, 2 ** -3]);
});
