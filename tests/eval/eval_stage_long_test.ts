import {
  assert,
  assertEquals,
  assertMatch,
  assertNotEquals,
  assertNotMatch,
  assertStringIncludes,
} from "@std/assert";
import { join } from "@std/path";
import { exists } from "../../lib/io/files/inputs.ts";
import { outputOf, runStageProcess, spawnStage, succeed } from "../cli/process.ts";
import { TemporaryFolder } from "../io/files/temporary_folder.ts";
import { hasBrowser, layoutFaults, TestBrowser } from "../base/report/browser.ts";
import { smallSettings } from "../train/small_run.ts";
import { untilAtWork } from "../until.ts";

const SETTINGS = smallSettings({
  "model.numLayers": 2,
  "model.sequenceLength": 256,
  "train.batchSize": 4,
  "train.microBatchSize": 4,
  "train.evalSequences": 4,
});

/** A folder with probe rows (`rows`) and a model trained on them (`run`), made by the stages themselves. */
const folder = new TemporaryFolder();
const [rows, run] = [folder.at("rows"), folder.at("run")];
const shared = folder.at("shared");

Deno.test.beforeAll(async () => {
  const measurements = folder.at("synth.parquet");
  await succeed("synth", "--output", measurements, "--rows", "4000", "--probes", "20", "--destinations", "8");
  await succeed("probe-rows", "--input", measurements, "--output", rows, "--split-by", "time");
  await succeed("train", "--data", rows, "--run", run, "--steps", "20", ...SETTINGS);
});

Deno.test.afterAll(() => folder[Symbol.dispose]());

/** Arguments of an evaluation of few measurements. */
function evalOf(output: string, ...more: string[]): string[] {
  const few = more.includes("--max-measurements") ? [] : ["--max-measurements", "60"];
  return ["eval", "--checkpoint", run, "--data", rows, "--output", output, ...few, ...more];
}

/** Options of a quick evaluation. */
const SHORT = ["--max-measurements", "12", "--baselines", "none"];

/** The folder of the shared evaluation, which the first test makes. */
async function sharedReport(): Promise<string> {
  if (!exists(shared)) await succeed(...evalOf(shared));
  return shared;
}

async function refusal(...args: string[]): Promise<[code: number, line: string]> {
  const { code, stderr, stdout } = await runStageProcess(args);
  assertEquals([stderr.trim().split("\n").length, stdout], [1, ""], stderr);
  return [code, stderr];
}

Deno.test("eval prints one JSON object and writes two reports and a complete manifest", async () => {
  const output = shared;
  const plots = folder.at("plots");
  const inside = await refusal(...evalOf(output, "--plots", join(output, "plots")));
  assertStringIncludes(inside[1], "it is inside the output");
  const { stdout } = await succeed(...evalOf(output, "--json", "--plots", plots));
  const result = JSON.parse(stdout);
  assertEquals([result.stage, result.report], ["eval", join(output, "report.json")]);
  assertEquals([...Deno.readDirSync(output)].map(({ name }) => name).sort(), [
    ...["manifest.json", "report.html", "report.json"],
  ]);
  const report = JSON.parse(Deno.readTextFileSync(result.report));
  assertEquals([report.run.numMeasurements, report.run.step, report.run.splitBy], [60, 20, "time"]);
  assertEquals(report.run.modelFingerprint, report.run.dataFingerprint);
  const manifest = JSON.parse(Deno.readTextFileSync(join(output, "manifest.json")));
  assert(manifest.complete);
  assertEquals(manifest.counts.measurements, 60);
  const figures = [...Deno.readTextFileSync(result.page).matchAll(/<figure id="(.*?)"/g)].map(([, id]) => id);
  assertEquals(
    [...Deno.readDirSync(result.plots)].map(({ name }) => name).sort(),
    ["manifest.json", ...figures.flatMap((name) => [`${name}.csv`, `${name}.svg`])].sort(),
  );
  assertMatch(Deno.readTextFileSync(join(plots, "pit.svg")), /^<svg [^]*#ffffff[^]*<\/svg>\n$/);
  Deno.removeSync(join(plots, "pit.svg"));
  await succeed(...evalOf(output, "--plots", plots));
  assert(exists(join(plots, "pit.svg")));
  const { stage: _, report: __, page: ___, plots: ____, ...sections } = result;
  assertEquals(sections, report);
  assertEquals(report.rtt.baselines.length, 13);
  assertEquals(report.rtt.baselines[12].settings.startsWith("rank "), true);
  assertEquals(report.truth.numMeasurements, 60);
  assertEquals(report.calibration.numDrawn, 60);
  assertEquals(report.truth.calibrated.coverage.length, report.truth.coverage.length);
  assert(!Deno.readTextFileSync(result.report).includes("NaN"));
});

Deno.test("query rtt --calibration answers with the distribution corrected by eval's report", async () => {
  const output = await sharedReport();
  const question = [
    ...["query", "rtt", "--checkpoint", run, "--src", "192.0.2.1", "--dst", "192.0.2.2", "--json"],
  ];
  const report = join(output, "report.json");
  const raw = JSON.parse((await succeed(...question)).stdout);
  const corrected = JSON.parse((await succeed(...question, "--calibration", report)).stdout);
  assertEquals([raw.is_corrected, corrected.is_corrected], [undefined, true]);
  assertEquals(corrected.p_failed, raw.p_failed);
  const text = await succeed(...question.slice(0, -1), "--calibration", report);
  assertStringIncludes(text.stdout, "RTT 192.0.2.1 -> 192.0.2.2, corrected");
  assertNotEquals(corrected.quantiles_ms, raw.quantiles_ms);
  const [code, line] = await refusal(...question, "--calibration", join(rows, "manifest.json"));
  assertEquals(code, 1);
  assertStringIncludes(line, "it contains no calibration, expected the report.json of an eval");
});

Deno.test({
  name: "eval's page shows every chart with its marks in a browser, light, dark and printed",
  ignore: !hasBrowser(),
  async fn() {
    const output = await sharedReport();
    await using browser = await TestBrowser.start();
    for (
      const options of [
        { width: 1000, colorScheme: "light" },
        { width: 1000, colorScheme: "dark" },
        { width: 700, colorScheme: "dark", isPrint: true },
      ] as const
    ) {
      const { page, complaints } = await browser.open(join(output, "report.html"), options);
      assertEquals(complaints, []);
      assertEquals(await layoutFaults(page), []);
      const names = await page.evaluate(
        "[...document.querySelectorAll('figure')].map(({ id }) => id)",
      ) as string[];
      for (
        const name of [
          ...["error-cdf", "error-by-context", "crps-by-context", "coverage", "pit", "failure-reliability"],
          ...["bits-by-token-type", "bits-by-position"],
        ]
      ) assert(names.includes(name), `${name} is not among ${names}`);
      await page.close();
    }
    const html = Deno.readTextFileSync(join(output, "report.html"));
    assertNotMatch(html, /<script|<link|<img|\s(?:src=|href="(?!#))|url\((?!#)|@import/);
    assertMatch(html, /The median error of \d+ predicted RTTs is [\d.]+ ms/);
    assertMatch(html, /<span class="(loses|wins)">/);
  },
});

Deno.test("eval repeated does no work, and other options are refused without --overwrite", async () => {
  const output = await sharedReport();
  const first = Deno.readTextFileSync(join(output, "report.json"));
  const again = await succeed(...evalOf(output));
  assertStringIncludes(again.stderr, "is complete");
  assertEquals(Deno.readTextFileSync(join(output, "report.json")), first);
  // The results of an evaluation depend neither on when it runs nor on its threads.
  const elsewhere = folder.at("elsewhere");
  await succeed(...evalOf(elsewhere, "--workers", "1"));
  const untimed = (text: string) => text.replace(/"seconds": [\d.]+/g, "");
  assertEquals(untimed(Deno.readTextFileSync(join(elsewhere, "report.json"))), untimed(first));
  const [code, line] = await refusal(...evalOf(elsewhere, "--contexts", "0,3"));
  assertEquals(code, 1);
  assertStringIncludes(line, "--overwrite");
  await succeed(...evalOf(elsewhere, "--contexts", "3,0,3", ...SHORT, "--overwrite"));
  assertEquals(JSON.parse(Deno.readTextFileSync(join(elsewhere, "report.json"))).run.contexts, [0, 3]);
});

Deno.test("eval refuses invalid options and missing files with a one-line error", async () => {
  const output = folder.at("refused");
  const cases: [string[], number, string][] = [
    [evalOf(output, "--contexts", "1,x"), 2, "--contexts 1,x"],
    [evalOf(output, "--adapt", "2,x"), 2, "--adapt 2,x"],
    [
      evalOf(output, "--adapt", "0,2"),
      2,
      "the rows were split by time, expected destination | node | probe",
    ],
    [evalOf(output, "--baselines", "vivaldi"), 2, "did you mean Vivaldi?"],
    [
      evalOf(output, "--baselines", "global median,country median"),
      2,
      "--baselines country median: the model has no places, expected one trained with --geo",
    ],
    [evalOf(output, "--geo", folder.at("none.csv")), 1, "none.csv"],
    [evalOf(output, "--split", "train"), 2, "expected test | val"],
    [evalOf(output, "--history", "none"), 2, "expected default | all | train"],
    [evalOf(output, "--max-measurements", "0"), 2, "--max-measurements 0"],
    [["eval", "--checkpoint", run, "--data", rows], 2, "--output DIR is missing"],
    [["eval", "--checkpoint", folder.at("none"), "--data", rows, "--output", output], 1, "no such file"],
    [["eval", "--checkpoint", rows, "--data", rows, "--output", output], 1, "found probe rows"],
    [["eval", "--checkpoint", run, "--data", folder.at("none"), "--output", output], 1, "no such file"],
  ];
  for (const [args, code, message] of cases) {
    const refused = await refusal(...args);
    assertEquals(refused[0], code, refused[1]);
    assertStringIncludes(refused[1], message);
  }
  assert(!exists(output));
  const train = folder.at("only-train");
  Deno.mkdirSync(train);
  Deno.renameSync(join(rows, "test"), join(train, "test"));
  try {
    const [code, line] = await refusal(...evalOf(folder.at("no-test")));
    assertEquals(code, 1);
    assertMatch(line, /rows: test\/test-00000-of-00002.arrayrecord is missing/);
  } finally {
    Deno.renameSync(join(train, "test"), join(rows, "test"));
  }
});

Deno.test("eval interrupted leaves no report, and the same command then writes it", async () => {
  const output = folder.at("interrupted");
  const args = evalOf(output, "--every-context", ...SHORT);
  const child = spawnStage(args);
  const ended = outputOf(child);
  await untilAtWork(child, "its manifest", () => exists(join(output, ".work", "manifest.json")));
  child.kill("SIGINT");
  const { code, stderr } = await ended;
  assertEquals(code, 130, stderr);
  assertEquals([...Deno.readDirSync(output)], []);
  await succeed(...args);
  assert(exists(join(output, "report.html")));
});
