/**
 * Reports the progress of runs and outputs to people, and to scripts that wait for them, without writing or
 * locking anything.
 *
 * @module
 */
import { basename, dirname, join } from "@std/path";
import { formatBytes, formatCount, formatLoss, formatSeconds, formatShare } from "../../base/text.ts";
import { formatTable } from "../../base/text_table.ts";
import { ConfigError, shortened, UserError } from "../../base/errors.ts";
import { type ArrayTask, formatIndexes, NEXT, ONLY_TASK, WORK } from "../../io/files/array_task.ts";
import { isSameRun, type Manifest, manifestPathBeside, readManifest } from "../../io/files/manifest.ts";
import { placeOfFile } from "../../io/files/output_place.ts";
import { readLock } from "../../io/files/output_lock.ts";
import { listTasks, manifestName, readBegun, workName } from "../../io/files/task_manifests.ts";
import { describeReports, type Fact, type Json, type Report, reportAsJson } from "./report.ts";
import { CHECKPOINTS, STATE_FILE } from "../../io/files/checkpoint_folder.ts";
import { checkpointDirectory, hasCheckpoints } from "../../train/checkpoint.ts";
import { type CheckpointState, readState } from "../../train/checkpoint_files.ts";
import { TRAINING_DATA_FILE } from "../../train/training_data.ts";
import { parseRunConfig, type RunConfig, tokensPerStep } from "../../train/run_config.ts";
import { type MetricsRecord, readLastMetrics } from "../../train/metrics.ts";
import { explained, unlessMissing } from "../../io/files/file_errors.ts";
import { exists, infoOf } from "../../io/files/inputs.ts";
import { unlessForeign } from "../../io/files/checked_outputs.ts";

/** `stopped`: the same command continues the work. */
type WorkState = "done" | "working" | "stopped" | "broken";

export interface Progress {
  state: WorkState;
  /** The reason for the state, empty for `done`. */
  why: string;
}

interface StatusReport extends Report {
  state: WorkState;
  progress: string;
}

function statusReport(
  { state, why }: Progress,
  { kind, path, progress, facts }: { kind: string; path: string; progress: string; facts: readonly Fact[] },
): StatusReport {
  const first: Fact = ["state", why === "" ? state : `${state}: ${why}`, { state, why }];
  return { kind, path, state, progress, facts: [first, ...facts] };
}

/** Up to this many reports are shown with all facts; more take one line each. */
const SHOWN_WHOLE = 5;
const SHOWN_LINES = 40;
const MAX_PATH = 60;
/** How deep runs and outputs are searched for: `demo` writes runs/demo/train. */
const MAX_LEVELS = 2;
/** The kind of outputs without a manifest. */
const NO_STAGE = "output";
const BESIDE = ".manifest.json";
/** States that need attention come first. */
const ORDER: readonly WorkState[] = ["broken", "stopped", "working", "done"];

/**
 * Reports the progress of everything at the paths: runs, output folders, output files, or folders that
 * contain several of these.
 *
 * @returns Reports in this order. An output that cannot be read counts as broken.
 * @throws {UserError} If a path is something else.
 */
export function statusOf(paths: readonly string[]): StatusReport[] {
  return paths.flatMap((path) => {
    const found = statusesAt(path, MAX_LEVELS);
    if (found.length > 0) return found;
    const fault = exists(path)
      ? "it has no manifest, expected a run, an output of a stage or a folder of these"
      : "no such file or directory";
    throw new UserError(`Cannot show the status of ${path}: ${fault}; check the path`);
  });
}

/** 0 if everything is done, 1 if something is broken, 3 if something remains to be done. */
export function exitCodeOf(reports: readonly StatusReport[]): number {
  if (reports.some(({ state }) => state === "broken")) return 1;
  return reports.every(({ state }) => state === "done") ? 0 : 3;
}

export function describeStatus(reports: readonly StatusReport[]): string {
  if (reports.length <= SHOWN_WHOLE) return describeReports(reports);
  const sorted = reports.toSorted((a, b) => ORDER.indexOf(a.state) - ORDER.indexOf(b.state));
  const lines = sorted.slice(0, SHOWN_LINES).map(({ path, kind, state, progress }) => [
    path.length <= MAX_PATH ? path : `…${path.slice(1 - MAX_PATH)}`,
    kind,
    state,
    progress,
  ]);
  const table = formatTable([["path", "kind", "state", "so far"], ...lines], { left: [0, 1, 2, 3] });
  const rest = sorted.slice(SHOWN_LINES);
  return rest.length === 0 ? table : `${table}\nand ${rest.length} more (all with --json)`;
}

export function statusAsJson(reports: readonly StatusReport[]): Json {
  const state = ORDER.find((state) => reports.some((report) => report.state === state)) ?? "done";
  return { stage: "status", state, exit_code: exitCodeOf(reports), reports: reports.map(reportAsJson) };
}

/** The status of a path and of its contents, `levels` deep. */
function statusesAt(path: string, levels: number): StatusReport[] {
  try {
    const own = readStatus(path);
    // A folder with only a lock belongs to a chain such as `demo`, whose outputs are in it.
    if (levels === 0 || own && own.kind !== NO_STAGE) return own ? [own] : [];
    return [...own ? [own] : [], ...membersOf(path).flatMap((member) => statusesAt(member, levels - 1))];
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    const why = error.message;
    return [statusReport({ state: "broken", why }, {
      kind: NO_STAGE,
      path,
      progress: shortened(why),
      facts: [],
    })];
  }
}

/** Undefined if the path is neither a run nor an output. @throws {UserError} If a file cannot be read. */
function readStatus(path: string): StatusReport | undefined {
  if (!isFolder(path)) {
    const name = basename(path);
    if (/^manifest(-\d{5}-of-\d{5})?\.json$/.test(name) && exists(path)) return readStatus(dirname(path));
    if (name.endsWith(BESIDE) && exists(path)) return fileStatus(path.slice(0, -BESIDE.length));
    return isOutputFile(path) ? fileStatus(path) : undefined;
  }
  const manifestPath = join(path, "manifest.json");
  const manifest = unlessForeign(() => readManifest(manifestPath));
  const lock = readLock(join(path, WORK));
  const isTrained = exists(join(path, CHECKPOINTS)) && exists(join(path, "metrics.jsonl"));
  if (manifest?.stage === "train" || lock?.holder.startsWith("train,") || !manifest && isTrained) {
    return runStatus(path);
  }
  // Next to the manifest of another program there may still be a run or outputs.
  const isForeign = !manifest && exists(manifestPath);
  return !isForeign && (lock || listTasks(path).length > 0) ? folderStatus(path) : undefined;
}

/** Paths in a folder that may be runs or outputs, including unfinished output files. */
function membersOf(path: string): string[] {
  if (!isFolder(path)) return [];
  const members = new Set<string>();
  for (const { name } of explained(`read ${path}`, () => [...Deno.readDirSync(path)])) {
    const work = /^\.(.+)\.work$/.exec(name)?.[1];
    if (work !== undefined) members.add(join(path, work));
    else if (name.endsWith(BESIDE)) members.add(join(path, name.slice(0, -BESIDE.length)));
    else if (!name.startsWith(".") && isFolder(join(path, name))) members.add(join(path, name));
  }
  return [...members].sort();
}

function isFolder(path: string): boolean {
  return infoOf(path)?.isDirectory ?? false;
}

/** A process without a sign of life for this long (several renewals of its lock) counts as stopped. */
const PATIENCE_MS = 60_000;

/**
 * Infers from files whether a process is working: trying the lock would take it and stop others.
 *
 * @param work The folder with the lock file.
 * @param sign `what`: the file that grows during the work; `changedMs`: when it last did; `patienceMs`: the
 *   longest pause.
 * @throws {UserError} If the lock file cannot be read.
 */
function stateOfWork(
  work: string,
  { what, changedMs, patienceMs = PATIENCE_MS }: { what: string; changedMs: number; patienceMs?: number },
): Progress {
  const lock = readLock(work);
  if (!lock) {
    return { state: "stopped", why: "no process works on it; run the same command again to continue" };
  }
  const { holder, aliveMs } = lock;
  const who = holder === "" ? "a process" : holder;
  const restMs = Math.max(0, Date.now() - Math.max(changedMs, aliveMs));
  const rest = formatSeconds(restMs / 1000);
  if (restMs > patienceMs) {
    const found = `no sign of life for ${rest}: ${who} was killed or hangs`;
    return { state: "stopped", why: `${found}; run the same command again to continue` };
  }
  const sign = changedMs > aliveMs ? `${what} grew ${rest} ago` : `its process was alive ${rest} ago`;
  return { state: "working", why: `${sign} (${who})` };
}

/** Last change of a file, ms since 1970; 0 if it does not exist. @throws {UserError} If access fails. */
function changedMsOf(path: string): number {
  return infoOf(path)?.mtime?.getTime() ?? 0;
}

/** When any file in a folder was last changed, see {@link changedMsOf}. */
function newestChangeMs(folder: string): number {
  // A working process may have moved it.
  const entries = explained(`read ${folder}`, () => unlessMissing(() => [...Deno.readDirSync(folder)])) ?? [];
  return entries.reduce((newestMs, { name, isDirectory }) => {
    const path = join(folder, name);
    return Math.max(newestMs, isDirectory ? newestChangeMs(path) : changedMsOf(path));
  }, 0);
}

/**
 * Finds files that are missing or have a wrong size.
 *
 * @returns Texts such as `train/a.parquet is missing`: the first few, then the number of others.
 */
function faultsOfSizes(
  folder: string,
  files: readonly { path: string; sizeBytes: number }[],
): string[] {
  const faults: string[] = [];
  for (const { path, sizeBytes } of files) {
    const size = infoOf(join(folder, path))?.size;
    if (size === sizeBytes) continue;
    const found = size === undefined ? "is missing" : `has ${size} bytes, expected ${sizeBytes}`;
    faults.push(`${path} ${found}`);
  }
  const rest = faults.splice(SHOWN_FAULTS);
  return rest.length === 0 ? faults : [...faults, `${rest.length} more`];
}

const SHOWN_FAULTS = 3;

/** The longest list of tasks to show, in characters; JSON has the whole list. */
const SHOWN_LIST = 400;

/** Represents outputs that are not in a subfolder. */
const WHOLE = "all";

/** The progress of one run or array task. */
interface Part {
  index: number;
  /** Undefined for tasks that have not begun. */
  state: WorkState | undefined;
  why: string;
  manifest: Manifest | undefined;
}

/**
 * @param folder A folder with a manifest or a work folder.
 * @throws {FormatError} If a manifest is damaged. @throws {UserError} If a file cannot be read.
 */
function folderStatus(folder: string): StatusReport {
  const [{ count }] = [...listTasks(folder), ONLY_TASK];
  const parts = Array.from({ length: count }, (_, i) => {
    const task: ArrayTask = { index: i + 1, count };
    const places = { manifestPath: join(folder, manifestName(task)), work: join(folder, workName(task)) };
    return { index: task.index, ...stateOfPart(folder, places) };
  });
  return describe(folder, parts);
}

/** {@link folderStatus} of an output file, whose manifest is next to it. */
function fileStatus(file: string): StatusReport {
  const { path, work } = placeOfFile(file);
  const part = stateOfPart(dirname(path), { manifestPath: manifestPathBeside(path), work });
  return describe(file, [{ index: 1, ...part }]);
}

/** Whether a stage wrote an output file or has begun to. */
function isOutputFile(file: string): boolean {
  const { path, work } = placeOfFile(file);
  return infoOf(manifestPathBeside(path)) !== undefined || infoOf(work) !== undefined;
}

/** @param root The folder that paths in the manifest are relative to. */
function stateOfPart(
  root: string,
  { manifestPath, work }: { manifestPath: string; work: string },
): Omit<Part, "index"> {
  // In this order, because a run that ends moves its manifest from the first path to the second.
  const manifest = readBegun(work) ?? readManifest(manifestPath);
  if (manifest?.complete) {
    const faults = faultsOfSizes(root, manifest.outputs);
    return faults.length > 0
      ? { manifest, state: "broken", why: faults.join("; ") }
      : { manifest, state: "done", why: "" };
  }
  if (!manifest && !readLock(work)) return { manifest, state: undefined, why: "" };
  return { manifest, ...stateOfWork(work, { what: basename(work), changedMs: newestChangeMs(work) }) };
}

function describe(path: string, parts: readonly Part[]): StatusReport {
  const manifests = parts.flatMap(({ manifest }) => manifest ?? []);
  const outputs = manifests.flatMap(({ outputs }) => outputs);
  const outputBytes = outputs.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  const rows = rowsOf(manifests);
  const counts = Object.entries(rows).map(([name, count]) =>
    name === WHOLE ? formatCount(count) : `${name} ${formatCount(count)}`
  );
  const madeBy = manifests.at(0)?.stage ?? null;
  const files = `${outputs.length} files`;
  const facts: Fact[] = [
    ["outputs", madeBy === null ? undefined : `${files}, ${formatBytes(outputBytes)}`, {
      madeBy,
      outputs: outputs.length,
      outputBytes,
    }],
    ["rows", counts.join(", ") || undefined, { rows }],
  ];
  const about = { kind: madeBy ?? NO_STAGE, path };
  const state = stateOfAll(parts, manifests);
  if (parts.length === 1) return statusReport(state, { ...about, progress: files, facts });
  const progress = `${parts.filter(({ state }) => state === "done").length} of ${parts.length} tasks`;
  return statusReport(state, {
    ...about,
    progress,
    facts: [...taskFacts(parts, `${progress} done`), ...facts],
  });
}

function taskFacts(parts: readonly Part[], tasks: string): Fact[] {
  const list = (label: string, ...states: (WorkState | undefined)[]): Fact => {
    const indexes = formatIndexes(
      parts.filter(({ state }) => states.includes(state)).map(({ index }) => index),
    );
    return [label, indexes === "" ? undefined : shortened(indexes, SHOWN_LIST), { [label]: indexes }];
  };
  return [
    ["tasks", tasks, { tasks: parts.length }],
    list("done", "done"),
    list("working", "working"),
    list("missing", undefined, "stopped", "broken"),
    list("stopped", "stopped"),
  ];
}

function stateOfAll(parts: readonly Part[], manifests: readonly Manifest[]): Progress {
  const named = ({ index, why }: Part) => parts.length > 1 ? `task ${index}: ${why}` : why;
  const broken = parts.filter(({ state }) => state === "broken");
  if (broken.length > 0) {
    const others = broken.length > 1 ? ` (and ${broken.length - 1} more tasks)` : "";
    return { state: "broken", why: named(broken[0]) + others };
  }
  if (manifests.some((manifest) => !isSameRun(manifest, manifests[0]))) {
    return {
      state: "broken",
      why: "its manifests are from runs with different inputs or options; make it again",
    };
  }
  const working = parts.find(({ state }) => state === "working");
  if (working) return { state: "working", why: named(working) };
  if (parts.every(({ state }) => state === "done")) return { state: "done", why: "" };
  const stopped = parts.find(({ state }) => state === "stopped");
  return { state: "stopped", why: stopped ? named(stopped) : "the missing tasks have not begun" };
}

/** The rows written so far, keyed by subfolder, such as `train`, or `all`. */
function rowsOf(manifests: readonly Manifest[]): Record<string, number> {
  const rows: Record<string, number> = {};
  for (const { path, counts } of manifests.flatMap(({ outputs }) => outputs)) {
    const count = counts?.measurements ?? counts?.rows;
    if (count === undefined) continue;
    const [top] = path.includes("/") ? path.split("/") : [WHOLE];
    rows[top] = (rows[top] ?? 0) + count;
  }
  return rows;
}

/** The speed is the median over this many of the latest metrics lines. */
const SPEED_RECORDS = 10;
/** The longest pause of a working process, as a multiple of the usual time between two metrics lines. */
const PATIENCE_RECORDS = 3;

interface RunTraces {
  manifest: Manifest | undefined;
  config: RunConfig | undefined;
  records: MetricsRecord[];
  metricsMs: number;
  checkpoint: { state: CheckpointState; savedMs: number } | undefined;
  faults: string[];
}

/** @throws {FormatError} If the manifest is damaged. @throws {UserError} If a file cannot be read. */
function runStatus(folder: string): StatusReport {
  const traces = readTraces(folder);
  const { config, records, checkpoint } = traces;
  const wantedSteps = config?.train.steps ?? null;
  const savedStep = checkpoint?.state.step ?? 0;
  const steps = Math.max(records.at(-1)?.step ?? 0, savedStep);
  const tokensPerSecond = speedOf(records);
  const secondsPerStep = config && tokensPerSecond ? tokensPerStep(config) / tokensPerSecond : null;
  const state = stateOfRun(folder, traces, secondsPerStep ?? 0);
  let secondsLeft: number | null = null;
  if (state.state !== "done" && wantedSteps !== null && secondsPerStep !== null) {
    // A stopped run continues from its checkpoint.
    const doneSteps = state.state === "working" ? steps : savedStep;
    secondsLeft = (wantedSteps - doneSteps) * secondsPerStep;
  }
  const timeLeft = secondsLeft === null ? undefined : `${formatSeconds(secondsLeft)} at that speed`;
  const speed = tokensPerSecond ? `${formatCount(Math.round(tokensPerSecond))} tokens/s` : undefined;
  const progress = `${steps} of ${wantedSteps ?? "?"} steps`;
  const share = wantedSteps ? ` (${formatShare(steps / wantedSteps)})` : "";
  const facts: Fact[] = [
    ["steps", progress + share, { steps, wantedSteps }],
    checkpointFact(traces),
    ["speed", speed, { tokensPerSecond }],
    ["time left", timeLeft, { secondsLeft }],
    ...lossFacts(traces),
  ];
  return statusReport(state, { kind: "run", path: folder, progress, facts });
}

function checkpointFact({ checkpoint, faults }: RunTraces): Fact {
  if (!checkpoint) return ["last checkpoint", faults.length > 0 ? "unknown" : "none", { checkpoint: null }];
  const saved = {
    step: checkpoint.state.step,
    secondsAgo: Math.max(0, Date.now() - checkpoint.savedMs) / 1000,
  };
  return ["last checkpoint", `step ${saved.step}, ${formatSeconds(saved.secondsAgo)} ago`, {
    checkpoint: saved,
  }];
}

function stateOfRun(
  folder: string,
  { manifest, records, metricsMs, checkpoint, faults }: RunTraces,
  secondsPerStep: number,
): Progress {
  if (faults.length > 0) return { state: "broken", why: faults.join("; ") };
  if (manifest?.complete) return { state: "done", why: "" };
  const stepsBetween = (records.at(-1)?.step ?? 0) - (records.at(-2)?.step ?? 0);
  return stateOfWork(join(folder, WORK), {
    what: "metrics.jsonl",
    changedMs: Math.max(metricsMs, checkpoint?.savedMs ?? 0),
    patienceMs: Math.max(PATIENCE_MS, PATIENCE_RECORDS * 1000 * stepsBetween * secondsPerStep),
  });
}

function readTraces(folder: string): RunTraces {
  // Until a run that starts over has a checkpoint, its files are in the work folder.
  const next = join(folder, WORK, NEXT);
  const place = exists(join(next, "manifest.json")) ? next : folder;
  const manifest = readManifest(join(place, "manifest.json"));
  const metricsPath = join(place, "metrics.jsonl");
  const checkpoints = join(place, CHECKPOINTS);
  const metricsMs = changedMsOf(metricsPath);
  const faults = manifest?.complete ? faultsOfSizes(folder, manifest.outputs) : [];
  const attempt = <T>(read: () => T): T | undefined => {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      faults.push(error.message);
      return undefined;
    }
  };
  const records = attempt(() => readLastMetrics(metricsPath)) ?? [];
  const config = attempt(() => manifest && configOf(manifest));
  const traces = { manifest, config, records, metricsMs, checkpoint: undefined, faults };
  // Checkpoints of another version are not read.
  if ((manifest && !config) || !hasCheckpoints(checkpoints)) return traces;
  if (!manifest) faults.push("manifest.json is missing");
  const checkpoint = attempt(() => readCheckpoint(checkpointDirectory(checkpoints), faults));
  return { ...traces, checkpoint, config: config ?? checkpoint?.state.config };
}

function configOf({ options }: Manifest): RunConfig {
  try {
    return parseRunConfig(options.config);
  } catch (cause) {
    if (!(cause instanceof ConfigError)) throw cause;
    throw new UserError(`${cause.message}; use the version of the program that wrote it`, { cause });
  }
}

/** Reads the state of a checkpoint, but not its tensors. */
function readCheckpoint(directory: string, faults: string[]): RunTraces["checkpoint"] {
  const state = readState(directory);
  const { model, optimizer, trainingData } = state.files;
  const files = [
    { path: "model.safetensors", sizeBytes: model.sizeBytes },
    { path: "optimizer.safetensors", sizeBytes: optimizer.sizeBytes },
    { path: TRAINING_DATA_FILE, sizeBytes: trainingData.sizeBytes },
  ];
  for (const fault of faultsOfSizes(directory, files)) faults.push(`${basename(directory)}: ${fault}`);
  return { state, savedMs: changedMsOf(join(directory, STATE_FILE)) };
}

/** The median tokens per second over the latest lines; null if there are none. */
function speedOf(records: readonly MetricsRecord[]): number | null {
  const speeds = records.slice(-SPEED_RECORDS).map((record) => record["train/tokens_per_second"])
    .filter((speed) => typeof speed === "number").sort((a, b) => a - b);
  return speeds[speeds.length >> 1] ?? null;
}

function lossFacts({ records, checkpoint }: RunTraces): Fact[] {
  const last = records.at(-1);
  const state = checkpoint?.state;
  const trainLoss = (last ? last["train/loss"] : state?.losses.at(-1)?.loss) ?? null;
  const evaluated = records.findLast((record) => typeof record["eval/loss"] === "number");
  const evalLoss = evaluated?.["eval/loss"] ?? state?.evalLoss ?? null;
  const evalStep = evaluated?.step ?? state?.step;
  const skippedSteps = last?.["train/skipped_steps"] ?? state?.numSkippedSteps ?? 0;
  const isBegun = last !== undefined || state !== undefined;
  const perToken = (loss: number | null) => loss === null ? undefined : `${formatLoss(loss)} per token`;
  const evalText = evalLoss === null ? undefined : `${perToken(evalLoss)} at step ${evalStep}`;
  return [
    ["training loss", isBegun ? perToken(trainLoss) ?? "not finite" : undefined, { trainLoss }],
    ["validation loss", evalText, { evalLoss }],
    ["skipped updates", skippedSteps > 0 ? String(skippedSteps) : undefined, { skippedSteps }],
  ];
}
