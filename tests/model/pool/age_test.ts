import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { tensorOf } from "../../../lib/base/safetensors_header.ts";
import { RandomStream } from "../../../lib/base/random.ts";
import { decodeRttCode, encodeRttCode } from "../../../lib/data/tokens/rtt_code.ts";
import { ageCurveOf, USUAL_AGE } from "../../../lib/model/pool/age.ts";
import { type AgeCase, fitAge } from "../../../lib/model/pool/age_fit.ts";
import { AskedPair } from "../../../lib/model/pool/asked_pair.ts";
import { USUAL_SHARES } from "../../../lib/model/pool/time_kernels.ts";
import { poolOfMesh } from "./mesh_pool.ts";

const DAY_S = 86_400;

/** Each pair has twelve earlier RTTs, ten minutes apart, without a change. */
const SPAN_S = 600 * 11;

/** Results of pairs whose paths change at gamma-distributed rates of shape 1/2. @param changeS The scale. */
function casesOf(changeS: number, count: number): AgeCase[] {
  const random = new RandomStream(0, "tests/age");
  const normal = () =>
    Math.sqrt(-2 * Math.log(1 - random.float64())) * Math.cos(2 * Math.PI * random.float64());
  return Array.from({ length: count }, () => {
    const noise = () => encodeRttCode(100 * Math.exp(0.001 * normal()));
    const ageS = 600 * 2 ** (12 * random.float64());
    const ratePerS = normal() ** 2 / 2 / (changeS + SPAN_S);
    const isSame = random.float64() < Math.exp(-ratePerS * ageS);
    const moved = Math.exp((random.float64() < 0.5 ? -1 : 1) * (ageS / DAY_S) ** (3 / 16) / 32);
    const earlier = {
      timesS: Float64Array.from({ length: 12 }, (_, i) => 600 * i),
      codes: Uint16Array.from({ length: 12 }, noise),
      counts: new Float64Array(12).fill(1),
      shares: USUAL_SHARES,
      spread: 0.001,
    };
    const pair = new AskedPair(earlier, SPAN_S + ageS, USUAL_AGE);
    return { pair, rttCode: isSame ? noise() : encodeRttCode(decodeRttCode(noise()) * moved) };
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
