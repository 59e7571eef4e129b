/**
 * Entry point for `deno run` and `deno install` from a package registry, which lack the flags that stages
 * need. It starts the program again with these flags.
 *
 * @module
 */
import { ownProgram } from "../lib/cli/own_program.ts";
import { denoFlagsOf } from "../lib/cli/stage_permissions.ts";
import { endProcess, SIGNALS } from "../lib/cli/stage_thread.ts";
import { STAGES } from "./stages.ts";

function start(): Deno.ChildProcess {
  const stage = Object.values(STAGES).find(({ name }) => name === Deno.args[0]);
  const args = [...ownProgram(stage ? denoFlagsOf(stage) : []), ...Deno.args];
  try {
    return new Deno.Command(Deno.execPath(), { args }).spawn();
  } catch (error) {
    if (!(error instanceof Deno.errors.NotCapable)) throw error;
    const text =
      "Cannot start ping-llm: it may not run Deno, expected all permissions, of which each stage gets only " +
      "the ones it needs; put -A after deno run";
    return endProcess({ exitCode: 1, text });
  }
}

const program = start();
// A terminal sends SIGINT to both processes.
const isSentToBoth = Deno.stdin.isTerminal() || Deno.stderr.isTerminal();
for (const name of SIGNALS) {
  Deno.addSignalListener(name, () => {
    if (name !== "SIGINT" || !isSentToBoth) program.kill(name);
  });
}
Deno.exit((await program.status).code);
