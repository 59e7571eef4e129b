/**
 * Runs a stage in a thread with only the permissions that the stage needs, while this thread waits and takes
 * signals. Only a new thread can have permissions narrowed to paths: a process can only give up a permission
 * as a whole. The stage's own threads, which this thread starts for it (lib/io/threads), have the same
 * permissions.
 *
 * @module
 */
import { newSigns, SignObserver } from "../io/threads/signs_of_work.ts";
import type { Introduction, Thread } from "../io/threads/worker_pool.ts";
import { InterruptedError, UserError } from "../base/errors.ts";
import { printLog } from "../base/printed.ts";
import { printLine } from "../io/files/standard_output.ts";

/** How long a second signal waits for the thread to finish its work on devices. */
const LONGEST_END_MS = 1000;

/**
 * How long a stage that was asked to end may show no sign of work. Batch systems kill 30 s after SIGTERM, but
 * send SIGUSR2 minutes before it; on a busy machine a training step may take most of one.
 */
const longestStuckS = (signal: string) => signal === "SIGUSR2" ? 90 : 20;

/** A message to the thread of a stage. */
export type StageCommand =
  | {
    kind: "run";
    name: string | undefined;
    args: readonly string[];
    /** Where the thread counts its signs of work. */
    signs: Int32Array<SharedArrayBuffer>;
  }
  | { kind: "stop"; signal: string }
  | { kind: "end now"; exitCode: number }
  | { kind: "thread died"; id: number; message: string };

/** A message from the thread of a stage, which may also request more threads, see lib/io/threads. */
export type StageReport =
  | { kind: "ready" }
  | { kind: "start thread"; id: number; module: string; port: MessagePort }
  | { kind: "end thread"; id: number }
  | { kind: "end"; outcome: Outcome };

/**
 * Runs a stage until the process ends.
 *
 * @param module The stage's module, which calls `serveStage()`.
 * @param options `name`: the stage's name, for a module with several; `signals`: already receives signals.
 */
export function runStageThread(
  module: URL,
  args: readonly string[],
  { name, permissions, signals }: {
    name?: string;
    permissions: Deno.PermissionOptions;
    signals: SignalListener;
  },
): void {
  const thread = new Worker(module, { type: "module", deno: { permissions } });
  const post = (command: StageCommand) => thread.postMessage(command);
  // The module could not be loaded, which standard error already says; later errors are reported as the
  // stage's end (serveStage).
  thread.onerror = () => Deno.exit(1);
  const further = new Map<number, Worker>();
  const startFurther = (id: number, module: string, port: MessagePort) => {
    const worker = new Worker(module, { type: "module", deno: { permissions } });
    worker.onerror = (event) => {
      event.preventDefault();
      post({ kind: "thread died", id, message: event.message });
    };
    const introduction: Introduction = { threadPort: port };
    worker.postMessage(introduction, [port]);
    further.set(id, worker);
  };
  thread.onmessage = ({ data }: MessageEvent<StageReport>) => {
    if (data.kind === "end") endProcess(data.outcome);
    if (data.kind === "start thread") return startFurther(data.id, data.module, data.port);
    if (data.kind === "end thread") return further.get(data.id)?.terminate();
    const signs = newSigns();
    const endNow = ({ exitCode }: InterruptedError) => {
      post({ kind: "end now", exitCode });
      setTimeout(() => Deno.exit(exitCode), LONGEST_END_MS);
    };
    signals.begin((error) => {
      post({ kind: "stop", signal: error.signal });
      const mostS = longestStuckS(error.signal);
      whenStuck(signs, mostS, () => {
        printLog(
          `error: Cannot end cleanly after ${error.signal}: the stage made no progress for ${mostS} s ` +
            "and was cut off; run the same command again to continue",
        );
        endNow(error);
      });
    }, endNow);
    post({ kind: "run", name, args, signs });
  };
}

/**
 * Calls back once if from now on a thread shows no sign of work for `mostS` seconds, because it is blocked or in
 * an endless loop.
 */
function whenStuck(signs: Int32Array<SharedArrayBuffer>, mostS: number, end: () => void): void {
  const observer = new SignObserver(signs);
  // Counts checks instead of using a clock: while the whole process is stopped, no check is missed.
  let numWithout = 0;
  const look = () => {
    numWithout = observer.hasWorked() ? 0 : numWithout + 1;
    if (numWithout >= mostS) end();
    else setTimeout(look, 1000);
  };
  setTimeout(look, 1000);
}

/** The stage's handle of a requested thread. */
export class RequestedThread implements Thread {
  onmessage: Thread["onmessage"] = null;
  onerror: Thread["onerror"] = null;
  readonly #port: MessagePort;

  /** Requests the thread. @param id Its number among the stage's threads. @param main The main thread. */
  constructor(readonly id: number, module: URL, readonly main: Pick<Worker, "postMessage">) {
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    port1.onmessage = (event) => this.onmessage?.(event);
    const request: StageReport = { kind: "start thread", id, module: module.href, port: port2 };
    main.postMessage(request, [port2]);
  }

  postMessage(message: unknown, transfer: Transferable[] = []): void {
    this.#port.postMessage(message, transfer);
  }

  terminate(): void {
    const request: StageReport = { kind: "end thread", id: this.id };
    this.main.postMessage(request);
    this.#port.close();
  }

  fail(message: string): void {
    this.onerror?.({ message, preventDefault: () => {} });
  }
}

export interface Outcome {
  exitCode: number;
  /** The result, for standard output, or the error. */
  text: string;
  /** Whether the text is a result (default: with exit code 0). */
  isResult?: boolean;
}

export const SIGNALS: readonly Deno.Signal[] = Deno.build.os === "windows"
  ? ["SIGINT"]
  : ["SIGINT", "SIGTERM", "SIGUSR2"];

/**
 * Prints the outcome and exits: 0 done, 1 failed, 2 wrong usage, 3 something is still to be done (`status`),
 * 130 after SIGINT, 75 after SIGTERM or SIGUSR2. An empty text is not printed: the stage wrote its result
 * itself, or another rank reports the error.
 */
export function endProcess({ exitCode, text, isResult = exitCode === 0 }: Outcome): never {
  try {
    if (text !== "" && !isResult) printLog(`error: ${text.replaceAll("\n", " ")}`);
    else if (text !== "") printLine(text);
  } catch (error) {
    if (isResult) {
      endProcess({ exitCode: 1, text: error instanceof UserError ? error.message : String(error) });
    }
  }
  Deno.exit(exitCode);
}

/**
 * Takes signals until the process ends. The second signal ends it at once if one of the two is SIGINT. Other
 * signals may come twice without meaning anything: a scheduler sends them to all processes of a job, and a
 * shell or `deno task` passes them on.
 */
export class SignalListener {
  #stop: ((error: InterruptedError) => void) | undefined;
  #endNow = ({ exitCode }: InterruptedError): void => Deno.exit(exitCode);
  #first: Deno.Signal | undefined;

  /** Starts listening. Until {@link begin} the first signal ends the process. */
  constructor() {
    for (const name of SIGNALS) Deno.addSignalListener(name, () => this.#receive(name));
  }

  /**
   * Begins work.
   *
   * @param stop Called at the first signal.
   * @param endNow Called at the second signal; by default ends the process at once.
   */
  begin(stop: (error: InterruptedError) => void, endNow = this.#endNow): void {
    this.#stop = stop;
    this.#endNow = endNow;
  }

  #receive(name: Deno.Signal): void {
    const error = new InterruptedError(name);
    if (this.#first !== undefined) {
      if (this.#first === "SIGINT" || name === "SIGINT") this.#endNow(error);
      return;
    }
    this.#first = name;
    if (!this.#stop) endProcess({ exitCode: error.exitCode, text: error.message });
    const second = name === "SIGINT" ? "a second signal" : "SIGINT";
    printLog(`\n${name}: finishing work in progress; ${second} stops at once`);
    this.#stop(error);
  }
}
