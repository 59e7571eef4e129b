/**
 * Command-line options, declared once with type, default, unit and purpose; parsing, `--help` and the error
 * messages all come from the declaration.
 *
 * @module
 */
import { UsageError } from "../base/errors.ts";
import * as z from "zod";
import { didYouMean } from "../base/text.ts";

// Splits a command line into options and their values, without interpreting the values.

/** How an option is given: `--quiet`, once with a value, or with one or more values. */
export type Arity = "boolean" | "one" | "many";

/** An option with its values, or an argument without option. */
export interface Argument {
  /** The option's name without `--`; undefined for an argument without option. */
  option: string | undefined;
  /** Empty if a value is missing; one entry if a boolean option has a value by mistake. */
  values: string[];
}

/**
 * Splits a command line.
 *
 * @param args The arguments.
 * @param arityOf How an option is given; may throw.
 */
export function* splitArguments(
  args: readonly string[],
  arityOf: (option: string) => Arity,
): Generator<Argument> {
  for (let i = 0; i < args.length; i++) {
    const arg = args[i];
    if (arg === "--") {
      for (const value of args.slice(i + 1)) yield { option: undefined, values: [value] };
      return;
    }
    if (!arg.startsWith("--")) {
      yield { option: undefined, values: [arg] };
      continue;
    }
    const equals = arg.indexOf("=");
    const option = arg.slice(2, equals < 0 ? undefined : equals);
    const arity = arityOf(option);
    const values = equals < 0 ? [] : [arg.slice(equals + 1)];
    if (equals < 0 && arity !== "boolean") {
      while (
        i + 1 < args.length && !args[i + 1].startsWith("--") && (arity === "many" || values.length === 0)
      ) {
        values.push(args[++i]);
      }
    }
    yield { option, values };
  }
}

// Durations as options: `90`, `90s`, `1.5h`, `1h30m`.

const SECONDS_OF_UNIT: Readonly<Record<string, number>> = { "": 1, s: 1, m: 60, h: 3600, d: 86400 };

/**
 * Reads a duration.
 *
 * @param text A number of seconds, or numbers with the units d, h, m, s.
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

/** One declared option. `T` is the type of its value after parsing. */
export interface Flag<T> {
  /** How it is given; options with many values may be repeated. */
  readonly arity: Arity;
  /** The name of the value in `--help`, such as `N` or `DIR`. */
  readonly placeholder: string;
  /** What it does, with its unit; it may have several lines. */
  readonly description: string;
  /** Checks and converts the raw text (or list of texts, or boolean). */
  readonly schema: z.ZodType<T>;
  /** The value if the option is not given; undefined for none. */
  readonly defaultValue: T | undefined;
  /** Whether it must be given. */
  readonly required: boolean;
}

/** Named flags of a command, in camelCase; `--max-row-size-mb` on the command line is `maxRowSizeMb` here. */
// deno-lint-ignore no-explicit-any -- a map of flags of any value types; Values<F> recovers each
export type Flags = Record<string, Flag<any>>;

/** The parsed values of a set of flags. */
export type Values<F extends Flags> = { [K in keyof F]: F[K] extends Flag<infer T> ? T : never };

interface Common<T> {
  default?: T;
  placeholder?: string;
}

function make<T>(
  arity: Flag<T>["arity"],
  schema: z.ZodType<T>,
  description: string,
  options: Common<T> & { required?: boolean; placeholder: string },
): Flag<T> {
  return {
    arity,
    schema,
    description,
    placeholder: options.placeholder,
    defaultValue: options.default,
    required: options.required ?? false,
  };
}

const integerText = z.string().regex(/^-?\d[\d_]*$/, "expected an integer").transform((text) =>
  Number(text.replaceAll("_", ""))
);
const numberText = z.string().refine(
  (text) => text.trim() !== "" && Number.isFinite(Number(text)),
  "expected a number",
)
  .transform(Number);

/** Declares options. A flag without `default` and not `required` is undefined when it is not given. */
export const flag = {
  /** A switch: `--name`, `--no-name`. */
  boolean(description: string): Flag<boolean> {
    return make("boolean", z.boolean(), description, { default: false, placeholder: "" });
  },
  /** An integer within [min, max]. */
  integer(description: string, options: Common<number> & { min?: number; max?: number }): Flag<number> {
    const { min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER } = options;
    return make("one", within(integerText, min, max), description, { placeholder: "N", ...options });
  },
  /** An integer that may be left out. */
  optionalInteger(
    description: string,
    options: { min?: number; max?: number } = {},
  ): Flag<number | undefined> {
    return flag.integer(description, options) as Flag<number | undefined>;
  },
  /** A number within [min, max]. */
  number(description: string, options: Common<number> & { min?: number; max?: number }): Flag<number> {
    const { min = -Infinity, max = Infinity } = options;
    return make("one", within(numberText, min, max), description, { placeholder: "X", ...options });
  },
  /** A number that may be left out. */
  optionalNumber(
    description: string,
    options: { min?: number; max?: number } = {},
  ): Flag<number | undefined> {
    return flag.number(description, options) as Flag<number | undefined>;
  },
  /** One of a list of words. */
  choice<const W extends string>(words: readonly W[], description: string, options: { default: W }): Flag<W> {
    const schema = z.string().refine(
      (text) => (words as readonly string[]).includes(text),
      `expected ${words.join(" | ")}`,
    );
    return make("one", schema as unknown as z.ZodType<W>, description, {
      placeholder: words.join("|"),
      ...options,
    });
  },
  /** A text with a default. */
  text(description: string, options: { default: string; placeholder?: string }): Flag<string> {
    return make("one", z.string(), description, { placeholder: "TEXT", ...options });
  },
  /** A text that may be left out. */
  optionalText(description: string, options: { placeholder?: string } = {}): Flag<string | undefined> {
    return make<string | undefined>("one", z.string(), description, { placeholder: "TEXT", ...options });
  },
  /** A text (a path, an address) that must be given. */
  requiredText(description: string, options: { placeholder: string }): Flag<string> {
    return make("one", z.string().min(1, "expected a value"), description, { ...options, required: true });
  },
  /** Texts: `--input A B --input C`. */
  texts(description: string, options: { placeholder: string; required?: boolean }): Flag<string[]> {
    return make("many", z.array(z.string()), description, {
      ...options,
      ...(options.required ? {} : { default: [] as string[] }),
    });
  },
};

function within(schema: z.ZodType<number, string>, min: number, max: number): z.ZodType<number> {
  const range = min === -Infinity || min === Number.MIN_SAFE_INTEGER
    ? `at most ${max}`
    : max === Infinity || max === Number.MAX_SAFE_INTEGER
    ? `at least ${min}`
    : `${min} to ${max}`;
  return schema.refine(
    (value) => value >= min && value <= max,
    `expected ${range}`,
  ) as unknown as z.ZodType<number>;
}

/** Options of every stage. */
export const commonFlags = {
  seed: flag.integer("seed of everything random", { default: 0, min: 0, max: 2 ** 32 - 1 }),
  workers: flag.integer(
    "worker threads at most; results do not depend on it, and stages that need none use none",
    {
      default: navigator.hardwareConcurrency,
      min: 1,
      max: 1024,
    },
  ),
  json: flag.boolean("print one JSON object on standard output, everything else on standard error"),
  quiet: flag.boolean("show no progress"),
};

/** Options of the stages that pass over data of any size. */
export const dataFlags = {
  memoryLimitGb: flag.number("bound on the resident memory, in GB", { default: 2, min: 0.25 }),
};

/** Options of the stages that have a configuration. */
export const configFlags = {
  config: flag.text("a preset of configs/ or a JSON file", { default: "demo", placeholder: "NAME|FILE" }),
  set: flag.texts("change one key of the configuration; repeatable", { placeholder: "KEY=VALUE" }),
};

/** Files of places, wherever a model is trained. */
export const geoFlag = flag.texts(
  "file that says where addresses are: MMDB, CSV of ip-location-db, probe archive of RIPE Atlas; repeatable",
  { placeholder: "FILE" },
);

/** `maxRowSizeMb` -> `max-row-size-mb`. */
export function kebab(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/**
 * Parses a command line.
 *
 * @param args The arguments after the stage's name.
 * @param flags The declared options.
 * @returns The values, and the arguments that belong to no option.
 * @throws {UsageError} On an unknown option, a missing or wrong value, or a required option not given.
 */
export function parseFlags<F extends Flags>(args: readonly string[], flags: F): {
  values: Values<F>;
  positionals: string[];
} {
  const byOption = new Map(Object.keys(flags).map((name) => [kebab(name), name]));
  const raw = new Map<string, string[] | boolean>();
  const positionals: string[] = [];
  const find = (option: string): { name: string; isNegated: boolean } => {
    const positive = option.startsWith("no-") ? byOption.get(option.slice(3)) : undefined;
    if (positive && flags[positive].arity === "boolean") return { name: positive, isNegated: true };
    const name = byOption.get(option);
    if (name) return { name, isNegated: false };
    throw new UsageError(
      `Cannot use option --${option}: it is unknown${
        didYouMean(option, [...byOption.keys()])
      } (--help lists all)`,
    );
  };
  for (const { option, values } of splitArguments(args, (option) => flags[find(option).name].arity)) {
    if (option === undefined) {
      positionals.push(...values);
      continue;
    }
    const { name, isNegated } = find(option);
    const { arity, placeholder } = flags[name];
    if (arity === "boolean") {
      if (values.length > 0) {
        throw new UsageError(
          `Cannot use --${option}=${values[0]}: --${option} takes no value; leave it out`,
        );
      }
      raw.set(name, !isNegated);
      continue;
    }
    if (values.length === 0) {
      throw new UsageError(`Cannot use --${option}: no value was given, expected ${placeholder}`);
    }
    const earlier = raw.get(name);
    if (arity === "one" && earlier !== undefined) {
      throw new UsageError(`Cannot use --${option}: it is given twice; give it once`);
    }
    raw.set(name, [...(Array.isArray(earlier) ? earlier : []), ...values]);
  }
  const values = Object.fromEntries(
    Object.entries(flags).map(([name, declared]) => [name, convert(name, declared, raw.get(name))]),
  );
  return { values: values as Values<F>, positionals };
}

function convert<T>(name: string, declared: Flag<T>, raw: string[] | boolean | undefined): T | undefined {
  if (raw === undefined) {
    if (!declared.required) return declared.defaultValue;
    throw new UsageError(
      `Cannot run: --${kebab(name)} ${declared.placeholder} is missing (${declared.description}); add it`,
    );
  }
  const parsed = declared.schema.safeParse(declared.arity === "one" ? (raw as string[])[0] : raw);
  if (parsed.success) return parsed.data;
  throw new UsageError(
    `Cannot use --${kebab(name)} ${Array.isArray(raw) ? raw.join(" ") : raw}: ${
      parsed.error.issues[0].message
    }`,
  );
}

/** The lines of `--help` that describe the options. */
export function describeFlags(flags: Flags): string[] {
  const rows = Object.entries(flags).map(([name, declared]) => {
    const left = `  --${kebab(name)}${declared.placeholder ? ` ${declared.placeholder}` : ""}${
      declared.arity === "many" ? "…" : ""
    }`;
    const byDefault = declared.required
      ? " (required)"
      : declared.defaultValue === undefined || declared.arity !== "one"
      ? ""
      : ` (default ${declared.defaultValue})`;
    return { left, right: declared.description.replace(/\n|$/, (end) => byDefault + end) };
  });
  const width = Math.min(36, Math.max(...rows.map((row) => row.left.length)) + 2);
  const nextLine = "\n" + " ".repeat(width);
  return rows.map(({ left, right }) =>
    (left.length < width ? left.padEnd(width) : left + nextLine) + right.replaceAll("\n", nextLine)
  );
}
