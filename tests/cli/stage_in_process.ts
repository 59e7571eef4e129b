/**
 * Runs a stage as a part of this process, with all its permissions, so that an audit tells what the stage asks for.
 *
 * @module
 */
import type { Stage } from "../../lib/cli/stage.ts";
import { moduleOf } from "../../tasks/stages.ts";

/** Loads a stage. @param name As the command line has it. */
export async function loadStage(name: string): Promise<Stage> {
  const module: Record<string, Stage> = await import(moduleOf(name).href);
  const stage = Object.values(module).find((exported) => exported.name === name);
  if (!stage) throw new Error(`no stage ${name} in ${moduleOf(name)}`);
  return stage;
}

if (import.meta.main) {
  const [name, ...args] = Deno.args;
  await (await loadStage(name)).run(args);
}
