/**
 * PyTorch, for comparison: a program of its own, started by `bench peers` through
 * {@link file://./peer_process.ts}, that hands its standard input and output to `python3` if there is one.
 *
 * @module
 */
import { fileURLToPath } from "node:url";

async function serve(mode: string): Promise<void> {
  const path = fileURLToPath(new URL("./peers_torch.py", import.meta.url));
  try {
    const args = [path, mode];
    const inherited = { stdin: "inherit", stdout: "inherit", stderr: "inherit" } as const;
    Deno.exitCode = (await new Deno.Command("python3", { args, ...inherited }).spawn().status).code;
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    console.log(JSON.stringify({ unavailable: "there is no python3" }));
  }
}

if (import.meta.main) await serve(Deno.args[0]);
