/**
 * The demo's figures in README.md, taken from the demo's own result. Run as a program, it writes
 * `tests/golden/demo/`; see PROVENANCE.md there.
 *
 * @module
 */
import { assert } from "@std/assert";
import { join } from "@std/path";
import { checkOutputs } from "../../lib/io/files/checked_outputs.ts";
import { loadConfig, planRun } from "../../lib/train/run_config.ts";
import { openRows, openValidation } from "../../lib/train/run_data.ts";
import { runStageProcess, succeeded } from "../cli/process.ts";

/**
 * The run in README.md, and a shorter one for a test. Neither reaches its time limit, even on a busy machine.
 */
export const FIGURE_RUNS = {
  demo: ["--minutes", "30"],
  short: ["--minutes", "30", "--steps", "100"],
} as const;

/** Folder with the figures of {@link FIGURE_RUNS} and the answer of `query rtt` that README.md shows. */
export const GOLDEN = new URL("../golden/demo/", import.meta.url);

export interface DemoFigures {
  steps: number;
  adapter: string;
  /** Bits per validation token: the model's mean, and the entropy of the token frequencies. */
  validationBits: number;
  unigramBits: number;
  numMeasurements: number;
  /** Median absolute error of the predicted RTTs, and its 95 % interval. */
  medianErrorMs: number;
  medianErrorIntervalMs: [number, number];
  /** The same error of the best baseline, the comparison's verdict, the source median's error. */
  bestErrorMs: number;
  verdict: string;
  sourceErrorMs: number;
}

/** The figures of a demo, from the JSON that it printed and the rows in its folder. */
export async function figuresOf(demo: string, result: DemoResult): Promise<DemoFigures> {
  const { rtt, run } = JSON.parse(Deno.readTextFileSync(join(demo, "eval", "report.json")));
  const { medianAbsoluteMs, intervals } = rtt.model.overall;
  const comparison = rtt.comparisons.find((each: { metric: string; numContext: number | null }) =>
    each.metric === "medianAbsoluteMs" && each.numContext === null
  );
  const sourceMedian = rtt.baselines.find((each: { name: string }) => each.name === "source median");
  return {
    steps: result.steps,
    adapter: run.adapter,
    validationBits: result.eval_loss / Math.LN2,
    unigramBits: await unigramBits(join(demo, "rows")),
    numMeasurements: run.numMeasurements,
    medianErrorMs: medianAbsoluteMs,
    medianErrorIntervalMs: intervals.medianAbsoluteMs,
    bestErrorMs: comparison.baseline,
    verdict: comparison.verdict,
    sourceErrorMs: sourceMedian.overall.medianAbsoluteMs,
  };
}

interface DemoResult {
  steps: number;
  eval_loss: number;
}

/** Entropy of the validation tokens: the loss of a model that knows only token frequencies. */
async function unigramBits(dataDir: string): Promise<number> {
  const checked = await checkOutputs([dataDir], {});
  using rows = await openRows({ dataDir, checked, onCorrupt: "error", onLog() {} });
  const counts = new Map<number, number>();
  let total = 0;
  for (const { targets, lossMask } of await openValidation(rows, planRun(loadConfig("demo")))) {
    for (const [i, target] of targets.entries()) {
      if (lossMask[i] === 0) continue;
      counts.set(target, (counts.get(target) ?? 0) + 1);
      total++;
    }
  }
  return -[...counts.values()].reduce((sum, count) => sum + count / total * Math.log2(count / total), 0);
}

if (import.meta.main) {
  const [folder] = Deno.args;
  assert(folder, "a folder for the runs is expected");
  const figures: Record<string, DemoFigures> = {};
  for (const [name, args] of Object.entries(FIGURE_RUNS)) {
    const demo = join(folder, name);
    const { stdout, stderr } = await succeeded(
      runStageProcess(["demo", "--output", demo, "--json", ...args]),
    );
    figures[name] = await figuresOf(demo, JSON.parse(stdout));
    const [, answer] = /\n(RTT [^]*?)\nlearned /.exec(`${stderr}learned `) ?? [];
    if (name === "demo") Deno.writeTextFileSync(new URL("query_rtt.txt", GOLDEN), `${answer}\n`);
  }
  Deno.writeTextFileSync(new URL("figures.json", GOLDEN), `${JSON.stringify(figures, undefined, 2)}\n`);
}
