/**
 * The progress of an output that one run or several tasks write, from its manifests and the sizes of its files.
 *
 * @module
 */
import { basename, dirname, join } from "@std/path";
import { formatBytes, formatCount } from "../text/quantities.ts";
import { shortened } from "../errors.ts";
import { type ArrayTask, formatIndexes, ONLY_TASK } from "../files/array_task.ts";
import { isSameRun, type Manifest, manifestPathBeside, readManifest } from "../files/manifest.ts";
import { MANIFEST, NEXT, placeOfFile } from "../files/output_place.ts";
import { readLock } from "../files/output_lock.ts";
import { listTasks, manifestName, workName } from "../files/task_manifests.ts";
import type { Fact } from "./report.ts";
import {
  faultsOfSizes,
  infoOf,
  newestChangeMs,
  type Progress,
  stateOfWork,
  type StatusReport,
  statusReport,
  type WorkState,
} from "./work_state.ts";

/** The longest list of tasks as text; JSON has the whole list. */
const SHOWN_LIST = 400;

/** The name for outputs without a subfolder. */
const WHOLE = "all";

/** The progress of one of an output's runs or tasks. */
interface Part {
  index: number;
  /** Undefined for a task that has not begun. */
  state: WorkState | undefined;
  why: string;
  manifest: Manifest | undefined;
}

/**
 * Reads the progress of an output folder.
 *
 * @param folder The folder, which has a manifest or a work folder.
 * @param nowMs The time, milliseconds since 1970.
 * @throws {FormatError} If a manifest is damaged.
 * @throws {UserError} If a file cannot be read.
 */
export function folderStatus(folder: string, nowMs: number): StatusReport {
  const [{ count }] = [...listTasks(folder), ONLY_TASK];
  const parts = Array.from({ length: count }, (_, i) => {
    const task: ArrayTask = { index: i + 1, count };
    const places = { manifestPath: join(folder, manifestName(task)), work: join(folder, workName(task)) };
    return { index: task.index, ...stateOfPart(folder, places, nowMs) };
  });
  return describe(folder, parts);
}

/** {@link folderStatus} for an output file, whose manifest is beside it. */
export function fileStatus(file: string, nowMs: number): StatusReport {
  const { path, work } = placeOfFile(file);
  const part = stateOfPart(dirname(path), { manifestPath: manifestPathBeside(path), work }, nowMs);
  return describe(file, [{ index: 1, ...part }]);
}

/** Whether a stage wrote an output file, or has begun to. */
export function isOutputFile(file: string): boolean {
  const { path, work } = placeOfFile(file);
  return infoOf(manifestPathBeside(path)) !== undefined || infoOf(work) !== undefined;
}

/** @param root The folder that paths in the manifest are relative to. */
function stateOfPart(
  root: string,
  { manifestPath, work }: { manifestPath: string; work: string },
  nowMs: number,
): Omit<Part, "index"> {
  // In this order, because a run that ends moves its manifest from the one path to the other.
  const begun = readManifest(join(work, MANIFEST));
  const published = readManifest(manifestPath);
  const manifest = begun ?? published;
  if (manifest?.complete) {
    const faults = faultsOfSizes([root, join(work, NEXT)], manifest.outputs);
    if (faults.length > 0) return { manifest, state: "broken", why: faults.join("; ") };
    if (!begun) return { manifest, state: "done", why: "" };
  }
  if (!manifest && !readLock(work)) return { manifest, state: undefined, why: "" };
  const sign = { what: basename(work), changedMs: newestChangeMs(work), nowMs };
  return { manifest, ...stateOfWork(work, sign) };
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
    ["outputs", `${files}, ${formatBytes(outputBytes)}`, { madeBy, outputs: outputs.length, outputBytes }],
    ["rows", counts.join(", ") || undefined, { rows }],
  ];
  const about = { kind: madeBy ?? "output", path };
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
    return { state: "broken", why: "its manifests are of runs with other inputs or options; make it again" };
  }
  const working = parts.find(({ state }) => state === "working");
  if (working) return { state: "working", why: named(working) };
  if (parts.every(({ state }) => state === "done")) return { state: "done", why: "" };
  const stopped = parts.find(({ state }) => state === "stopped");
  return { state: "stopped", why: stopped ? named(stopped) : "the missing tasks have not begun" };
}

/** Rows of the outputs so far, by their subfolder, such as `train`; `all` for those without. */
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
