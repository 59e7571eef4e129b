/**
 * The options of a command, each declared once: type, default, bounds, help and the use of a path. Parsing,
 * `--help`, error messages and a stage's permissions are all derived from the declaration. This module is
 * loaded at every start of the program, before a stage, so it imports little.
 *
 * @module
 */
import { shortened, UsageError } from "../base/errors.ts";
import { didYouMean } from "../base/text.ts";
import type { PathUse } from "./path_uses.ts";

/** A declared option. `T` is the type of its value after parsing. */
export interface Option<T> {
  /** How to give it: `--quiet`, once with a value, or with one or more values. */
  readonly arity: "switch" | "one" | "many";
  /** The name of the value in `--help`, such as `N` or `DIR`. */
  readonly value: string;
  /** The allowed words; undefined if any text is allowed. */
  readonly choices: readonly string[] | undefined;
  /** Its effect and unit; may have several lines. */
  readonly help: string;
  /** Undefined without a default. */
  readonly default: T | undefined;
  readonly isRequired: boolean;
  /** How the stage uses the paths in the option; undefined if it takes no paths. */
  readonly use: PathUse | undefined;
  /** Checks and converts one text. @throws {RangeError} With what is expected. */
  readonly convert: (text: string) => unknown;
}

/** Options in camelCase; `--max-row-size-mb` on the command line is `maxRowSizeMb` here. */
// deno-lint-ignore no-explicit-any -- a map of options with values of any types; Values<O> recovers each
export type Options = Record<string, Option<any>>;

export type Values<O extends Options> = { [K in keyof O]: O[K] extends Option<infer T> ? T : never };

/** Properties of options of any type. */
interface Given<T> {
  value?: string;
  choices?: readonly string[];
  default?: T;
  required?: true;
}

/** The type of a value, which includes undefined if the option is optional and has no default. */
type Parsed<T, G> = G extends { default: T } | { required: true } ? T : T | undefined;

interface Bounds {
  min?: number;
  max?: number;
}

function make<T>(
  arity: Option<T>["arity"],
  help: string,
  given: Given<NonNullable<T>>,
  convert: Option<T>["convert"] = (text) => text,
  use?: PathUse,
): Option<T> {
  const { value = "TEXT", choices, required: isRequired = false } = given;
  return { arity, value, choices, help, default: given.default, isRequired, use, convert };
}

/** Declares options. An optional one without a `default` is undefined if not given. */
export const option = {
  /** `--name`, `--no-name`. */
  switch(help: string): Option<boolean> {
    return make<boolean>("switch", help, { default: false, value: "" });
  },
  integer<const G extends Given<number> & Bounds>(help: string, given?: G): Option<Parsed<number, G>> {
    return make("one", help, { value: "N", ...given }, (text) => {
      if (/^-?\d[\d_]*$/.test(text)) {
        return within(Number(text.replaceAll("_", "")), given, Number.MAX_SAFE_INTEGER);
      }
      throw new RangeError("expected an integer");
    });
  },
  number<const G extends Given<number> & Bounds>(help: string, given?: G): Option<Parsed<number, G>> {
    return make("one", help, { value: "X", ...given }, (text) => {
      if (text.trim() !== "" && Number.isFinite(Number(text))) return within(Number(text), given);
      throw new RangeError("expected a number");
    });
  },
  choice<const W extends string>(
    words: readonly W[],
    help: string,
    given: { default: NoInfer<W> },
  ): Option<W> {
    const choice = { value: words.join("|"), choices: words, ...given } as Given<NonNullable<W>>;
    return make<W>("one", help, choice, (text) => {
      if ((words as readonly string[]).includes(text)) return text;
      throw new RangeError(`expected ${words.join(" | ")}`);
    });
  },
  text<const G extends Given<string>>(help: string, given?: G): Option<Parsed<string, G>> {
    return make("one", help, { ...given }, textOf(given));
  },
  /** Texts: `--set A B --set C`. */
  texts(help: string, given: Given<string[]>): Option<string[]> {
    return make("many", help, { default: [], ...given });
  },
  /** A path. @param use How the stage uses it. */
  path<const G extends Given<string>>(use: PathUse, help: string, given?: G): Option<Parsed<string, G>> {
    return make("one", help, { value: use.value, ...given }, textOf(given), use);
  },
  /** A value of another kind. @param read Parses it; throws a `RangeError` with what is expected. */
  value<T>(
    read: (text: string) => T,
    help: string,
    given: Given<NonNullable<T>> = {},
  ): Option<T | undefined> {
    return make<T | undefined>("one", help, given as Given<NonNullable<T | undefined>>, read);
  },
  /** Paths: `--input A B --input C`. */
  paths(use: PathUse, help: string, given?: Given<string[]>): Option<string[]> {
    return make("many", help, { value: use.value, default: [], ...given }, undefined, use);
  },
};

function textOf({ required = false }: { required?: boolean } = {}): (text: string) => string {
  return (text) => {
    if (text !== "" || !required) return text;
    throw new RangeError("expected a value");
  };
}

/** Throws unless a value is within bounds; a missing bound is `limit` in size. */
function within(value: number, { min, max }: Bounds = {}, limit = Infinity): number {
  if (value >= (min ?? -limit) && value <= (max ?? limit)) return value;
  throw new RangeError(
    `expected ${
      min === undefined
        ? `at most ${max ?? limit}`
        : max === undefined
        ? `at least ${min}`
        : `${min} to ${max}`
    }`,
  );
}

export const commonOptions = {
  seed: option.integer("seed of all random numbers", { default: 0, min: 0, max: 2 ** 32 - 1 }),
  workers: option.integer(
    "maximum number of worker threads; results do not depend on it, and some stages use none",
    { default: navigator.hardwareConcurrency, min: 1, max: 1024 },
  ),
  json: option.switch("print one JSON object on standard output, everything else on standard error"),
  quiet: option.switch("show no progress"),
  help: option.switch("print the main options; with --all, all of them"),
  version: option.switch("print the version, the commit and the engines"),
};

/** `maxRowSizeMb` -> `max-row-size-mb`. */
export function kebab(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** A command line, split but not converted. */
interface Arguments {
  /** The texts of each option with values, by camelCase name; empty if not given. */
  texts: Record<string, string[]>;
  switches: Record<string, boolean>;
  /** The arguments that belong to no option. */
  positionals: string[];
}

/**
 * Splits a command line. An option with many values takes all words up to the next one that begins with `--`.
 * A word that begins with a single dash, such as the name of standard input, may be a value. `parseArgs` of
 * @std/cli supports neither.
 *
 * @param args The arguments after the stage's name.
 * @throws {UsageError} If an option is unknown, or has too many values or none.
 */
export function splitArguments(args: readonly string[], options: Options): Arguments {
  const nameOf = new Map(Object.keys(options).map((name) => [kebab(name), name]));
  const isSwitch = (name: string) => options[name].arity === "switch";
  const names = Object.keys(options);
  const switches = Object.fromEntries(names.filter(isSwitch).map((name) => [name, false]));
  const texts: Record<string, string[]> = Object.fromEntries(
    names.filter((name) => !isSwitch(name)).map((name) => [name, []]),
  );
  const positionals: string[] = [];
  for (let next = 0; next < args.length;) {
    const word = args[next++];
    if (word === "--") {
      positionals.push(...args.slice(next));
      break;
    }
    if (!/^-./.test(word)) {
      positionals.push(word);
      continue;
    }
    const [, text = "", given] = /^--([^=]+)(?:=(.*))?$/s.exec(word) ?? [];
    const name = nameOf.get(text) ?? nameOf.get(text.replace(/^no-/, ""));
    if (name === undefined || !nameOf.has(text) && !isSwitch(name)) {
      throw unknownOption(text === "" ? word : `--${text}`, options);
    }
    if (isSwitch(name)) {
      if (given !== undefined) {
        throw new UsageError(`Cannot use ${word}: --${text} takes no value; leave it out`);
      }
      switches[name] = nameOf.has(text);
      continue;
    }
    const { arity, value } = options[name];
    const isMany = arity === "many";
    if (!isMany && texts[name].length > 0) {
      throw new UsageError(`Cannot use --${text}: it is given more than once; give it once`);
    }
    if (given !== undefined) {
      texts[name].push(given);
      continue;
    }
    const first = next;
    while (next < args.length && !args[next].startsWith("--") && (isMany || next === first)) {
      texts[name].push(args[next++]);
    }
    if (next === first) throw new UsageError(`Cannot use ${word}: no value given, expected ${value}`);
  }
  return { texts, switches, positionals };
}

function unknownOption(word: string, options: Options): UsageError {
  const name = word.replace(/^-*/, "");
  const key = name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
  const advice = didYouMean(name, Object.keys(options).map(kebab)) +
    ("set" in options
      ? `; keys of the configuration are set by --set, such as --set train.${key}=VALUE`
      : "");
  return new UsageError(`Cannot use option ${word}: it is unknown${advice} (--help --all lists all)`);
}

/** Converts a command line's values. @throws {UsageError} If a value is wrong or a required one missing. */
export function convertArguments<O extends Options>({ texts, switches }: Arguments, options: O): Values<O> {
  const values = Object.entries(options).map(([name, declared]) => [
    name,
    declared.arity === "switch" ? switches[name] : valueOf(`--${kebab(name)}`, declared, texts[name]),
  ]);
  return Object.fromEntries(values);
}

function valueOf<T>(name: string, declared: Option<T>, texts: readonly string[]): unknown {
  if (texts.length === 0) {
    if (!declared.isRequired) return declared.default;
    throw new UsageError(`Cannot run: ${name} ${declared.value} is missing (${declared.help}); add it`);
  }
  try {
    const values = texts.map(declared.convert);
    return declared.arity === "many" ? values : values[0];
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new UsageError(`Cannot use ${name} ${shortened(texts.join(" "))}: ${error.message}`);
  }
}

/** The columns of the program's terminal; 80 if unknown. */
export function consoleColumns(): number {
  try {
    return Deno.consoleSize().columns;
  } catch {
    return 80;
  }
}

/** Wraps text to lines of at most `width` characters; only a longer word makes a longer line. */
export function wrapped(text: string, width: number): string[] {
  const lines = text.match(new RegExp(`(.{1,${width}}|\\S+)(?: +|$)`, "gm")) ?? [];
  return lines.map((line) => line.trimEnd());
}

/** The lines of `--help` that describe the options. @param lineWidth Characters per line. */
export function describeOptions(options: Options, lineWidth: number): string[] {
  const rows = Object.entries(options).map(([name, { arity, value, help, isRequired, default: usual }]) => {
    const left = `  --${kebab(name)}${value ? ` ${value}` : ""}${arity === "many" ? "…" : ""}`;
    const byDefault = isRequired
      ? " (required)"
      : usual === undefined || arity !== "one"
      ? ""
      : ` (default ${usual})`;
    return { left, right: help.replace(/\n|$/, (end) => byDefault + end) };
  });
  const longest = Math.max(...rows.map((row) => row.left.length)) + 2;
  const width = Math.min(Math.floor(lineWidth / 3), longest);
  const nextLine = "\n" + " ".repeat(width);
  return rows.map(({ left, right }) =>
    (left.length < width ? left.padEnd(width) : left + nextLine) +
    wrapped(right, lineWidth - width).join(nextLine)
  );
}

const SECONDS_OF_UNIT: Readonly<Record<string, number>> = { "": 1, s: 1, m: 60, h: 3600, d: 86400 };

/**
 * Parses a duration: `90`, `90s`, `1.5h`, `1h30m`.
 *
 * @param option The option's name without dashes, for the error.
 * @returns Seconds, more than 0.
 * @throws {UsageError} If it is invalid.
 */
export function parseDurationS(text: string, option: string): number {
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)([dhms]|$)/g)];
  const seconds = parts.reduce((sum, [, number, unit]) => sum + Number(number) * SECONDS_OF_UNIT[unit], 0);
  if (parts.map(([part]) => part).join("") !== text || !(seconds > 0)) {
    throw new UsageError(`Cannot use --${option} ${text}: expected a duration, such as 90s, 30m or 1h30m`);
  }
  return seconds;
}
