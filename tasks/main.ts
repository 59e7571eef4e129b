/**
 * The whole program as one command, `ping-llm STAGE [options]`: the entry point of the tasks and the compiled
 * binary. A stage runs in a thread with only the permissions that its options require.
 *
 * @module
 */
import { chooseCommand, helpFor, helpWidth, listOf, parseArguments } from "../lib/cli/command.ts";
import { endProcess, runStageThread, SignalListener } from "../lib/cli/stage_thread.ts";
import { permissionsOf, refuseOutputs } from "../lib/cli/stage_permissions.ts";
import { UserError } from "../lib/base/errors.ts";
import { splitEmbedded, versionText } from "../lib/cli/version.ts";
import { programLicenses } from "../lib/serve/page_files.ts";
import { moduleOf, STAGES } from "./stages.ts";

function help(): string {
  return [
    "ping-llm: a generative model of ping measurements, from RIPE Atlas results to RTT distributions.",
    "",
    "Usage: ping-llm STAGE [options]    (from a checkout: deno task STAGE [options])",
    "",
    ...listOf(STAGES, helpWidth()),
    "",
    "Start with: ping-llm demo",
    "STAGE --help shows an example and the main options of a stage; with --all, all of them.",
    "--version prints the version, the commit and the engines; --licenses, the licences of all packages.",
  ].join("\n");
}

/**
 * Starts the stage that the arguments name.
 *
 * @param commit The commit that an executable was compiled from.
 * @returns The text that the arguments request instead of a stage, such as help.
 * @throws {UsageError} If the arguments are wrong.
 */
async function start(
  words: readonly string[],
  { commit, signals }: { commit?: string | undefined; signals: SignalListener },
): Promise<string | undefined> {
  if (words.length === 0 || words[0] === "--help") return help();
  if (words[0] === "--version") return versionText(commit);
  if (words[0] === "--licenses") return await programLicenses();
  const { command, rest } = chooseCommand(STAGES, words);
  if ("kinds" in command || rest.includes("--help")) return helpFor(command, rest);
  if (rest.includes("--version")) return versionText(commit);
  parseArguments(command, rest);
  refuseOutputs(command, rest);
  const { name } = command;
  runStageThread(moduleOf(command), rest, { name, permissions: permissionsOf(command, rest), signals });
  return undefined;
}

if (import.meta.main) {
  const signals = new SignalListener();
  try {
    const { commit, words } = Deno.build.standalone ? splitEmbedded(Deno.args) : { words: Deno.args };
    const text = await start(words, { commit, signals });
    if (text !== undefined) endProcess({ exitCode: 0, text });
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    endProcess({ exitCode: error.exitCode, text: error.message });
  }
}
