/**
 * The demo's figures in README.md, taken from the demo's own result. Run as a program, it writes
 * `tests/golden/demo/`; see PROVENANCE.md there.
 *
 * @module
 */
import { assert } from "@std/assert";
import { join } from "@std/path";
import type { AllSplitsReport, SplitResult } from "../../lib/eval/all_splits.ts";
import { runStageProcess, succeeded } from "../cli/process.ts";

/** Folder with the demo's figures and the answer of `query rtt` that README.md shows. */
export const GOLDEN = new URL("../golden/demo/", import.meta.url);

/** The questions about RTTs. */
const QUESTIONS = ["typical error of an RTT", "error of the whole distribution"];

export interface DemoFigures {
  steps: number;
  /** For each split, the median error and the CRPS: of the model and of the best baseline. */
  splits: Pick<SplitResult, "mode" | "answers">[];
  outages: { outages: number; pairs: number };
}

/** What `demo --json` prints. */
export interface DemoResult {
  steps: number;
  page: string;
  seconds: number;
  evaluation: AllSplitsReport;
  outages: DemoFigures["outages"];
  query: { src: string; dst: string; quantiles_ms: Record<string, number> };
}

export function figuresOf({ steps, outages, evaluation: { splits } }: DemoResult): DemoFigures {
  return {
    steps,
    splits: splits.map(({ mode, answers }) => ({
      mode,
      answers: answers.filter(({ question }) => QUESTIONS.includes(question)),
    })),
    outages,
  };
}

if (import.meta.main) {
  const [folder] = Deno.args;
  assert(folder, "a folder for the run is expected");
  // More than the time limit of training, so that a busy machine does not shorten it.
  const args = ["demo", "--output", join(folder, "demo"), "--minutes", "40", "--json"];
  const { stdout, stderr } = await succeeded(runStageProcess(args));
  const [, answer] = /\n(RTT [^]*?)\nlearned /.exec(`${stderr}learned `) ?? [];
  Deno.writeTextFileSync(new URL("query_rtt.txt", GOLDEN), `${answer}\n`);
  const figures = figuresOf(JSON.parse(stdout));
  Deno.writeTextFileSync(new URL("figures.json", GOLDEN), `${JSON.stringify(figures, undefined, 2)}\n`);
}
