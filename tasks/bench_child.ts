/**
 * `bench child`: one part of another bench in a separate process, which prints its result and usage.
 *
 * @module
 */
import { fromFileUrl } from "@std/path";
import { runChild } from "../lib/cli/bench/data_stages.ts";
import { UsageError } from "../lib/base/errors.ts";
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
 * Runs this program in a separate process.
 *
 * @param args Its arguments, with those that make it print JSON.
 * @param options See {@link runChild}.
 */
export async function runProgram(
  args: readonly string[],
  options: { label: string; signal: AbortSignal },
): Promise<unknown> {
  if (Deno.build.standalone) return await runChild(args, options);
  const main = fromFileUrl(new URL("./main.ts", import.meta.url));
  // The kernel's peak memory can only be read with all permissions.
  return await runChild(["run", "--no-prompt", "--allow-all", main, ...args], options);
}

if (import.meta.main) serveStage(childStage);
