/**
 * The progress of runs and outputs, for a person and for a script that waits for them. Nothing is written or locked.
 *
 * @module
 */
import { basename, dirname, join } from "@std/path";
import { formatTable } from "../text/table.ts";
import { shortened, UserError } from "../errors.ts";
import { explainFileError } from "../files/file_errors.ts";
import { WORK } from "../files/array_task.ts";
import { CHECKPOINTS } from "../files/checkpoint_folder.ts";
import { exists } from "../files/inputs.ts";
import { unlessForeign } from "../files/listed_outputs.ts";
import { readManifest } from "../files/manifest.ts";
import { readLock } from "../files/output_lock.ts";
import { listTasks } from "../files/task_manifests.ts";
import { fileStatus, folderStatus, isOutputFile } from "./output_status.ts";
import { describeReports, type Json, reportAsJson } from "./report.ts";
import { runStatus } from "./run_status.ts";
import { infoOf, type StatusReport, statusReport, type WorkState } from "./work_state.ts";

/** The largest number of reports shown with all facts; more reports have a line each. */
const SHOWN_WHOLE = 5;
const SHOWN_LINES = 40;
const MAX_PATH = 60;
const BESIDE = ".manifest.json";
/** The states, those that need attention first. */
const ORDER: readonly WorkState[] = ["broken", "stopped", "working", "done"];

/**
 * Reads the progress of everything at the paths.
 *
 * @param paths Runs, output folders, output files, or folders that hold several of these.
 * @param nowMs The time, milliseconds since 1970.
 * @returns A report for each, in their order. An output that cannot be read is broken.
 * @throws {UserError} If a path is something else.
 */
export function statusOf(paths: readonly string[], nowMs: number = Date.now()): StatusReport[] {
  return paths.flatMap((path) => {
    const own = statusOfOne(path, nowMs);
    if (own) return [own];
    const members = membersOf(path).flatMap((member) => statusOfOne(member, nowMs) ?? []);
    if (members.length > 0) return members;
    throw new UserError(
      `Cannot tell the status of ${path}: it has no manifest, expected a run, an output of a stage or a folder ` +
        "of these; check the path",
    );
  });
}

/** 0: everything is done; 1: something is broken; 3: something remains to be done. */
export function exitCodeOf(reports: readonly StatusReport[]): number {
  if (reports.some(({ state }) => state === "broken")) return 1;
  return reports.every(({ state }) => state === "done") ? 0 : 3;
}

/** Reports as text: all facts of a few, a line for each of more, the last ones counted. */
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

/** Reports as one JSON object. */
export function statusAsJson(reports: readonly StatusReport[]): Json {
  const state = ORDER.find((state) => reports.some((report) => report.state === state)) ?? "done";
  return { stage: "status", state, exitCode: exitCodeOf(reports), reports: reports.map(reportAsJson) };
}

/** The status of a path; undefined if it is neither a run nor an output. */
function statusOfOne(path: string, nowMs: number): StatusReport | undefined {
  try {
    return readStatus(path, nowMs);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    const why = error.message;
    return statusReport({ state: "broken", why }, {
      kind: "output",
      path,
      progress: shortened(why),
      facts: [],
    });
  }
}

/** {@link statusOfOne}, but a file that cannot be read is an error. */
function readStatus(path: string, nowMs: number): StatusReport | undefined {
  if (!isFolder(path)) {
    const name = basename(path);
    if (/^manifest(-\d{5}-of-\d{5})?\.json$/.test(name) && exists(path)) {
      return readStatus(dirname(path), nowMs);
    }
    if (name.endsWith(BESIDE) && exists(path)) return fileStatus(path.slice(0, -BESIDE.length), nowMs);
    return isOutputFile(path) ? fileStatus(path, nowMs) : undefined;
  }
  const manifestPath = join(path, "manifest.json");
  const manifest = unlessForeign(() => readManifest(manifestPath));
  const lock = readLock(join(path, WORK));
  const isTrained = exists(join(path, CHECKPOINTS)) && exists(join(path, "metrics.jsonl"));
  if (manifest?.stage === "train" || lock?.holder.startsWith("train,") || !manifest && isTrained) {
    return runStatus(path, nowMs);
  }
  // Beside a manifest of another program there may still be a run or outputs.
  const isForeign = !manifest && exists(manifestPath);
  return !isForeign && (lock || listTasks(path).length > 0) ? folderStatus(path, nowMs) : undefined;
}

/** The paths in a folder that may be runs or outputs, including those of unfinished output files. */
function membersOf(path: string): string[] {
  if (!isFolder(path)) {
    if (exists(path)) return [];
    throw new UserError(`Cannot tell the status of ${path}: no such file or directory; check the path`);
  }
  const members = new Set<string>();
  for (const { name } of entriesOf(path)) {
    const work = /^\.(.+)\.work$/.exec(name)?.[1];
    if (work !== undefined) members.add(join(path, work));
    else if (name.endsWith(BESIDE)) members.add(join(path, name.slice(0, -BESIDE.length)));
    else if (!name.startsWith(".") && isFolder(join(path, name))) members.add(join(path, name));
  }
  return [...members].sort();
}

function entriesOf(path: string): Deno.DirEntry[] {
  try {
    return [...Deno.readDirSync(path)];
  } catch (error) {
    throw explainFileError(error, `read ${path}`);
  }
}

function isFolder(path: string): boolean {
  return infoOf(path)?.isDirectory ?? false;
}
