/**
 * `--task I/N`: a stage's work divided among N runs, which may run at the same time on machines that share a
 * file system. The name comes from SLURM's job arrays (https://slurm.schedmd.com/job_array.html).
 *
 * @module
 */
import { UsageError } from "../../base/errors.ts";

/** A run's number and the number of runs. */
export interface ArrayTask {
  /** 1..count. */
  readonly index: number;
  readonly count: number;
}

/** The task of a run that does all the work. */
export const ONLY_TASK: ArrayTask = { index: 1, count: 1 };

/** Prefix of the names of work folders; see output.ts. */
export const WORK = ".work";
/** Folder for new files within a work folder. */
export const NEXT = "next";
/** Matches names that show that a task has begun or is finished. */
export const TRACE = /^(?:\.work|manifest(?=.*\.json$))(?:-(\d{5})-of-(\d{5}))?(?:\.json)?$/;

/** File names use five digits for these numbers. */
const MAX_TASKS = 99_999;

/** Parses a text such as `2/4`. @throws {UsageError} If the text has another form. */
export function parseArrayTask(text: string): ArrayTask {
  const [index, count] = (/^(\d{1,5})\/(\d{1,5})$/.exec(text)?.slice(1) ?? []).map(Number);
  if (index >= 1 && index <= count) return { index, count };
  throw new UsageError(
    `Cannot use --task ${text}: expected I/N with I from 1 to N and N up to ${MAX_TASKS}, such as 2/4`,
  );
}

export function formatArrayTask({ index, count }: ArrayTask): string {
  return `${index}/${count}`;
}

/** Suffix of a task's file names, such as `-00002-of-00004`; empty if it is the only task. */
export function taskSuffix({ index, count }: ArrayTask): string {
  return count === 1 ? "" : `-${padded(index)}-of-${padded(count)}`;
}

/** Formats task numbers for SLURM's --array, such as `3,7-9`. @param indexes In ascending order. */
export function formatIndexes(indexes: readonly number[]): string {
  const ranges: [first: number, last: number][] = [];
  for (const index of indexes) {
    const range = ranges.at(-1);
    if (range?.[1] === index - 1) range[1] = index;
    else ranges.push([index, index]);
  }
  return ranges.map(([first, last]) => first === last ? `${first}` : `${first}-${last}`).join(",");
}

/**
 * The task's share of a sequence. Shares are consecutive, and their sizes differ by at most one.
 *
 * @returns The share's first index, in 0..total - 1, and the index after its last one.
 */
export function shareOf({ index, count }: ArrayTask, total: number): [first: number, end: number] {
  return [Math.floor(total * (index - 1) / count), Math.floor(total * index / count)];
}

/** A number as in the names of files. */
export function padded(number: number): string {
  return String(number).padStart(5, "0");
}
