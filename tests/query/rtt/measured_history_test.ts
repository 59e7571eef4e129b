import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { encodeRttCode } from "../../../lib/data/tokens/rtt_code.ts";
import { measuredJson, measuredSchema } from "../../../lib/query/rtt/measured_history.ts";

const HOUR_S = 3600;
const START_S = Date.UTC(2026, 0, 5) / 1000;

/** @param rows Hours since the start, the RTT in ms (null: no reply), and the count. */
function pairOf(rows: readonly (readonly [hours: number, rttMs: number | null, count?: number])[]) {
  return {
    timesS: Float64Array.from(rows, ([hours]) => START_S + hours * HOUR_S),
    codes: Uint16Array.from(rows, ([, rttMs]) => rttMs === null ? 0 : encodeRttCode(rttMs)),
    counts: Float64Array.from(rows, ([, , count = 1]) => count),
  };
}

function rounded(quantiles: Record<string, number> | null): Record<string, number> | null {
  return quantiles &&
    Object.fromEntries(Object.entries(quantiles).map(([q, rttMs]) => [q, Math.round(rttMs)]));
}

Deno.test("measuredJson() counts replies and losses by time, weighted by how many each represents", () => {
  const pair = pairOf([[0, 40, 3], [0.5, 20], [1, null, 2], [1.25, 30], [23.5, null]]);
  const { by_time, histogram = [], ...all } = measuredJson(pair, {
    quantiles: [0.9, 0.2, 0.3],
    edgesMs: [10, 25, 35, 39],
  });
  assertEquals({ ...all, quantiles_ms: rounded(all.quantiles_ms) }, {
    measurements: 8,
    without_reply: 3,
    // Of five replies the first is 20 ms, the second 30 ms, the others 40 ms.
    quantiles_ms: { "0.9": 40, "0.2": 20, "0.3": 30 },
    from: "2026-01-05T00:00:00Z",
    to: "2026-01-05T23:30:00Z",
    bin_s: HOUR_S,
  });
  assertEquals(by_time.map((each) => ({ ...each, quantiles_ms: rounded(each.quantiles_ms) })), [
    {
      time: "2026-01-05T00:00:00Z",
      measurements: 4,
      without_reply: 0,
      quantiles_ms: { "0.05": 20, "0.25": 20, "0.5": 40, "0.75": 40, "0.95": 40 },
    },
    {
      time: "2026-01-05T01:00:00Z",
      measurements: 3,
      without_reply: 2,
      quantiles_ms: { "0.05": 30, "0.25": 30, "0.5": 30, "0.75": 30, "0.95": 30 },
    },
    { time: "2026-01-05T23:00:00Z", measurements: 1, without_reply: 1, quantiles_ms: null },
  ]);
  // The RTTs of 40 ms are above the last edge.
  assertEquals(histogram.map(({ measurements }) => measurements), [1, 1, 0]);
  assertEquals([histogram[2].low_ms, histogram[2].high_ms], [35, 39]);
});

Deno.test("measuredJson() has hours of the day if there are three days and eight hours", () => {
  const everyHours = (step: number, days: number) =>
    measuredJson(
      pairOf(Array.from({ length: 24 / step * days + 1 }, (_, i) => [i * step, 10 + i * step % 24])),
      {},
    ).by_hour;
  const hours = everyHours(3, 3);
  assertEquals(hours?.map(({ hour, measurements }) => [hour, measurements]), [
    [0, 4],
    ...[3, 6, 9, 12, 15, 18, 21].map((hour) => [hour, 3]),
  ]);
  hours?.forEach(({ hour, quantiles_ms }) => assertAlmostEquals(quantiles_ms?.["0.5"] ?? 0, 10 + hour, 0.1));
  assertEquals(everyHours(3, 2), undefined);
  assertEquals(everyHours(4, 5), undefined);
});

Deno.test("measuredJson() has at most 200 periods, for any span and number", () => {
  for (const days of [0, 0.01, 1, 30, 400, 39_000]) {
    for (const length of [1, 2, 500, 20_000]) {
      const rows = Array.from(
        { length },
        (_, i) => [24 * days * i / length, i % 7 === 0 ? null : 10 + i] as const,
      );
      const answer = measuredSchema.parse(measuredJson(pairOf(rows), {}));
      assert(answer.by_time.length <= (length < 800 ? Math.max(24, length / 4) : 200));
      assertEquals(answer.by_time.reduce((sum, each) => sum + each.measurements, 0), length);
      assertEquals(answer.by_time.reduce((sum, each) => sum + each.without_reply, 0), answer.without_reply);
    }
  }
});
