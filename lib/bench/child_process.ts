/**
 * Measures work in a child process, which prints a JSON object with its results as its last line.
 *
 * A child process has its own peak memory, starts with cold caches as a user's run does, and can be stopped.
 *
 * @module
 */
import { UserError } from "../errors.ts";

/** How a child is started. */
export interface ChildCommand {
  /** The program. */
  program: string;
  args: readonly string[];
  /** What it does, for errors. */
  label: string;
  /** Stops the child when aborted. */
  signal?: AbortSignal;
}

/**
 * Runs a child to its end.
 *
 * @param command The child.
 * @returns What its last line said.
 * @throws {UserError} If it failed; the message has the last line of its standard error.
 */
export async function runChild(command: ChildCommand): Promise<unknown> {
  const { program, args, label, signal } = command;
  signal?.throwIfAborted();
  const child = new Deno.Command(program, {
    args: [...args],
    env: { NO_COLOR: "1" },
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const stop = () => child.kill("SIGTERM");
  signal?.addEventListener("abort", stop);
  const { success, code, stdout, stderr } = await child.output();
  signal?.removeEventListener("abort", stop);
  signal?.throwIfAborted();
  const lastLine = (bytes: Uint8Array) => new TextDecoder().decode(bytes).trimEnd().split("\n").at(-1) ?? "";
  if (!success) {
    throw new UserError(
      `Cannot measure ${label}: it ended with code ${code}: ${lastLine(stderr).replace(/^error: /, "")}`,
    );
  }
  try {
    return JSON.parse(lastLine(stdout));
  } catch (cause) {
    throw new Error(`Internal error: ${label} printed no JSON: ${lastLine(stdout).slice(0, 200)}`, { cause });
  }
}
