/**
 * Runs a stage in a thread that may do no more than the stage needs; this thread only waits, and takes signals.
 *
 * A thread, because only with one can permissions be narrowed to paths: what a process may do can be given up as a
 * whole or not at all. The stage's own threads inherit what it may do.
 *
 * @module
 */
import { endProcess, type Outcome, type SignalListener } from "./ending.ts";

/** To the thread of a stage. */
export type StageCommand = { kind: "run"; args: readonly string[] } | { kind: "stop"; signal: Deno.Signal };

/** From the thread of a stage. */
export type StageReport = { kind: "ready" } | { kind: "end"; outcome: Outcome };

const PERMISSIONS = ["read", "write", "net", "env", "run", "sys", "ffi", "import"] as const;

/**
 * Runs a stage to the end of the process.
 *
 * @param module The stage's module, which calls `serveStage()`.
 * @param args The arguments after the stage's name.
 * @param permissions What it may do.
 * @param signals Takes the signals already.
 */
export function runStageThread(
  module: URL,
  args: readonly string[],
  { permissions, signals }: { permissions: Deno.PermissionOptions; signals: SignalListener },
): void {
  const thread = new Worker(module, { type: "module", deno: { permissions } });
  const post = (command: StageCommand) => thread.postMessage(command);
  // Its stack trace stands on standard error already.
  thread.onerror = () => Deno.exit(1);
  thread.onmessage = ({ data }: MessageEvent<StageReport>) => {
    if (data.kind === "end") endProcess(data.outcome);
    // All modules are loaded, on this thread's permissions.
    for (const name of PERMISSIONS) Deno.permissions.revokeSync({ name });
    signals.begin(({ signal }) => post({ kind: "stop", signal }));
    post({ kind: "run", args });
  };
}
