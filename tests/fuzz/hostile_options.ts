/**
 * Numbers that no user means, for every option that takes a number and every key of the configuration: the stage ends
 * well or with one line, or is at work and stops when it is told to.
 *
 * @module
 */
import { assert, assertMatch } from "@std/assert";
import { join } from "@std/path";
import { RandomStream } from "../../lib/base/random.ts";
import { outputOf, runStageProcess, spawnStage } from "../cli/process.ts";
import { stageArguments, TRIAL_STAGES, type TrialStage } from "./trials.ts";

const VALUES = [
  ...["-1", "0", "0.5", "1e3", "65537", "4294967296", "9007199254740993", "1e18", "1e38", "1e308", "1e999"],
  ...["NaN", "Infinity", "-Infinity", "0x10", "", " ", "1,2", "x"],
];

/** A stage that is still at work after so long is told to stop. */
const WORK_MS = 4000;
/** So long it may take to stop: a step of a large model. */
const STOP_MS = 20_000;
/** Bound on the process's own writable memory (RLIMIT_DATA, getrlimit(2)), kB. */
const MEMORY_KB = 6_000_000;

/** How the trials went: which command ended how. */
export interface HostileOptionSummary {
  numDone: number;
  numRefused: number;
  numStopped: number;
}

/**
 * Runs stages with hostile numbers, `count` times.
 *
 * @param folder Where the inputs of the trials are.
 * @throws {AssertionError} If a stage ends with more than a line, or does not stop.
 */
export async function tryHostileOptions(
  options: { folder: string; count: number; seed: number; onTrial?: (done: number) => void },
): Promise<HostileOptionSummary> {
  const { folder, count, seed } = options;
  const summary: HostileOptionSummary = { numDone: 0, numRefused: 0, numStopped: 0 };
  const choices: [TrialStage, string][] = [];
  for (const stage of TRIAL_STAGES) {
    for (const option of await numberOptions(stage)) choices.push([stage, option]);
  }
  for (const key of numberKeys("", JSON.parse(Deno.readTextFileSync(CONFIG)))) choices.push(["train", key]);
  const output = join(folder, "hostile");
  for (let trial = 0; trial < count; trial++) {
    const random = new RandomStream(seed, "tests/fuzz/hostile_options", trial);
    const [stage, option] = choices[random.below(choices.length)];
    const value = VALUES[random.below(VALUES.length)];
    const hostile = option.startsWith("--") ? [`${option}=${value}`] : ["--set", `${option}=${value}`];
    const own = withoutOption(stageArguments(stage, folder, output), option);
    const what = `${stage} ${hostile.join(" ")} (trial ${trial})`;
    const { code, stderr, wasStopped } = await runBounded([...own, ...hostile]);
    const isOneLine = /(^|\n)error: [^\n]+\n$/;
    if (wasStopped) {
      assert([0, 1, 75].includes(code), `${what} ended with ${code} when it was told to stop: ${stderr}`);
      summary.numStopped++;
    } else if (code === 0) summary.numDone++;
    else {
      assert([1, 2].includes(code), `${what} ended with ${code}: ${stderr}`);
      assertMatch(stderr, isOneLine, what);
      summary.numRefused++;
    }
    try {
      Deno.removeSync(output, { recursive: true });
    } catch { /* nothing was written */ }
    options.onTrial?.(trial + 1);
  }
  return summary;
}

const CONFIG = new URL("../../configs/demo.json", import.meta.url);

/** The options of a stage that take a number, as its help lists them. */
async function numberOptions(stage: string): Promise<string[]> {
  const { stdout } = await runStageProcess([stage, "--help"]);
  return [...stdout.matchAll(/^ {2}(--[a-z0-9-]+) (?:N|X|A,B,C|N,N,…)\b/gm)].map(([, option]) => option);
}

/** The paths of a configuration's keys with a number, such as `model.width`. */
function numberKeys(path: string, value: unknown): string[] {
  if (typeof value === "number") return [path];
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    numberKeys(path === "" ? key : `${path}.${key}`, inner)
  );
}

/** The command without its own value of an option, which may be given once. */
function withoutOption(args: readonly string[], option: string): string[] {
  const at = args.indexOf(option);
  return at < 0 ? [...args] : args.toSpliced(at, 2);
}

async function runBounded(
  args: readonly string[],
): Promise<{ code: number; stderr: string; wasStopped: boolean }> {
  const launcher = Deno.build.os === "linux"
    ? ["sh", "-c", `ulimit -d ${MEMORY_KB} && exec "$0" "$@"`]
    : undefined;
  const child = spawnStage(args, launcher ? { launcher } : {});
  let wasStopped = false;
  const timers = [
    setTimeout(() => {
      wasStopped = true;
      child.kill("SIGTERM");
    }, WORK_MS),
    setTimeout(() => child.kill("SIGKILL"), WORK_MS + STOP_MS),
  ];
  const { code, stderr } = await outputOf(child);
  timers.forEach(clearTimeout);
  return { code, stderr, wasStopped };
}
