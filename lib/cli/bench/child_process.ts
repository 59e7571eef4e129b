/**
 * Work in a child process, which prints a JSON object with its results as its last line.
 *
 * A child process has its own peak memory, starts with cold caches like a user's run, and can be stopped.
 *
 * @module
 */
import { UserError } from "../../base/errors.ts";

/**
 * Runs this executable, Deno or the compiled program, to its end.
 *
 * @param args Its arguments.
 * @param options `label`: the work, for errors; `signal`: stops the child.
 * @returns The JSON of its last line.
 * @throws {UserError} If it failed; the message has the last line of its standard error.
 */
export async function runChild(
  args: readonly string[],
  { label, signal }: { label: string; signal: AbortSignal },
): Promise<unknown> {
  signal.throwIfAborted();
  const command = new Deno.Command(Deno.execPath(), { args: [...args], env: { NO_COLOR: "1" }, signal });
  const { success, code, stdout, stderr } = await command.output();
  signal.throwIfAborted();
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
