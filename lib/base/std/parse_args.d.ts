/** Types of the @std/cli function in use (https://jsr.io/@std/cli), written for the untyped npm copy. */

/**
 * Splits a command line into options and their values.
 *
 * @param args The arguments.
 * @param options The names of options by kind; `unknown` is called with each argument that these names do not have, and
 *   with those without option, which have no key.
 * @returns The values by name, and the arguments without option in `_`.
 */
export function parseArgs(args: readonly string[], options: {
  boolean: readonly string[];
  string: readonly string[];
  collect: readonly string[];
  negatable: readonly string[];
  alias: Readonly<Record<string, string>>;
  unknown: (arg: string, key?: string) => void;
}): { _: string[]; [name: string]: string[] | boolean };
