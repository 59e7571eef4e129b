/** `eval --all-splits` in real processes, on few measurements with a tiny model. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import type { AllSplitsReport } from "../../lib/eval/all_splits.ts";
import { metricIntervalText, metricText } from "../../lib/eval/page/quantities.ts";
import type { EvalReport } from "../../lib/eval/report.ts";
import { exists } from "../../lib/io/files/inputs.ts";
import { outputOf, refused, runStageProcess, spawnStage, succeed, succeeded } from "../cli/process.ts";
import { TemporaryFolder } from "../io/files/temporary_folder.ts";
import { hasBrowser, layoutFaults, TestBrowser } from "../base/report/browser.ts";
import { smallSettings } from "../train/small_run.ts";
import { untilAtWork } from "../until.ts";

const TRAINING = ["--config", "demo", ...smallSettings({ "train.steps": 3 })];
const SPLITS = ["probe", "destination", "pair", "time"];

const folder = new TemporaryFolder();
const [data, output] = [folder.at("synth.parquet"), folder.at("all")];

Deno.test.beforeAll(async () => {
  const size = ["--rows", "4000", "--probes", "20", "--destinations", "12"];
  await succeed("synth", "--output", data, ...size);
});

Deno.test.afterAll(() => folder[Symbol.dispose]());

/** Arguments of a quick evaluation of all splits. */
function allOf(to: string, ...more: string[]): string[] {
  const few = ["--max-measurements", "8", "--contexts", "0,2", "--baselines", "global median"];
  return ["eval", "--all-splits", data, "--output", to, ...few, ...more];
}

function readReport(of: string): AllSplitsReport {
  return JSON.parse(Deno.readTextFileSync(join(of, "report.json")));
}

function readEval(of: string): EvalReport {
  return JSON.parse(Deno.readTextFileSync(join(output, of, "report.json")));
}

/** Starts a command and kills it as soon as a file exists. */
async function killAt(path: string, args: string[]): Promise<void> {
  const child = spawnStage(args);
  const ended = outputOf(child);
  await untilAtWork(child, path, () => exists(path));
  child.kill("SIGKILL");
  assertEquals((await ended).code, 137);
}

Deno.test("eval --all-splits, killed in each part and repeated, matches an uninterrupted run", async () => {
  const args = allOf(output, ...TRAINING);
  for (const path of ["shards/pair/manifest.json", "train/checkpoints/latest", "eval/probe/report.json"]) {
    await killAt(join(output, path), args);
    assert(!exists(join(output, "report.json")));
  }
  const manifests = SPLITS.map((mode) => join(output, "shards", mode, "manifest.json"));
  const timesOf = () =>
    [...manifests, join(output, "eval/probe/report.json")].map((path) => Deno.statSync(path).mtime);
  const before = timesOf();
  const { stderr, stdout } = await succeed(...args, "--json");
  assertEquals(timesOf(), before);
  assertStringIncludes(stderr, "already");
  const report = readReport(output);
  const { stage, report: path, ...told } = JSON.parse(stdout);
  assertEquals([stage, path], ["eval", join(output, "report.json")]);
  assertEquals(told.splits, report.splits);
  // The same model gives the same results elsewhere, with newly made splits.
  const other = folder.at("other");
  const plots = folder.at("plots");
  await succeed(...allOf(other, "--checkpoint", join(output, "train"), "--plots", plots));
  for (const { mode } of readReport(other).splits) assert(exists(join(plots, mode, "error-cdf.csv")), mode);
  assertEquals(readReport(other).splits, report.splits);
  assert(!exists(join(other, "train")));
});

Deno.test("eval --all-splits holds out nested splits, each with a validation split, and counts all rows", () => {
  const { splits, empty, run } = readReport(output);
  const all = [...splits, ...empty];
  assertEquals(all.map(({ mode }) => mode).sort(), SPLITS.toSorted());
  assertEquals(run.groupBy, "prb_id");
  let left = 4000;
  for (const mode of SPLITS) {
    const { counts } = all.find((split) => split.mode === mode) ?? { counts: { train: 0, val: 0, test: 0 } };
    assertEquals(counts.train + counts.val + counts.test, left, mode);
    left = counts.train;
  }
  assertEquals(run.numTraining, left);
  const fingerprints = splits.map(({ folder }) => {
    const { run } = readEval(folder);
    assertEquals(run.modelFingerprint, run.trainFingerprint);
    return run.trainFingerprint;
  });
  assertEquals(new Set(fingerprints), new Set([run.trainFingerprint]));
});

Deno.test("eval --all-splits reports each split's summary and a row for each context size", () => {
  const { splits } = readReport(output);
  const page = Deno.readTextFileSync(join(output, "report.html"));
  const text = (html: string) => html.replaceAll(/<[^>]*>/g, " ").replaceAll(/\s+/g, " ");
  const rows = [...page.matchAll(/<tr>.*<\/tr>/g)].map(([row]) => text(row));
  for (const { folder, answers } of splits) {
    const { rtt } = readEval(folder);
    assert(rtt);
    const { overall, byContext: [, ofTwo] } = rtt.model;
    const [error] = answers;
    assertEquals([error.question, error.model], ["typical error of an RTT", overall.medianAbsoluteMs]);
    const median = `${metricText("medianAbsoluteMs", ofTwo.medianAbsoluteMs)} `;
    const nmae = metricText("nmae", ofTwo.nmae) + metricIntervalText("nmae", ofTwo.intervals.nmae);
    assert(
      rows.some((row) => row.startsWith(` 2 ${median}`) && row.includes(` ${nmae} `)),
      `${folder}: ${nmae}`,
    );
  }
});

Deno.test("eval --all-splits adapts to unseen addresses where they are held out, and reports it", () => {
  const { splits } = readReport(output);
  let numRows = 0;
  for (const { mode, folder } of splits) {
    const { adapted } = readEval(folder);
    assertEquals(adapted?.counts, ["probe", "destination"].includes(mode) ? [0, 2, 8, 24] : undefined, mode);
    numRows += adapted?.byCount.length ?? 0;
  }
  assert(numRows > 0);
  const page = Deno.readTextFileSync(join(output, "report.html"));
  const [tables] = page.split("<p><a href=");
  assertEquals([...tables.matchAll(/<tr>/g)].length, 2 + numRows + 3 * splits.length);
  assertStringIncludes(page, "Unseen addresses, after K measurements of each");
});

Deno.test({
  name: "eval --all-splits' page renders in a browser and links to the page of each split",
  ignore: !hasBrowser(),
  async fn() {
    await using browser = await TestBrowser.start();
    for (const colorScheme of ["light", "dark"] as const) {
      const { page, complaints } = await browser.open(join(output, "report.html"), {
        width: 1000,
        colorScheme,
      });
      assertEquals([complaints, await layoutFaults(page)], [[], []]);
      const { splits } = readReport(output);
      const numRows = splits.reduce(
        (sum, { folder }) => sum + 3 + (readEval(folder).adapted?.byCount.length ?? 0),
        0,
      );
      assertEquals(await page.locator("table:not(.texts) tbody tr").count(), numRows);
      for (const [i, { mode, folder }] of splits.entries()) {
        await page.locator("a").nth(i).click();
        assertStringIncludes(page.url(), `${folder}/report.html`, mode);
        assertMatch(await page.title(), /^Evaluation of /);
        await page.goBack();
      }
      await page.close();
    }
  },
});

Deno.test("eval --all-splits refuses options of one split, others' results and other models", async () => {
  const [run, other] = [join(output, "train"), folder.at("refused")];
  const cases: [string[], number, string][] = [
    [allOf(output, ...TRAINING, "--seed", "3"), 1, "with other options (seed) wrote to it"],
    [allOf(other, "--data", run), 2, "--data with --all-splits"],
    [allOf(other, "--history", "all"), 2, "--history with --all-splits"],
    [allOf(other, "--checkpoint", run, "--max-time", "3m"), 2, "--max-time with --checkpoint"],
    [allOf(other, "--max-time", "soon"), 2, "--max-time soon"],
    [allOf(other, "--splits", "pairs=10"), 2, "--splits pairs=10"],
    [
      allOf(other, "--config", "demo", "--set", "model.prefixVectors=null", "--adapt", "2"),
      2,
      "no address embeddings",
    ],
    [allOf(folder.path), 2, "it contains the input"],
    [
      ["eval", "--checkpoint", run, "--data", run, "--output", other, "--splits", "pair=3"],
      2,
      "without --all",
    ],
    [["eval", "--data", run, "--output", other], 2, "--checkpoint DIR is missing"],
  ];
  for (const [args, code, message] of cases) {
    await refused(runStageProcess([...args, "--quiet"]), code, message);
  }
  assert(!exists(other));
  const splits = ["--splits", "pair=10,time=10", "--quiet"];
  const stranger = await runStageProcess(allOf(other, "--checkpoint", run, ...splits));
  assertEquals(stranger.code, 1);
  assertMatch(stranger.stderr, /it was trained on data with fingerprint [0-9a-f]{16}, but /);
});

Deno.test("eval --all-splits of few sources names the splits without predictions", async () => {
  const [few, of] = [folder.at("few.parquet"), folder.at("few")];
  const size = ["--rows", "2000", "--probes", "4", "--destinations", "3"];
  await succeed("synth", "--output", few, ...size);
  const args = allOf(of, ...TRAINING, "--splits", "probe=10,pair=20").with(2, few);
  const { stdout } = await succeed(...args);
  const { splits, empty } = readReport(of);
  assertEquals([splits, empty].map((each) => each.map(({ mode }) => mode)), [["pair"], ["probe"]]);
  assertEquals(splits[0].counts.val, 0);
  assertStringIncludes(stdout, "sources never seen in training: none");
  assertStringIncludes(
    Deno.readTextFileSync(join(of, "report.html")),
    "No predictions for sources",
  );
});

Deno.test("eval --all-splits replaces results of other options only with --overwrite", async () => {
  const of = folder.at("replaced");
  const run = (...more: string[]) => runStageProcess(allOf(of, ...TRAINING, "--quiet", ...more));
  await succeeded(run("--splits", "row=10"));
  const other = ["--splits", "row=20"];
  assertEquals((await run(...other)).code, 1);
  await succeeded(run(...other, "--overwrite"));
  assertEquals(readReport(of).splits.map(({ heldOutPercent }) => heldOutPercent), [20]);
  const again = await run(...other, "--every-context");
  assertEquals(again.code, 1);
  assertMatch(again.stderr, /eval\/row.*--overwrite/);
});

Deno.test("eval --all-splits --max-time trains as many steps as fit and remembers the number", async () => {
  const timed = folder.at("timed");
  const args = allOf(
    timed,
    ...TRAINING,
    "--set",
    "train.steps=12",
    "--max-time",
    "1s",
    "--splits",
    "pair=20",
  );
  const { stderr } = await succeed(...args);
  const { run: { step } } = readReport(timed);
  assert(step >= 10 && step <= 12, `${step} steps`);
  assertMatch(stderr, /measuring the training speed/);
  const again = await runStageProcess(args);
  assertEquals([again.code, /measuring the training speed/.test(again.stderr)], [0, false], again.stderr);
});
