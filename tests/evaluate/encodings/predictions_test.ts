import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { predictCases } from "../../../lib/evaluate/encodings/predictions.ts";
import { commonCode, rttSchemes } from "../../../lib/evaluate/encodings/rtt_scheme.ts";
import { drawSchemeCases, promptOf } from "../../../lib/evaluate/encodings/scheme_cases.ts";
import { resultBytes } from "../../../lib/evaluate/encodings/scheme_tokens.ts";
import { MemoryRowSource } from "../../../lib/loader/row_source.ts";
import { DEFAULT_SAMPLING } from "../../../lib/loader/sampling_config.ts";
import type { PingModel } from "../../../lib/query/ping_model.ts";
import { CANONICAL_RTT_CODES } from "../../../lib/tokens/rtt_code.ts";
import { syntheticRows } from "../../loader/synthetic_rows.ts";
import { TINY_CONFIG, withTinyModel } from "../../query/tiny_model.ts";

const SCHEMES = rttSchemes(300_000);
const CASES = drawSchemeCases(new MemoryRowSource([...syntheticRows(4, 6, 20)]), {
  count: 12,
  seed: 5,
  sequenceLength: TINY_CONFIG.sequenceLength,
  sampling: DEFAULT_SAMPLING,
  longest: SCHEMES[0],
});

const bits = (logP: Iterable<number>) => [...logP].reduce((sum, value) => sum - value / Math.LN2, 0);
const modelOf = ({ registry, weights }: PingModel) => ({ config: TINY_CONFIG, registry, weights });

Deno.test("drawSchemeCases() draws some failures, contexts of several lengths, the first alike for any count", () => {
  assert(CASES.some(({ rttMs }) => rttMs === null) && CASES.some(({ rttMs }) => rttMs !== null));
  assert(new Set(CASES.map(({ measurements }) => measurements.length)).size > 1);
  for (const { measurements } of CASES) {
    assert(
      measurements.every(({ timeS }, i) => timeS !== null && timeS >= (measurements[i - 1]?.timeS ?? 0)),
    );
  }
});

Deno.test("predictCases() gives the bits and medians of v2 that queries give", async () => {
  await withTinyModel(async (model) => {
    const scheme = SCHEMES[SCHEMES.length - 1];
    const found = await predictCases(modelOf(model), { scheme, cases: CASES });
    const queries = CASES.map(({ measurements }) => ({
      ...measurements[measurements.length - 1],
      context: measurements.slice(0, -1),
    }));
    const expected = await model.rttDistributions(queries);
    const mediansMs = await model.medianRttsMs(queries);
    found.forEach(({ rttBits, resultBits, medianMs }, i) => {
      const { pFailed } = expected[i];
      assertEquals(medianMs, mediansMs[i]);
      const { rttMs } = CASES[i];
      if (rttMs === null) {
        assertAlmostEquals(resultBits, -Math.log2(pFailed), 1e-3);
        return;
      }
      // Queries give P(code) with each byte renormalised; P(byte 1) P(byte 2) is checked by the next test.
      assert(rttBits !== null);
      const p = expected[i].probabilities[CANONICAL_RTT_CODES.indexOf(commonCode(rttMs))];
      assert(rttBits >= -Math.log2(p) - 1e-3, `${rttBits} bits, ${-Math.log2(p)} when renormalised`);
      assertAlmostEquals(resultBits - rttBits, -Math.log2(1 - pFailed), 1e-3);
    });
  });
});

Deno.test("predictCases() gives the own code's bits as P of its tokens, and the RTT code's as their sum", async () => {
  await withTinyModel(async (model) => {
    for (const scheme of SCHEMES) {
      const found = await predictCases(modelOf(model), { scheme, cases: CASES });
      for (const [i, one] of CASES.entries()) {
        const prompt = promptOf(one, scheme);
        const own = resultBytes(one.rttMs, scheme);
        if (own.length === 0) continue;
        const [logP] = await model.tokenLogProbabilities([Uint16Array.of(...prompt, ...own)], own.length);
        const { codeBits, resultBits, rttBits } = found[i];
        if (scheme.failedCode === null) assertAlmostEquals(rttBits ?? NaN, bits(logP), 1e-3);
        else assertAlmostEquals(codeBits, bits(logP), 1e-3, scheme.name);
        assert(Number.isFinite(resultBits) && Number.isFinite(found[i].medianMs));
        // All of the own code's mass is in the RTT code, and that of other codes with it.
        if (scheme.name === "float64") assert(resultBits <= codeBits + 1e-6);
        assertEquals(rttBits === null, one.rttMs === null);
      }
    }
  });
});
