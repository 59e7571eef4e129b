import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { tensorOf } from "../../../lib/base/safetensors_header.ts";
import { RandomStream } from "../../../lib/base/random.ts";
import { decodeRttCode, encodeRttCode } from "../../../lib/data/tokens/rtt_code.ts";
import { ageCurveOf, ageShares, changedKernels, spansOf, USUAL_AGE } from "../../../lib/model/pool/age.ts";
import { type AgeCase, fitAge } from "../../../lib/model/pool/age_fit.ts";
import { logOfCode } from "../../../lib/model/pool/kernel_mixture.ts";
import { poolOfMesh } from "./mesh_pool.ts";

const DAY_S = 86_400;

Deno.test("no path has changed at age 0, half have after three times the scale, and nearly all in the end", () => {
  const { changeS } = USUAL_AGE;
  assertEquals(ageShares(USUAL_AGE, 0), { changed: 0, replaced: 0 });
  assertAlmostEquals(ageShares(USUAL_AGE, 3 * changeS).changed, 0.5);
  const ages = [60, 3600, DAY_S, 30 * DAY_S, 1000 * DAY_S, 1e15];
  const shares = ages.map((ageS) => ageShares(USUAL_AGE, ageS));
  shares.forEach(({ changed, replaced }, i) => {
    assert(replaced < changed && changed < 1);
    assert(i === 0 || (changed > shares[i - 1].changed && replaced >= shares[i - 1].replaced));
  });
  // Small probabilities of worthless RTTs count as 0.
  assert(shares[1].replaced === 0 && shares[2].replaced > 0 && shares[5].replaced > 0.999);
});

Deno.test("kernels after a change have total mass 1 and widths that grow with age", () => {
  const logs = [3, 4];
  const [early, late] = [DAY_S, 256 * DAY_S].map((ageS) => changedKernels(USUAL_AGE, logs, ageS));
  assertAlmostEquals(early.reduce((sum, { mass }) => sum + mass, 0), 1, 1e-9);
  late.forEach(({ width }, i) => assertAlmostEquals(width / early[i].width, 256 ** (3 / 16)));
  assertEquals(new Set(early.map(({ log }) => log)), new Set(logs));
});

Deno.test("each RTT spans the time halfway to its neighbours, and simultaneous ones share it", () => {
  const day = [157, 157, 157].map((_, i) => i * DAY_S);
  assertEquals(spansOf(day), [0.25, 0.5, 0.25]);
  assertEquals(spansOf([...day].reverse()), [0.25, 0.5, 0.25]);
  assertEquals(spansOf([0, 2 * DAY_S, 0]), [0.25, 0.5, 0.25]);
  assertEquals(spansOf([5, 5]), [0.5, 0.5]);
  assertEquals(spansOf([null, null]), [0.5, 0.5]);
  assertEquals(spansOf([null, 7]), [0.5, 0.5]);
});

/** Results of pairs whose paths change at gamma-distributed rates of shape 1/2. @param changeS The scale. */
function casesOf(changeS: number, count: number): AgeCase[] {
  const random = new RandomStream(0, "tests/age");
  const normal = () =>
    Math.sqrt(-2 * Math.log(1 - random.float64())) * Math.cos(2 * Math.PI * random.float64());
  return Array.from({ length: count }, () => {
    const noise = () => encodeRttCode(100 * Math.exp(0.001 * normal()));
    const ageS = 600 * 2 ** (12 * random.float64());
    const ratePerS = normal() ** 2 / 2 / changeS;
    const isSame = random.float64() < Math.exp(-ratePerS * ageS);
    const moved = Math.exp((random.float64() < 0.5 ? -1 : 1) * (ageS / DAY_S) ** (3 / 16) / 32);
    const ofPair = Array.from({ length: 12 }, (_, i) => ({
      log: logOfCode(noise()),
      timeS: -600 * i,
      gapS: ageS + 600 * i,
    }));
    return { ofPair, rttCode: isSame ? noise() : encodeRttCode(decodeRttCode(noise()) * moved), ageS };
  });
}

Deno.test("fitAge() recovers the scale of changes, and returns USUAL_AGE without results", () => {
  assertEquals(fitAge([]), USUAL_AGE);
  for (const changeS of [USUAL_AGE.changeS / 8, 8 * USUAL_AGE.changeS]) {
    const curve = fitAge(casesOf(changeS, 600));
    assert(Math.abs(Math.log2(curve.changeS / changeS)) <= 1, `${curve.changeS} of ${changeS}`);
    assertAlmostEquals(curve.shares.reduce((a, b) => a + b, 0), 1, 1e-9);
  }
});

Deno.test("a pool of few measurements has the curve USUAL_AGE", () => {
  const pool = poolOfMesh();
  const { changeS, shares } = ageCurveOf(tensorOf(pool, "pool.age", "F32"));
  assertEquals(changeS, USUAL_AGE.changeS);
  shares.forEach((share, k) => assertAlmostEquals(share, USUAL_AGE.shares[k], 1e-6));
});
