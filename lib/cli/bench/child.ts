/**
 * Runs a part of a bench in a separate process.
 *
 * @module
 */
import { UserError } from "../../base/errors.ts";
import { ownProgram } from "../own_program.ts";

/** How long a process may take to end after SIGTERM. */
const ENDING_S = 5;

/**
 * Runs a part of a bench in a separate process, with its own peak memory and cold caches, as in a user's run.
 * It can be stopped, and a driver crash in it affects nothing else.
 *
 * @param options `label`: names the work in errors; `limitS`: the longest run time.
 * @returns The JSON of its last line.
 * @throws {UserError} If it fails, with the reason from its standard error, or exceeds its time.
 */
export async function runChild(
  args: readonly string[],
  { label, signal, limitS }: { label: string; signal: AbortSignal; limitS?: number },
): Promise<unknown> {
  signal.throwIfAborted();
  // Reading the peak memory from the kernel needs all permissions.
  const child = new Deno.Command(Deno.execPath(), {
    args: [...ownProgram(["--allow-all"]), "bench", "child", ...args],
    env: { NO_COLOR: "1" },
    stdout: "piped",
    stderr: "piped",
    signal,
  }).spawn();
  let isOver = false;
  const stop = (how: Deno.Signal) => {
    isOver = true;
    try {
      child.kill(how);
    } catch { /* it has ended */ }
  };
  const timers = limitS === undefined ? [] : [
    setTimeout(() => stop("SIGTERM"), 1000 * limitS),
    setTimeout(() => stop("SIGKILL"), 1000 * (limitS + ENDING_S)),
  ];
  const { success, code, stdout, stderr } = await child.output();
  timers.forEach(clearTimeout);
  signal.throwIfAborted();
  if (isOver) throw new UserError(`Cannot measure ${label}: it did not finish within ${limitS} s`);
  const textOf = (bytes: Uint8Array) => new TextDecoder().decode(bytes).trimEnd();
  if (!success) {
    throw new UserError(`Cannot measure ${label}: it exited with code ${code}: ${reasonIn(textOf(stderr))}`);
  }
  const lastLine = textOf(stdout).split("\n").at(-1) ?? "";
  try {
    return JSON.parse(lastLine);
  } catch (cause) {
    throw new Error(`Internal error: ${label} printed no JSON: ${lastLine.slice(0, 200)}`, { cause });
  }
}

/** The reason why a process ended, from its standard error. */
export function reasonIn(text: string): string {
  const lines = text.trimEnd().split("\n");
  return (lines.find((line) => line.startsWith("error: ")) ?? lines.at(-1) ?? "").replace(/^error: /, "");
}
