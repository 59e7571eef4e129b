/**
 * The manifests of a folder that one run wrote (`manifest.json`) or several tasks (`manifest-00002-of-00004.json`).
 *
 * Every task has a manifest of its own and writes no other file than its own, so tasks need no lock. A folder is
 * of one division: of one run, or of N tasks with the same inputs and options.
 *
 * @module
 */
import { join } from "@std/path";
import { UsageError, UserError } from "../errors.ts";
import { type ArrayTask, formatArrayTask, ONLY_TASK, taskSuffix } from "./array_task.ts";
import { exists } from "./inputs.ts";
import { isSameRun, type Manifest, readManifest, writeManifest } from "./manifest.ts";

const MANIFEST = /^manifest(?:-(\d{5})-of-(\d{5}))?\.json$/;
/** What a task may have put into a folder before its manifest: that manifest under its temporary name. */
const BEGUN_MANIFEST = /^manifest-\d{5}-of-\d{5}\.json(\.\d+\.tmp)?$/;

/** The name of a task's manifest. */
export function manifestName(task: ArrayTask): string {
  return `manifest${taskSuffix(task)}.json`;
}

/** The manifests of a folder, in the order of the tasks; none if it is no folder. */
export function readManifests(folder: string): { task: ArrayTask; manifest: Manifest }[] {
  return listTasks(folder).flatMap((task) => {
    const manifest = readManifest(join(folder, manifestName(task)));
    return manifest ? [{ task, manifest }] : [];
  });
}

/**
 * Checks that the runs that write to a folder are all there and done. A folder without manifests passes: it was
 * made by other means.
 *
 * @returns The manifests in the order of the tasks.
 * @throws {UserError} If a task is missing or not finished, or tasks do not belong together.
 */
export function requireFinished(folder: string): Manifest[] {
  const found = readManifests(folder);
  if (found.length === 0) return [];
  const [{ task: { count }, manifest: first }] = found;
  const stray = found.find(({ task, manifest }) => task.count !== count || !isSameRun(manifest, first));
  if (stray) {
    throw new UserError(
      `Cannot read ${folder}: ${manifestName(stray.task)} is not of the same run as ` +
        `${
          manifestName(found[0].task)
        }; make the folder anew with the same --input, options and N for all tasks`,
    );
  }
  const { stage } = first;
  const missing = Array.from({ length: count }, (_, i) => i + 1)
    .filter((index) => !found.some(({ task }) => task.index === index));
  if (missing.length > 0) {
    const task = formatArrayTask({ index: missing[0], count });
    const others = missing.length > 1 ? ` (and ${missing.length - 1} more)` : "";
    throw new UserError(
      `Cannot read ${folder}: task ${task} of ${stage} is missing${others}; ` +
        `run \`${stage} --task ${task}\` with the options of the other tasks`,
    );
  }
  const unfinished = found.find(({ manifest }) => !manifest.complete);
  if (unfinished) {
    const task = formatArrayTask(unfinished.task);
    const who = count === 1 ? "the run that wrote it" : `task ${task} of ${stage}`;
    throw new UserError(
      `Cannot read ${folder}: ${who} did not finish; run \`${stage}${
        count === 1 ? "" : ` --task ${task}`
      }\` ` +
        `again with the same options`,
    );
  }
  return found.map(({ manifest }) => manifest);
}

/**
 * Refuses an output folder that is divided in another way.
 *
 * @throws {UserError} If it is.
 */
export function refuseOtherDivision(folder: string, task: ArrayTask): void {
  const other = listTasks(folder).find(({ count }) => count !== task.count);
  if (!other) return;
  const isWhole = other.count === 1;
  throw new UserError(
    `Cannot write to ${folder}: it is ${isWhole ? "not divided" : `divided over ${other.count} tasks`} ` +
      `(${manifestName(other)}), this run is task ${formatArrayTask(task)}; ` +
      `${isWhole ? "leave out --task" : `go on with --task I/${other.count}`}, ` +
      `choose another --output or delete the folder`,
  );
}

/**
 * Opens an output folder for one of several tasks, which may all do so at the same time.
 *
 * @param manifest The manifest this task starts with; it is written if there is none.
 * @param options `overwrite` is refused: a task cannot tell another task's new files from old ones.
 * @returns The manifest of the same task that was started or finished here earlier, if any.
 * @throws {UserError} If the folder holds files of another run, of this stage or of none.
 */
export function openTaskFolder(
  folder: string,
  manifest: Manifest,
  { task, overwrite }: { task: ArrayTask; overwrite: boolean },
): Manifest | undefined {
  if (overwrite) {
    throw new UsageError(
      `Cannot use --overwrite with --task ${formatArrayTask(task)}: tasks would delete each other's files; ` +
        `delete ${folder} before the first task starts`,
    );
  }
  // Listed before the manifests are: whoever put something else there wrote a manifest first.
  const names = exists(folder) ? [...Deno.readDirSync(folder)].map(({ name }) => name) : [];
  refuseOtherDivision(folder, task);
  const path = join(folder, manifestName(task));
  const earlier = readManifest(path);
  const sibling = earlier ?? firstManifest(folder);
  if (sibling && !isSameRun(sibling, manifest)) {
    throw new UserError(
      `Cannot write to ${folder}: ${sibling.stage} with other inputs or options wrote to it, the same were wanted ` +
        `in all tasks; choose another --output or delete the folder`,
    );
  }
  if (earlier) return earlier;
  if (!sibling && names.some((name) => !BEGUN_MANIFEST.test(name))) {
    throw new UserError(
      `Cannot write to ${folder}: it holds other files, an empty folder was wanted; choose another --output`,
    );
  }
  writeManifest(path, manifest);
  try {
    // Of two that start at the same time, each looks after it wrote, so at least one sees the other.
    refuseOtherDivision(folder, task);
  } catch (error) {
    Deno.removeSync(path);
    throw error;
  }
  return undefined;
}

/** Reading one is enough to know a folder: each task compared itself with one when it came. */
function firstManifest(folder: string): Manifest | undefined {
  for (const task of listTasks(folder)) {
    const manifest = readManifest(join(folder, manifestName(task)));
    if (manifest) return manifest;
  }
  return undefined;
}

function listTasks(folder: string): ArrayTask[] {
  if (!exists(folder) || !Deno.statSync(folder).isDirectory) return [];
  const tasks: ArrayTask[] = [];
  for (const { name } of Deno.readDirSync(folder)) {
    const match = MANIFEST.exec(name);
    if (match) tasks.push(match[1] ? { index: Number(match[1]), count: Number(match[2]) } : ONLY_TASK);
  }
  return tasks.sort((a, b) => a.count - b.count || a.index - b.index);
}
