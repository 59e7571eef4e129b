/**
 * Splits a command line into options and their values, without interpreting the values.
 *
 * @module
 */

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
