/**
 * Simple forecasts from the first two days of a campaign, asked about later weeks. There is no network, since
 * its answers do not widen with age, so no model has to be trained.
 *
 * @module
 */
import { assert } from "@std/assert";
import { evenlySpread, getOrMake } from "../../lib/base/collections.ts";
import { RandomStream } from "../../lib/base/random.ts";
import { quantileOfSample } from "../../lib/base/sample_statistics.ts";
import { addressBytes } from "../../lib/data/addresses/ip.ts";
import { encodeRttCode } from "../../lib/data/tokens/rtt_code.ts";
import { crpsMs, crpsOfSampleMs } from "../../lib/eval/metrics/forecast_errors.ts";
import { ageTensor, USUAL_AGE } from "../../lib/model/pool/age.ts";
import { NUM_CODES } from "../../lib/model/pool/kernel_mixture.ts";
import { Pool } from "../../lib/model/pool/pool.ts";
import { fitPool } from "../../lib/model/pool/pool_fit.ts";
import { PoolTables } from "../../lib/model/pool/pool_tables.ts";
import { RttDistribution } from "../../lib/query/rtt/rtt_distribution.ts";
import { withTinyModel } from "../query/tiny_model.ts";
import { questionOf, readCampaign, type Result } from "./campaign.ts";

const DAY_S = 86_400;
const NUM_ASKED = 400;

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

const pairOf = ({ src, dst }: Result) => `${src} ${dst}`;

/** The forecast of a pool whose model gives all codes the same probability. */
function forecastOf(pool: Pool, result: Result): RttDistribution {
  const forecast = pool.forecast(questionOf(result));
  const probabilities = new Float64Array(NUM_CODES).fill(forecast.modelShare / forecast.end, 0, forecast.end);
  forecast.addTo(probabilities);
  return new RttDistribution(0, probabilities, 1);
}

Deno.test("one to three weeks later 85 to 95 % of the results lie in their 90 % intervals, with the lowest CRPS", () =>
  withTinyModel(async ({ config, weights }) => {
    const replies = (await readCampaign()).filter(({ rttMs }) => rttMs > 0);
    const endS = replies[0].timeS + 2 * DAY_S;
    const random = new RandomStream(0, "tests/ages");
    const tables = new PoolTables();
    const ends = new Map<string, ReturnType<typeof PoolTables.endOf>>();
    const endOf = (text: string) => getOrMake(ends, text, () => PoolTables.endOf(addressBytes(text)));
    const last = new Map<string, number>();
    const heldOut: Result[] = [];
    const ratios: number[] = [];
    for (const reply of replies.filter(({ timeS }) => timeS < endS)) {
      const before = last.get(pairOf(reply));
      if (before !== undefined && random.below(10) === 0) {
        heldOut.push(reply);
        ratios.push(reply.rttMs / before);
        continue;
      }
      last.set(pairOf(reply), reply.rttMs);
      tables.add(endOf(reply.src), endOf(reply.dst), encodeRttCode(reply.rttMs), reply.timeS);
    }
    const even = new Float64Array(NUM_CODES).fill(1 / NUM_CODES);
    const unfitted = new Pool(config, { weights, pool: tables.save(fitPool([])) });
    const cases = evenlySpread(heldOut, NUM_ASKED).map((reply) =>
      unfitted.caseOf(questionOf(reply), even, encodeRttCode(reply.rttMs))
    );
    const fitted = tables.save(fitPool(cases));
    const never = new Map(fitted).set("pool.age", ageTensor({ ...USUAL_AGE, changeS: 1e9 }));
    const [aged, ageless] = [fitted, never].map((pool) => new Pool(config, { weights, pool }));
    const levels = Array.from({ length: 200 }, (_, i) => (i + 0.5) / 200);
    const factors = levels.map((level) => quantileOfSample(ratios, level));
    for (const days of [7, 14, 18]) {
      const later = replies.filter((reply) =>
        Math.abs(reply.timeS - endS - days * DAY_S) < 0.3 * DAY_S && last.has(pairOf(reply))
      );
      const asked = evenlySpread(later, NUM_ASKED);
      const forecasts = asked.map((reply) => forecastOf(aged, reply));
      const inside = asked.filter(({ rttMs }, i) => {
        const upTo = forecasts[i].cdf(rttMs);
        return upTo >= 0.05 && upTo - forecasts[i].probabilityOf(rttMs) <= 0.95;
      });
      const share = inside.length / asked.length;
      assert(share >= 0.85 && share <= 0.95, `${days} days: ${share}`);
      const crps = meanOf(asked.map(({ rttMs }, i) => crpsMs(forecasts[i], rttMs)));
      const others = {
        ageless: meanOf(asked.map((reply) => crpsMs(forecastOf(ageless, reply), reply.rttMs))),
        lastValue: meanOf(asked.map((reply) => {
          const ms = last.get(pairOf(reply)) ?? NaN;
          return crpsOfSampleMs(Float64Array.from(factors, (factor) => ms * factor), reply.rttMs);
        })),
      };
      for (const [name, other] of Object.entries(others)) {
        assert(crps < other, `${days}: ${crps}, ${name} ${other}`);
      }
    }
  }));
