import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import type { PingModel } from "../../../lib/query/ping_model.ts";
import { type TokenMeasurement } from "../../../lib/data/tokens/vocab_v2.ts";
import { sampleMeasurements } from "../../../lib/query/score/sample.ts";
import { RandomStream } from "../../../lib/base/random.ts";
import { type Score, type ScoreCase, scoreResults } from "../../../lib/query/score/score_results.ts";
import { pValueOfNoReply, pValueOfReply } from "../../../lib/query/score/surprise.ts";
import { encodeRttCode } from "../../../lib/data/tokens/rtt_code.ts";
import { withTinyModel } from "../tiny_model.ts";

const SOURCE = Uint8Array.of(192, 0, 2, 1);

function measurement(lastByte: number, rttMs: number | null, timeS: number): TokenMeasurement {
  const rttCode = rttMs === null ? null : encodeRttCode(rttMs);
  return { source: SOURCE, destination: Uint8Array.of(198, 51, 100, lastByte), rttCode, timeS };
}

/** A history of `count` measurements, one in five without a reply. */
function contextOf(count: number, random: RandomStream): TokenMeasurement[] {
  return Array.from({ length: count }, (_, i) => {
    const rttMs = random.float64() < 0.2 ? null : 10 ** (3 * random.float64());
    return measurement(random.below(3), rttMs, 1_700_000_000 + 60 * i);
  });
}

/** Measurements whose results are drawn from the model, in ten contexts. */
async function drawnCases(model: PingModel, perContext: number): Promise<ScoreCase[]> {
  const random = new RandomStream(0, "tests/score");
  const cases: ScoreCase[] = [];
  for (let i = 0; i < 10; i++) {
    const context = contextOf(i % 5, random);
    const { source, destination, timeS } = measurement(1, null, 1_700_100_000);
    const query = { source, destination, timeS, context };
    for await (const { rttCode } of sampleMeasurements(model, query, { count: perContext, seed: i })) {
      const drawn = { source, destination, timeS, rttCode };
      cases.push({ measurement: drawn, context, number: cases.length });
    }
  }
  return cases;
}

/** Maximum distance between the distribution of the values and the uniform one. */
function kolmogorovSmirnov(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const n = sorted.length;
  return Math.max(...sorted.map((value, i) => Math.max((i + 1) / n - value, value - i / n)));
}

Deno.test("p-values of results drawn from the model are uniform, unlike those of other results", () =>
  withTinyModel(async (model) => {
    const cases = await drawnCases(model, 60);
    const pValues = (scores: Score[]) => scores.map(({ pValue }) => pValue);
    const { scores } = await scoreResults(model, cases, { seed: 0 });
    // The 1 % point of the statistic for n = 600 (Smirnov 1948) is 1.628 / sqrt(n).
    const critical = 1.628 / Math.sqrt(cases.length);
    const distance = kolmogorovSmirnov(pValues(scores));
    assert(distance < critical, `${distance} from uniform, expected at most ${critical}`);
    const moved = cases.map((each, i) => {
      const other = cases[(i + 61) % cases.length].measurement.rttCode;
      return { ...each, measurement: { ...each.measurement, rttCode: other === null ? 1 : null } };
    });
    const far = kolmogorovSmirnov(pValues((await scoreResults(model, moved, { seed: 0 })).scores));
    assert(far > 2 * critical, `${far} from uniform`);
  }));

Deno.test("p-values match query rtt's distribution, except for the mass spread within first bytes", () =>
  withTinyModel(async (model) => {
    const cases = await drawnCases(model, 4);
    const queries = cases.map(({ measurement, context }) => ({ ...measurement, context }));
    const distributions = await model.rttDistributions(queries);
    const [seed, maxSpreadMass] = [5, 0.01];
    const [exact, bounded] = [
      await scoreResults(model, cases, { seed, maxSpreadMass: 0 }),
      await scoreResults(model, cases, { seed, maxSpreadMass }),
    ];
    cases.forEach(({ measurement: { rttCode }, number }, i) => {
      const draw = new RandomStream(seed, "score/p-value", number).float64();
      const expected = rttCode === null
        ? pValueOfNoReply(distributions[i].pFailed, draw)
        : pValueOfReply(rttCode, distributions[i], draw);
      const { pValue } = exact.scores[i];
      // Rounding on the GPU may swap codes of nearly equal density.
      assertAlmostEquals(pValue, expected, 2e-3);
      assert(Math.abs(bounded.scores[i].pValue - pValue) <= 5 * maxSpreadMass);
    });
    assert(bounded.numExpanded < exact.numExpanded, `${bounded.numExpanded} of ${exact.numExpanded}`);
  }));

/** Measurements of one pair; the context of each is all earlier ones. */
function growingCases(rttsMs: readonly (number | null)[]): ScoreCase[] {
  const all = rttsMs.map((rttMs, i) => measurement(1, rttMs, 1_700_000_000 + 60 * i));
  return all.map((each, i) => ({ measurement: each, context: all.slice(0, i), number: i }));
}

Deno.test("cases with growing contexts are read in one pass, with the scores of each alone to the last bit", () =>
  withTinyModel(async (model) => {
    const random = new RandomStream(0, "tests/score in one pass");
    const cases = growingCases([8, null, 9, null, null, 300]);
    cases.splice(5, 0, {
      measurement: measurement(2, 7, 1_700_000_900),
      context: contextOf(3, random),
      number: 50,
    });
    for (const maxSpreadMass of [0, 0.01]) {
      const options = { seed: 3, maxSpreadMass };
      const together = await scoreResults(model, cases, options);
      const backwards = await scoreResults(model, cases.toReversed(), options);
      const alone = await Promise.all(cases.map((each) => scoreResults(model, [each], options)));
      assertEquals(together.scores, alone.map(({ scores }) => scores[0]));
      assertEquals(together.scores, backwards.scores.toReversed());
      const numTokens = alone.reduce((sum, each) => sum + each.numTokens, 0);
      assert(together.numTokens < 0.7 * numTokens, `${together.numTokens} of ${numTokens} tokens`);
    }
  }));
