import { assertEquals, assertMatch, assertNotMatch, assertStringIncludes } from "@std/assert";
import { COVERAGE_LEVELS } from "../../lib/evaluate/calibration.ts";
import type { EvalCase } from "../../lib/evaluate/cases.ts";
import { evalPage } from "../../lib/evaluate/page/eval_page.ts";
import { headlineLines } from "../../lib/evaluate/page/headline.ts";
import { comparedText, countText, ratioText } from "../../lib/evaluate/page/quantities.ts";
import type { EvalReport, EvalRun } from "../../lib/evaluate/report.ts";
import { rttSection } from "../../lib/evaluate/rtt_section.ts";
import { CALIBRATION_LEVELS } from "../../lib/query/quantile_calibration.ts";

const RUN: EvalRun = {
  ...{ version: "0.0.0", checkpoint: "runs/<first>", step: 3, numParameters: 855_000, sequenceLength: 256 },
  ...{
    data: "rows",
    dataFingerprint: "d",
    split: "test",
    splitBy: "time",
    train: "rows",
    trainFingerprint: "d",
  },
  ...{
    modelFingerprint: "d",
    modelSha256: "e",
    history: "all",
    seed: 0,
    numHeldOut: 100,
    numMeasurements: 4,
    contexts: [0, 5],
  },
  ...{ isEveryContext: false, adapter: "none", seconds: 61 },
};

/** A case of 100 ms. */
const CASE: EvalCase = {
  ...{ sourceKey: "1", srcAddr: "192.0.2.1", dstAddr: "192.0.2.2", rttMs: 100, history: [] },
  measurement: {
    ...{
      source: Uint8Array.of(192, 0, 2, 1),
      destination: Uint8Array.of(192, 0, 2, 2),
      timeS: 0,
      rttCode: 1,
    },
  },
};

/** A report of four cases, two without context and two with 5, with errors of the model and one baseline in ms. */
function reportOf(modelMs: readonly number[], baselineMs: readonly number[]): EvalReport {
  const filled = (value: number) => new Float64Array(4).fill(value);
  const rtt = rttSection(
    {
      ...{ caseIndex: Uint32Array.of(0, 1, 2, 3), numContext: Uint32Array.of(0, 0, 5, 5) },
      predictedMs: Float64Array.from(modelMs, (errorMs) => 100 + errorMs),
      likeliestMs: Float64Array.from(modelMs, (errorMs) => 100 - errorMs / 2),
      crpsMs: Float64Array.from(modelMs),
      ...{
        codeBits: filled(7),
        below: filled(0.4),
        upTo: filled(0.6),
        pFailed: filled(0.1),
        spreadMass: filled(0),
      },
    },
    [CASE, CASE, CASE, CASE],
    {
      ...{ contexts: [0, 5], everyContext: false },
      baselines: {
        predictedMs: new Map([["pair last seen", Float64Array.from(baselineMs, (errorMs) => 100 - errorMs)]]),
        ...{ numTraining: 9, numTrainingUsed: 9, numObservable: 0, numObserved: 0, trainingFailedShare: 0 },
      },
    },
  );
  return { run: RUN, rtt };
}

Deno.test("headlineLines() and the page tell what corrected intervals hold, where there is a correction", async () => {
  const report = reportOf([2, 2, 8, 8], [4, 4, 4, 4]);
  const coverage = COVERAGE_LEVELS.map((level) => ({ level, share: level === 0.9 ? 0.75 : level }));
  const calibration = {
    ...{ numDrawn: 90, numMeasurements: 80, shares: [...CALIBRATION_LEVELS], coverage },
    byContext: [0, 5].map((numContext) => ({ numContext, coverage })),
  };
  const told = /hold [\d.]+ % of the measurements, corrected by the validation split 75\.0 %\./;
  assertNotMatch(headlineLines(report).join("\n"), /corrected/);
  assertMatch(headlineLines({ ...report, calibration }).join("\n"), told);
  const page = await evalPage({ ...report, calibration });
  assertStringIncludes(page, "corrected by 80 measurements of the validation split");
  assertNotMatch(await evalPage(report), /corrected by/);
});

Deno.test("headlineLines() says how good the model is, where it loses, to what, and by how much", () => {
  const lines = headlineLines(reportOf([2, 2, 8, 8], [4, 4, 4, 4]));
  assertMatch(lines[0], /^Half of 4 predicted RTTs are off by at most 2\.00 ms; the mean error is 5\.00 ms/);
  assertEquals(lines.slice(1, 4), [
    "Better: Median absolute error 2.00 ms, 50 % smaller than that of the best baseline (pair last seen, 4.00 ms).",
    "Better: Median absolute error of the likeliest RTT 1.00 ms, 75 % smaller than that of the best baseline " +
    "(pair last seen, 4.00 ms).",
    "Worse: Mean absolute error 5.00 ms, 25 % larger than that of the best baseline (pair last seen, 4.00 ms).",
  ]);
  assertEquals(
    lines.find((line) => line.includes("CRPS loses")),
    "Worse: CRPS loses with 5 context measurements (most with 5: 8.00 ms against 4.00 ms of pair last seen); " +
      "with 0 it is the best.",
  );
});

Deno.test("headlineLines() says where nothing is lost, and claims nothing without baselines", () => {
  const lines = headlineLines(reportOf([1, 1, 1, 1], [4, 4, 4, 4]));
  assertEquals(lines.filter((line) => line.startsWith("Worse")), []);
  assertEquals(lines.filter((line) => line.includes("below every baseline")).length, 3);
  assertEquals(headlineLines({ run: RUN }), []);
});

Deno.test("evalPage() leaves out the sections that are not there, and escapes names", async () => {
  const bare = await evalPage({ run: RUN });
  assertStringIncludes(bare, "<h1>Evaluation of runs/&lt;first&gt;</h1>");
  assertStringIncludes(bare, "What was run");
  assertNotMatch(bare, /<figure|<svg/);
  const page = await evalPage(reportOf([2, 2, 8, 8], [4, 4, 4, 4]));
  const names = [...page.matchAll(/<figure id="([^"]+)"/g)].map(([, name]) => name);
  assertEquals(names, ["error-cdf", "error-by-context", "crps-by-context", "coverage", "pit"]);
  assertMatch(page, /its likeliest RTT<\/[^>]*>[^2]*2\.50 ms/);
  assertMatch(page, /<span class="loses">8\.00 ms \(2×\)<\/span>/);
  assertMatch(page, /<span class="wins">2\.00 ms \(−50 %\)<\/span>/);
});

Deno.test("ratioText(), comparedText() and countText() are read as people write", () => {
  assertEquals([0.5, 0.9951, 1.12, 2.44, 101].map(ratioText), ["−50 %", "−0.5 %", "+12 %", "2.4×", "100×"]);
  assertEquals([0.5, 1, 1.12, 3].map(comparedText), [
    ...["50 % smaller than", "the same as", "12 % larger than", "3 times as large as"],
  ]);
  assertEquals([1, 999, 1000, 1234567].map(countText), ["1", "999", "1,000", "1,234,567"]);
});
