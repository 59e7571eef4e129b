/**
 * How far an output is that one run or several tasks write, from its manifests and the sizes of its files.
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
import {
  faultsOfSizes,
  infoOf,
  knownFacts,
  newestChangeMs,
  stateOfWork,
  type StatusReport,
  type WorkState,
} from "./work_state.ts";

/** A list of tasks is shown up to this length; JSON has it whole. */
const SHOWN_LIST = 400;

/** Stands for outputs that are in no folder of theirs. */
const WHOLE = "all";

/** Where one of the runs that write an output does so. */
interface Part {
  index: number;
  /** The folder that paths in its manifest are relative to. */
  root: string;
  manifestPath: string;
  work: string;
}

/** How far one of the runs is. */
interface PartState {
  index: number;
  /** Undefined for a task that nothing is there of. */
  state: WorkState | undefined;
  why: string;
  manifest: Manifest | undefined;
}

/**
 * Tells how far an output folder is.
 *
 * @param folder The folder, which has a manifest or a work folder.
 * @param nowMs The time, milliseconds since 1970.
 * @throws {FormatError} If a manifest is none.
 * @throws {UserError} If a file cannot be read.
 */
export function folderStatus(folder: string, nowMs: number): StatusReport {
  const [{ count }] = [...listTasks(folder), ONLY_TASK];
  const parts = Array.from({ length: count }, (_, i) => {
    const task: ArrayTask = { index: i + 1, count };
    const [manifestPath, work] = [join(folder, manifestName(task)), join(folder, workName(task))];
    return { index: task.index, root: folder, manifestPath, work };
  });
  return describe(folder, parts.map((part) => stateOfPart(part, nowMs)));
}

/** As {@link folderStatus}, of an output file, whose manifest lies beside it. */
export function fileStatus(file: string, nowMs: number): StatusReport {
  const { path, work } = placeOfFile(file);
  const part = { index: 1, root: dirname(path), manifestPath: manifestPathBeside(path), work };
  return describe(file, [stateOfPart(part, nowMs)]);
}

/** Whether a stage wrote an output file, or has begun to. */
export function isOutputFile(file: string): boolean {
  const { path, work } = placeOfFile(file);
  return infoOf(manifestPathBeside(path)) !== undefined || infoOf(work) !== undefined;
}

function stateOfPart({ index, root, manifestPath, work }: Part, nowMs: number): PartState {
  // In this order: a run that ends moves its manifest from the one place to the other.
  const begun = readManifest(join(work, MANIFEST));
  const published = readManifest(manifestPath);
  const manifest = begun ?? published;
  if (manifest?.complete) {
    const faults = faultsOfSizes([root, join(work, NEXT)], manifest.outputs);
    if (faults.length > 0) return { index, manifest, state: "broken", why: faults.join("; ") };
    if (!begun) return { index, manifest, state: "done", why: "" };
  }
  if (!begun && !published && !readLock(work)) return { index, manifest, state: undefined, why: "" };
  return {
    index,
    manifest,
    ...stateOfWork(work, { what: basename(work), changedMs: newestChangeMs(work), nowMs }),
  };
}

function describe(path: string, parts: readonly PartState[]): StatusReport {
  const manifests = parts.flatMap(({ manifest }) => manifest ?? []);
  const { state, why } = stateOfAll(parts, manifests);
  const outputs = manifests.flatMap(({ outputs }) => outputs);
  const outputBytes = outputs.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  const rows = rowsOf(manifests);
  const counts = Object.entries(rows).map(([name, count]) =>
    name === WHOLE ? formatCount(count) : `${name} ${formatCount(count)}`
  );
  const stage = manifests.at(0)?.stage ?? null;
  const tasks = parts.length > 1 ? describeTasks(parts) : undefined;
  return {
    kind: stage ?? "output",
    path,
    state,
    progress: tasks?.progress ?? `${outputs.length} files`,
    facts: knownFacts([
      ["state", why === "" ? state : `${state}: ${why}`],
      ...tasks?.facts ?? [],
      ["outputs", `${outputs.length} files, ${formatBytes(outputBytes)}`],
      ["rows", counts.join(", ") || undefined],
    ]),
    sections: [],
    json: { madeBy: stage, state, why, ...tasks?.json, outputs: outputs.length, outputBytes, rows },
  };
}

function describeTasks(
  parts: readonly PartState[],
): { progress: string; facts: [string, string | undefined][]; json: Record<string, unknown> } {
  const indexesIn = (...states: (WorkState | undefined)[]) =>
    parts.filter(({ state }) => states.includes(state)).map(({ index }) => index);
  const lists = {
    working: formatIndexes(indexesIn("working")),
    missing: formatIndexes(indexesIn(undefined, "stopped", "broken")),
    stopped: formatIndexes(indexesIn("stopped")),
  };
  const done = indexesIn("done");
  const progress = `${done.length} of ${parts.length} tasks`;
  return {
    progress,
    facts: [
      ["tasks", `${progress} done`],
      ...Object.entries(lists).map(([label, list]): [string, string | undefined] => [
        label,
        list === "" ? undefined : shortened(list, SHOWN_LIST),
      ]),
    ],
    json: { tasks: parts.length, done: formatIndexes(done), ...lists },
  };
}

function stateOfAll(
  parts: readonly PartState[],
  manifests: readonly Manifest[],
): { state: WorkState; why: string } {
  const named = ({ index, why }: PartState) => parts.length > 1 ? `task ${index}: ${why}` : why;
  const broken = parts.filter(({ state }) => state === "broken");
  if (broken.length > 0) {
    const others = broken.length > 1 ? ` (and ${broken.length - 1} more tasks)` : "";
    return { state: "broken", why: named(broken[0]) + others };
  }
  if (manifests.some((manifest) => !isSameRun(manifest, manifests[0]))) {
    return { state: "broken", why: "its manifests are of runs with other inputs or options; make it anew" };
  }
  const working = parts.find(({ state }) => state === "working");
  if (working) return { state: "working", why: named(working) };
  if (parts.every(({ state }) => state === "done")) return { state: "done", why: "" };
  const stopped = parts.find(({ state }) => state === "stopped");
  return { state: "stopped", why: stopped ? named(stopped) : "the missing tasks have not begun" };
}

/** Rows of the outputs so far, by the folder that they are in, such as `train`; `all` of those in none. */
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
