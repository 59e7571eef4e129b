/**
 * The stages that write, with small inputs for the trials: each in two variants that must not be mixed; and
 * hostile values for their options.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { createHash } from "node:crypto";
import { dirname, join } from "@std/path";
import type { Manifest } from "../../lib/io/files/manifest.ts";
import { readMetrics } from "../../lib/train/metrics.ts";
import { outputOf, type ProcessResult, runStageProcess, spawnStage } from "../cli/process.ts";
import { folderHashes } from "../data/probe_rows/stage_fixtures.ts";
import { sampleBatch, writeParquet } from "../data/probe_rows/sample_parquet.ts";
import { readEventScalars } from "../train/training_runs.ts";
import { smallSettings } from "../train/small_run.ts";
import { RandomStream } from "../../lib/base/random.ts";
import { copyFolder } from "../io/files/temporary_folder.ts";

/** Stages that write, the fast ones first. */
export const TRIAL_STAGES = [
  "synth",
  "import",
  "shard",
  "probe-rows",
  "pretokenize",
  "train",
  "score",
  "eval",
] as const;
type TrialStage = typeof TRIAL_STAGES[number];

/** A tiny model and few steps, with more checkpoints than anyone would want. */
const TRAIN_SETTINGS = smallSettings({
  "model.sequenceLength": 64,
  "train.evalEverySteps": 10,
  "train.checkpointEverySteps": 3,
  "train.keepCheckpoints": 2,
  "train.logEverySteps": 1,
});

/** Makes the inputs of the stages. */
export async function prepareTrials(folder: string): Promise<void> {
  writeParquet(join(folder, "in.parquet"), sampleBatch({ numRows: 40_000, numBad: 20 }));
  writeParquet(join(folder, "few.parquet"), sampleBatch({ numRows: 200, numProbes: 12 }));
  Deno.writeFileSync(join(folder, "in.jsonl"), repeatedResults());
  for (const [input, output] of [["in", "rows"], ["few", "few-rows"]]) {
    const paths = ["--input", join(folder, `${input}.parquet`), "--output", join(folder, output)];
    await runToEnd(["probe-rows", ...paths, "--split-by", "row"]);
  }
  await runToEnd([...trainArguments(folder, 3), "--run", join(folder, "run")]);
}

/** Repeated ping results of 60 probes as JSON lines. */
function repeatedResults(): Uint8Array {
  const lines = Array.from({ length: 60_000 }, (_, i) =>
    JSON.stringify({
      type: "ping",
      msm_id: 1000 + i % 7,
      prb_id: 6000 + i % 60,
      timestamp: 1_602_000_000 + 60 * i,
      from: `193.0.${i % 60}.1`,
      dst_addr: i % 999 === 0 ? "nowhere" : `194.150.191.${i % 7}`,
      af: 4,
      sent: 1,
      rcvd: 1,
      size: 64,
      result: [{ rtt: 1 + i % 1009 / 7 }],
    }));
  return new TextEncoder().encode(lines.join("\n") + "\n");
}

/**
 * The command line of a stage.
 *
 * @param folder The folder with the inputs of {@link prepareTrials}.
 * @param output The output folder, or the folder of the output file.
 * @param variant 0 or 1, which lead to different results.
 */
function stageArguments(stage: TrialStage, folder: string, output: string, variant = 0): string[] {
  const parquet = ["--input", join(folder, "in.parquet"), "--output", output];
  const file = ["--output", join(output, "f.parquet")];
  const seed = ["--seed", String(variant)];
  const model = ["--checkpoint", join(folder, "run")];
  switch (stage) {
    case "synth":
      return ["synth", "--rows", "150000", ...file, ...seed];
    case "import":
      return ["import", "--input", join(folder, "in.jsonl"), ...file, "--rtt", ["mean", "each"][variant]];
    case "shard":
      return [
        ...["shard", ...parquet, ...seed, "--train-shards", "30"],
        ...["--val-shards", "4", "--test-shards", "4"],
      ];
    case "probe-rows":
      return ["probe-rows", ...parquet, ...seed, "--shards", "24", "--max-row-size-mb", "0.02"];
    case "pretokenize":
      return [
        ...["pretokenize", "--input", join(folder, "rows", "train"), "--output", output],
        ...["--sequences-per-file", "60", ...seed],
      ];
    case "train":
      return [...trainArguments(folder, 30), "--run", output, ...seed];
    case "score":
      return ["score", ...model, "--input", join(folder, "few.parquet"), ...file, ...seed, "--context", "2"];
    case "eval":
      return [
        ...["eval", ...model, "--data", join(folder, "few-rows"), "--output", output, ...seed],
        ...["--max-measurements", "5", "--contexts", "0", "--baselines", "none"],
      ];
  }
}

function trainArguments(folder: string, steps: number): string[] {
  return [
    ...["train", "--data", join(folder, "rows"), "--steps", String(steps)],
    ...TRAIN_SETTINGS,
  ];
}

/** Runs a command that must succeed. @param what Describes it in the error. */
async function runToEnd(args: readonly string[], what = "undisturbed"): Promise<void> {
  const { code, stderr } = await runStageProcess(args);
  assertEquals(code, 0, `${args[0]}, ${what}: ${stderr}`);
}

/** Hashes of all files, ignoring times; of a run only the last checkpoint, since a signal causes one more. */
export function comparableFiles(folder: string): Record<string, string> {
  const hashes = folderHashes(folder);
  const latest = Object.keys(hashes).filter((path) => CHECKPOINT.test(path)).map(checkpointOf).sort().at(-1);
  for (const path of Object.keys(hashes)) {
    const full = join(folder, path);
    if (CHECKPOINT.test(path) && checkpointOf(path) !== latest) delete hashes[path];
    else if (TIMED.test(path)) hashes[path] = "";
    else if (path.endsWith("manifest.json")) hashes[path] = sha256Of(timelessManifest(full));
    else if (path.endsWith("metrics.jsonl")) hashes[path] = sha256Of(readMetrics(full).map(timelessRecord));
    else if (path.includes("tfevents")) hashes[path] = sha256Of(readEventScalars(full).map(timelessRecord));
  }
  return hashes;
}

const CHECKPOINT = /checkpoints\/step-\d+\//;
/** Reports contain durations. */
const TIMED = /report\.(html|json)$/;

function checkpointOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/"));
}

function sha256Of(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("hex");
}

function timelessRecord(record: object): object {
  return { ...record, "train/tokens_per_second": undefined };
}

/** The inputs and options of a manifest, without how many rows an earlier run had finished. */
function timelessManifest(path: string): unknown {
  const { counts: _, outputs, ...rest } = JSON.parse(Deno.readTextFileSync(path)) as Manifest;
  return [rest, outputs.map((output) => TIMED.test(output.path) ? output.path : output)];
}

// Badly copied folders of shards and probe rows: the stage that reads them must end with a one-line error, or
// give the same result as for a good copy.

/** Faults of a copy. `files` are the files of the copy, in random order. */
const FAULTS: Record<string, (files: readonly string[], random: RandomStream) => void> = {
  "missing": ([file]) => Deno.removeSync(file),
  "replaced by another": ([file, other]) => Deno.copyFileSync(other, file),
  "cut": ([file], random) => Deno.truncateSync(file, random.below(Deno.statSync(file).size)),
  "longer": ([file]) => Deno.writeFileSync(file, new Uint8Array(1 << 16), { append: true }),
  "a byte changed": ([file], random) => {
    const bytes = Deno.readFileSync(file);
    bytes[random.below(bytes.length)] ^= 1 << random.below(8);
    Deno.writeFileSync(file, bytes);
  },
  "a stranger": ([file]) => Deno.copyFileSync(file, file.replace(/(\.\w+)$/, "-copy$1")),
  "renamed": ([file]) => Deno.renameSync(file, file.replace(/(\.\w+)$/, "-old$1")),
  "swapped": ([file, other]) => {
    Deno.renameSync(file, `${file}.swap`);
    Deno.renameSync(other, file);
    Deno.renameSync(`${file}.swap`, other);
  },
  "a split missing": ([file]) => Deno.removeSync(dirname(file), { recursive: true }),
};

/** Stages that read the copies: name, input, and the rest of the command line. */
const READERS: Record<
  string,
  { source: "shards" | "rows"; args: (folder: string, copy: string) => string[] }
> = {
  "probe-rows": { source: "shards", args: (_, copy) => ["probe-rows", "--input", copy, "--shards", "4"] },
  "shard": { source: "shards", args: (_, copy) => ["shard", "--input", copy, "--train-shards", "4"] },
  "pretokenize": { source: "rows", args: (_, copy) => ["pretokenize", "--input", copy] },
  "eval": {
    source: "rows",
    args: (folder, copy) => [
      ...["eval", "--checkpoint", join(folder, "run"), "--data", copy, "--history", "all"],
      ...["--max-measurements", "5", "--contexts", "0", "--baselines", "none"],
    ],
  },
};

/** By fault, how many copies were refused and how many did no harm. */
export type BrokenCopySummary = Record<string, { refused: number; harmless: number }>;

/**
 * Damages copies and has them read, `count` times.
 *
 * @param folder The folder with the inputs of the trials.
 * @throws {AssertionError} If a damaged copy leads to another result, or to more than a one-line error.
 */
export async function readBrokenCopies(
  options: { folder: string; count: number; seed: number; onTrial?: (done: number) => void },
): Promise<BrokenCopySummary> {
  const { folder, count, seed } = options;
  const good = { shards: join(folder, "good-shards"), rows: join(folder, "good-rows") };
  const input = ["--input", join(folder, "few.parquet")];
  const shards = ["--train-shards", "4", "--val-shards", "2", "--test-shards", "2"];
  await runToEnd(["shard", ...input, "--output", good.shards, "--split-by", "row", ...shards]);
  await runToEnd(["probe-rows", ...input, "--output", good.rows, "--split-by", "row", "--shards", "4"]);
  const wanted = new Map<string, Record<string, string>>();
  for (const [name, { source, args }] of Object.entries(READERS)) {
    const output = join(folder, `good-${name}`);
    await runToEnd([...args(folder, good[source]), "--output", output]);
    wanted.set(name, contentOf(output));
  }
  const summary: BrokenCopySummary = {};
  for (let trial = 0; trial < count; trial++) {
    const random = new RandomStream(seed, "tests/fuzz/broken_copies", trial);
    const fault = Object.keys(FAULTS)[trial % Object.keys(FAULTS).length];
    // Evaluations take longer, so there are fewer of them.
    const names = Object.keys(READERS).slice(0, random.below(6) === 0 ? undefined : -1);
    const name = names[random.below(names.length)];
    const { source, args } = READERS[name];
    const [copy, output] = [join(folder, "copy"), join(folder, "copy-out")];
    copyFolder(good[source], copy);
    const files = Object.keys(folderHashes(copy)).filter((path) => /\.(parquet|arrayrecord)$/.test(path));
    const order = files.map((path) => ({ path, key: random.float64() })).sort((a, b) => a.key - b.key);
    FAULTS[fault](order.map(({ path }) => join(copy, path)), random);
    const { code, stderr } = await runStageProcess([...args(folder, copy), "--output", output]);
    const what = `${name} of a copy with a file ${fault}, trial ${trial}`;
    const kind = summary[fault] ??= { refused: 0, harmless: 0 };
    if (code === 0) {
      assertEquals(contentOf(output), wanted.get(name), `${what} ended well with another result`);
      kind.harmless++;
    } else {
      assertMatch(stderr, /(^|\n)error: Cannot [^\n]+\n$/, what);
      assertEquals(code, 1, what);
      kind.refused++;
    }
    for (const path of [copy, output]) removeFolder(path);
    options.onTrial?.(trial + 1);
  }
  return summary;
}

/** Everything except manifests and reports, which contain paths and times. */
function contentOf(folder: string): Record<string, string> {
  const isContent = ([path]: [string, string]) => !/manifest\.json$|report\.\w+$/.test(path);
  return Object.fromEntries(Object.entries(folderHashes(folder)).filter(isContent));
}

function removeFolder(path: string): void {
  try {
    Deno.removeSync(path, { recursive: true });
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

// Signals to each stage at random moments, including kill -9: the rerun must produce the same files as an
// undisturbed run, byte for byte except times.

/** The signals, and the exit codes of the processes that they end. */
const SIGNALS: [signal: Deno.Signal, codes: number[]][] = [
  ["SIGKILL", [137]],
  ["SIGINT", [130]],
  // Before a program can listen to signals, they end its process silently.
  ["SIGTERM", [75, 143]],
  ["SIGUSR2", [75, 140]],
];
/** In one of this many trials the rerun is interrupted too, and so on. */
const AGAIN_ONE_IN = 3;
const WORK_FOLDER = "out";

export interface InterruptionSummary {
  stage: TrialStage;
  /** Trials in which the first run was interrupted before it ended. */
  numTrials: number;
  /** Interruptions of all runs, by signal. */
  bySignal: Record<string, number>;
  /** Duration of the last undisturbed run, during which signals are sent. */
  seconds: number;
}

/**
 * Interrupts a stage in `count` trials, each with its own output, and compares the results of the reruns.
 *
 * @param options `folder`: the folder with the inputs.
 * @throws {AssertionError} If a run ends in an unexpected way, or a rerun fails or produces different bytes.
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
  for (let trial = 0; trial < count; trial++) {
    const random = new RandomStream(seed, `tests/fuzz/interruptions/${stage}`, trial);
    const args = stageArguments(stage, folder, place("stopped"));
    const done: string[] = [];
    let share = 1;
    do {
      const [signal, codes] = SIGNALS[random.below(2) === 0 ? 0 : random.below(SIGNALS.length)];
      const delayMs = 1000 * summary.seconds * share * random.float64();
      const { code, stderr, seconds } = await signalAfter(args, signal, delayMs);
      const what = `${stage} with ${signal} after ${delayMs.toFixed(0)} ms, trial ${trial}`;
      assert([0, ...codes].includes(code), `${what} ended with ${code}: ${stderr}`);
      if (code === 75) assertMatch(stderr, /(^|\n)error: stopped by \w+; [^\n]+\n$/, what);
      if (code !== 0) {
        summary.bySignal[signal] = (summary.bySignal[signal] ?? 0) + 1;
        done.push(what);
        continue;
      }
      if (done.length > 0) break;
      // The run was faster than the one that was timed. Halving ensures that a signal eventually comes before
      // its end.
      summary.seconds = seconds;
      share /= 2;
      Deno.removeSync(join(folder, `${stage}-stopped`), { recursive: true });
    } while (done.length === 0 || random.below(AGAIN_ONE_IN) === 0);
    const what = done.join(", then ");
    await runToEnd(args, what);
    assertEquals(comparableFiles(join(folder, `${stage}-stopped`)), wanted, what);
    Deno.removeSync(join(folder, `${stage}-stopped`), { recursive: true });
    summary.numTrials++;
    options.onTrial?.(summary.numTrials);
  }
  Deno.removeSync(join(folder, `${stage}-whole`), { recursive: true });
  return summary;
}

/** Starts a command and sends it a signal. @returns How it ended, possibly before the signal. */
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

// Two processes that write one output at the same time: one of them makes it, the other is refused or finds
// it complete. At the end there must be the whole result of a process that succeeded.

/** The options of the two processes: the same, different, or the second replaces the first one's result. */
const MODES = ["same", "different", "overwrite"] as const;

/** Gives a process its own PID namespace, in which its number is 1, as in a container. */
const CONTAINER = ["unshare", "--pid", "--fork", "--mount-proc"];

export interface TwoAtOnceSummary {
  stage: TrialStage;
  trials: Record<string, number>;
  /** Trials in which both processes had the same number. */
  sameProcessNumber: number;
  /** Trials in which one process was refused because the other was writing. */
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
 * Starts two processes at once, `count` times.
 *
 * @param options `folder`: the folder with the inputs; `equalNumbers`: whether both get the same process
 *   number in half of the trials.
 * @throws {AssertionError} If a result is lost or mixed, or both succeed when one must be refused.
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

/** @returns Whether one was refused because the other was writing. */
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

// Absurd numbers for every numeric option and every numeric key of the configuration: the stage must succeed,
// end with a one-line error, or be at work and stop when told to.

const VALUES = [
  ...["-1", "0", "0.5", "1e3", "65537", "4294967296", "9007199254740993", "1e18", "1e38", "1e308", "1e999"],
  ...["NaN", "Infinity", "-Infinity", "0x10", "", " ", "1,2", "x"],
];

/** A stage that is still running after this time is told to stop. */
const WORK_MS = 4000;
/** How long a stage may take to stop: a step of a large model on a busy machine. */
const STOP_MS = 300_000;
/** Limit on the process's private writable memory (RLIMIT_DATA, getrlimit(2)). */
const MEMORY_KB = 6_000_000;

/** How the trials of each command ended. */
export interface HostileOptionSummary {
  numDone: number;
  numRefused: number;
  numStopped: number;
}

/**
 * Runs stages with hostile numbers, `count` times.
 *
 * @param folder The folder with the inputs of the trials.
 * @throws {AssertionError} If a stage ends with more than a one-line error, or does not stop.
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
    // On a busy machine it may be told to stop before it listens to signals, or while it refuses the value.
    const isUnheard = code === 143 && stderr === "";
    if (code === 0) summary.numDone++;
    else if (wasStopped && (code === 75 || isUnheard)) summary.numStopped++;
    else {
      assert([1, 2].includes(code), `${what} ended with ${code}: ${stderr}`);
      assertMatch(stderr, /(^|\n)error: [^\n]+\n$/, what);
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

/** The numeric options of a stage, from its help. */
async function numberOptions(stage: string): Promise<string[]> {
  const { stdout } = await runStageProcess([stage, "--help", "--all"]);
  return [...stdout.matchAll(/^ {2}(--[a-z0-9-]+) (?:N|X|A,B,C|N,N,…)\b/gm)].map(([, option]) => option);
}

/** Paths of the numeric keys of a configuration, such as `model.width`. */
function numberKeys(path: string, value: unknown): string[] {
  if (typeof value === "number") return [path];
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    numberKeys(path === "" ? key : `${path}.${key}`, inner)
  );
}

/** The command without an option and its value; the option can then be given once. */
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
