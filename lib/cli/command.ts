/**
 * A command of the program as one object: its name, what it reads and writes, its options and its other
 * needs. The lists of commands, `--help`, the tasks of deno.json, README's table and the permissions are
 * derived from it. It is declared separately from the code it runs (`defineStage()` in `stage.ts`), so that
 * all commands are known before a stage is loaded.
 *
 * @module
 */
import { UsageError } from "../base/errors.ts";
import { didYouMean } from "../base/text.ts";
import {
  commonOptions,
  consoleColumns,
  convertArguments,
  describeOptions,
  type Options,
  splitArguments,
  type Values,
  wrapped,
} from "./options.ts";
import type { PathUse } from "./path_uses.ts";

/** What a stage needs in addition to the paths in its options. */
interface Needs {
  /** Files that it always reads. */
  files?: () => (string | URL)[];
  /** Whether it trains: it then checks free memory, and collects garbage before allocating more. */
  trains?: true;
  /** Whether it starts Deno processes. */
  deno?: true;
  /** Names of other programs that it starts. */
  programs?: readonly string[];
  /** Environment variables that show whether an MPI launcher started it. */
  launchVariables?: readonly string[];
  /** Environment variables that it reads, for example for a key. */
  variables?: readonly string[];
  /** The option with the URL of a host to connect to; with `ifGiven`, only if that other option is given. */
  connects?: { to: string; ifGiven?: string };
  /**
   * Whether it accepts connections at `--host` and `--port`, or only unless a switch is set. A text names an
   * option with the address and port; it then accepts connections if that option is given.
   */
  listens?: true | { unless: string } | string;
}

/** A command of the program: a stage, or a kind of a {@link Group}. */
export interface Command<O extends Options = Options> {
  /** Its name on the command line, such as `train` or `query rtt`. */
  readonly name: string;
  /** Its purpose, in one line. */
  summary: string;
  /** Further paragraphs of `--help`. */
  details?: string;
  /** Its inputs and outputs, for README.md; absent for the kinds of a group that has them. */
  reads?: string;
  writes?: string;
  /** The arguments after its name in a typical call. */
  example: string;
  options: O;
  /** The most important options, which `--help` lists; by default the required and the first ones. */
  main?: readonly string[];
  /** The arguments without `--`; if absent, none are allowed. */
  positionals?: { value: string; min: number; use?: PathUse; choices?: readonly string[] };
  needs?: Needs;
  /** The name of its module in tasks/ if it differs from the command's name. */
  module?: string;
}

/** A command with several kinds, such as `query rtt`. */
export interface Group<K extends Record<string, Command> = Record<string, Command>>
  extends Pick<Command, "name" | "summary" | "reads" | "writes"> {
  kinds: K;
}

type WithCommon<O extends Options> = Omit<typeof commonOptions, keyof O> & O;

export type OptionsOf<C> = C extends Command<infer O> ? Values<O> : never;

/** Declares a command. Its options replace common ones of the same name. */
export function command<O extends Options>(declaration: Command<O>): Command<WithCommon<O>> {
  const { options } = declaration;
  return { ...declaration, options: { ...options, ...commonOptions, ...options } as WithCommon<O> };
}

/**
 * Finds the command at the beginning of the arguments.
 *
 * @returns `rest`: the arguments after its name; or the group whose help is requested.
 * @throws {UsageError} If it is unknown.
 */
export function chooseCommand(
  commands: Record<string, Command | Group>,
  [name, ...args]: readonly string[],
): { command: Command | Group; rest: readonly string[] } {
  if (!Object.hasOwn(commands, name)) {
    throw new UsageError(`Cannot run ${name}: no such stage${didYouMean(name, Object.keys(commands))}`);
  }
  const command = commands[name];
  if (!("kinds" in command) || args[0] === "--help") return { command, rest: args };
  const [kind, ...rest] = args;
  const known = Object.keys(command.kinds);
  if (kind === undefined) {
    throw new UsageError(`Cannot run ${name}: no kind given; use one of ${known.join(", ")}`);
  }
  if (Object.hasOwn(command.kinds, kind)) return { command: command.kinds[kind], rest };
  throw new UsageError(`Cannot run ${name} ${kind}: it is unknown${didYouMean(kind, known)}`);
}

/** All commands, with groups expanded into their kinds. */
export function leavesOf(commands: Record<string, Command | Group>): Command[] {
  return Object.values(commands).flatMap((each) => "kinds" in each ? Object.values(each.kinds) : [each]);
}

/** Parses the arguments after a command's name. @throws {UsageError} If they are wrong. */
export function parseArguments<O extends Options>(
  { name, options, positionals: wanted }: Command<O>,
  args: readonly string[],
): { values: Values<O>; positionals: string[] } {
  const split = splitArguments(args, options);
  const values = convertArguments(split, options);
  const { positionals } = split;
  if (!wanted && positionals.length > 0) {
    throw new UsageError(`Cannot use argument ${positionals[0]}: ${name} takes options only; see --help`);
  }
  if (wanted && positionals.length < wanted.min) {
    throw new UsageError(`Cannot run ${name}: ${wanted.value} is missing; see --help`);
  }
  return { values, positionals };
}

/** Line width of help that is not written to a terminal. */
const HELP_WIDTH = 110;

interface HelpOptions {
  /** Whether to list all options instead of the most important ones. */
  isWhole?: boolean;
  width?: number;
}

/** The help that the arguments request, for this terminal. */
export function helpFor(command: Command | Group, args: readonly string[]): string {
  return helpOf(command, { isWhole: args.includes("--all"), width: helpWidth() });
}

/** Characters per line of help: the terminal's width, or {@link HELP_WIDTH} for other destinations. */
export function helpWidth(): number {
  return Deno.stdout.isTerminal() ? Math.max(40, consoleColumns() - 1) : HELP_WIDTH;
}

/** One line per command, with its summary. */
export function listOf(commands: Record<string, Command | Group>, width: number): string[] {
  const names = Object.values(commands).map(({ name }) => `  ${name}`);
  const indent = Math.max(...names.map((name) => name.length)) + 2;
  return Object.values(commands).flatMap(({ summary }, i) =>
    wrapped(summary, width - indent).map((line, at) => (at === 0 ? names[i] : "").padEnd(indent) + line)
  );
}

export function helpOf(
  command: Command | Group,
  { isWhole = false, width = HELP_WIDTH }: HelpOptions = {},
): string {
  const { name, summary } = command;
  const purpose = wrapped(`${name}: ${summary}`, width);
  if ("kinds" in command) {
    return [...purpose, "", ...listOf(command.kinds, width), "", `${name} KIND --help describes each.`]
      .join("\n");
  }
  const { details, reads, writes, example, options, positionals } = command;
  const call = `deno task ${name}`;
  const shown = isWhole ? options : mainOptionsOf(command);
  const numShown = Object.keys(shown).length;
  return [
    ...purpose,
    ...(details ? wrapped(details, width) : []),
    "",
    ...(isWhole && reads && writes
      ? [...wrapped(`Reads:  ${reads}`, width), ...wrapped(`Writes: ${writes}`, width), ""]
        .map((line) => line.replaceAll("`", ""))
      : []),
    `Usage: ${call}${positionals ? ` ${positionals.value}` : ""} [options]`,
    "",
    ...(numShown === 0 ? [] : [...describeOptions(shown, width), ""]),
    `Example: ${call} ${example}`,
    ...(isWhole ? [] : ["", `${call} --help --all lists all ${Object.keys(options).length} options.`]),
  ].join("\n");
}

const MAIN_OPTIONS = 5;

/** The most important options: those the command names, else the first ones including all required ones. */
function mainOptionsOf({ options, main }: Command): Options {
  const names = Object.keys(options).filter((name) => !(name in commonOptions));
  const required = names.filter((name) => options[name].isRequired);
  const chosen = new Set(main ?? [...new Set([...required, ...names])].slice(0, MAIN_OPTIONS));
  return Object.fromEntries([...chosen].map((name) => [name, options[name]]));
}
