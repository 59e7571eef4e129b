/**
 * Answers about known pairs at adjacent minutes: measurements of two days of a campaign, asked within them and
 * up to 120 days later.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { evenlySpread, getOrMake } from "../../lib/base/collections.ts";
import { RandomStream } from "../../lib/base/random.ts";
import { addressBytes } from "../../lib/data/addresses/ip.ts";
import { encodeRttCode } from "../../lib/data/tokens/rtt_code.ts";
import { NUM_CODES } from "../../lib/model/pool/kernel_mixture.ts";
import { Pool } from "../../lib/model/pool/pool.ts";
import { fitPool } from "../../lib/model/pool/pool_fit.ts";
import { PoolTables } from "../../lib/model/pool/pool_tables.ts";
import { withTinyModel } from "../query/tiny_model.ts";
import { questionOf, readCampaign, type Result } from "./campaign.ts";

const MINUTE_S = 60;
const DAY_S = 86_400;
const NUM_PAIRS = 50;
const NUM_INSIDE = 20;
const NUM_AGES = 20;
/** Ages at which parts of the pool begin or end, days. */
const AGES = [0.25, 1, 2.5, 8, 16, 102];

interface Answer {
  /** P(RTT code) at most each code. */
  readonly cumulative: Float64Array;
  readonly pFailed: number;
}

function answerOf(pool: Pool, question: ReturnType<typeof questionOf>): Answer {
  const forecast = pool.forecast(question);
  const cumulative = new Float64Array(NUM_CODES).fill(forecast.modelShare / forecast.end, 0, forecast.end);
  forecast.addTo(cumulative);
  cumulative.forEach((mass, i) => cumulative[i] = mass + (i > 0 ? cumulative[i - 1] : 0));
  return { cumulative, pFailed: forecast.failureProbability(0.05) };
}

/** How much an answer changes within a minute. */
interface Change {
  readonly at: string;
  /** The greatest change of P(RTT <= x). */
  readonly mass: number;
  /** Relative to P(no reply). */
  readonly loss: number;
}

async function changes(): Promise<Change[]> {
  const found: Change[] = [];
  await withTinyModel(async ({ config, weights }) => {
    const results = await readCampaign();
    const random = new RandomStream(0, "tests/smoothness");
    const tables = new PoolTables();
    const pairs = new Map<string, Result[]>();
    const heldOut: Result[] = [];
    for (const result of results) {
      if (result.timeS >= results[0].timeS + 2 * DAY_S) break;
      const { src, dst, timeS, rttMs } = result;
      const pair = getOrMake(pairs, [src, dst].sort().join(" "), () => []);
      if (pair.length > 0 && rttMs > 0 && random.below(10) === 0) {
        heldOut.push(result);
        continue;
      }
      pair.push(result);
      const [source, destination] = [src, dst].map((text) => PoolTables.endOf(addressBytes(text)));
      tables.add(source, destination, rttMs > 0 ? encodeRttCode(rttMs) : null, timeS);
    }
    const even = new Float64Array(NUM_CODES).fill(1 / NUM_CODES);
    const unfitted = new Pool(config, { weights, pool: tables.save(fitPool([])) });
    const cases = evenlySpread(heldOut, 400).map((result) =>
      unfitted.caseOf(questionOf(result), even, encodeRttCode(result.rttMs))
    );
    const pool = new Pool(config, { weights, pool: tables.save(fitPool(cases)) });
    const known = [...pairs.values()].filter((pair) => pair.some(({ rttMs }) => rttMs > 0));
    for (const pair of evenlySpread(known, NUM_PAIRS)) {
      const [firstS, lastS] = [pair[0].timeS, pair[pair.length - 1].timeS];
      const inside = Array.from({ length: NUM_INSIDE }, () => firstS + random.float64() * (lastS - firstS));
      const later = Array.from(
        { length: NUM_AGES },
        (_, i) => lastS + 1 + MINUTE_S * (120 * 1440) ** ((i + random.float64()) / NUM_AGES),
      );
      for (
        const timeS of [...inside, ...later, ...AGES.map((days) => lastS + days * DAY_S - 30)].map(Math.floor)
      ) {
        if (pair.some((each) => each.timeS >= timeS && each.timeS <= timeS + MINUTE_S)) continue;
        const [now, next] = [timeS, timeS + MINUTE_S].map((timeS) =>
          answerOf(pool, questionOf({ ...pair[0], timeS }))
        );
        const { cumulative } = next;
        found.push({
          at: `${pair[0].src} ${pair[0].dst}, ${timeS - lastS} s after its end`,
          mass: now.cumulative.reduce((most, upTo, i) => Math.max(most, Math.abs(upTo - cumulative[i])), 0),
          loss: Math.abs(next.pFailed / now.pFailed - 1),
        });
      }
    }
  });
  return found;
}

Deno.test("within a minute without a measurement P(RTT <= x) of a known pair changes by at most a point, P(no reply) by 5 %", async () => {
  const all = await changes();
  assert(all.length > 1500);
  assertEquals(all.filter(({ mass, loss }) => mass > 0.01 || loss > 0.05), []);
});
