import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import type { HeldOutMeasurement } from "../../lib/evaluate/held_out.ts";
import {
  medianBaselinesMs,
  quantileOfSample,
  rttErrors,
  TrainingRtts,
} from "../../lib/evaluate/rtt_error.ts";
import { encodeRttCode } from "../../lib/tokens/rtt_code.ts";

const A = new Uint8Array([192, 0, 2, 1]);
const B = new Uint8Array([198, 51, 100, 7]);
const C = new Uint8Array([203, 0, 113, 9]);

function heldOut(srcAddr: string, dstAddr: string, contextMs: (number | null)[]): HeldOutMeasurement {
  return {
    srcAddr,
    dstAddr,
    rttMs: 1,
    measurement: { source: A, destination: B, rttCode: encodeRttCode(1), timeS: 100 },
    context: contextMs.map((rttMs, i) => ({
      source: A,
      destination: i % 2 ? C : B,
      rttCode: rttMs === null ? null : encodeRttCode(rttMs),
      timeS: i,
    })),
  };
}

Deno.test("quantileOfSample() is the smallest value that the share does not exceed", () => {
  assertEquals([0, 0.5, 0.51, 0.9, 1].map((q) => quantileOfSample([4, 1, 3, 2], q)), [1, 2, 3, 4, 4]);
  assert(Number.isNaN(quantileOfSample([], 0.5)));
});

Deno.test("rttErrors() gives median, mean and relative errors", () => {
  const errors = rttErrors([10, 20, 33, 44], [10, 25, 30, 40]);
  assertEquals(errors, { medianAbsoluteMs: 3, meanAbsoluteMs: 3, p90Relative: 0.2 });
});

Deno.test("medianBaselinesMs() takes pair, source and global medians, falling back in that order", () => {
  const training = new TrainingRtts(["a", "fresh"]);
  for (
    const [source, destination, rttMs] of [
      ["a", "b", 10],
      ["a", "b", 12],
      ["a", "b", 14],
      ["a", "c", 90],
      [
        "z",
        "b",
        50,
      ],
      ["z", "b", 52],
      ["z", "c", 54],
    ] as [string, string, number][]
  ) {
    training.add(source, destination, encodeRttCode(rttMs));
  }
  const result = medianBaselinesMs(training, [
    heldOut("a", "b", []),
    heldOut("a", "c", []),
    heldOut("a", "unseen", []),
    heldOut("fresh", "b", []),
    heldOut("fresh", "b", [30, 70, null, 80]),
  ]);
  const near = (actual: number[], expected: number[]) =>
    actual.forEach((value, i) => assertAlmostEquals(value, expected[i], expected[i] * 5e-4));
  near(result.globalMedian, [50, 50, 50, 50, 50]);
  near(result.sourceMedian, [12, 12, 12, 50, 70]);
  near(result.pairMedian, [12, 90, 12, 50, 30]);
});
