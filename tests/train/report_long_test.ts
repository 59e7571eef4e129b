import { assert, assertEquals, assertMatch, assertNotMatch, assertStringIncludes } from "@std/assert";
import { loadConfig, planRun } from "../../lib/train/run_config.ts";
import type { MetricsRecord } from "../../lib/train/metrics.ts";
import { writeRunReport } from "../../lib/train/report.ts";
import { TemporaryFolder } from "../io/files/temporary_folder.ts";
import { hasBrowser, layoutFaults, TestBrowser } from "../base/report/browser.ts";
import { SMALL_RUN } from "./small_run.ts";

/** Steps with training loss 1 / step, every tenth not finite, and an evaluation every 20 steps. */
function recordsOf(numSteps: number): MetricsRecord[] {
  return Array.from({ length: numSteps }, (_, i) => ({
    step: i + 1,
    "train/loss": i % 10 === 9 ? null : 1 / (i + 1),
    "train/lr": 0.01,
    "train/grad_norm": 1,
    "train/tokens_per_second": 5000,
    "train/padding": 0.125,
    "train/skipped_steps": Math.floor((i + 1) / 10),
    ...((i + 1) % 20 === 0 ? { "eval/loss": 2 + Math.abs(i - 40) } : {}),
  }));
}

async function reportOf(records: readonly MetricsRecord[], runDir = "runs/first"): Promise<string> {
  using folder = new TemporaryFolder();
  const path = folder.at("report.html");
  const plan = planRun(loadConfig(SMALL_RUN, ["train.steps=200"]));
  const run = { runDir, dataDir: "data/rows", data: "0123456789abcdef", seed: 7, loadedTeacher: undefined };
  await writeRunReport(path, { ...plan, ...run }, {
    records,
    checkpoint: "runs/first/checkpoints/step-00000100",
    engine: "dawn",
  });
  return Deno.readTextFileSync(path);
}

/** The text of a table's rows, cell by cell. */
function rowsOf(html: string): string[][] {
  return [...html.matchAll(/<tr>(.*?)<\/tr>/g)].map(([, row]) =>
    [...row.matchAll(/<t[dh]>(.*?)<\/t[dh]>/g)].map(([, cell]) => cell)
  );
}

Deno.test("writeRunReport() shows the curves, the facts, the steps and the configuration", async () => {
  const html = await reportOf(recordsOf(100));
  assertEquals([...html.matchAll(/<svg/g)].length, 5);
  for (
    const title of ["loss, bits per token", "learning rate", "gradient norm", "tokens per second", "padding"]
  ) {
    assertStringIncludes(html, `>${title}</text>`);
  }
  const rows = rowsOf(html);
  const valueOf = (name: string) => rows.find(([first]) => first === name)?.[1];
  assertEquals(valueOf("steps done"), "100 of 200");
  assertEquals(valueOf("skipped updates"), "10");
  assertEquals(valueOf("training loss"), "none");
  assertEquals(valueOf("best validation loss"), "4.328 bits per token after step 40");
  assertEquals(valueOf("seed"), "7");
  assertEquals(valueOf("train.steps"), "200");
  assertEquals(valueOf("optim.groups.head.kind"), "&quot;adamw&quot;");
  const steps = rows.filter((row) => row.length === 7).slice(1);
  assertEquals(steps.map(([step]) => step), ["1", "20", "40", "60", "80", "100"]);
  assertEquals(steps[0], ["1", "1.443 bits", "", "1.00e-2", "1.00", "5000", "12.5 %"]);
  assertEquals(steps[2].slice(0, 3), ["40", "not finite", "4.328 bits"]);
});

Deno.test("writeRunReport() writes one self-contained file without scripts", async () => {
  const html = await reportOf(recordsOf(50), `runs/<script>"&`);
  assertNotMatch(html, /<script|<link|<img|\s(src|href)=|url\((?!#)|@import/);
  assertStringIncludes(html, "<h1>Training of runs/&lt;script&gt;&quot;&amp;</h1>");
});

Deno.test("writeRunReport() stays small for long runs and accepts runs without steps or evaluations", async () => {
  const long = await reportOf(recordsOf(30_000));
  assert(long.length < 400_000, `${long.length} bytes`);
  assert(rowsOf(long).filter((row) => row.length === 7).length <= 28);
  assertStringIncludes(await reportOf([]), "No steps were logged");
  const unevaluated = await reportOf(recordsOf(3));
  assertMatch(unevaluated, /<td>validation loss<\/td><td>none<\/td>/);
  assertNotMatch(unevaluated, />validation<\/text>/);
});

Deno.test("writeRunReport() averages neighbouring steps of a long run", async () => {
  const html = await reportOf(recordsOf(1401));
  const lengths = [...html.matchAll(/ d="(M[^"]*)"/g)].map(([, path]) => path.match(/[ML]/g)?.length ?? 0);
  assertEquals(lengths.toSorted((a, b) => b - a).slice(0, 5), [467, 467, 467, 467, 467]);
});

Deno.test({
  name: "writeRunReport() writes a page that a browser shows without faults, light and dark",
  ignore: !hasBrowser(),
  async fn() {
    using folder = new TemporaryFolder();
    const path = folder.at("report.html");
    Deno.writeTextFileSync(path, await reportOf(recordsOf(100)));
    await using browser = await TestBrowser.start();
    for (const colorScheme of ["light", "dark"] as const) {
      const { page, complaints } = await browser.open(path, { width: 1000, colorScheme });
      assertEquals(complaints, []);
      assertEquals(await layoutFaults(page), []);
    }
  },
});
