import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertMatch,
  assertNotMatch,
  assertStringIncludes,
} from "@std/assert";
import { COVERAGE_LEVELS } from "../../../lib/eval/metrics/calibration.ts";
import type { EvalCase } from "../../../lib/eval/cases.ts";
import { clustersOf, type Interval } from "../../../lib/eval/metrics/bootstrap.ts";
import { evalFigures, evalPage } from "../../../lib/eval/page/eval_page.ts";
import { summaryLines } from "../../../lib/eval/page/summary.ts";
import { countText, ratioText } from "../../../lib/eval/page/quantities.ts";
import type { EvalReport, EvalRun } from "../../../lib/eval/report.ts";
import type { RankingMethod } from "../../../lib/eval/sections/ranking_section.ts";
import { compareForecasts } from "../../../lib/eval/sections/rtt_section.ts";
import { CALIBRATION_LEVELS } from "../../../lib/query/rtt/quantile_calibration.ts";
import { pitChart, reliabilityChart } from "../../../lib/eval/page/rtt_part.ts";
import { chartCsv, renderSvg } from "../../../lib/base/report/charts.ts";

const RUN: EvalRun = {
  version: "0.0.0",
  checkpoint: "runs/<first>",
  step: 3,
  numParameters: 855_000,
  sequenceLength: 256,
  data: "rows",
  dataFingerprint: "d",
  split: "test",
  splitBy: "time",
  train: "rows",
  trainFingerprint: "d",
  modelFingerprint: "d",
  modelSha256: "e",
  isPooled: false,
  engine: "deno",
  history: "all",
  seed: 0,
  numHeldOut: 100,
  numMeasurements: 40,
  contexts: [0, 5],
  isEveryContext: false,
  adapter: "none",
  seconds: 61,
};

const NUM_PAIRS = 10;

function caseOf(pair: number): EvalCase {
  return {
    sourceKey: "1",
    srcAddr: "192.0.2.1",
    dstAddr: `198.51.100.${pair}`,
    rttMs: 100,
    history: [],
    recent: [],
    measurement: {
      source: Uint8Array.of(192, 0, 2, 1),
      destination: Uint8Array.of(198, 51, 100, pair),
      timeS: 0,
      rttCode: 1,
    },
  };
}

/**
 * A report with four cases of each of ten pairs, two without context and two with 5, and errors of the model
 * and one baseline in ms. @param failures The model's P(no reply), and how many more lost cases each pair
 * has.
 * @param factorOf A factor of the model's errors for a pair.
 */
async function reportOf(
  modelMs: readonly number[],
  baselineMs: readonly number[],
  failures: { pFailed: number; numFailed: number; trainingShare: number } = {
    pFailed: 0.1,
    numFailed: 0,
    trainingShare: 0,
  },
  factorOf: (pair: number) => number = () => 1,
): Promise<EvalReport> {
  const perPair = modelMs.length + failures.numFailed;
  const each = Array.from({ length: NUM_PAIRS * perPair }, (_, i) => i % perPair);
  const filled = (value: number) => new Float64Array(each.length).fill(value);
  const errorsOf = (errorsMs: readonly number[]) => Float64Array.from(each, (i) => errorsMs[i] ?? 0);
  const ofModel = errorsOf(modelMs).map((errorMs, at) => errorMs * factorOf(Math.floor(at / perPair)));
  const cases = each.map((i, at) => ({
    ...caseOf(Math.floor(at / perPair)),
    rttMs: i < modelMs.length ? 100 : null,
  }));
  const forecasts = {
    caseIndex: Uint32Array.from(each.keys()),
    numContext: Uint32Array.from(each, (i) => i < modelMs.length / 2 ? 0 : 5),
    predictedMs: ofModel.map((errorMs) => 100 + errorMs),
    likeliestMs: ofModel.map((errorMs) => 100 - errorMs / 2),
    crpsMs: ofModel,
    codeBits: filled(7),
    below: filled(0.4),
    upTo: filled(0.6),
    pFailed: filled(failures.pFailed),
    spreadMass: filled(0),
    massBelowFloor: filled(NaN),
    predictedWithoutFloorMs: filled(NaN),
    crpsWithoutFloorMs: filled(NaN),
    belowWithoutFloor: filled(NaN),
    upToWithoutFloor: filled(NaN),
  };
  const sections = await compareForecasts(forecasts, cases, {
    contexts: [0, 5],
    everyContext: false,
    seed: 0,
    clusters: clustersOf(cases),
    baselines: {
      methods: new Map([
        ["pair last seen", { predictedMs: errorsOf(baselineMs).map((errorMs) => 100 - errorMs) }],
      ]),
      numTraining: 9,
      numTrainingUsed: 9,
      numObservable: 0,
      numObserved: 0,
      pFailed: new Map([["share in training", filled(failures.trainingShare)]]),
    },
  });
  return { run: RUN, ...sections };
}

Deno.test("summaryLines() returns three sentences and a table of winners, and the page begins with them", async () => {
  const report = await reportOf([2, 2, 8, 8], [4, 4, 4, 4], {
    pFailed: 0.3,
    numFailed: 1,
    trainingShare: 0.2,
  });
  assertEquals(summaryLines(report), [
    "The median error of 40 predicted RTTs is 2.00 ms; nine of ten are within 8 % of the measured RTT.",
    "The 90 % intervals contain 100.0 % of the measured RTTs.",
    "Of 3 questions, the model wins 1 (1 significantly) and the best baseline 2 (2 significantly).",
    "question                           model  best baseline           winner    significant",
    "typical error of an RTT          2.00 ms  4.00 ms pair last seen  model     yes",
    "error of the whole distribution  5.00 ms  4.00 ms pair last seen  baseline  yes",
    "squared error of P(no reply)        0.17  0.16 share in training  baseline  yes",
  ]);
  assertEquals(summaryLines({ run: RUN }), []);
  const [top, rest] = (await evalPage(report)).split("<nav>");
  assertStringIncludes(top, summaryLines(report).slice(0, 3).join(" "));
  assertMatch(top, /Error of the whole distribution<\/span><br><small>CRPS: mean distance of the predicted/);
  const headings = [...rest.matchAll(/<h2 id="(.*?)">/g)].map(([, id]) => id);
  assertEquals([...rest.matchAll(/<a href="#(.*?)">/g)].map(([, id]) => id), headings);
  assertEquals(headings.slice(0, 2), ["how-far-predictions-are-off", "calibration-of-the-intervals"]);
});

Deno.test("the page reports the coverage of corrected intervals if there is a correction", async () => {
  const report = await reportOf([2, 2, 8, 8], [4, 4, 4, 4]);
  const coverage = COVERAGE_LEVELS.map((level) => ({ level, share: level === 0.9 ? 0.75 : level }));
  const calibration = {
    numDrawn: 90,
    numMeasurements: 80,
    shares: [...CALIBRATION_LEVELS],
    coverage,
    byContext: [0, 5].map((numContext) => ({ numContext, coverage })),
  };
  const page = await evalPage({ ...report, calibration });
  assertMatch(page, /corrected with 80 measurements of the validation split[^]*>75\.0 %</);
  assertNotMatch(await evalPage(report), /corrected by/);
});

Deno.test("nothing is called better or worse without a significant difference", async () => {
  const ofPairs = (factorOf: (pair: number) => number) =>
    reportOf([3, 3, 3, 3], [3, 3, 3, 3], undefined, factorOf);
  assertMatch(
    summaryLines(await ofPairs((pair) => pair % 2 === 0 ? 0.5 : 1.6))[5],
    /^error of the whole distribution +3\.15 ms +3\.00 ms .* baseline +no \([\d,]+ cases would be\)$/,
  );
  const same = await ofPairs(() => 1);
  assertMatch(summaryLines(same)[5], / neither +no$/);
  assertMatch(await evalPage(same), /<span class="same">3\.00 ms \(−?\+?0\.0 %\)<\/span>/);
});

Deno.test("summaryLines() reports how often first guesses of destinations are right, beside the best table", () => {
  const scoresOf = (modelShare: number, difference: [number, number] | null) => ({
    version: 4 as const,
    numContext: 10,
    meanContext: 9,
    numCases: 200,
    methods: ([["model", modelShare], ["most frequent of all", 0.1], ["nearest median RTT", 0.54]] as const)
      .map((
        [method, top1Exact],
      ) => ({
        method,
        top1Exact,
        top5Exact: 1,
        top1Prefix: {},
        intervals: { top1Exact: null, top5Exact: null },
        ...(method !== "model" && { modelMinusThis: { top1Exact: difference, top5Exact: null } }),
      })),
  });
  const rowOf = (modelShare: number, difference: [number, number]) =>
    summaryLines({
      run: RUN,
      destinations: { numCases: 200, numMeasurements: 400, scores: [scoresOf(modelShare, difference)] },
    }).at(-1) ?? "";
  const question = /^destination guessed from its RTT +/.source;
  const rival = / +54\.0 % nearest median RTT +/.source;
  assertMatch(rowOf(0.64, [0.05, 0.15]), new RegExp(`${question}64\\.0 %${rival}model +yes$`));
  assertMatch(rowOf(0.3, [-0.3, -0.2]), new RegExp(`${question}30\\.0 %${rival}baseline +yes$`));
  assertMatch(
    rowOf(0.56, [-0.03, 0.07]),
    new RegExp(`${question}56\\.0 %${rival}model +no \\(2,600 cases would be\\)$`),
  );
});

Deno.test("the page compares with baselines that know places", async () => {
  const { rtt } = await reportOf([2, 2, 8, 8], [4, 4, 4, 4]);
  assert(rtt);
  const placeComparisons = rtt.comparisons.filter(({ numContext }) => numContext === null)
    .map((each) => ({ ...each, bestBaseline: "country median", baseline: 9, ratio: each.model / 9 }));
  assertMatch(
    await evalPage({ run: RUN, rtt: { ...rtt, placeComparisons } }),
    /<td>all, against baselines that know places<\/td><td><span class="wins">2\.00 ms \(−78 %\)/,
  );
});

Deno.test("the page reports how well the nearest destination is chosen and where errors are", async () => {
  const { rtt } = await reportOf([2, 2, 8, 8], [4, 4, 4, 4]);
  assert(rtt);
  const method = (
    name: string,
    [regretMs, rightShare]: [number, number],
    difference: Interval = [-3, -1],
  ): RankingMethod => ({
    method: name,
    regretMs,
    rightShare,
    intervals: { regretMs: [0, 9], rightShare: [0.1, 0.9] },
    ...name !== "model, by median" && {
      modelMinusThis: { regretMs: difference, rightShare: [-0.2, -0.1] as const },
    },
  });
  const ranking = {
    windowS: 3600,
    numChoices: 50,
    numSources: 9,
    meanCandidates: 4,
    numContext: 20,
    methods: [
      method("model, by median", [2, 0.5]),
      method("model, by probability", [1, 0.9]),
      method("Vivaldi", [4, 0.6]),
      method("at random", [12, 0.25], [-12, -8]),
    ],
  };
  const [baseline] = rtt.comparisons;
  const places = {
    numMeasurements: 40,
    numPlaced: 30,
    groups: [{
      by: "source country" as const,
      name: "DE",
      model: rtt.model.overall,
      coverage: rtt.model.overall.coverage,
      comparisons: [baseline],
    }],
    floors: [{
      of: "cut" as const,
      numMeasurements: 20,
      numBelow: 1,
      massBelow: 0.125,
      comparisons: [{ ...baseline, bestBaseline: "without floors" }],
      coverage: [{ level: 0.9, share: 0.875 }],
      coverageWithout: [{ level: 0.9, share: 0.75 }],
    }],
    alignments: [{
      of: "countries" as const,
      by: "embeddings" as const,
      numPlaces: 30,
      correlation: 0.25,
      interval: [-0.1, 0.5] as const,
    }],
  };
  assertMatch(
    summaryLines({ run: RUN, ranking }).at(-1) ?? "",
    /^nearest destination found +50\.0 % +60\.0 % Vivaldi +baseline +yes$/,
  );
  const page = await evalPage({ run: RUN, ranking, places });
  assertStringIncludes(page, "50 different choices of 9 sources among 4.0 destinations");
  assertMatch(page, /<td>Vivaldi<\/td><td><span class="wins">4\.00 ms \[0, 9\.00\]<\/span>/);
  assertMatch(page, /<span class="loses">60\.0 % \[10\.0, 90\.0\]<\/span>/);
  assertMatch(page, /<td>DE<\/td><td><span class="wins">2\.00 ms \[2\.00, 2\.00\]<\/span>/);
  assertMatch(
    page,
    /<td>with more than 1 % of the probability below<\/td><td>20<\/td><td>1 \(5\.0 %\)<\/td><td>12\.5 %/,
  );
  assertMatch(page, /<span class="wins">2\.00 ms<\/span><br><small>without 4\.00 ms \[/);
  assertMatch(page, /87\.5 %<\/span><br><small>without 75\.0 %/);
  assertMatch(
    page,
    /<td>embeddings of countries<\/td><td><span class="same">0\.25<\/span><br><small>\[−0\.10, 0\.50\]/,
  );
  assertNotMatch(await evalPage({ run: RUN }), /Errors by place|nearest destination/);
});

Deno.test("the page reports what each part adds, and the summary if the network adds nothing", async () => {
  const scoreOf = (parts: string, crpsMs: number, difference?: Interval) => ({
    parts,
    codeBits: 7,
    crpsMs,
    intervals: { codeBits: null, crpsMs: null },
    ...difference && { modelMinusThis: { codeBits: null, crpsMs: difference } },
  });
  const withPool = async (crpsMs: number, difference: Interval): Promise<EvalReport> => ({
    ...await reportOf([2, 8], [4, 4]),
    parts: { numMeasurements: 200, scores: [scoreOf("all", 5), scoreOf("pool", crpsMs, difference)] },
  });
  const [useless, useful] = [await withPool(4.9, [-0.1, 0.3]), await withPool(6, [-1.5, -0.5])];
  assertStringIncludes(
    summaryLines(useless).join(" "),
    "The network adds nothing to the pool that 200 measurements show: CRPS 5.00 ms with it, 4.90 ms without.",
  );
  assert(!summaryLines(useful).join(" ").includes("The network adds"));
  const page = await evalPage(useful);
  assertStringIncludes(page, "the pool without the network");
  assertStringIncludes(page, "difference [−1.50, −0.500]");
});

Deno.test("the summary and the page report the noise within pairs, and how often it is known", async () => {
  const report = await reportOf([2, 8], [4, 4]);
  const { rtt } = report;
  assert(rtt);
  const noisy = (of: "medianAbsoluteMs" | "crpsMs", ms: number) => {
    rtt.noise.overall[of] = ms;
  };
  rtt.noise.overall.numMeasurements = rtt.model.overall.numMeasurements / 2;
  noisy("medianAbsoluteMs", 0.5);
  noisy("crpsMs", 9);
  const lines = summaryLines(report);
  assertStringIncludes(lines.join(" "), "they are for 50 % of the predictions");
  assertMatch(lines.find((line) => line.startsWith("typical")) ?? "", / 0\.5\d* ms$/);
  assertMatch(lines.find((line) => line.startsWith("error of the whole")) ?? "", / all \(9\.00 ms\)$/);
  assertStringIncludes(await evalPage(report), "noise within pairs");
});

Deno.test("summaryLines() judges P(no reply) only if replies were missing", async () => {
  const rowOf = async (pFailed: number, numFailed: number, trainingShare: number) =>
    summaryLines(await reportOf([1, 1], [1, 1], { pFailed, numFailed, trainingShare }))
      .find((line) => line.startsWith("squared error of P(no reply)"));
  assertEquals(await rowOf(1e-5, 0, 0), undefined);
  assertMatch(await rowOf(0.3, 1, 0.2) ?? "", / 0\.223 +0\.24 share in training +model +yes$/);
  assertMatch(await rowOf(0.2, 1, 0.3) ?? "", / 0\.24 +0\.223 share in training +baseline +yes$/);
  assertMatch(await rowOf(0.2, 1, 0.2) ?? "", / 0\.24 +0\.24 share in training +neither +no$/);
});

/** A report on an adapted model: median errors of 2 ms after 2 measurements and 8 ms after 5. */
async function adaptedReport(counts: readonly number[] = [2, 5]): Promise<EvalReport> {
  const { rtt } = await reportOf([2, 2, 8, 8], [4, 4, 4, 4]);
  assert(rtt);
  const byCount = counts.map((numGiven, i) => ({
    numGiven,
    model: rtt.model.byContext[i],
    likeliest: rtt.likeliest.byContext[i],
    baselines: rtt.baselines.map(({ name, byContext }) => ({ name, ...byContext[i] })),
    comparisons: rtt.comparisons.filter(({ numContext }) => numContext === rtt.contexts[i])
      .map((each) => ({ ...each, numContext: null })),
    givenPairs: rtt.model.byContext[i],
    otherPairs: rtt.model.byContext[1 - i],
    fit: { numMeasurements: 3, numRounds: 1, numWithoutRow: 1, lossBefore: 9, lossAfter: 7 },
  }));
  const adapted = {
    counts: [2, 5],
    numUnseen: 12,
    numUsable: 11,
    numAddresses: 10,
    numMeasurements: 20,
    byCount,
    numTuningAddresses: 0,
    numTuningMeasurements: 0,
    resampling: { ...rtt.resampling, by: "address" as const },
  };
  return { run: RUN, adapted };
}

Deno.test("the page and its summary report unseen addresses by K if the model was adapted to them", async () => {
  const report = await adaptedReport();
  assertMatch(
    summaryLines(report).at(-1) ?? "",
    /^typical error of new addresses +8\.00 ms +4\.00 ms pair last seen +baseline +yes$/,
  );
  const page = await evalPage(report);
  assertStringIncludes(page, ">Unseen addresses, after K measurements of each</h2>");
  assertMatch(
    page,
    /<td>2<\/td><td><span class="wins">2\.00 ms \[2\.00, 2\.00\]<\/span><br><small>pair last seen: 4\.00 ms/,
  );
  assertMatch(page, /<td>5<\/td><td><span class="loses">8\.00 ms/);
  assertMatch(page, /CRPS of given pairs<\/th><th>CRPS of other pairs</);
  assertStringIncludes(page, "for which the model's table had no free row: 1.");
  assertStringIncludes(page, '<figure id="error-by-given"');
  assertNotMatch(await evalPage({ run: RUN }), /never seen/);
});

Deno.test("the page and its summary report that no unseen address has enough replies", async () => {
  const report = await adaptedReport([]);
  const told = "None of the 12 unseen addresses has more than 5 replies";
  assertStringIncludes(summaryLines(report)[0], told);
  assertStringIncludes(await evalPage(report), told);
});

Deno.test("evalPage() omits missing sections and escapes names", async () => {
  const bare = await evalPage({ run: RUN });
  assertStringIncludes(bare, "<h1>Evaluation of runs/&lt;first&gt;</h1>");
  assertStringIncludes(bare, "About this run");
  assertNotMatch(bare, /<figure|<svg/);
  const report = await reportOf([2, 2, 8, 8], [4, 4, 4, 4]);
  const page = await evalPage(report);
  const names = [...page.matchAll(/<figure id="([^"]+)"/g)].map(([, name]) => name);
  assertEquals(names, [
    "error-cdf",
    "error-by-context",
    "crps-by-context",
    "coverage",
    "pit",
    "failure-reliability",
  ]);
  const figures = evalFigures(report);
  assertEquals(figures.map(({ name }) => name), names);
  const tables = Object.fromEntries(figures.map(({ name, chart }) => [name, chartCsv(chart).split("\n")]));
  assertEquals(tables["error-by-context"], [
    "curve,measurements_in_the_models_context,median_absolute_error_ms",
    ...["model,0,2", "model,5,8", "pair last seen,0,4", "pair last seen,5,4", ""],
  ]);
  assertMatch(
    tables["error-cdf"].slice(0, 2).join(),
    /_of_the_predicted_median_ms,share_of_predictions,model,2,0$/,
  );
  assertEquals(
    tables.coverage[0],
    [
      ...["curve", "share_that_should_lie_inside", "share_inside", "low_share_inside", "high_share_inside"],
    ].join(),
  );
  assert(tables.coverage.slice(1, -1).every((row) => /^found,0\.\d+,[\d.]+,0\.\d+,[\d.]+$/.test(row)));
  assertEquals([tables.pit.length, tables.pit[0].split(",").length], [22, 3]);
  assertMatch(page, /its likeliest RTT<\/[^>]*>[^2]*2\.50 ms/);
  assertMatch(page, /<span class="loses">8\.00 ms \(2×\)<\/span>/);
  assertMatch(page, /<span class="wins">2\.00 ms \(−50 %\)<\/span>/);
});

Deno.test("ratioText() and countText() return readable numbers", () => {
  assertEquals([0.5, 0.9951, 1.12, 2.44, 101].map(ratioText), ["−50 %", "−0.5 %", "+12 %", "2.4×", "100×"]);
  assertEquals([1, 999, 1000, 1234567].map(countText), ["1", "999", "1,000", "1,234,567"]);
});

const TITLES = { xTitle: "promised", yTitle: "came" };

/** Positions and lengths of the rules in a picture of 300 px, measured from the lower end. */
function rulesOf(svg: string): { y: number; length: number }[] {
  return [
    ...svg.matchAll(
      /<line transform="translate\([\d.]+,([\d.]+)\)" x2="0" y2="(-?[\d.]+)" stroke="var\(--accent/g,
    ),
  ]
    .map(([, y, length]) => ({ y: Number(y), length: Number(length) }));
}

Deno.test("reliabilityChart() puts calibrated points on the diagonal, with the error bars of few cases", async () => {
  const points = [{ promised: 0.25, observed: 0.25, count: 10 }];
  const svg = await renderSvg(reliabilityChart(points, { ...TITLES, scale: "linear" }));
  assertStringIncludes(svg, "translate(75,225)");
  const [{ y, length }] = rulesOf(svg);
  // Wilson's interval of 2.5 of 10 is 0.0810 to 0.5579.
  assertAlmostEquals(Math.max(y, y + length), 300 * (1 - 0.081), 0.1);
  assertAlmostEquals(Math.min(y, y + length), 300 * (1 - 0.5579), 0.1);
});

Deno.test("reliabilityChart() omits points that a logarithmic axis cannot show", async () => {
  const points = [{ promised: 0.01, observed: 0.01, count: 50 }, { promised: 0, observed: 0.1, count: 50 }];
  const svg = await renderSvg(reliabilityChart(points, { ...TITLES, scale: "log" }));
  assertEquals(rulesOf(svg).length, 1);
  assertEquals([...svg.matchAll(/>1%<\/text>/g)].length, 2);
});

Deno.test("pitChart() draws the shares and the range expected by chance", async () => {
  const svg = await renderSvg(pitChart([0.5, 0.5], 100));
  const lines = svg.matchAll(/translate\(330,([\d.]+)\)" x2="-330" y2="0" stroke="var\(--ink\)"/g);
  const places = [...lines].map(([, y]) => Number(y));
  // 0.5 ± 1.96 sqrt(0.25 / 100), on an axis from 0 to 0.6.
  [0.5, 0.402, 0.598].forEach((share, i) => assertAlmostEquals(places[i], 300 * (1 - share / 0.6), 0.01));
});
