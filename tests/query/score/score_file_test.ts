import { assert, assertAlmostEquals, assertEquals, assertRejects } from "@std/assert";
import { parquetReadObjects } from "hyparquet";
import { compressors } from "hyparquet-compressors";
import { UserError } from "../../../lib/base/errors.ts";
import { exists } from "../../../lib/io/files/inputs.ts";
import { inspect } from "../../../lib/cli/inspect/inspect.ts";
import { describeReports } from "../../../lib/cli/inspect/report.ts";
import type { MeasurementBatch } from "../../../lib/data/measurement/batch.ts";
import { tokenMeasurement } from "../../../lib/query/query_tokens.ts";
import type { PingModel } from "../../../lib/query/ping_model.ts";
import { scoreFile, type ScoreFileOptions } from "../../../lib/query/files/score_file.ts";
import { type Score, scoreResults } from "../../../lib/query/score/score_results.ts";
import { parseAddress } from "../../../lib/data/addresses/ip.ts";
import { QUERY_ORDER, type TokenMeasurement, TokenWriter } from "../../../lib/data/tokens/vocab_v2.ts";
import { TemporaryFolder } from "../../io/files/temporary_folder.ts";
import { withTinyModel } from "../tiny_model.ts";
import { sampleRows, writeRows } from "./sample_rows.ts";

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

/** The tokens of measurements one after the other. */
function lengthOf(all: readonly { measurement: TokenMeasurement }[]): number {
  const writer = new TokenWriter(new Uint16Array(512));
  for (const { measurement } of all) writer.write(measurement, QUERY_ORDER);
  return writer.at;
}

/** The scores of a file's rows, each context looked for among all rows. */
async function expectedScores(
  model: PingModel,
  rows: MeasurementBatch,
  history: MeasurementBatch,
): Promise<Score[]> {
  const { sequenceLength } = model.config;
  const known = [rows, history].flatMap((batch) =>
    batch.srcAddr.map((src, i) => ({
      src,
      pair: `${src} ${batch.dstAddr[i]}`,
      timeUs: batch.eventTimeUs[i],
      measurement: measurementOf(batch, i),
    }))
  ).sort((a, b) => a.timeUs - b.timeUs);
  const cases = rows.srcAddr.map((src, number) => {
    const pair = `${src} ${rows.dstAddr[number]}`;
    const timeUs = rows.eventTimeUs[number];
    const before = (us: number) => known.filter((each) => each.src === src && each.timeUs < us);
    const half = (us: number) => {
      const limit = Math.ceil(MAX_CONTEXT / 2);
      const [ofPair, others] = [true, false].map((is) =>
        before(us).filter((each) => (each.pair === pair) === is)
      );
      const numOthers = Math.max(0, limit - ofPair.length);
      const chosen = new Set([...ofPair.slice(-limit), ...others.slice(-numOthers || Infinity)]);
      const all = before(us).filter((each) => chosen.has(each));
      return all.filter((_, i) => lengthOf(all.slice(i)) <= sequenceLength / 2);
    };
    // From the pair's first row on: each goes on with the context before it, or begins with half of one.
    const asked = rows.eventTimeUs.filter((us, i) =>
      us <= timeUs && rows.srcAddr[i] === src && `${src} ${rows.dstAddr[i]}` === pair
    ).sort();
    let context: typeof known | undefined;
    let previousUs = -Infinity;
    for (const us of asked) {
      const ofPair = before(us).filter((each) => each.pair === pair);
      const since = ofPair.filter((each) => each.timeUs >= previousUs);
      const grown = [...context ?? [], ...since];
      const goesOn = context !== undefined && grown.length <= MAX_CONTEXT &&
        lengthOf([...grown, ...known.filter((each) => each.pair === pair && each.timeUs === us)]) <=
          sequenceLength;
      const next = goesOn ? grown : half(us);
      context = next;
      previousUs = us;
      if (us === timeUs) {
        return {
          measurement: measurementOf(rows, number),
          context: next.map(({ measurement }) => measurement),
          number,
        };
      }
    }
    throw new Error("a row is among the rows");
  });
  return (await scoreResults(model, cases, { seed: 3 })).scores;
}

Deno.test("scoreFile() keeps rows, order and columns and adds the scores of each row after its own context", () =>
  withTinyModel(async (model) => {
    using folder = new TemporaryFolder();
    const [rows, history] = [sampleRows(150), sampleRows(60, 1)];
    writeRows(folder.at("in.parquet"), rows);
    writeRows(folder.at("history.parquet"), history);
    const summary = await scoreFile(model, optionsOf(folder, { history: [folder.at("history.parquet")] }));
    const expected = await expectedScores(model, rows, history);
    const found = await readObjects(folder.at("out.parquet"));
    const before = await readObjects(folder.at("in.parquet"));
    assertEquals(found.length, 150);
    found.forEach(({ log_likelihood, p_value, ...row }, i) => {
      assertEquals(row, before[i]);
      assertAlmostEquals(Number(log_likelihood), expected[i].logLikelihood, 1e-4);
      assertAlmostEquals(Number(p_value), expected[i].pValue, 2e-3);
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

Deno.test("scoreFile() goes on after an interruption and ends with the bytes of an undisturbed run", () =>
  withTinyModel(async (model) => {
    using folder = new TemporaryFolder();
    writeRows(folder.at("in.parquet"), sampleRows(2500));
    const [whole, cut] = ["whole", "cut"].map((name) =>
      optionsOf(folder, { output: folder.at(`${name}.parquet`), workFolder: folder.at(name) })
    );
    await scoreFile(model, whole);
    const controller = new AbortController();
    const onProgress = (phase: string, done: number) => {
      if (phase === "scoring" && done > 0) controller.abort(new UserError("Cannot go on: the test ends it"));
    };
    const interrupted = scoreFile(model, cut, { signal: controller.signal, onProgress });
    await assertRejects(() => interrupted, UserError);
    assert(!exists(cut.output));
    const { rowsResumed } = await scoreFile(model, cut);
    assert(rowsResumed > 0 && rowsResumed < 2500, `${rowsResumed} rows were resumed`);
    assertEquals(Deno.readFileSync(cut.output), Deno.readFileSync(whole.output));
  }));

Deno.test("scoreFile() leaves no work behind where the input cannot be used", () =>
  withTinyModel(async (model) => {
    using folder = new TemporaryFolder();
    const rows = sampleRows(10);
    rows.srcAddr[4] = "192.0.2.300";
    writeRows(folder.at("in.parquet"), rows);
    const options = optionsOf(folder);
    await assertRejects(() => scoreFile(model, options), UserError, "1 of 10 rows were rejected");
    assert(!exists(options.workFolder));
    const { rejected } = await scoreFile(model, { ...options, maxRejectRatio: 0.5 });
    assertEquals(rejected, { unparseableAddress: 1 });
    assertEquals((await readObjects(options.output)).length, 9);
  }));
