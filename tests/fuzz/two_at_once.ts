/**
 * Two processes that write one output at the same time: one of them makes it, the other one is refused or finds it
 * made. In the end the whole result of one that ended well is there.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { join } from "@std/path";
import { RandomStream } from "../../lib/base/random.ts";
import { outputOf, type ProcessResult, spawnStage } from "../cli/process.ts";
import { comparableFiles, runToEnd, stageArguments, type TrialStage } from "./trial_stages.ts";

/** The options of the two: the same, different, or the second one replaces the first one's result. */
const MODES = ["same", "different", "overwrite"] as const;

/** Gives a process a table of processes of its own, in which it has the number 1, as in a container. */
const CONTAINER = ["unshare", "--pid", "--fork", "--mount-proc"];

/** How the trials of a stage went. */
export interface TwoAtOnceSummary {
  stage: TrialStage;
  /** Trials by mode. */
  trials: Record<string, number>;
  /** Of them, those in which both processes had the same number. */
  sameProcessNumber: number;
  /** Trials in which one was refused because the other one was writing. */
  refused: number;
}

/** Whether processes can have equal numbers here. */
export async function canEqualProcessNumbers(): Promise<boolean> {
  if (Deno.build.os !== "linux") return false;
  const [program, ...args] = CONTAINER;
  try {
    return (await new Deno.Command(program, { args: [...args, "true"], stderr: "null" }).output()).success;
  } catch {
    return false;
  }
}

/**
 * Starts two at once, `count` times.
 *
 * @param options `folder`: where the inputs are; `equalNumbers`: whether both get the same process number in half of
 *   the trials.
 * @throws {AssertionError} If a result is lost or mixed, or both end well where one must be refused.
 */
export async function runTwoAtOnce(
  stage: TrialStage,
  options: {
    folder: string;
    count: number;
    seed: number;
    equalNumbers: boolean;
    onTrial?: (done: number) => void;
  },
): Promise<TwoAtOnceSummary> {
  const { folder, count, seed, equalNumbers } = options;
  const place = (name: string) => join(folder, `${stage}-${name}`);
  const wanted: Record<string, string>[] = [];
  const startMs = performance.now();
  for (const variant of [0, 1]) {
    await runToEnd(stageArguments(stage, folder, join(place("whole"), "out"), variant));
    wanted.push(comparableFiles(place("whole")));
    Deno.removeSync(place("whole"), { recursive: true });
  }
  const runMs = (performance.now() - startMs) / 2;
  const summary: TwoAtOnceSummary = { stage, trials: {}, sameProcessNumber: 0, refused: 0 };
  for (let trial = 0; trial < count; trial++) {
    const random = new RandomStream(seed, `tests/fuzz/two_at_once/${stage}`, trial);
    const mode = MODES[trial % MODES.length];
    const isContained = equalNumbers && trial % 2 === 1;
    const delayMs = random.below(2) === 0 ? 0 : runMs * random.float64();
    const output = join(place("both"), "out");
    const replacing = mode === "overwrite" ? [stage === "train" ? "--fresh" : "--overwrite"] : [];
    const commands = [
      stageArguments(stage, folder, output),
      [...stageArguments(stage, folder, output, mode === "same" ? 0 : 1), ...replacing],
    ];
    const what = `${stage}, ${mode}, trial ${trial} (the second ${delayMs.toFixed(0)} ms later)`;
    const endings = await Promise.all(commands.map(async (command, i) => {
      await new Promise((resolve) => setTimeout(resolve, i * delayMs));
      return await outputOf(spawnStage(command, isContained ? { launcher: CONTAINER } : {}));
    }));
    summary.refused += Number(check(endings, { mode, wanted, found: comparableFiles(place("both")), what }));
    summary.trials[mode] = (summary.trials[mode] ?? 0) + 1;
    summary.sameProcessNumber += Number(isContained);
    Deno.removeSync(place("both"), { recursive: true });
    options.onTrial?.(trial + 1);
  }
  return summary;
}

/** @returns Whether one was refused because the other one was writing. */
function check(
  endings: readonly ProcessResult[],
  { mode, wanted, found, what }: {
    mode: typeof MODES[number];
    wanted: readonly Record<string, string>[];
    found: Record<string, string>;
    what: string;
  },
): boolean {
  const failed = endings.filter(({ code }) => code !== 0);
  const said = endings.map(({ stderr }) => stderr.trim()).join(" | ");
  assert(failed.length <= 1, `${what}: both failed: ${said}`);
  for (const { code, stderr } of failed) {
    assertEquals(code, 1, `${what}: ${stderr}`);
    assertMatch(stderr, /(^|\n)error: Cannot [^\n]+\n$/, what);
  }
  if (mode === "different") assertEquals(failed.length, 1, `${what}: both ended well, so one result is lost`);
  const winners = endings.flatMap(({ code }, i) => code === 0 ? [mode === "same" ? 0 : i] : []);
  const isResult = winners.some((variant) => JSON.stringify(found) === JSON.stringify(wanted[variant]));
  if (!isResult) assertEquals(found, wanted[winners[winners.length - 1]], what);
  return said.includes("another process is writing");
}
