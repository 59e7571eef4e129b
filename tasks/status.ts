/**
 * `status`: the progress of runs and outputs, whether or not a process works on them.
 *
 * @module
 */
import { defineStage, serveStage } from "../lib/cli/stage.ts";
import { describeStatus, exitCodeOf, statusAsJson, statusOf } from "../lib/cli/inspect/status.ts";

/** The stage `status`. */
export const statusStage = defineStage({
  name: "status",
  purpose: [
    "shows the progress of runs and outputs, or of all in a folder; writes and locks nothing.",
    "Exit code: 0 everything is done, 1 something is broken or cannot be read, 3 something remains to be done.",
  ].join("\n"),
  example: "runs data/shards",
  positionals: { placeholder: "PATH…", min: 1 },
  flags: {},
  run(_options, _context, paths) {
    const reports = statusOf(paths);
    const text = describeStatus(reports);
    return Promise.resolve({ text, json: statusAsJson(reports), exitCode: exitCodeOf(reports) });
  },
});

if (import.meta.main) serveStage(statusStage);
