import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  type Change,
  ChangeDetector,
  type ChangeOptions,
  DEFAULT_CHANGE_OPTIONS,
} from "../../../lib/query/changes/change_detector.ts";
import { RandomStream } from "../../../lib/base/random.ts";
import { medianOf } from "../../../lib/base/sample_statistics.ts";
import { exists } from "../../../lib/io/files/inputs.ts";
import { changesOf as changesIn, listSeries, medianAgreement, readSeries } from "../../bench/changes.ts";

/** RTTs around levels given as `[number of rows, level]`, with a standard deviation of 0.1 ms. */
function seriesOf(...segments: [number, number][]): number[] {
  const random = new RandomStream(1, "tests/query/changes");
  return segments.flatMap(([numRows, levelMs]) =>
    Array.from(
      { length: numRows },
      () => levelMs + 0.1 * (random.float64() + random.float64() - 1) * Math.sqrt(6),
    )
  );
}

function changesOf(rttsMs: readonly number[], options: Partial<ChangeOptions> = {}): Change[] {
  const detector = new ChangeDetector(options);
  return [
    ...rttsMs.map((rttMs) => detector.add(rttMs)).filter((change) => change !== undefined),
    ...detector.finish(),
  ];
}

const rowsOf = (changes: readonly Change[]) => changes.map(({ row }) => row);

Deno.test("level shifts are found at their rows, with their size", () => {
  const changes = changesOf(seriesOf([300, 150], [40, 153], [8, 190], [200, 150]));
  assertEquals(rowsOf(changes), [300, 340, 348]);
  const [{ before, after, evidence }] = changes;
  assertAlmostEquals(before.medianMs, 150, 0.1);
  assertAlmostEquals(after.medianMs, 153, 0.1);
  assertAlmostEquals(after.spreadMs, 0.135, 0.1);
  assert(evidence > 20);
});

Deno.test("a series with a slow drift, single outliers and single losses has no changes", () => {
  const rttsMs = seriesOf([2000, 20]).map((rttMs, row) => rttMs + row / 1000);
  for (let row = 50; row < 2000; row += 97) rttsMs[row] += 40;
  for (let row = 80; row < 2000; row += 131) rttsMs[row] = NaN;
  assertEquals(changesOf(rttsMs), []);
});

Deno.test("the beginning and the end of a run of losses are changes", () => {
  const rttsMs = seriesOf([500, 20]).fill(NaN, 200, 210);
  const changes = changesOf(rttsMs);
  assertEquals(rowsOf(changes), [200, 210]);
  assertEquals([changes[0].before.lossRate, changes[0].after.lossRate], [0, 1]);
  assert(Number.isNaN(changes[0].after.medianMs));
});

Deno.test("a noisy segment is one segment", () => {
  const random = new RandomStream(2, "tests/query/changes");
  const rttsMs = seriesOf([600, 170]);
  for (let row = 300; row < 360; row++) rttsMs[row] = 176 + 14 * random.float64();
  assertEquals(rowsOf(changesOf(rttsMs)), [300, 360]);
});

Deno.test("the options decide whether small shifts are reported", () => {
  const rttsMs = seriesOf([100, 50], [100, 50.7]);
  assertEquals(rowsOf(changesOf(rttsMs, { minShiftMs: 0.5, minShiftSpreads: 1, spreadMs: 0.2 })), [100]);
  assertEquals(rowsOf(changesOf(rttsMs, { minShiftMs: 0.9, minShiftSpreads: 1, spreadMs: 0.2 })), []);
});

Deno.test("a change is reported at the end of its delay, not before", () => {
  const detector = new ChangeDetector({ delay: 7 });
  const told = seriesOf([50, 10], [50, 30]).flatMap((rttMs, row) => detector.add(rttMs) ? [row] : []);
  assertEquals(told, [57]);
});

Deno.test("an unclear change is reported later, at most after the longest delay", () => {
  const rttsMs = [...seriesOf([200, 20]), ...seriesOf([100, 20]).map((rttMs) => rttMs + 0.7)];
  const detector = new ChangeDetector();
  const delays = rttsMs.flatMap((rttMs) => {
    const change = detector.add(rttMs);
    return change ? [detector.numRows - 1 - change.row] : [];
  });
  assertEquals(delays, [20]);
});

Deno.test("reported changes do not depend on later rows", () => {
  const step = fc.record({ level: fc.integer({ min: 0, max: 3 }), numRows: fc.integer({ min: 1, max: 30 }) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 8 }), fc.nat(12), fc.nat(200), (steps, delay, cut) => {
      const rttsMs = seriesOf(
        ...steps.map(({ level, numRows }): [number, number] => [numRows, 20 + 5 * level]),
      );
      const rowsUntil = (end: number) => {
        const detector = new ChangeDetector({ delay });
        return rttsMs.slice(0, end).flatMap((rttMs) => detector.add(rttMs)?.row ?? []);
      };
      const all = rowsUntil(rttsMs.length);
      const some = rowsUntil(cut);
      assertEquals(some, all.slice(0, some.length));
      const longest = Math.max(delay, DEFAULT_CHANGE_OPTIONS.maxDelay);
      assert(all.slice(some.length).every((row) => row + longest >= Math.min(cut, rttsMs.length)));
    }),
    { numRuns: 50 },
  );
});

Deno.test("any series yields distinct changes in order, within its rows", () => {
  const rtt = fc.oneof(
    fc.constant(NaN),
    fc.double({ min: 0, max: 1e6, noNaN: true }),
    fc.constantFrom(1, 1, 1, 50),
  );
  fc.assert(fc.property(fc.array(rtt, { maxLength: 200 }), fc.nat(5), (rttsMs, delay) => {
    const changes = changesOf(rttsMs, { delay });
    const rows = rowsOf(changes);
    assertEquals(rows, [...new Set(rows)].sort((a, b) => a - b));
    assert(rows.every((row) => row > 0 && row < rttsMs.length));
    assert(changes.every(({ evidence }) => !Number.isNaN(evidence)));
  }));
});

Deno.test("most changes marked by people are detected", async () => {
  const { agreement } = changesIn(await readSeries("tests/data/changes/17783.csv.gz"), {});
  assert(agreement && agreement.f2 >= 0.85);
});

/** The visible half of the marked series, next to the repository. */
const SHOWN = "../shared/data/changes";
const isShown = exists(SHOWN);
if (!isShown) console.warn(`${SHOWN} is missing: the agreement with people is not tested on all series`);

Deno.test({
  name: "the median reporting delay on the shown series is 5 rows, without loss of agreement",
  ignore: !isShown,
  async fn() {
    const series = await Promise.all(listSeries([SHOWN]).map(readSeries));
    const [changes, late] = [5, DEFAULT_CHANGE_OPTIONS.maxDelay].map((delay) =>
      series.map((each) => changesIn(each, { delay }))
    );
    const [f2, f2Late] = [changes, late].map((found) => medianAgreement(found)?.f2 ?? NaN);
    assertEquals(changes.filter(({ agreement }) => agreement).length, 25);
    assert(f2 >= 0.83 && f2 >= f2Late);
    const delays = changes.flatMap(({ delays }) => delays);
    assertEquals([DEFAULT_CHANGE_OPTIONS.delay, medianOf(delays)], [5, 5]);
  },
});
