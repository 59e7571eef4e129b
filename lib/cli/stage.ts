/**
 * A stage of the chain as a command: declared options in, a result out; errors, exit codes, signals and
 * `--help` are the same for all.
 *
 * @module
 */
import { InterruptedError, UsageError, UserError } from "../errors.ts";
import { VERSION } from "../version.ts";
import { commonFlags, describeFlags, type Flags, parseFlags, type Values } from "./flags.ts";
import { didYouMean } from "./nearest.ts";
import { Progress } from "./progress.ts";

/** What a stage may use of its surroundings. */
export interface StageContext {
  /** Aborted at SIGINT, SIGTERM or SIGUSR2; its reason is the {@link InterruptedError} to end with. */
  readonly signal: AbortSignal;
  /** Starts a progress display that respects `--quiet`. */
  progress(label: string, options: { total?: number; unit: string; start?: number }): Progress;
  /** Prints a line for the user on standard error. */
  log(line: string): void;
}

/** What a stage hands back: text for a person and an object for `--json`. */
export interface StageResult {
  /** Empty if the stage wrote its result to standard output itself. */
  text: string;
  json: Record<string, unknown>;
}

/** A command of the program. */
export interface Stage {
  readonly name: string;
  readonly purpose: string;
  /** The text of `--help`. */
  help(): string;
  /**
   * Parses the arguments and runs.
   *
   * @param args The arguments after the stage's name.
   * @param within The context of a stage that runs this one as a part of itself; its own if absent.
   */
  run(args: readonly string[], within?: StageContext): Promise<StageResult | { help: string }>;
}

/** What {@link defineStage} needs. */
export interface StageDefinition<F extends Flags> {
  name: string;
  /** One sentence: what it reads and writes. */
  purpose: string;
  /** The arguments after the stage's name in one typical call. */
  example: string;
  flags: F;
  /** What arguments without `--` stand for; none are allowed if absent. */
  positionals?: { placeholder: string; min: number };
  run(
    options: Values<F> & Values<typeof commonFlags>,
    context: StageContext,
    positionals: string[],
  ): Promise<StageResult>;
}

/** Makes a stage of its definition. */
export function defineStage<F extends Flags>(definition: StageDefinition<F>): Stage {
  // A stage's own option stands instead of the common one of its name.
  const flags = { ...definition.flags, ...commonFlags, ...definition.flags };
  const help = () => describeStage(definition, flags);
  return {
    name: definition.name,
    purpose: definition.purpose,
    help,
    async run(args, within) {
      if (args.includes("--help")) return { help: help() };
      if (args.includes("--version")) return { help: VERSION };
      const { values, positionals } = parseFlags(args, flags);
      checkPositionals(definition, positionals);
      const options = values as Values<F> & Values<typeof commonFlags>;
      if (within) return await definition.run(options, within, positionals);
      using interruption = listenForSignals();
      return await definition.run(options, {
        signal: interruption.signal,
        progress: (label, shown) => new Progress(label, { ...shown, quiet: options.quiet }),
        log: (line) => {
          if (!options.quiet) console.error(line);
        },
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
  return {
    name,
    purpose,
    help,
    async run(args, within) {
      const [kind, ...rest] = args;
      if (kind === "--help") return { help: help() };
      const known = members.map((member) => member.name.split(" ").at(-1) ?? member.name);
      if (kind === undefined) {
        throw new UsageError(`Cannot run ${name}: no kind was given; known are ${known.join(", ")}`);
      }
      const index = known.indexOf(kind);
      if (index < 0) {
        throw new UsageError(`Cannot run ${name} ${kind}: it is unknown${didYouMean(kind, known)}`);
      }
      return await members[index].run(rest, within);
    },
  };
}

/**
 * Runs a stage as the whole process: prints its result, or its error as one line, and exits.
 *
 * Exit codes: 0 done, 1 failed, 2 wrong usage, 130 after SIGINT, 75 after SIGTERM or SIGUSR2.
 */
export async function runStage(stage: Stage, args: readonly string[]): Promise<never> {
  try {
    const result = await stage.run(args);
    if ("help" in result) console.log(result.help);
    else if (args.includes("--json")) console.log(JSON.stringify(result.json));
    else if (result.text !== "") console.log(result.text);
    Deno.exit(0);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    console.error(`error: ${error.message.replaceAll("\n", " ")}`);
    Deno.exit(error.exitCode);
  }
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

/** Turns the first SIGINT, SIGTERM or SIGUSR2 into an aborted signal; the second ends the process at once. */
function listenForSignals(): { signal: AbortSignal } & Disposable {
  const controller = new AbortController();
  const names: Deno.Signal[] = Deno.build.os === "windows" ? ["SIGINT"] : ["SIGINT", "SIGTERM", "SIGUSR2"];
  const listeners = names.map((name) => {
    const listener = () => {
      const error = new InterruptedError(name);
      if (controller.signal.aborted) Deno.exit(error.exitCode);
      console.error(`\n${name}: finishing the step in flight; a second signal ends at once`);
      controller.abort(error);
    };
    Deno.addSignalListener(name, listener);
    return () => Deno.removeSignalListener(name, listener);
  });
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      for (const stop of listeners) stop();
    },
  };
}
