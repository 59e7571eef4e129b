import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { standardBaselines } from "../../../lib/eval/baselines/standard.ts";
import { decodeRttCode, encodeRttCode } from "../../../lib/data/tokens/rtt_code.ts";
import { predictInOrder, series } from "./series.ts";

const SOURCE_MEDIAN_MS = decodeRttCode(encodeRttCode(30));
const DESTINATION_MEDIAN_MS = decodeRttCode(encodeRttCode(10));
const GLOBAL_MEDIAN_MS = decodeRttCode(encodeRttCode(50));

Deno.test("standardBaselines() fall back to the source's median, the destination's, the one of all", () => {
  const training = series(
    ["a", "x", 10],
    ["a", "y", 30],
    ["a", "y", 50],
    ["b", "x", 10],
    ["b", "x", 10],
    ...Array.from({ length: 4 }, () => ["c", "y", 50] as [string, string, number]),
  );
  for (const [name, baseline] of standardBaselines(0)) {
    baseline.train(training);
    const predict = (source: string, destination: string) =>
      baseline.predictMs({ source, destination, timeS: 9 });
    const saysAlways = ["global median", "biased factorisation"].includes(name);
    if (!saysAlways && name !== "destination median") {
      assertEquals(predict("a", "new"), SOURCE_MEDIAN_MS, name);
    }
    if (!saysAlways) assertEquals(predict("new", "x"), DESTINATION_MEDIAN_MS, name);
    if (!saysAlways) assertEquals(predict("new", "new"), GLOBAL_MEDIAN_MS, name);
  }
});

Deno.test("standardBaselines() predict finite RTTs of 0 and more from any measurements", () => {
  const end = (letters: string) => fc.constantFrom(...letters);
  const rttMs = fc.oneof(
    { weight: 4, arbitrary: fc.double({ min: 0.1, max: 500, noNaN: true }) },
    { weight: 1, arbitrary: fc.constantFrom(null, 0, 1e-9, 1e5) },
  );
  const measurements = fc.array(fc.tuple(end("abc"), end("cxy"), rttMs), { maxLength: 40, size: "max" });
  fc.assert(
    fc.property(measurements, measurements, (training, heldOut) => {
      for (const [name, baseline] of standardBaselines(3)) {
        baseline.train(series(["a", "x", 20], ...training));
        const predictedMs = predictInOrder(baseline, series(...heldOut), { known: series(...heldOut) });
        assert(predictedMs.every((ms) => ms >= 0 && ms < Infinity), `${name}: ${predictedMs}`);
      }
    }),
    { numRuns: 50 },
  );
});
