/**
 * `bench child`: one part of another bench in a separate process, which prints its result and usage.
 *
 * @module
 */
import { fromFileUrl } from "@std/path";
import { UsageError, UserError } from "../lib/base/errors.ts";
import { defineStage, serveStage, type Stage, type StageContext } from "../lib/cli/stage.ts";
import { type LoaderPassOptions, passLoader } from "../lib/cli/bench/loader_pass.ts";
import { STAGES } from "./stages.ts";
import { measureUsage } from "../lib/cli/bench/usage.ts";

/** The stages that can run in this way. */
const MEASURED: Record<string, () => Promise<Stage>> = {
  "synth": async () => (await import("./synth.ts")).synthStage,
  "import": async () => (await import("./import.ts")).importStage,
  "shard": async () => (await import("./shard.ts")).shardStage,
  "probe-rows": async () => (await import("./probe_rows.ts")).probeRowsStage,
};

/** The stage `bench child`. */
export const childStage = defineStage(
  STAGES.bench.kinds.child,
  async (_options, context, [name, ...rest]) => {
    const { result, usage } = await measureUsage(() => runPiece(name, rest, context));
    // Always one line, because a program reads it.
    const json = { usage, result };
    return { text: JSON.stringify(json), json };
  },
);

async function runPiece(name: string, args: string[], context: StageContext): Promise<unknown> {
  if (name === "loader") return await passLoader(JSON.parse(args[0]) as LoaderPassOptions);
  if (!Object.hasOwn(MEASURED, name)) {
    throw new UsageError(
      `Cannot run bench child ${name}: expected loader or one of ${Object.keys(MEASURED).join(", ")}`,
    );
  }
  return (await (await MEASURED[name]()).run(args, context)).json;
}

/**
 * Runs this program to its end, in a separate process: it has its own peak memory, starts with cold caches like a user's
 * run, and can be stopped.
 *
 * @param args Its arguments, with those that make it print JSON.
 * @param options `label`: the work, for errors; `signal`: stops the child.
 * @returns The JSON of its last line.
 * @throws {UserError} If it failed; the message has the last line of its standard error.
 */
export async function runProgram(
  args: readonly string[],
  { label, signal }: { label: string; signal: AbortSignal },
): Promise<unknown> {
  signal.throwIfAborted();
  const main = fromFileUrl(new URL("./main.ts", import.meta.url));
  // The kernel's peak memory can only be read with all permissions.
  const program = Deno.build.standalone ? [] : ["run", "--no-prompt", "--allow-all", main];
  const command = new Deno.Command(Deno.execPath(), {
    args: [...program, ...args],
    env: { NO_COLOR: "1" },
    signal,
  });
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

if (import.meta.main) serveStage(childStage);
