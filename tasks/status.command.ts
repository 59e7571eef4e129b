import { command } from "../lib/cli/command.ts";
import * as uses from "../lib/cli/path_uses.ts";

export const statusCommand = command({
  name: "status",
  summary: "report the progress of runs and outputs, also while other processes write them",
  details: [
    "Writes and locks nothing.",
    "Exit code: 0 if everything is done, 1 if something is broken or cannot be read, 3 if something remains to be done.",
  ].join("\n"),
  reads: "runs, outputs of stages, folders of these, also while other processes write them",
  writes: "the progress of each: steps, speed, time left; tasks done and missing; what is broken",
  example: "runs data/shards",
  positionals: { value: "PATH…", min: 1, use: uses.watched },
  options: {},
});
