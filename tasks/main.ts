/**
 * The whole program as one command, `ping-llm STAGE [options]`: the entry point of the tasks and the compiled binary.
 * A stage runs in a thread with only the permissions that its options require.
 *
 * @module
 */
import { endProcess, SignalListener } from "../lib/cli/ending.ts";
import { didYouMean } from "../lib/base/text.ts";
import { permissionsOf, refuseOverlaps } from "../lib/cli/stage_permissions.ts";
import { runStageThread } from "../lib/cli/stage_thread.ts";
import { UserError } from "../lib/base/errors.ts";
import { VERSION } from "../lib/base/version.ts";
import { moduleOf, needsOf, STAGES } from "./stages.ts";

function help(): string {
  return [
    "ping-llm: a generative model of ping measurements, from RIPE Atlas results to RTT distributions.",
    "",
    "Usage: ping-llm STAGE [options]    (from a checkout: deno task STAGE [options])",
    "",
    ...Object.entries(STAGES).map(([name, purpose]) => `  ${name.padEnd(12)}${purpose}`),
    "",
    "STAGE --help lists a stage's options. --version prints the version.",
  ].join("\n");
}

if (import.meta.main) {
  const signals = new SignalListener();
  const [name, ...args] = Deno.args;
  if (name === undefined || name === "--help") {
    endProcess({ exitCode: 0, text: help() });
  } else if (name === "--version") {
    endProcess({ exitCode: 0, text: VERSION });
  } else if (!Object.hasOwn(STAGES, name)) {
    const text = `Cannot run ${name}: no such stage${didYouMean(name, Object.keys(STAGES))}`;
    endProcess({ exitCode: 2, text });
  }
  const { needs, rest } = needsOf(name, args);
  try {
    refuseOverlaps(needs, rest);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    endProcess({ exitCode: error.exitCode, text: error.message });
  }
  runStageThread(moduleOf(name), args, { permissions: permissionsOf(needs, rest), signals });
}
