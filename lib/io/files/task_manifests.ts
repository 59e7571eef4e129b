/**
 * The manifests of a folder written by one run (`manifest.json`) or several tasks
 * (`manifest-00002-of-00004.json`). Every task has its own manifest, work folder and lock, and writes only
 * its own files. All have the same inputs and options.
 *
 * @module
 */
import { join } from "@std/path";
import { UserError } from "../../base/errors.ts";
import { type ArrayTask, formatArrayTask, ONLY_TASK, taskSuffix, TRACE, WORK } from "./array_task.ts";
import { exists, infoOf, type IsRead } from "./inputs.ts";
import { areSameFiles, isSameRun, type Manifest, readManifest } from "./manifest.ts";

export function manifestName(task: ArrayTask): string {
  return `manifest${taskSuffix(task)}.json`;
}

export function workName(task: ArrayTask): string {
  return WORK + taskSuffix(task);
}

export interface TaskManifest {
  task: ArrayTask;
  manifest: Manifest;
}

/**
 * Reads the manifests of a folder's finished runs, in task order; empty if the path is not a folder.
 *
 * @param isRead Which outputs to keep in them; all by default.
 * @throws {UserError} If a run is replacing its files, or ended while it did: the folder may contain files of
 *   two runs.
 */
export function readManifests(folder: string, isRead?: IsRead): TaskManifest[] {
  let inputs: Manifest["inputs"] = [];
  return listTasks(folder).flatMap((task) => {
    const manifest = readManifest(join(folder, manifestName(task)));
    if (!manifest) return [];
    if (manifest.replaces) {
      const options = task.count > 1 ? ` --task ${formatArrayTask(task)}` : "";
      throw new UserError(
        `Cannot read ${folder}: ${manifest.stage} did not finish moving its files there, expected those of one ` +
          `run; run \`${manifest.stage}${options}\` again with the same options`,
      );
    }
    if (isRead) manifest.outputs = manifest.outputs.filter(({ path }) => isRead(join(folder, path)));
    // Usually equal for all tasks, so it is stored once.
    if (areSameFiles(manifest.inputs, inputs)) manifest.inputs = inputs;
    inputs = manifest.inputs;
    return [{ task, manifest }];
  });
}

/**
 * Checks that all runs that write to a folder are done. A folder without manifests is accepted.
 *
 * @returns The manifests as in {@link readManifests}.
 * @throws {UserError} If a task is missing or not finished, or tasks are from different runs.
 */
export function requireFinished(folder: string, isRead?: IsRead): TaskManifest[] {
  const begun = listTasks(folder);
  const found = readManifests(folder, isRead);
  const first = found.at(0)?.manifest ?? firstManifest(folder);
  if (!first) return [];
  const [{ count }] = begun;
  const stray = found.find(({ task, manifest }) => task.count !== count || !isSameRun(manifest, first));
  if (stray) {
    throw new UserError(
      `Cannot read ${folder}: ${manifestName(stray.task)} is not from the same run as ` +
        `${manifestName(begun[0])}; make the folder again with the same --input, options and N for all tasks`,
    );
  }
  const { stage } = first;
  const missing = Array.from({ length: count }, (_, i) => i + 1)
    .filter((index) => !found.some(({ task, manifest }) => task.index === index && manifest.complete));
  if (missing.length === 0) return found;
  const [index] = missing;
  const task = formatArrayTask({ index, count });
  const others = missing.length > 1 ? ` (and ${missing.length - 1} more)` : "";
  const fault = begun.some((other) => other.index === index) ? "did not finish" : "is missing";
  throw new UserError(
    count === 1
      ? `Cannot read ${folder}: the run that writes it did not finish; run \`${stage}\` again with the same options`
      : `Cannot read ${folder}: task ${task} of ${stage} ${fault}${others}; ` +
        `run \`${stage} --task ${task}\` with the options of the other tasks`,
  );
}

/** Any one manifest of a folder's tasks, because each task compared itself with one when it started. */
export function firstManifest(folder: string): Manifest | undefined {
  for (const task of listTasks(folder)) {
    // In this order, because a run that ends moves its manifest from the first path to the second.
    const manifest = readBegun(join(folder, workName(task))) ??
      readManifest(join(folder, manifestName(task)));
    if (manifest) return manifest;
  }
  return undefined;
}

/** The manifest of the work so far in a work folder, if work has begun. @throws {FormatError} If damaged. */
export function readBegun(work: string): Manifest | undefined {
  return readManifest(join(work, manifestName(ONLY_TASK)));
}

/** Lists the tasks that have begun or are done; empty if the path is not a folder. */
export function listTasks(folder: string): ArrayTask[] {
  if (!infoOf(folder)?.isDirectory) return [];
  const tasks = new Map<string, ArrayTask>();
  for (const { name } of Deno.readDirSync(folder)) {
    const match = TRACE.exec(name);
    if (!match) continue;
    const task = match[1] ? { index: Number(match[1]), count: Number(match[2]) } : ONLY_TASK;
    // A folder with only a lock belongs to a run that has not begun.
    if (!name.startsWith(WORK) || exists(join(folder, name, "manifest.json"))) {
      tasks.set(taskSuffix(task), task);
    }
  }
  return [...tasks.values()].sort((a, b) => a.count - b.count || a.index - b.index);
}
