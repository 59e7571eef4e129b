/**
 * A stage of the chain as a command: declared options in, a result out; errors, exit codes, signals and
 * `--help` are the same for all.
 *
 * @module
 */
import { InterruptedError, UsageError, UserError } from "../base/errors.ts";
import { VERSION } from "../base/version.ts";
import { endProcess, type Outcome, SignalListener } from "./ending.ts";
import { commonFlags, describeFlags, type Flags, parseFlags, type Values } from "./flags.ts";
import { didYouMean } from "../base/text.ts";
import { startThreadsWith } from "../io/threads/thread.ts";
import { Progress } from "./progress.ts";
import { RequestedThread, type StageCommand, type StageReport } from "./stage_thread.ts";

/** What a stage gets from the program. */
export interface StageContext {
  /** Aborted at SIGINT, SIGTERM or SIGUSR2; its reason is the `InterruptedError` to end with. */
  readonly signal: AbortSignal;
  /** Starts a progress display that respects `--quiet`. */
  progress(label: string, options: { total?: number; unit: string; start?: number }): Progress;
  /** Prints a line for the user on standard error. */
  log(line: string): void;
}

/** The result of a stage: a text, and an object for `--json`. */
export interface StageResult {
  /** Empty if the stage wrote its result to standard output itself. */
  text: string;
  /** null if another process prints it. */
  json: Record<string, unknown> | null;
  /** The exit code; 0 by default. */
  exitCode?: number;
}

/** A command of the program. */
export interface Stage {
  readonly name: string;
  readonly purpose: string;
  /** The text of `--help`. */
  help(): string;
  /** Parses the arguments only. @throws {UsageError} If they are wrong. */
  check(args: readonly string[]): void;
  /**
   * Parses the arguments and runs.
   *
   * @param args The arguments after the stage's name.
   * @param within The context of a stage that runs this one as a part; what is absent is this stage's own.
   */
  run(args: readonly string[], within?: Partial<StageContext>): Promise<StageResult | { help: string }>;
}

/** What {@link defineStage} needs. */
export interface StageDefinition<F extends Flags> {
  name: string;
  /** One sentence: what it reads and writes. */
  purpose: string;
  /** The arguments after the stage's name in one typical call. */
  example: string;
  flags: F;
  /** The arguments without `--`; if absent, none are allowed. */
  positionals?: { placeholder: string; min: number };
  run(
    options: Values<F> & Values<typeof commonFlags>,
    context: StageContext,
    positionals: string[],
  ): Promise<StageResult>;
}

/** Makes a stage of its definition. */
export function defineStage<F extends Flags>(definition: StageDefinition<F>): Stage {
  // A stage's own option replaces a common one of the same name.
  const flags = { ...definition.flags, ...commonFlags, ...definition.flags };
  const help = () => describeStage(definition, flags);
  const parse = (args: readonly string[]) => {
    const parsed = parseFlags(args, flags);
    checkPositionals(definition, parsed.positionals);
    return parsed;
  };
  return {
    name: definition.name,
    purpose: definition.purpose,
    help,
    check: (args) => void parse(args),
    async run(args, within) {
      if (args.includes("--help")) return { help: help() };
      if (args.includes("--version")) return { help: VERSION };
      const { values, positionals } = parse(args);
      const options = values as Values<F> & Values<typeof commonFlags>;
      return await definition.run(options, {
        signal: new AbortController().signal,
        progress: (label, shown) => new Progress(label, { ...shown, quiet: options.quiet }),
        log: (line) => {
          if (!options.quiet) console.error(line);
        },
        ...within,
      }, positionals);
    },
  };
}

/** Makes a stage whose first argument chooses among several, such as `query rtt`. */
export function defineStageGroup(name: string, purpose: string, members: readonly Stage[]): Stage {
  const help = () =>
    [
      `${name}: ${purpose}`,
      "",
      ...members.map((member) => `  ${member.name.padEnd(24)}${member.purpose}`),
      "",
      `${name} KIND --help says more of each.`,
    ].join("\n");
  const choose = (kind: string | undefined) => {
    const known = members.map((member) => member.name.split(" ").at(-1) ?? member.name);
    if (kind === undefined) {
      throw new UsageError(`Cannot run ${name}: no kind was given; known are ${known.join(", ")}`);
    }
    const index = known.indexOf(kind);
    if (index >= 0) return members[index];
    throw new UsageError(`Cannot run ${name} ${kind}: it is unknown${didYouMean(kind, known)}`);
  };
  return {
    name,
    purpose,
    help,
    check: ([kind, ...rest]) => choose(kind).check(rest),
    async run([kind, ...rest], within) {
      return kind === "--help" ? { help: help() } : await choose(kind).run(rest, within);
    },
  };
}

/**
 * Runs a stage for the thread that started this one with {@link file://./stage_thread.ts}. In a program's main thread,
 * where its permissions are not narrowed, it ends the process.
 */
export function serveStage(stage: Stage): void {
  if (!("WorkerGlobalScope" in globalThis)) {
    const { name } = stage;
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
    console.error("error: Uncaught", error);
    end({ exitCode: 1, text: "" });
  };
  // No error ends this thread: what it frees of a driver at its end, the exit of the process frees too, at the same time.
  addEventListener("error", (event) => endWithBug(event, event.error));
  addEventListener("unhandledrejection", (event) => endWithBug(event, event.reason));
  main.onmessage = async ({ data }: MessageEvent<StageCommand>) => {
    if (data.kind === "stop") return stopped.abort(new InterruptedError(data.signal));
    if (data.kind === "thread died") return threads[data.id].fail(data.message);
    if (data.kind === "end now") return end({ exitCode: data.exitCode, text: "" });
    end(await outcomeOf(stage, data.args, stopped.signal));
  };
  report({ kind: "ready" });
}

/**
 * Has the devices of this thread finish their work, which they do at `unload` (lib/tensor/device.ts). The process must not
 * exit before, and a thread is sent no such event when another one ends the process.
 */
function finishDevices(): void {
  globalThis.dispatchEvent(new Event("unload"));
}

/** Runs a stage as the whole process, with all its permissions. */
export async function runStage(stage: Stage, args: readonly string[]): Promise<never> {
  const signals = new SignalListener();
  const stopped = new AbortController();
  signals.begin((error) => stopped.abort(error));
  endProcess(await outcomeOf(stage, args, stopped.signal));
}

async function outcomeOf(stage: Stage, args: readonly string[], signal: AbortSignal): Promise<Outcome> {
  try {
    const result = await stage.run(args, { signal });
    if ("help" in result) return { exitCode: 0, text: result.help };
    const { text, json, exitCode = 0 } = result;
    return { exitCode, text: args.includes("--json") && json ? JSON.stringify(json) : text, isResult: true };
  } catch (thrown) {
    const error = explainStartError(thrown, stage.name);
    if (!(error instanceof UserError)) throw error;
    return { exitCode: error.exitCode, text: error.message };
  }
}

/** Deno starts single programs only where the environment loads no code into them. */
function explainStartError(error: unknown, name: string): unknown {
  const variable = error instanceof Deno.errors.NotCapable && /\b(?:LD|DYLD)_\w+/.exec(error.message)?.[0];
  if (!variable) return error;
  return new UserError(
    `Cannot run ${name}: the environment has ${variable}, expected none; ` +
      `put \`env -u ${variable}\` before the command`,
    { cause: error },
  );
}

function checkPositionals<F extends Flags>(definition: StageDefinition<F>, positionals: string[]): void {
  const wanted = definition.positionals;
  if (!wanted && positionals.length > 0) {
    throw new UsageError(
      `Cannot use argument ${positionals[0]}: ${definition.name} takes options only; see --help`,
    );
  }
  if (wanted && positionals.length < wanted.min) {
    throw new UsageError(`Cannot run ${definition.name}: ${wanted.placeholder} is missing; see --help`);
  }
}

function describeStage<F extends Flags>(definition: StageDefinition<F>, flags: Flags): string {
  const { name, purpose, example, positionals } = definition;
  return [
    `${name}: ${purpose}`,
    "",
    `Usage: deno task ${name}${positionals ? ` ${positionals.placeholder}` : ""} [options]`,
    "",
    ...describeFlags(flags),
    "  --help, --version",
    "",
    `Example: deno task ${name} ${example}`,
  ].join("\n");
}
