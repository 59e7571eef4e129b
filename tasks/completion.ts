/** `completion`: prints a script that completes the program's command line in a shell. @module */
import { UsageError } from "../lib/base/errors.ts";
import { completionScript } from "../lib/cli/completion/completion.ts";
import { defineStage, serveStage } from "../lib/cli/stage.ts";
import { PRESETS } from "../lib/train/run_config.ts";
import { completionCommand, SHELLS } from "./completion.command.ts";
import { STAGES } from "./stages.ts";

export const completionStage = defineStage(completionCommand, (_options, _context, words) => {
  const shell = SHELLS.find((name) => name === words[0]);
  if (shell === undefined || words.length > 1) {
    throw new UsageError(`Cannot complete in ${words.join(" ")}: expected ${SHELLS.join(" | ")}`);
  }
  const script = completionScript(shell, STAGES, [...PRESETS.keys()]);
  return Promise.resolve({ text: script, json: { stage: "completion", shell, script } });
});

if (import.meta.main) serveStage(completionStage);
