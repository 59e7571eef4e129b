/** Runs a stage as users do, in a separate process. @module */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { exists } from "../../lib/io/files/inputs.ts";

const MAIN = fromFileUrl(new URL("../../tasks/main.ts", import.meta.url));

export interface ProcessResult {
  code: number;
  stdout: string;
  stderr: string;
}

export interface ProcessOptions {
  env?: Record<string, string>;
  /** Standard input; empty by default. */
  stdin?: Uint8Array<ArrayBuffer>;
  /** A program that starts the process, with its arguments; none by default. */
  launcher?: readonly string[];
  /** Flags of `deno run` in addition to those for files. */
  flags?: readonly string[];
}

/** The program's permissions in deno.json. */
const FILES = ["--allow-read", "--allow-write"];

/** Stages that refuse to run without the page. */
const WITH_PAGE = ["compile", "export", "serve"];
let isPageCurrent = false;

/** Makes the page's bundle if it is missing or outdated. Once is enough: tests do not change its sources. */
export function requirePage(): void {
  if (isPageCurrent) return;
  const args = [
    "task",
    "--quiet",
    "--config",
    fromFileUrl(new URL("../../deno.json", import.meta.url)),
    "bundle",
  ];
  const { success, stderr } = new Deno.Command(Deno.execPath(), { args }).outputSync();
  assert(success, new TextDecoder().decode(stderr));
  isPageCurrent = true;
}

/** Starts `ping-llm ARGS…`. */
export function spawnStage(args: readonly string[], options: ProcessOptions = {}): Deno.ChildProcess {
  if (WITH_PAGE.includes(args[0])) requirePage();
  return spawnDeno([...FILES, ...options.flags ?? [], MAIN, ...args], options);
}

/**
 * Starts Deno, through tests/tensor/newer_mesa.sh if that runs the tests. @param args Flags of `deno run`, a
 * program's path, its arguments.
 */
export function spawnDeno(args: readonly string[], options: ProcessOptions): Deno.ChildProcess {
  const deno = Deno.env.get("MATRIX_DENO")?.split(" ") ?? [Deno.execPath()];
  const [program, ...rest] = [...options.launcher ?? [], ...deno, "run"];
  return new Deno.Command(program, {
    args: [...rest, "--no-prompt", ...args],
    env: { NO_COLOR: "1", ...options.env },
    stdin: options.stdin ? "piped" : "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

/** Runs `ping-llm ARGS…` to its end. */
export async function runStageProcess(
  args: readonly string[],
  options: ProcessOptions = {},
): Promise<ProcessResult> {
  const child = spawnStage(args, options);
  if (options.stdin) {
    const writer = child.stdin.getWriter();
    await writer.write(options.stdin);
    await writer.close();
  }
  return await outputOf(child);
}

/** Runs a test program to its end. @param args Flags of `deno run`, its path, its arguments. */
export async function runProgram(args: readonly string[]): Promise<ProcessResult> {
  return await runDeno([...FILES, ...args]);
}

/** Like {@link runProgram}, without any permissions except those in the flags. */
export async function runDeno(args: readonly string[], options: ProcessOptions = {}): Promise<ProcessResult> {
  return await outputOf(spawnDeno(args, options));
}

/** Waits for the end of a process started by {@link spawnStage}. */
export async function outputOf(child: Deno.ChildProcess): Promise<ProcessResult> {
  const { code, stdout, stderr } = await child.output();
  const text = new TextDecoder();
  return { code, stdout: text.decode(stdout), stderr: text.decode(stderr) };
}

/** The output of a process that must exit with code 0. */
export async function succeeded(ended: Promise<ProcessResult>): Promise<ProcessResult> {
  const result = await ended;
  assertEquals(result.code, 0, result.stderr);
  return result;
}

/** Runs `ping-llm ARGS…`, which must succeed. */
export function succeed(...args: string[]): Promise<ProcessResult> {
  return succeeded(runStageProcess(args));
}

/** The error of a process that must print only this line, after readings; it must contain the message. */
export async function refused(ended: Promise<ProcessResult>, code: number, message = ""): Promise<string> {
  const result = await ended;
  assertMatch(result.stderr, /^(?:(?:read as|not used:) [^\n]+\n)*error: [^\n]+\n$/);
  assertStringIncludes(result.stderr, message);
  assertEquals([result.code, result.stdout], [code, ""], result.stderr);
  return result.stderr;
}

/** Starts a stage and kills it as soon as a file exists, to test what it saved so far. */
export async function killWhenThere(args: readonly string[], path: string): Promise<void> {
  const child = spawnStage(args);
  let isOver = false;
  const status = child.status.then(() => isOver = true);
  while (!isOver && !exists(path)) await new Promise((resolve) => setTimeout(resolve, 5));
  assert(!isOver, "the run ended before it was killed");
  child.kill("SIGKILL");
  await status;
  await Promise.all([child.stdout.cancel(), child.stderr.cancel()]);
}
