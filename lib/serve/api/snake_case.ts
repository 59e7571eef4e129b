/** Results of the library as messages have them: the same numbers under names in snake_case. @module */

type SnakeCase<S extends string> = S extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : S;

/** A type whose keys, and those of all it holds, are in snake_case. */
export type SnakeKeys<T> = T extends readonly (infer Element)[] ? SnakeKeys<Element>[]
  : T extends object
    ? { -readonly [K in keyof T as K extends string ? SnakeCase<K> : never]: SnakeKeys<T[K]> }
  : T;

/**
 * A copy of a value of JSON whose keys are in snake_case: `meanBelowQ999Ms` becomes `mean_below_q999_ms`; keys without
 * capitals, such as the quantile `0.5`, stay as they are.
 */
export function snakeKeys<T>(value: T): SnakeKeys<T> {
  return renamed(value) as SnakeKeys<T>;
}

function renamed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(renamed);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, each]) =>
    [key.replace(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`), renamed(each)] as const
  );
  return Object.fromEntries(entries);
}
