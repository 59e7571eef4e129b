import { assert } from "@std/assert";
import { RandomStream } from "../../../lib/base/random.ts";
import { encodeRttCode } from "../../../lib/data/tokens/rtt_code.ts";
import { UsualHours } from "../../../lib/query/changes/usual_hours.ts";

const [HOUR_S, DAY_S] = [3600, 86_400];
const START_S = 20_000 * DAY_S;

/** Evidence of `risenMs` more at 12:00 of a day, after days with `extraMs(day, hour)` more. */
function evidence(day: number, extraMs: (day: number, hour: number) => number, risenMs: number): number {
  const hours = new UsualHours();
  const random = new RandomStream(1, "usual_hours_test");
  const noiseMs = () => 20 + random.float64();
  for (let timeS = 0; timeS < day * DAY_S + 12 * HOUR_S; timeS += 600) {
    const extra = extraMs(Math.floor(timeS / DAY_S), timeS % DAY_S / HOUR_S);
    hours.add({ timeS: START_S + timeS, rttCode: encodeRttCode(noiseMs() + extra) });
  }
  const firstS = START_S + day * DAY_S + 12 * HOUR_S;
  return hours.evidence(
    Array.from({ length: 6 }, (_, i) => ({ timeS: firstS + 60 * i, rttMs: noiseMs() + risenMs })),
  );
}

/** +10 ms from 9:00 to 17:00 of the days. */
const office = (isBusy: (day: number) => boolean) => (day: number, hour: number) =>
  isBusy(day) && hour >= 9 && hour < 17 ? 10 : 0;

Deno.test("a level that a pair had at the same hour of two other days is usual", () => {
  const daily = office(() => true);
  assert(evidence(1, daily, 10) === Infinity);
  for (const day of [2, 3, 9]) assert(evidence(day, daily, 10) < 11, `day ${day}`);
  assert(evidence(9, daily, 20) > 30);
  assert(evidence(9, office(() => false), 10) > 30);
  // Once is a fault.
  for (const day of [6, 8]) assert(evidence(9, office((each) => each === day), 10) > 30);
});

Deno.test("after three weeks the hour of the week counts", () => {
  const mondays = office((day) => day % 7 === 0);
  assert(evidence(14, mondays, 10) > 11);
  assert(evidence(35, mondays, 10) < 11);
  assert(evidence(36, mondays, 10) > 11);
});
