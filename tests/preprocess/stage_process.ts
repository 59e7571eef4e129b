/**
 * Stages run as processes of their own, with the permissions that their tasks have.
 *
 * @module
 */
import { fromFileUrl } from "@std/path";

/** Starts `tasks/NAME.ts`. */
export function spawnStage(name: "shard" | "probe_rows", args: string[]): Deno.ChildProcess {
  const script = fromFileUrl(new URL(`../../tasks/${name}.ts`, import.meta.url));
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-prompt", "--allow-read", "--allow-write", script, ...args],
    stdout: "piped",
    stderr: "piped",
    stdin: "null",
  }).spawn();
}

/** Runs a stage to its end. */
export async function runStageProcess(
  name: "shard" | "probe_rows",
  args: string[],
): Promise<{ code: number; stdout: string; stderr: string }> {
  const { code, stdout, stderr } = await spawnStage(name, args).output();
  const decoder = new TextDecoder();
  return { code, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
}
