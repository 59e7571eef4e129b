/**
 * Makes the one file by `deno compile`: a runtime stub, which Deno fetches, followed by the code and packages.
 *
 * @module
 */
import { UserError } from "../../base/errors.ts";
import { type Program, runDeno, threadModules } from "./program.ts";

/** Part of Deno's message if its runtime stub cannot be fetched. */
const NO_STUB = /denort|base binary/;

/** The files of the page, which no module imports. */
const PAGE = "lib/serve/page/bundle";

/**
 * Runs `deno compile`. One process runs all stages, so it has the permissions of all of them. Each stage's
 * permissions are reduced in its thread, as in a checkout.
 *
 * @param path The file to write.
 * @param signal Stops it.
 * @returns Whether the file was made: false if Deno's runtime stub cannot be fetched.
 * @throws {UserError} If it fails for any other reason.
 */
export async function writeCompiled(path: string, program: Program, signal: AbortSignal): Promise<boolean> {
  const args = compileArguments(path, program);
  const { success, stderr } = await runDeno(args, { cwd: program.root, signal });
  if (success) return true;
  if (NO_STUB.test(stderr)) return false;
  const why = /^error: (.*)$/m.exec(stderr)?.[1] ?? "it printed no error";
  throw new UserError(`Cannot compile: deno compile failed: ${why}; try --form launcher`);
}

/** Deno's arguments to compile a program into a file. */
export function compileArguments(path: string, program: Program): string[] {
  const flags = new Set([...program.flags.values()].flat());
  const loaded = [...program.stages, ...threadModules(program), PAGE, ...program.data];
  const found = ["--quiet", "--no-check", "--frozen", "--exclude-unused-npm"];
  return [
    "compile",
    ...found,
    ...flags,
    ...loaded.flatMap((path) => ["--include", path]),
    "--output",
    path,
    program.main,
  ];
}
