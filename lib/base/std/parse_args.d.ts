/** Types of @std/cli's `parseArgs` (https://jsr.io/@std/cli), as the npm copy has none. */

export interface ParseOptions<B extends string, S extends string, C extends string> {
  /** Options without a value. */
  boolean?: readonly B[];
  /** Options whose values stay texts, also if they look like numbers. */
  string?: readonly S[];
  /** Options that may be repeated. */
  collect?: readonly C[];
  /** Switches with a `--no-` form. */
  negatable?: readonly string[];
  alias?: Readonly<Record<string, string | readonly string[]>>;
  default?: Readonly<Record<string, unknown>>;
  /** Called for what no other property names; `false` leaves it out of the result. */
  unknown?: (arg: string, key?: string, value?: unknown) => unknown;
  /** Whether to end at the first argument that is not an option. */
  stopEarly?: boolean;
}

/** The values by name; `_` has the arguments that belong to no option. */
export type Parsed<B extends string, S extends string, C extends string> =
  & { _: (string | number)[]; [name: string]: unknown }
  & { [K in B]: boolean }
  & { [K in Exclude<S, C>]?: string }
  & { [K in C]: string[] };

export function parseArgs<
  const B extends string = never,
  const S extends string = never,
  const C extends string = never,
>(args: readonly string[], options?: ParseOptions<B, S, C>): Parsed<B, S, C>;
