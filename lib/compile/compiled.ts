/**
 * The one file as `deno compile` makes it: Deno's runtime stub, which it fetches, with the code and packages behind.
 *
 * @module
 */
import { UserError } from "../errors.ts";
import { flagsOfStages, type Program, threadModules } from "./program.ts";
import { runDeno } from "./runtime.ts";

/** What Deno says where its runtime stub cannot be had. */
const NO_STUB = /denort|base binary/;

/**
 * Runs `deno compile`. One process runs all stages, so it may do what any of them may; each is narrowed in its thread,
 * as from a checkout.
 *
 * @param path The file to write.
 * @param program What it runs.
 * @param signal Ends it.
 * @returns Whether it was made; not where Deno's runtime stub cannot be had.
 * @throws {UserError} If it fails for any other reason.
 */
export async function writeCompiled(path: string, program: Program, signal: AbortSignal): Promise<boolean> {
  const args = compileArguments(path, program);
  const { success, stderr } = await runDeno(args, { cwd: program.root, signal });
  if (success) return true;
  if (NO_STUB.test(stderr)) return false;
  const why = /^error: (.*)$/m.exec(stderr)?.[1] ?? "it said nothing";
  throw new UserError(`Cannot compile: deno compile failed: ${why}; try --form launcher`);
}

/** The arguments of Deno that compile a program into a file. */
export function compileArguments(path: string, program: Program): string[] {
  const flags = new Set([...flagsOfStages(program).values()].flat());
  const loaded = [...program.stages, ...threadModules(program)].flatMap((module) => ["--include", module]);
  const found = ["--quiet", "--no-check", "--frozen", "--exclude-unused-npm"];
  return ["compile", ...found, ...flags, ...loaded, "--output", path, program.main];
}
