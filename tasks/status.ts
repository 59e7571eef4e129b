/** `status`: reports the progress of runs and outputs, whether or not a process works on them. @module */
import { defineStage, serveStage } from "../lib/cli/stage.ts";
import { describeStatus, exitCodeOf, statusAsJson, statusOf } from "../lib/cli/inspect/status.ts";
import { statusCommand } from "./status.command.ts";

export const statusStage = defineStage(statusCommand, (_options, _context, paths) => {
  const reports = statusOf(paths);
  const text = describeStatus(reports);
  return Promise.resolve({ text, json: statusAsJson(reports), exitCode: exitCodeOf(reports) });
});

if (import.meta.main) serveStage(statusStage);
