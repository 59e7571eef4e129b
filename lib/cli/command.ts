/**
 * A command of the program as one object: its name, what it reads and writes, its options and what else it needs. The
 * lists of commands, `--help`, the tasks of deno.json, README's table and the permissions come from it. It is made apart
 * from what it runs (`defineStage()` in `stage.ts`), so that all commands are known before a stage is loaded.
 *
 * @module
 */
import { UsageError } from "../base/errors.ts";
import { didYouMean } from "../base/text.ts";
import {
  commonOptions,
  convertArguments,
  describeOptions,
  type Options,
  splitArguments,
  type Values,
} from "./options.ts";
import type { PathUse } from "./path_uses.ts";

/** The needs of a stage, besides the paths that its options name. */
interface Needs {
  /** Files that it always reads. */
  files?: () => (string | URL)[];
  /** Whether it asks how much memory is free, and has garbage collected before it asks for more: it trains. */
  trains?: true;
  /** Whether it starts processes of Deno. */
  deno?: true;
  /** Names of other programs that it starts. */
  programs?: readonly string[];
  /** Variables of the environment that show whether an MPI launcher started it. */
  launchVariables?: readonly string[];
  /** Variables of the environment that it reads, such as one with a key. */
  variables?: readonly string[];
  /** The option with the URL of the host that it asks; if `ifGiven`, another option, is given. */
  connects?: { to: string; ifGiven?: string };
  /** Whether it writes temporary files where the system has them. */
  temporaryFiles?: true;
  /**
   * Whether it takes connections at `--host` and `--port`, perhaps unless a switch is set; or the option with the address
   * and port, if it does where that is given.
   */
  listens?: true | { unless: string } | string;
  /** Whether it has all permissions of this process. */
  everything?: true;
}

/** The declaration of a command. */
interface Declaration<O extends Options> {
  /** Its name, unless it is named in a list, see {@link named}. */
  name?: string;
  /** Its purpose, in one line that begins with a verb. */
  summary: string;
  /** Further paragraphs of `--help`. */
  details?: string;
  /** Its inputs and outputs, for README.md; absent for the kinds of a group that has them. */
  reads?: string;
  writes?: string;
  /** The arguments after its name in one typical call. */
  example: string;
  options: O;
  /** The arguments without `--`; if absent, none are allowed. */
  positionals?: { value: string; min: number; use?: PathUse; choices?: readonly string[] };
  /** Whether it takes its arguments as they are: for the program's own use. */
  isRaw?: true;
  needs?: Needs;
  /** The name of its module in tasks/ if that is not its own. */
  module?: string;
}

export interface Command<O extends Options = Options> extends Declaration<O> {
  readonly name: string;
}

/** A command with several kinds, such as `query rtt`. */
export interface Group<K extends Record<string, Command> = Record<string, Command>> {
  readonly name: string;
  summary: string;
  reads?: string;
  writes?: string;
  kinds: K;
}

type WithCommon<O extends Options> = Omit<typeof commonOptions, keyof O> & O;

/** The parsed options of a command. */
export type OptionsOf<C> = C extends Command<infer O> ? Values<O> : never;

/** Declares a command; {@link named} gives it its name. Its own option replaces a common one of the same name. */
export function command<O extends Options>(declaration: Declaration<O>): Command<WithCommon<O>> {
  const { options } = declaration;
  return { name: "", ...declaration, options: { ...options, ...commonOptions, ...options } as WithCommon<O> };
}

/** Gives commands, and the kinds of groups, the names by which they are listed. */
export function named<S extends Record<string, Command | Omit<Group, "name">>>(
  commands: S,
  group = "",
): { [K in keyof S]: S[K] & { name: string } } {
  const entries = Object.entries(commands).map(([key, command]) => {
    const name = `${group}${key}`;
    return [key, {
      ...command,
      ...("kinds" in command && { kinds: named(command.kinds, `${name} `) }),
      name,
    }];
  });
  return Object.fromEntries(entries);
}

/**
 * The command that arguments begin with.
 *
 * @returns `rest`: the arguments after its name; or the group whose help is asked for.
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
    throw new UsageError(`Cannot run ${name}: no kind was given; known are ${known.join(", ")}`);
  }
  if (Object.hasOwn(command.kinds, kind)) return { command: command.kinds[kind], rest };
  throw new UsageError(`Cannot run ${name} ${kind}: it is unknown${didYouMean(kind, known)}`);
}

/** All commands, groups as their kinds. */
export function leavesOf(commands: Record<string, Command | Group>): Command[] {
  return Object.values(commands).flatMap((each) => "kinds" in each ? Object.values(each.kinds) : [each]);
}

/** Parses the arguments after a command's name. @throws {UsageError} If they are wrong. */
export function parseArguments<O extends Options>(
  { name, options, positionals: wanted, isRaw }: Command<O>,
  args: readonly string[],
): { values: Values<O>; positionals: string[] } {
  const split = splitArguments(isRaw ? [] : args, options);
  const values = convertArguments(split, options);
  if (isRaw) return { values, positionals: [...args] };
  const { positionals } = split;
  if (!wanted && positionals.length > 0) {
    throw new UsageError(`Cannot use argument ${positionals[0]}: ${name} takes options only; see --help`);
  }
  if (wanted && positionals.length < wanted.min) {
    throw new UsageError(`Cannot run ${name}: ${wanted.value} is missing; see --help`);
  }
  return { values, positionals };
}

/** The text of `--help`. */
export function helpOf(command: Command | Group): string {
  const { name, summary } = command;
  if ("kinds" in command) {
    const kinds = Object.values(command.kinds).map((kind) => `  ${kind.name.padEnd(24)}${kind.summary}`);
    return [`${name}: ${summary}`, "", ...kinds, "", `${name} KIND --help says more of each.`].join("\n");
  }
  const { details, reads, writes, example, options, positionals, isRaw } = command;
  return [
    `${name}: ${summary}`,
    ...(details ? [details] : []),
    "",
    ...(reads && writes
      ? [`Reads:  ${reads}`, `Writes: ${writes}`, ""].map((line) => line.replaceAll("`", ""))
      : []),
    `Usage: deno task ${name}${positionals ? ` ${positionals.value}` : ""} [options]`,
    "",
    ...(isRaw ? [] : [...describeOptions(options), ""]),
    `Example: deno task ${name} ${example}`,
  ].join("\n");
}
