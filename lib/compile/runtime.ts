/**
 * Runs commands of Deno itself.
 *
 * @module
 */

/** What Deno printed. */
export interface RuntimeOutput {
  success: boolean;
  stdout: string;
  stderr: string;
}

/**
 * Runs a command of Deno.
 *
 * @param args Its arguments.
 * @param cwd The folder to run it in.
 * @param signal Ends it.
 */
export async function runDeno(
  args: readonly string[],
  { cwd, signal }: { cwd: string; signal: AbortSignal },
): Promise<RuntimeOutput> {
  const command = new Deno.Command(Deno.execPath(), {
    args: [...args],
    cwd,
    signal,
    env: { NO_COLOR: "1" },
    stdin: "null",
  });
  const { success, stdout, stderr } = await command.output();
  signal.throwIfAborted();
  const text = new TextDecoder();
  return { success, stdout: text.decode(stdout), stderr: text.decode(stderr) };
}
