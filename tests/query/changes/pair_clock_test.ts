import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { PairClock } from "../../../lib/query/changes/pair_clock.ts";
import type { TimedMeasurement } from "../../../lib/query/files/arriving.ts";

const DAY_S = 86_400;
const START_S = 1_760_000_000;
const ADDRESS = new Uint8Array(4);

/** How the clock treats measurements. @param timesS Relative to the start; the pair pings every minute. */
function judge(timesS: readonly number[], { isEnd = true } = {}) {
  const clock = new PairClock();
  const recent: TimedMeasurement[] = [];
  let [numLate, numWrong] = [0, 0];
  const tally = {
    late: (count: number) => numLate += count,
    wrongClock(count: number, _timeS: number, { wereUsed }: { wereUsed: boolean }) {
      numWrong += count;
      if (wereUsed) numUsed -= count;
    },
  };
  let numUsed = 0;
  const use = (added: readonly TimedMeasurement[]) => {
    numUsed += added.length;
    recent.push(...added);
  };
  for (const timeS of timesS) {
    const measurement = { source: ADDRESS, destination: ADDRESS, rttCode: 1, timeS: START_S + timeS };
    const { added, isBack } = clock.take(measurement, recent.slice(-42), tally);
    if (isBack) {
      for (const [i, each] of recent.entries()) {
        recent[i] = { ...each, timeS: Math.min(each.timeS, added[0].timeS) };
      }
    }
    use(added);
  }
  if (isEnd) use(clock.finish(tally));
  return { timesS: recent.map(({ timeS }) => timeS - START_S), numUsed, numLate, numWrong, clock };
}

const minutes = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => 60 * (from + i));
const shifted = (timesS: readonly number[], days: number) => timesS.map((timeS) => timeS + days * DAY_S);

Deno.test("one or two times far ahead are left out, and the following ones are used", () => {
  for (const wrong of [[400 * DAY_S], [400 * DAY_S, 400 * DAY_S + 60], [900 * DAY_S, 400 * DAY_S]]) {
    const { timesS, numLate, numWrong } = judge([...minutes(0, 30), ...wrong, ...minutes(30, 60)]);
    assertEquals(timesS, minutes(0, 60));
    assertEquals([numLate, numWrong], [0, wrong.length]);
  }
});

Deno.test("a gap is accepted after three consecutive measurements or at the end of the input", () => {
  const before = minutes(0, 30);
  const after = shifted(minutes(0, 3), 10);
  assertEquals(judge([...before, ...after], { isEnd: false }).timesS, [...before, ...after]);
  for (const numAfter of [1, 2]) {
    const times = [...before, ...after.slice(0, numAfter)];
    const { timesS, clock } = judge(times, { isEnd: false });
    assertEquals([timesS, clock.numHeld], [before, numAfter]);
    assertEquals(judge(times).timesS, times);
  }
});

Deno.test("many times far ahead move a pair's clock only until three others go back", () => {
  for (const numWrong of [3, 50, 500]) {
    const wrong = shifted(minutes(0, numWrong), 400);
    const found = judge([...minutes(0, 30), ...wrong, ...minutes(30, 60)]);
    assertEquals([found.numLate, found.numWrong, found.numUsed], [0, numWrong, 60]);
    assertEquals(found.timesS.slice(-30), minutes(30, 60));
    // Each measurement is context for the model, so none may be later than those that follow.
    assert(found.timesS.every((timeS, i) => i === 0 || timeS >= found.timesS[i - 1]));
  }
});

Deno.test("wrong first times of a pair, ahead or behind, do not block later ones", () => {
  for (const wrong of [shifted(minutes(0, 1), 400), shifted(minutes(0, 2), 400)]) {
    const { timesS, numLate, numWrong } = judge([...wrong, ...minutes(0, 60)]);
    assertEquals([timesS.slice(-60), numLate, numWrong], [minutes(0, 60), 0, wrong.length]);
  }
  for (const numWrong of [10, 90]) {
    const { timesS, numLate } = judge([...shifted(minutes(0, numWrong), 30), ...minutes(0, 1000)]);
    assertEquals([timesS.slice(-1000), numLate], [minutes(0, 1000), 0]);
  }
  // A clock that was not set yet.
  const early = shifted(minutes(0, 2), -9000);
  assertEquals(judge([...early, ...minutes(0, 60)]).timesS, [...early, ...minutes(0, 60)]);
});

Deno.test("rare measurements and bursts are all used", () => {
  const daily = minutes(0, 60).map((timeS) => 1440 * timeS);
  assertEquals(judge(daily).timesS, daily);
  const bursts = Array.from({ length: 40 }, (_, i) => Math.floor(i / 5) * 7200 + i % 5);
  const { timesS, clock } = judge(bursts, { isEnd: false });
  assertEquals([timesS, clock.numHeld], [bursts, 0]);
});

Deno.test("every measurement is used, left out or held, and at most four are held", () => {
  const time = fc.oneof(fc.nat(100), fc.nat(100_000), fc.nat(100 * DAY_S));
  fc.assert(
    fc.property(fc.array(time, { maxLength: 200 }), (times) => {
      const { numUsed, numLate, numWrong, clock } = judge(times, { isEnd: false });
      assert(clock.numHeld <= 4);
      assertEquals(numUsed + numLate + numWrong + clock.numHeld, times.length);
      assertEquals(judge(times).clock.numHeld, 0);
    }),
  );
});
