import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { byteMass, byteTokens, drawToken } from "../../lib/query/draws.ts";
import { RandomStream } from "../../lib/base/random.ts";
import { BYTE_BASE, VOCAB_SIZE } from "../../lib/data/tokens/vocab_v2.ts";

const LOG_P = Float32Array.from({ length: VOCAB_SIZE }, () => -20);
[0.1, 0.2, 0.3, 0.05].forEach((p, i) => LOG_P[BYTE_BASE + 64 + i] = Math.log(p));

Deno.test("byteMass() adds up the bytes of a range and no others", () => {
  assertAlmostEquals(byteMass(LOG_P, { first: 64, last: 65 }), 0.3, 1e-6);
  assertAlmostEquals(byteMass(LOG_P, { first: 66, last: 66 }), 0.3, 1e-6);
});

Deno.test("drawToken() draws bytes of a range as often as their mass within it says", () => {
  const counts = new Map<number, number>();
  const random = new RandomStream(1, "test/draw");
  for (let i = 0; i < 20_000; i++) {
    const byte = drawToken(LOG_P, { tokens: byteTokens({ first: 65, last: 67 }), random }) - BYTE_BASE;
    counts.set(byte, (counts.get(byte) ?? 0) + 1);
  }
  assertEquals([...counts.keys()].sort(), [65, 66, 67]);
  [0.2, 0.3, 0.05].forEach((p, i) => {
    const expected = 20_000 * p / 0.55;
    assert(Math.abs((counts.get(65 + i) ?? 0) - expected) < 4 * Math.sqrt(expected));
  });
});

Deno.test("drawToken() draws from ranges of next to no mass, too", () => {
  const tiny = LOG_P.map((logP) => logP - 1000);
  const random = new RandomStream(2, "test/draw");
  const drawn = Array.from(
    { length: 50 },
    () => drawToken(tiny, { tokens: byteTokens({ first: 64, last: 127 }), random }) - BYTE_BASE,
  );
  assert(drawn.every((byte) => byte >= 64 && byte <= 67));
  assertEquals(new Set(drawn).size, 4);
});
