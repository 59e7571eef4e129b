/**
 * A command with the code it runs: options in, a result out. All stages handle errors, exit codes and signals
 * in the same way.
 *
 * @module
 */
import { InterruptedError, UserError } from "../base/errors.ts";
import { printable, printLog } from "../base/printed.ts";
import { type Command, helpFor, parseArguments } from "./command.ts";
import {
  endProcess,
  type Outcome,
  RequestedThread,
  SignalListener,
  type StageCommand,
  type StageReport,
} from "./stage_thread.ts";
import type { commonOptions, Options, Values } from "./options.ts";
import { countSignsIn, signOfWork } from "../io/threads/signs_of_work.ts";
import { startThreadsWith } from "../io/threads/worker_pool.ts";
import { type EngineChoice, useByDefault } from "../tensor/engine.ts";
import { Progress } from "./progress.ts";

/** Milliseconds between two signs that the event loop is running. */
const SIGN_MS = 200;

/** The program's services for a stage: its signal, progress and log. */
export interface StageContext {
  /** Aborted at SIGINT, SIGTERM or SIGUSR2; its reason is the `InterruptedError` to end with. */
  readonly signal: AbortSignal;
  /** Starts a progress display that respects `--quiet`. */
  progress(label: string, options: { total?: number; unit: string; start?: number }): Progress;
  /** Prints a line for the user to standard error. */
  log(line: string): void;
}

/** The result of a stage: a text, and an object for `--json`, with keys in snake_case. */
export interface StageResult {
  /** Empty if the stage wrote its result to standard output itself. */
  text: string;
  /** Null if another process prints it. */
  json: Record<string, unknown> | null;
  /** 0 by default. */
  exitCode?: number;
}

/**
 * The program's own names as keys of JSON: `numBad` is `num_bad`.
 *
 * @param isDeep Whether to do the same within the values, which must have no other keys, such as reasons or
 *   configurations.
 */
export function snakeKeys(values: object, isDeep = false): Record<string, unknown> {
  const within = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(within);
    return typeof value === "object" && value !== null ? snakeKeys(value, true) : value;
  };
  const entries = Object.entries(values).map(([name, value]) =>
    [name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), isDeep ? within(value) : value] as const
  );
  return Object.fromEntries(entries);
}

export interface Stage {
  readonly name: string;
  /** The text of `--help`. @param args The arguments including it. */
  help(args: readonly string[]): string;
  /** Only parses the arguments. @throws {UsageError} If they are wrong. */
  check(args: readonly string[]): void;
  /**
   * Parses the arguments and runs the stage.
   *
   * @param args The arguments after the stage's name.
   * @param within The context of a stage that runs this one as a part; missing members are this stage's own.
   */
  run(args: readonly string[], within?: Partial<StageContext>): Promise<StageResult>;
}

export function defineStage<O extends Options & typeof commonOptions>(
  command: Command<O>,
  run: (options: Values<O>, context: StageContext, positionals: string[]) => Promise<StageResult>,
): Stage {
  return {
    name: command.name,
    help: (args) => helpFor(command, args),
    check: (args) => void parseArguments(command, args),
    async run(args, within) {
      const { values, positionals } = parseArguments(command, args);
      const { quiet, engine } = values as Values<typeof commonOptions> & { engine?: EngineChoice };
      const context: StageContext = {
        signal: new AbortController().signal,
        progress: (label, shown) => new Progress(label, { ...shown, quiet }),
        log: (line) => {
          if (!quiet) printLog(line);
        },
        ...within,
      };
      if (engine) useByDefault(engine, context.log);
      return await run(values, context, positionals);
    },
  };
}

/**
 * Runs a stage for the thread that started this one with {@link file://./stage_thread.ts}. In a program's
 * main thread, where permissions are not narrowed, it ends the process.
 *
 * @param stages The stage, or all stages of a module with several.
 */
export function serveStage(...stages: Stage[]): void {
  if (!("WorkerGlobalScope" in globalThis)) {
    const [{ name }] = stages;
    endProcess({ exitCode: 2, text: `Cannot run the module of ${name} by itself; run deno task ${name}` });
  }
  const main = globalThis as unknown as Pick<Worker, "onmessage" | "postMessage">;
  const report = (message: StageReport) => main.postMessage(message);
  const stopped = new AbortController();
  const threads: RequestedThread[] = [];
  startThreadsWith((module) => {
    const thread = new RequestedThread(threads.length, module, main);
    threads.push(thread);
    return thread;
  });
  const end = (outcome: Outcome) => {
    finishDevices();
    report({ kind: "end", outcome });
  };
  const endWithBug = (event: Event, error: unknown) => {
    event.preventDefault();
    printLog(`error: Uncaught ${Deno.inspect(error)}`);
    end({ exitCode: 1, text: "" });
  };
  // No error ends this thread: the exit of the process would then free a driver's memory at the same time as
  // the thread's end does.
  addEventListener("error", (event) => endWithBug(event, event.error));
  addEventListener("unhandledrejection", (event) => endWithBug(event, event.reason));
  main.onmessage = async ({ data }: MessageEvent<StageCommand>) => {
    if (data.kind === "stop") {
      // A running event loop is a sign of work: a waiting stage ends by its signal.
      setInterval(signOfWork, SIGN_MS);
      return stopped.abort(new InterruptedError(data.signal));
    }
    if (data.kind === "thread died") return threads[data.id].fail(data.message);
    if (data.kind === "end now") return end({ exitCode: data.exitCode, text: "" });
    countSignsIn(data.signs);
    const stage = stages.find(({ name }) => name === data.name) ?? stages[0];
    end(await outcomeOf(stage, data.args, stopped.signal));
  };
  report({ kind: "ready" });
}

/**
 * Lets the devices of this thread finish their work, which they do at `unload` (lib/tensor/device.ts). The
 * process must not exit earlier, and threads do not receive that event when another thread ends the process.
 */
function finishDevices(): void {
  globalThis.dispatchEvent(new Event("unload"));
}

/** Runs a stage as the whole process, with all its permissions. */
export async function runStage(stage: Stage, args: readonly string[]): Promise<never> {
  const signals = new SignalListener();
  const stopped = new AbortController();
  signals.begin((error) => stopped.abort(error));
  if (args.includes("--help")) endProcess({ exitCode: 0, text: stage.help(args) });
  endProcess(await outcomeOf(stage, args, stopped.signal));
}

/** Runs a stage. Keys are hidden here, because the main thread, which prints the outcome, lacks them. */
async function outcomeOf(stage: Stage, args: readonly string[], signal: AbortSignal): Promise<Outcome> {
  try {
    const { text, json, exitCode = 0 } = await stage.run(args, { signal });
    const shown = args.includes("--json") && json ? JSON.stringify(json) : text;
    return { exitCode, text: printable(shown), isResult: true };
  } catch (thrown) {
    const error = explainStartError(thrown, stage.name);
    if (!(error instanceof UserError)) throw error;
    return { exitCode: error.exitCode, text: printable(error.message) };
  }
}

/**
 * The user error to report if closing a file or folder failed after another error. The closing error comes
 * first in the search, because it reports that a folder is gone.
 */
function firstFault(error: unknown): unknown {
  if (!(error instanceof SuppressedError)) return error;
  const faults = [error.error, error.suppressed].map(firstFault);
  return faults.find((fault) => fault instanceof UserError) ?? error;
}

/** Deno starts single programs only if the environment loads no code into them. */
function explainStartError(thrown: unknown, name: string): unknown {
  const error = firstFault(thrown);
  const variable = error instanceof Deno.errors.NotCapable && /\b(?:LD|DYLD)_\w+/.exec(error.message)?.[0];
  if (!variable) return error;
  return new UserError(
    `Cannot run ${name}: the environment sets ${variable}; ` +
      `put \`env -u ${variable}\` before the command`,
    { cause: error },
  );
}
