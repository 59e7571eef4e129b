/**
 * How far the work on an output is, from what lies in its folder: without a lock, and without waiting for a process.
 *
 * @module
 */
import { join } from "@std/path";
import { formatSeconds } from "../text/quantities.ts";
import { explainFileError } from "../errors.ts";
import { readLock } from "../files/output_lock.ts";
import type { Fact, Report } from "./report.ts";

/** `stopped`: the same command goes on with it. */
export type WorkState = "done" | "working" | "stopped" | "broken";

/** How far the work is, and why that is so; empty of what is done. */
export interface Progress {
  state: WorkState;
  why: string;
}

/** What is known of a run or an output. */
export interface StatusReport extends Report {
  state: WorkState;
  /** How far it is, in a few words. */
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

/** A process that shows no sign for longer counts as gone. */
export const PATIENCE_MS = 60_000;

/**
 * Tells whether a process works, from signs only: a lock can be tried only by taking it, which would turn others away.
 *
 * @param work The work folder, which has the lock's file.
 * @param sign `what`: what grows as the work goes on; `changedMs`: when it last did, milliseconds since 1970;
 *   `patienceMs`: how long it may rest; `nowMs`: the time.
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
  if (!lock) return { state: "stopped", why: "no process works on it; run the same command again to go on" };
  const { holder, sinceMs } = lock;
  const who = holder === "" ? "a process" : holder;
  const restMs = Math.max(0, nowMs - Math.max(changedMs, sinceMs));
  const rest = formatSeconds(restMs / 1000);
  if (restMs > patienceMs) {
    return {
      state: "stopped",
      why:
        `no sign of work for ${rest}: ${who}, was killed, or is busy without a sign; run the same command ` +
        "again to go on",
    };
  }
  const sign = changedMs > sinceMs ? `${what} grew ${rest} ago` : `it took the lock ${rest} ago`;
  return { state: "working", why: `${sign} (${who})` };
}

/** When a file was last changed, milliseconds since 1970; 0 if there is none. @throws {UserError} If it is closed. */
export function changedMsOf(path: string): number {
  return infoOf(path)?.mtime?.getTime() ?? 0;
}

/** When anything in a folder was last changed, as {@link changedMsOf}. */
export function newestChangeMs(folder: string): number {
  try {
    return [...Deno.readDirSync(folder)].reduce((newestMs, { name, isDirectory }) => {
      const path = join(folder, name);
      return Math.max(newestMs, isDirectory ? newestChangeMs(path) : changedMsOf(path));
    }, 0);
  } catch (error) {
    // Whoever works there may move it away in between.
    if (error instanceof Deno.errors.NotFound) return 0;
    throw explainFileError(error, `read ${folder}`);
  }
}

/** What is at a path, if anything is. @throws {UserError} If it cannot be asked. */
export function infoOf(path: string): Deno.FileInfo | undefined {
  try {
    return Deno.statSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) return undefined;
    throw explainFileError(error, `read ${path}`);
  }
}

/**
 * Which files are missing or of another size.
 *
 * @param folders Where they may be.
 * @param files What they should be.
 * @returns Such as `train/a.parquet is missing`, the first few and how many more.
 */
export function faultsOfSizes(
  folders: readonly string[],
  files: readonly { path: string; sizeBytes: number }[],
): string[] {
  const faults = files.flatMap(({ path, sizeBytes }) => {
    const sizes = folders.map((folder) => infoOf(join(folder, path))?.size).filter((size) =>
      size !== undefined
    );
    if (sizes.includes(sizeBytes)) return [];
    return sizes.length === 0
      ? [`${path} is missing`]
      : [`${path} has ${sizes[0]} bytes, ${sizeBytes} were wanted`];
  });
  return faults.length <= SHOWN_FAULTS
    ? faults
    : [...faults.slice(0, SHOWN_FAULTS), `${faults.length - SHOWN_FAULTS} more`];
}

const SHOWN_FAULTS = 3;
