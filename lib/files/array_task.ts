/**
 * `--task I/N`: a stage's work divided over N runs, which may run at the same time on machines that share a file
 * system. The name is that of SLURM's job arrays (https://slurm.schedmd.com/job_array.html).
 *
 * @module
 */
import { UsageError } from "../errors.ts";

/** Which of how many runs. */
export interface ArrayTask {
  /** 1..count. */
  readonly index: number;
  readonly count: number;
}

/** A run that does all the work. */
export const ONLY_TASK: ArrayTask = { index: 1, count: 1 };

/** What the name of a work folder begins with, see staged_output.ts. */
export const WORK = ".work";
/** What is in a folder of a task that has begun, and of one that is done. */
export const TRACE = /^(?:\.work|manifest(?=.*\.json$))(?:-(\d{5})-of-(\d{5}))?(?:\.json)?$/;

/** File names have five digits. */
const MAX_TASKS = 99_999;

/**
 * Parses `2/4`.
 *
 * @throws {UsageError} If it is no such thing.
 */
export function parseArrayTask(text: string): ArrayTask {
  const [index, count] = (/^(\d{1,5})\/(\d{1,5})$/.exec(text)?.slice(1) ?? []).map(Number);
  if (index >= 1 && index <= count) return { index, count };
  throw new UsageError(
    `Cannot use --task ${text}: I/N with I from 1 to N and N up to ${MAX_TASKS} was wanted, such as 2/4`,
  );
}

/** `2/4`. */
export function formatArrayTask({ index, count }: ArrayTask): string {
  return `${index}/${count}`;
}

/** What file names of a task carry: `-00002-of-00004`, or nothing if it is the only one. */
export function taskSuffix({ index, count }: ArrayTask): string {
  return count === 1 ? "" : `-${padded(index)}-of-${padded(count)}`;
}

/** Numbers of tasks as SLURM's --array takes them: `3,7-9`. @param indexes In ascending order. */
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
 * The task's share of things in a row: the shares of all tasks follow each other and are equal up to one.
 *
 * @returns The first of 0..total - 1, and the first that is no longer of the share.
 */
export function shareOf({ index, count }: ArrayTask, total: number): [first: number, end: number] {
  return [Math.floor(total * (index - 1) / count), Math.floor(total * index / count)];
}

function padded(number: number): string {
  return String(number).padStart(5, "0");
}
