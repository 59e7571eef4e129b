import { assertAlmostEquals, assertEquals } from "@std/assert";
import fc from "fast-check";
import { agreementOf } from "../../../lib/eval/metrics/change_points.ts";

Deno.test("a detection counts once, at most two rows from its mark", () => {
  const { numMatched, distance, precision, recall, f2 } = agreementOf([10, 50], [8, 12, 53]);
  assertEquals({ numMatched, distance, precision, recall }, {
    numMatched: 1,
    distance: 2,
    precision: 1 / 3,
    recall: 1 / 2,
  });
  assertAlmostEquals(f2, 5 / 11);
});

Deno.test("the pairing prefers more pairs to shorter ones", () => {
  const { numMatched, distance } = agreementOf([10, 12], [12, 14]);
  assertEquals([numMatched, distance], [2, 4]);
});

Deno.test("the pairing prefers the shortest of equally many pairs", () => {
  const { numMatched, distance } = agreementOf([10], [8, 10, 11]);
  assertEquals([numMatched, distance], [1, 0]);
});

Deno.test("F2 is 0 without detections, and recall is 1 without marks", () => {
  assertEquals(agreementOf([3], []).f2, 0);
  assertEquals(agreementOf([], []).recall, 1);
  assertEquals(agreementOf([], [3]).f2, 0);
});

Deno.test("F2 is the F-measure with beta 2", () => {
  // Published F-measures: van Rijsbergen's formula for beta 2.
  assertAlmostEquals(agreementOf([10, 20, 30, 40], [10, 20, 30, 35]).f2, 0.75);
  assertAlmostEquals(agreementOf([10, 20, 30, 40], [10]).f2, 5 * 0.25 / (4 + 0.25));
});

Deno.test("the pairing is the best of all pairings", () => {
  const rows = fc.uniqueArray(fc.integer({ min: 0, max: 14 }), { maxLength: 6 })
    .map((values) => values.sort((a, b) => a - b));
  fc.assert(fc.property(rows, rows, (marks, detections) => {
    const { numMatched, distance } = agreementOf(marks, detections);
    assertEquals([numMatched, distance], bestOfAll(marks, detections));
  }));
});

/** The number of pairs and the sum of distances of the best matching, by brute force. */
function bestOfAll([mark, ...marks]: number[], detections: number[]): [number, number] {
  if (mark === undefined) return [0, 0];
  let best = bestOfAll(marks, detections);
  detections.forEach((detection, i) => {
    const distance = Math.abs(mark - detection);
    if (distance > 2) return;
    const [pairs, rest] = bestOfAll(marks, detections.toSpliced(i, 1));
    if (pairs + 1 > best[0] || pairs + 1 === best[0] && rest + distance < best[1]) {
      best = [pairs + 1, rest + distance];
    }
  });
  return best;
}
