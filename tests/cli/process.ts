/** Runs a stage as users do, in a process of its own. @module */
import { fromFileUrl } from "@std/path";

/** The dispatcher's path. */
export const MAIN: string = fromFileUrl(new URL("../../tasks/main.ts", import.meta.url));

/** What a process printed and how it ended. */
export interface ProcessResult {
  code: number;
  stdout: string;
  stderr: string;
}

/** The arguments of `deno` that run a stage with all the permissions any stage needs. */
export function denoArguments(args: readonly string[]): string[] {
  return ["run", "--no-prompt", "--allow-read", "--allow-write", MAIN, ...args];
}

/** Runs `ping-llm ARGS…` to its end. */
export async function runStageProcess(
  args: readonly string[],
  options: { env?: Record<string, string>; stdin?: Uint8Array<ArrayBuffer> } = {},
): Promise<ProcessResult> {
  const child = new Deno.Command(Deno.execPath(), {
    args: denoArguments(args),
    env: { NO_COLOR: "1", ...options.env },
    stdin: options.stdin ? "piped" : "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  if (options.stdin) {
    const writer = child.stdin.getWriter();
    await writer.write(options.stdin);
    await writer.close();
  }
  const { code, stdout, stderr } = await child.output();
  const text = new TextDecoder();
  return { code, stdout: text.decode(stdout), stderr: text.decode(stderr) };
}
