/** Commands by their words, and the code they run, for use in a test's own process. @module */
import { assert } from "@std/assert";
import { chooseCommand, type Command } from "../../lib/cli/command.ts";
import type { Stage } from "../../lib/cli/stage.ts";
import { moduleOf, STAGES } from "../../tasks/stages.ts";

/** The command named by words on the command line, and its arguments. */
export function commandOf(words: readonly string[]): { command: Command; rest: readonly string[] } {
  const { command, rest } = chooseCommand(STAGES, words);
  assert(!("kinds" in command), `${command.name} has several kinds`);
  return { command, rest };
}

export async function loadStage(command: Command): Promise<Stage> {
  const module: Record<string, Stage> = await import(moduleOf(command).href);
  const stage = Object.values(module).find(({ name }) => name === command.name);
  assert(stage, `no stage ${command.name} in ${moduleOf(command)}`);
  return stage;
}
