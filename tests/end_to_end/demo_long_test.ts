/** The whole chain in real processes, short: what a new user does first. */
import { assert, assertAlmostEquals, assertEquals, assertLess, assertStringIncludes } from "@std/assert";
import { fromFileUrl, join } from "@std/path";
import { DEMO_CAMPAIGN } from "../../tasks/demo.command.ts";
import { runStageProcess, succeeded } from "../cli/process.ts";
import { TestServer } from "../serve/test_server.ts";
import { type DemoFigures, type DemoResult, figuresOf, GOLDEN } from "./demo_figures.ts";

const wanted: DemoFigures = JSON.parse(Deno.readTextFileSync(new URL("figures.json", GOLDEN)));
const folder = Deno.makeTempDirSync();
const demo = join(folder, "demo");
const SHORT = ["--output", demo, "--minutes", "30", "--steps", "60"];

Deno.test.afterAll(() => Deno.removeSync(folder, { recursive: true }));

/** Runs the demo in its folder. @returns What it reports and prints. */
async function runDemo(): Promise<{ result: DemoResult; stderr: string }> {
  const { stdout, stderr } = await succeeded(runStageProcess(["demo", ...SHORT, "--json"]));
  return { result: JSON.parse(stdout), stderr };
}

let first: DemoResult;

Deno.test("demo runs the chain, learns and compares with baselines on every split", async () => {
  const { result, stderr } = await runDemo();
  first = result;
  const { splits, steps, outages } = figuresOf(result);
  assertEquals(steps, 60);
  assertEquals(outages, wanted.outages);
  // The baselines do not depend on the model, so they are the same as in README.md.
  const rivalsOf = (figures: DemoFigures) =>
    figures.splits.map(({ mode, answers }) => ({ mode, best: answers.map(({ best }) => best) }));
  for (const [i, { mode, best }] of rivalsOf({ steps, splits, outages }).entries()) {
    const of = rivalsOf(wanted)[i];
    assertEquals(mode, of.mode);
    best.forEach((ms, k) => assertAlmostEquals(ms, of.best[k], 1e-9, mode));
  }
  // It learned: known pairs are far more certain than unknown ones.
  const [errorOfPair, errorOfTime] = ["pair", "time"].map((mode) =>
    splits.find((split) => split.mode === mode)?.answers[0].model ?? NaN
  );
  assertLess(errorOfTime, errorOfPair / 4);
  assertEquals(result.page, join(demo, "report.html"));
  assertStringIncludes(Deno.readTextFileSync(result.page), "<html");
  assertStringIncludes(stderr, "deno task query rtt --checkpoint");
});

Deno.test("demo is idempotent and refuses other options", async () => {
  const { result, stderr } = await runDemo();
  assertEquals({ ...result, seconds: 0 }, { ...first, seconds: 0 });
  assertStringIncludes(stderr, "complete");
  const other = await runStageProcess(["demo", ...SHORT.slice(0, -1), "70"]);
  assertEquals(other.code, 1);
  assertStringIncludes(other.stderr, "--overwrite");
});

Deno.test("demo prints the command that serves its model, and an address with its question", async () => {
  const { stdout } = await runStageProcess(["demo", ...SHORT]);
  const [, checkpoint] = /deno task serve --checkpoint (\S+)/.exec(stdout) ?? [];
  const address = URL.parse(/open (\S+)/.exec(stdout)?.[1] ?? "");
  await using server = await TestServer.start(checkpoint);
  assertStringIncludes(await (await server.fetch("/")).text(), "page.js");
  const model = await (await server.fetch("/v1/model")).json();
  assertEquals(model.evaluation.methods[0].name, "model");
  const question = await server.fetch(`/v1/rtt${address?.hash.replace("#ask", "")}`);
  const { src, quantiles_ms, basis } = await question.json();
  assert(basis.pair.measurements >= 100, basis.text);
  assertEquals(src, first.query.src);
  assertEquals(quantiles_ms, first.query.quantiles_ms);
});

Deno.test("query rtt prints the distribution of demo's question, and how much of a context it used", async () => {
  const { src, dst } = first.query;
  const context = fromFileUrl(new URL(`../../${DEMO_CAMPAIGN.measurements}`, import.meta.url));
  const { stdout, stderr } = await succeeded(runStageProcess([
    ...["query", "rtt", "--checkpoint", join(demo, "train"), "--src", src, "--dst", dst],
    ...["--time", "2019-05-20T12:00:00Z", "--context", context],
  ]));
  assertStringIncludes(stdout, "  median  ");
  assertStringIncludes(stderr, "the newest 14 of 4096 context measurements were used");
});

Deno.test("train and inspect name the file and byte of damaged or truncated probe rows", async () => {
  const rows = join(folder, "damaged");
  for (const split of ["train", "val"]) {
    Deno.mkdirSync(join(rows, split), { recursive: true });
    for (const { name } of Deno.readDirSync(join(demo, "rows/time", split))) {
      Deno.copyFileSync(join(demo, "rows/time", split, name), join(rows, split, name));
    }
  }
  const [first] = [...Deno.readDirSync(join(rows, "train"))].map(({ name }) => join(rows, "train", name))
    .sort();
  const whole = Deno.readFileSync(first);
  const flipped = whole.slice();
  flipped[1000] ^= 1;
  for (const [bytes, where] of [[flipped, /byte \d+/], [whole.subarray(0, 70_000), /byte|bytes/]] as const) {
    Deno.writeFileSync(first, bytes);
    for (
      const args of [["inspect", first], [
        "train",
        "--data",
        rows,
        "--run",
        join(folder, "run"),
        "--steps",
        "1000",
      ]]
    ) {
      const { code, stderr } = await runStageProcess(args);
      const last = stderr.trim().split("\n").at(-1) ?? "";
      assertEquals(code, 1, stderr);
      assertStringIncludes(last, first);
      assert(where.test(last), last);
      assert(!stderr.includes("    at "), stderr);
    }
  }
  Deno.writeFileSync(first, flipped);
  const run = join(folder, "skipping");
  const skipping = await succeeded(runStageProcess([
    "train",
    ...["--data", rows, "--run", run, "--steps", "2", "--on-corrupt", "skip", "--json"],
  ]));
  assertEquals(JSON.parse(skipping.stdout).step, 2);
});
