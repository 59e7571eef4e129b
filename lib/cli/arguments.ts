/**
 * A command line cut into options with their values, before anything is known of what the values mean.
 *
 * @module
 */

/** How an option is given: `--quiet`, once with a value, or with one or more values. */
export type Arity = "boolean" | "one" | "many";

/** An option with what follows it, or an argument that belongs to none. */
export interface Argument {
  /** Without `--`; undefined for an argument that belongs to no option. */
  option: string | undefined;
  /** None where a value is missing; one for a boolean option that was given a value all the same. */
  values: string[];
}

/**
 * Cuts a command line.
 *
 * @param args The arguments.
 * @param arityOf Says how an option is given; what it throws ends the cutting.
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
