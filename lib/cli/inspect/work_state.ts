/**
 * The state of the work on an output, from the files in its folder. No lock is taken.
 *
 * @module
 */
import { join } from "@std/path";
import { formatSeconds } from "../../base/text.ts";
import { explainFileError } from "../../io/files/file_errors.ts";
import { readLock } from "../../io/files/output_lock.ts";
import type { Fact, Report } from "./report.ts";

/** `stopped`: the same command continues the work. */
export type WorkState = "done" | "working" | "stopped" | "broken";

/** The state of some work. */
export interface Progress {
  state: WorkState;
  /** The reason for the state; empty for `done`. */
  why: string;
}

/** The status of a run or an output. */
export interface StatusReport extends Report {
  state: WorkState;
  /** The progress in a few words. */
  progress: string;
}

/** A report that begins with the state. */
export function statusReport(
  { state, why }: Progress,
  { kind, path, progress, facts }: { kind: string; path: string; progress: string; facts: readonly Fact[] },
): StatusReport {
  const first: Fact = ["state", why === "" ? state : `${state}: ${why}`, { state, why }];
  return { kind, path, state, progress, facts: [first, ...facts] };
}

/** A process without a sign of work for longer than this counts as stopped. */
export const PATIENCE_MS = 60_000;

/**
 * Decides whether a process works. It only looks at signs, because trying the lock would take it and stop others.
 *
 * @param work The work folder, which has the lock's file.
 * @param sign `what`: the file that grows during the work; `changedMs`: its last change, milliseconds since 1970;
 *   `patienceMs`: the longest pause between changes; `nowMs`: the time.
 * @throws {UserError} If the lock's file cannot be read.
 */
export function stateOfWork(
  work: string,
  { what, changedMs, patienceMs = PATIENCE_MS, nowMs }: {
    what: string;
    changedMs: number;
    patienceMs?: number;
    nowMs: number;
  },
): Progress {
  const lock = readLock(work);
  if (!lock) {
    return { state: "stopped", why: "no process works on it; run the same command again to continue" };
  }
  const { holder, sinceMs } = lock;
  const who = holder === "" ? "a process" : holder;
  const restMs = Math.max(0, nowMs - Math.max(changedMs, sinceMs));
  const rest = formatSeconds(restMs / 1000);
  if (restMs > patienceMs) {
    const found = `no sign of work for ${rest}: ${who}, was killed, or works without a sign`;
    return { state: "stopped", why: `${found}; run the same command again to continue` };
  }
  const sign = changedMs > sinceMs ? `${what} grew ${rest} ago` : `it took the lock ${rest} ago`;
  return { state: "working", why: `${sign} (${who})` };
}

/** The last change of a file, milliseconds since 1970; 0 if it does not exist. @throws {UserError} If access fails. */
export function changedMsOf(path: string): number {
  return infoOf(path)?.mtime?.getTime() ?? 0;
}

/** The last change of any file in a folder, see {@link changedMsOf}. */
export function newestChangeMs(folder: string): number {
  try {
    return [...Deno.readDirSync(folder)].reduce((newestMs, { name, isDirectory }) => {
      const path = join(folder, name);
      return Math.max(newestMs, isDirectory ? newestChangeMs(path) : changedMsOf(path));
    }, 0);
  } catch (error) {
    // A working process may have moved it.
    if (error instanceof Deno.errors.NotFound) return 0;
    throw explainFileError(error, `read ${folder}`);
  }
}

/** The entry at a path, if it exists. @throws {UserError} If access fails. */
export function infoOf(path: string): Deno.FileInfo | undefined {
  try {
    return Deno.statSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) return undefined;
    throw explainFileError(error, `read ${path}`);
  }
}

/**
 * Finds files that are missing or have a wrong size.
 *
 * @param folders The folders to search.
 * @param files Their paths and sizes.
 * @returns Texts such as `train/a.parquet is missing`: the first few, and the number of the others.
 */
export function faultsOfSizes(
  folders: readonly string[],
  files: readonly { path: string; sizeBytes: number }[],
): string[] {
  const faults: string[] = [];
  for (const { path, sizeBytes } of files) {
    const sizes = folders.flatMap((folder) => infoOf(join(folder, path))?.size ?? []);
    if (sizes.includes(sizeBytes)) continue;
    const found = sizes.length === 0 ? "is missing" : `has ${sizes[0]} bytes, expected ${sizeBytes}`;
    faults.push(`${path} ${found}`);
  }
  const rest = faults.splice(SHOWN_FAULTS);
  return rest.length === 0 ? faults : [...faults, `${rest.length} more`];
}

const SHOWN_FAULTS = 3;
