/**
 * Signals to each stage at random moments, kill -9 among them: the rerun must end with the files of a run that nothing
 * disturbed, byte for byte, times aside.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { join } from "@std/path";
import { RandomStream } from "../../lib/base/random.ts";
import { outputOf, type ProcessResult, spawnStage } from "../cli/process.ts";
import { comparableFiles, runToEnd, stageArguments, type TrialStage } from "./trial_stages.ts";

/** The signals, and the exit codes of a process that one of them ends. */
const SIGNALS: [signal: Deno.Signal, codes: number[]][] = [
  ["SIGKILL", [137]],
  ["SIGINT", [130]],
  // In the moments before a program can listen to signals, they end its process without a word.
  ["SIGTERM", [75, 143]],
  ["SIGUSR2", [75, 140]],
];
/** Share of the trials in which the rerun is interrupted too, and the third run. */
const AGAIN_ONE_IN = 3;
const WORK_FOLDER = "out";

/** How the trials of a stage went. */
export interface InterruptionSummary {
  stage: TrialStage;
  /** Trials in which the first run was interrupted before it ended. */
  numTrials: number;
  /** Interruptions of all runs by signal. */
  bySignal: Record<string, number>;
  /** Time of the last run that nothing disturbed; signals come within it. */
  seconds: number;
}

/**
 * Interrupts a stage in `count` trials, each with an output of its own, and compares what the rerun leaves.
 *
 * @param options `folder`: where the inputs are.
 * @throws {AssertionError} If a run ends in another way than it should, or a rerun fails or leaves other bytes.
 */
export async function interruptStage(
  stage: TrialStage,
  options: { folder: string; count: number; seed: number; onTrial?: (done: number) => void },
): Promise<InterruptionSummary> {
  const { folder, count, seed } = options;
  const place = (name: string) => join(folder, `${stage}-${name}`, WORK_FOLDER);
  const startMs = performance.now();
  await runToEnd(stageArguments(stage, folder, place("whole")));
  const wanted = comparableFiles(join(folder, `${stage}-whole`));
  assert(Object.keys(wanted).length > 0, `${stage} wrote nothing`);
  const summary: InterruptionSummary = { stage, numTrials: 0, bySignal: {}, seconds: secondsSince(startMs) };
  for (let trial = 0; summary.numTrials < count; trial++) {
    assert(trial < 3 * count, `${stage} ended before its signal in ${trial - summary.numTrials} trials`);
    const random = new RandomStream(seed, `tests/fuzz/interruptions/${stage}`, trial);
    const args = stageArguments(stage, folder, place("stopped"));
    const done: string[] = [];
    do {
      const [signal, codes] = SIGNALS[random.below(2) === 0 ? 0 : random.below(SIGNALS.length)];
      const delayMs = 1000 * summary.seconds * random.float64();
      const { code, stderr, seconds } = await signalAfter(args, signal, delayMs);
      const what = `${stage} with ${signal} after ${delayMs.toFixed(0)} ms, trial ${trial}`;
      assert([0, ...codes].includes(code), `${what} ended with ${code}: ${stderr}`);
      if (code === 75) assertMatch(stderr, /(^|\n)error: stopped by \w+; [^\n]+\n$/, what);
      if (code !== 0) {
        summary.bySignal[signal] = (summary.bySignal[signal] ?? 0) + 1;
        done.push(what);
      } else {
        // Where other programs held up the run that was timed, its time would be too long for good.
        if (done.length === 0) summary.seconds = seconds;
        break;
      }
    } while (random.below(AGAIN_ONE_IN) === 0);
    const what = done.join(", then ");
    await runToEnd(args, what);
    assertEquals(comparableFiles(join(folder, `${stage}-stopped`)), wanted, what);
    Deno.removeSync(join(folder, `${stage}-stopped`), { recursive: true });
    if (done.length === 0) continue;
    summary.numTrials++;
    options.onTrial?.(summary.numTrials);
  }
  Deno.removeSync(join(folder, `${stage}-whole`), { recursive: true });
  return summary;
}

/** Starts a command and sends it a signal. @returns How it ended, perhaps before. */
async function signalAfter(
  args: string[],
  signal: Deno.Signal,
  delayMs: number,
): Promise<ProcessResult & { seconds: number }> {
  const startMs = performance.now();
  const child = spawnStage(args);
  const timer = setTimeout(() => {
    try {
      child.kill(signal);
    } catch { /* it has ended */ }
  }, delayMs);
  const result = await outputOf(child);
  clearTimeout(timer);
  return { ...result, seconds: secondsSince(startMs) };
}

function secondsSince(startMs: number): number {
  return (performance.now() - startMs) / 1000;
}
