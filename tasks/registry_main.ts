/**
 * The program as `deno run` and `deno install` start it from a registry of packages, without the flags that stages need:
 * starts it again with these.
 *
 * @module
 */
import { ownProgram } from "../lib/cli/own_program.ts";
import { denoFlagsOf } from "../lib/cli/stage_permissions.ts";
import { STAGES } from "./stages.ts";

const stage = Object.values(STAGES).find(({ name }) => name === Deno.args[0]);
const program = new Deno.Command(Deno.execPath(), {
  args: [...ownProgram(stage ? denoFlagsOf(stage) : []), ...Deno.args],
}).spawn();
// A terminal sends SIGINT to both processes.
const sent: Deno.Signal[] = ["SIGTERM", "SIGUSR2", ...(Deno.stdin.isTerminal() ? [] : ["SIGINT"] as const)];
if (Deno.build.os !== "windows") {
  for (const name of sent) {
    Deno.addSignalListener(name, () => program.kill(name));
  }
}
if (!sent.includes("SIGINT")) Deno.addSignalListener("SIGINT", () => {});
Deno.exit((await program.status).code);
