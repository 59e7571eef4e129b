/**
 * Runs a function from a module in this folder in a separate process, which has its own peak memory and cold
 * caches, like a user's run, and can crash or be stopped alone:
 *
 *     deno run -A tests/bench/child.ts MODULE FUNCTION OPTIONS
 *
 * @module
 */
import { fromFileUrl } from "@std/path";
import { UserError } from "../../lib/base/errors.ts";
import { measureUsage, type Usage } from "./usage.ts";

/**
 * @param work The module, its function, and the function's argument, which must be JSON.
 * @param options `label`: names the work in errors; `limitS`: the longest run time.
 * @throws {UserError} If it fails, with the reason from its standard error, or exceeds its time.
 */
export async function runChild<T>(
  [module, name, options]: [module: string, name: string, options: unknown],
  { label, signal, limitS }: { label: string; signal: AbortSignal; limitS?: number },
): Promise<{ result: T; usage: Usage }> {
  signal.throwIfAborted();
  const late = limitS === undefined ? [] : [AbortSignal.timeout(1000 * limitS)];
  const { success, code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-prompt", "-A", fromFileUrl(import.meta.url), module, name, JSON.stringify(options)],
    env: { NO_COLOR: "1" },
    stdout: "piped",
    stderr: "piped",
    signal: AbortSignal.any([signal, ...late]),
  }).output();
  signal.throwIfAborted();
  const textOf = (bytes: Uint8Array) => new TextDecoder().decode(bytes).trimEnd();
  if (success) return JSON.parse(textOf(stdout).split("\n").at(-1) ?? "");
  throw new UserError(
    late.some(({ aborted }) => aborted)
      ? `Cannot measure ${label}: it did not finish within ${limitS} s`
      : `Cannot measure ${label}: it exited with code ${code}: ${reasonIn(textOf(stderr))}`,
  );
}

/** Finds the reason why a process ended in its standard error. */
export function reasonIn(text: string): string {
  const lines = text.trimEnd().split("\n");
  return (lines.find((line) => line.startsWith("error: ")) ?? lines.at(-1) ?? "").replace(/^error: /, "");
}

async function runHere([module, name, options]: string[]): Promise<void> {
  try {
    const { [name]: work } = await import(`./${module}`);
    console.log(JSON.stringify(await measureUsage(() => work(JSON.parse(options)))));
  } catch (error) {
    console.error(`error: ${error instanceof UserError ? error.message : Deno.inspect(error)}`);
    Deno.exitCode = 1;
  }
}

// Not awaited here, since the module imports this one.
if (import.meta.main) runHere(Deno.args);
