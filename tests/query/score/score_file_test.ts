import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { parquetReadObjects } from "hyparquet";
import { compressors } from "hyparquet-compressors";
import { getOrMake } from "../../../lib/base/collections.ts";
import { UserError } from "../../../lib/base/errors.ts";
import { exists } from "../../../lib/io/files/inputs.ts";
import { inspect } from "../../../lib/cli/inspect/inspect.ts";
import { describeReports } from "../../../lib/cli/inspect/report.ts";
import type { MeasurementBatch } from "../../../lib/data/formats/batch.ts";
import { tokenMeasurement } from "../../../lib/query/query_tokens.ts";
import type { PingModel } from "../../../lib/query/ping_model.ts";
import { readNormal, scoreFile, type ScoreFileOptions } from "../../../lib/query/files/score_file.ts";
import { type Score, type ScoreCase, scoreResults } from "../../../lib/query/score/score_results.ts";
import { parseAddress } from "../../../lib/data/addresses/ip.ts";
import { pairNameOf, SourceHistory } from "../../../lib/data/tokens/source_history.ts";
import type { TokenMeasurement } from "../../../lib/data/tokens/vocab_v2.ts";
import { TemporaryFolder } from "../../io/files/temporary_folder.ts";
import { withTinyModel } from "../tiny_model.ts";
import { sampleRows, writeParquet } from "./sample_rows.ts";
import { AddressNames } from "../../../lib/data/addresses/address_names.ts";
import { RandomStream } from "../../../lib/base/random.ts";
import {
  describeFindings,
  namedFindings,
  pageOfFindings,
  type ScoredRow,
  ScoreTally,
} from "../../../lib/query/files/score_findings.ts";

const MAX_CONTEXT = 5;

function optionsOf(folder: TemporaryFolder, changes: Partial<ScoreFileOptions> = {}): ScoreFileOptions {
  return {
    inputs: [folder.at("in.parquet")],
    history: [],
    output: folder.at("out.parquet"),
    workFolder: folder.at("work"),
    maxContext: MAX_CONTEXT,
    groupBy: "src_addr",
    seed: 3,
    maxRejectRatio: 0,
    memoryLimitBytes: 5e8,
    ...changes,
  };
}

async function readObjects(path: string): Promise<Record<string, unknown>[]> {
  return await parquetReadObjects({ file: Deno.readFileSync(path).buffer, compressors });
}

function measurementOf(rows: MeasurementBatch, i: number): TokenMeasurement {
  const [source, destination] = [parseAddress(rows.srcAddr[i]), parseAddress(rows.dstAddr[i])];
  assert(source && destination);
  return tokenMeasurement({ source, destination, rttMs: rows.rttMs[i], eventTimeUs: rows.eventTimeUs[i] });
}

/** The scores of a file's rows, given the contexts that the rows of their sources make up. */
async function expectedScores(
  model: PingModel,
  rows: MeasurementBatch,
  before: MeasurementBatch,
): Promise<Score[]> {
  const histories = new Map<string, SourceHistory>();
  const cases: ScoreCase[] = [];
  const all = [rows, before].flatMap((batch) =>
    Array.from(batch.eventTimeUs, (timeUs, i) => ({ batch, i, timeUs }))
  ).sort((a, b) => a.timeUs - b.timeUs);
  for (const { batch, i, timeUs } of all) {
    const measurement = measurementOf(batch, i);
    const pair = pairNameOf(measurement);
    const make = () => new SourceHistory(MAX_CONTEXT, model.config.sequenceLength);
    const history = getOrMake(histories, batch.srcAddr[i], make);
    if (batch === rows) {
      cases[i] = { measurement, context: history.growingContextOf(pair, timeUs, measurement), number: i };
    }
    history.add(pair, timeUs, measurement);
  }
  return (await scoreResults(model, cases, { seed: 3 })).scores;
}

Deno.test("scoreFile() keeps rows, order and columns and adds each row's scores given its context", () =>
  withTinyModel(async (model) => {
    using folder = new TemporaryFolder();
    const [rows, history] = [sampleRows(150), sampleRows(60, 1)];
    writeParquet(folder.at("in.parquet"), rows);
    writeParquet(folder.at("history.parquet"), history);
    const summary = await scoreFile(model, optionsOf(folder, { history: [folder.at("history.parquet")] }));
    const expected = await expectedScores(model, rows, history);
    const found = await readObjects(folder.at("out.parquet"));
    const before = await readObjects(folder.at("in.parquet"));
    // P(no reply) of the row's pair since its last reply, by time.
    const runOf = (i: number) => {
      const ofPair = found.keys().toArray().filter((k) =>
        rows.srcAddr[k] === rows.srcAddr[i] && rows.dstAddr[k] === rows.dstAddr[i] &&
        (rows.eventTimeUs[k] < rows.eventTimeUs[i] || k === i)
      ).sort((a, b) => rows.eventTimeUs[a] - rows.eventTimeUs[b]);
      const lastReply = ofPair.findLastIndex((k) => rows.rttMs[k] >= 0);
      return Math.exp(ofPair.slice(lastReply + 1).reduce((sum, k) => sum + expected[k].logLikelihood, 0));
    };
    assertEquals(found.length, 150);
    found.forEach(({ log_likelihood, p_value, loss_run_p_value, ...row }, i) => {
      assertEquals(row, before[i]);
      assertAlmostEquals(Number(log_likelihood), expected[i].logLikelihood, 1e-4);
      assertAlmostEquals(Number(p_value), expected[i].pValue, 2e-3);
      assertAlmostEquals(Number(loss_run_p_value), runOf(i), 1e-4);
    });
    assert(before.some(({ rtt }) => rtt === -1));
    const meanNats = expected.reduce((sum, { logLikelihood }) => sum - logLikelihood, 0) / 150;
    assertAlmostEquals(summary.meanBits, meanNats / Math.LN2, 1e-4);
    assertEquals([summary.rows, summary.rowsResumed], [150, 0]);
    const [least] = summary.findings.mostSurprising;
    assertEquals(least.pValue, Math.min(...found.map(({ p_value }) => Number(p_value))));
    const reports = await inspect([folder.at("out.parquet")], {
      samples: 0,
      sequenceLength: 64,
      seed: 0,
      onCorrupt: "error",
    });
    const text = describeReports(reports);
    assert(/p_value +min .*, p50 .*max /.test(text) && /-log_likelihood +min .* nats/.test(text), text);
    assertEquals(reports[0].histograms?.map(({ label }) => label).slice(2), [
      "-log_likelihood, nats",
      "p_value",
    ]);
  }));

Deno.test("scoreFile() corrects p-values with those of an earlier output", () =>
  withTinyModel(async (model) => {
    using folder = new TemporaryFolder();
    writeParquet(folder.at("in.parquet"), sampleRows(80));
    await scoreFile(model, optionsOf(folder));
    const normal = await readNormal(folder.at("out.parquet"));
    const output = folder.at("corrected.parquet");
    await scoreFile(model, optionsOf(folder, { normal, output, workFolder: folder.at("again") }));
    const [before, after] = await Promise.all([folder.at("out.parquet"), output].map(readObjects));
    const isLost = ({ rtt }: Record<string, unknown>) => rtt === -1;
    after.forEach(({ p_value, log_likelihood }, i) => {
      const own = before.filter((each) => isLost(each) === isLost(before[i]));
      const rank = own.filter((each) => Number(each.p_value) <= Number(before[i].p_value)).length;
      assertAlmostEquals(Number(p_value), (rank + Math.min(rank, 80 - own.length)) / 81, 1e-12);
      assertEquals(log_likelihood, before[i].log_likelihood);
    });
    await assertRejects(() => readNormal(folder.at("in.parquet")), UserError, "found no p-values");
  }));

Deno.test("scoreFile() resumes after an interruption with workers and writes the same bytes as one thread", () =>
  withTinyModel(async (model) => {
    using folder = new TemporaryFolder();
    writeParquet(folder.at("in.parquet"), sampleRows(2500));
    const [whole, cut] = ["whole", "cut"].map((name) =>
      optionsOf(folder, { output: folder.at(`${name}.parquet`), workFolder: folder.at(name) })
    );
    await scoreFile(model, whole);
    const controller = new AbortController();
    const onProgress = (phase: string, done: number) => {
      if (phase === "scoring" && done > 0) controller.abort(new UserError("Cannot go on: the test ends it"));
    };
    const workers = { count: 2, model: { config: model.config, weights: model.weights } };
    const interrupted = scoreFile(model, { ...cut, workers, memoryLimitBytes: 2e9 }, {
      signal: controller.signal,
      onProgress,
    });
    await assertRejects(() => interrupted, UserError, "the test ends it");
    assert(!exists(cut.output));
    const { rowsResumed } = await scoreFile(model, cut);
    assert(rowsResumed > 0 && rowsResumed < 2500, `${rowsResumed} rows were resumed`);
    assertEquals(Deno.readFileSync(cut.output), Deno.readFileSync(whole.output));
  }));

Deno.test("scoreFile() leaves no work folder behind if the input is unusable", () =>
  withTinyModel(async (model) => {
    using folder = new TemporaryFolder();
    const rows = sampleRows(10);
    rows.srcAddr[4] = "192.0.2.300";
    writeParquet(folder.at("in.parquet"), rows);
    const options = optionsOf(folder);
    await assertRejects(() => scoreFile(model, options), UserError, "1 of 10 rows were rejected");
    assert(!exists(options.workFolder));
    const { rejected } = await scoreFile(model, { ...options, maxRejectRatio: 0.5 });
    assertEquals(rejected, { unparseableAddress: 1 });
    assertEquals((await readObjects(options.output)).length, 9);
  }));

/** Rows of ten sources with uniform p-values, except that those of the last source are all below 0.01. */
function rows(): ScoredRow[] {
  const random = new RandomStream(0, "tests/score findings");
  return Array.from({ length: 1000 }, (_, i) => ({
    src: `192.0.2.${i % 10}`,
    dst: "198.51.100.7",
    timeUs: 1_700_000_000_000_000 + 1e6 * i,
    rttMs: i % 7 === 0 ? -1 : 10 + i,
    logLikelihood: -1 - i % 13,
    pValue: random.float64() * (i % 10 === 9 ? 0.01 : 1),
    lossRunPValue: 1,
  }));
}

Deno.test("ScoreTally finds the smallest p-values, the share below 0.01 and their sources", () => {
  const tally = new ScoreTally();
  for (const row of rows()) tally.add(row);
  const { mostSurprising, surprising, sources, numSources, pValueCounts, natsCounts } = tally.findings();
  const sorted = rows().toSorted((a, b) => a.pValue - b.pValue);
  assertEquals(mostSurprising, sorted.slice(0, 20));
  assertEquals(surprising, sorted.filter(({ pValue }) => pValue < 0.01).length);
  assertEquals([numSources, sources[0].src, sources[0].rows, sources[0].surprising], [
    10,
    "192.0.2.9",
    100,
    100,
  ]);
  const ofLast = rows().filter(({ src }) => src === "192.0.2.9");
  const bits = ofLast.reduce((sum, { logLikelihood }) => sum - logLikelihood, 0) / 100 / Math.LN2;
  assertAlmostEquals(sources[0].meanBits, bits, 1e-9);
  for (const counts of [pValueCounts, natsCounts]) assertEquals(counts.reduce((a, b) => a + b), 1000);
  const inFirst = sorted.filter(({ pValue }) => pValue < 0.05).length;
  assertEquals([pValueCounts.length, pValueCounts[0], natsCounts[0]], [20, inFirst, 0]);
});

Deno.test("ScoreTally lists the least probable run of lost replies of each pair", async () => {
  const tally = new ScoreTally();
  const runs = [[0, 1e-3], [1, 1e-5], [0, 1e-4], [1, 1e-4], [0, 1], [2, 0.5]];
  const [row] = rows();
  for (const [pair, lossRunPValue] of runs) tally.add({ ...row, dst: `198.51.100.${pair}`, lossRunPValue });
  const findings = tally.findings();
  assertEquals(findings.lossRuns.map(({ dst, lossRunPValue }) => [dst, lossRunPValue]), [
    ["198.51.100.1", 1e-5],
    ["198.51.100.0", 1e-4],
  ]);
  assertMatch(
    describeFindings(findings),
    /runs of lost replies: 2\n.*P\(run\)\n.*198\.51\.100\.1 +0\.000010\n/,
  );
  assertStringIncludes(await pageOfFindings("scores", findings), "runs of lost replies: 2");
});

Deno.test("ScoreTally keeps a bounded number of sources and counts the rows of all", () => {
  const tally = new ScoreTally(3);
  for (const row of rows()) tally.add(row);
  const { numSources, rows: numRows, mostSurprising } = tally.findings();
  assertEquals([numSources, numRows], [3, 1000]);
  assertEquals(mostSurprising[0].src, "192.0.2.9");
});

Deno.test("findings are described in text and drawn on a page, even without rows", async () => {
  const tally = new ScoreTally();
  for (const row of rows()) tally.add({ ...row, src: row.src.replace("192", "<b>") });
  const findings = tally.findings();
  const text = describeFindings(findings);
  assertStringIncludes(text, `(${findings.surprising}) have a p-value below 0.01`);
  assertStringIncludes(text, "no reply");
  assertEquals(text.split("\n").length, 1 + 1 + 1 + 21 + 1 + 1 + 11);
  const page = await pageOfFindings("scores of <x>", findings);
  assert(!page.includes("<b>.0.2") && page.includes("&lt;b&gt;.0.2.9"), "sources are escaped");
  assertEquals(page.match(/<svg/g)?.length, 3);
  const none = new ScoreTally().findings();
  assertEquals(describeFindings(none), "No rows were scored.");
  assertStringIncludes(await pageOfFindings("none", none), "No rows were scored.");
});

Deno.test("findings show the names of their addresses", async () => {
  const tally = new ScoreTally(undefined, (address) => address === "192.0.2.9");
  for (const row of rows()) tally.add(row);
  const names = new AddressNames();
  names.add(new TextEncoder().encode("192.0.2.8/31,<probe>\n198.51.100.7,dns.example"), "names.csv");
  const findings = namedFindings(tally.findings(), names);
  const row = findings.mostSurprising.find(({ src }) => src === "192.0.2.9");
  assertEquals([row?.src_name, row?.dst_name], ["<probe>", "dns.example"]);
  assertEquals([findings.sources[0].name, findings.sources.find(({ src }) => src === "192.0.2.7")?.name], [
    "<probe>",
    undefined,
  ]);
  const text = describeFindings(findings);
  assertStringIncludes(text, "databases say: 192.0.2.9 (<probe>) (100 rows)");
  assertMatch(text, /192\.0\.2\.9 \(<probe>\) +198\.51\.100\.7 \(dns\.example\)/);
  const page = await pageOfFindings("scores", findings);
  assert(!page.includes("<probe>") && page.includes("192.0.2.9 (&lt;probe&gt;)"), "names are escaped");
});
