/** Types of the @std/assert functions in use (https://jsr.io/@std/assert), as the npm copy has none. */

export class AssertionError extends Error {}

/** Asserts that `expr` is truthy. */
export function assert(expr: unknown, msg?: string): asserts expr;
export function assertEquals<T>(actual: T, expected: T, msg?: string): void;
export function assertNotEquals<T>(actual: T, expected: T, msg?: string): void;
/** Asserts `Object.is` equality. */
export function assertStrictEquals<T>(actual: unknown, expected: T, msg?: string): asserts actual is T;
/** Asserts that two numbers differ by at most `tolerance`. */
export function assertAlmostEquals(actual: number, expected: number, tolerance?: number, msg?: string): void;
export function assertLess<T>(actual: T, expected: T, msg?: string): void;
export function assertLessOrEqual<T>(actual: T, expected: T, msg?: string): void;
export function assertGreater<T>(actual: T, expected: T, msg?: string): void;
export function assertMatch(actual: string, expected: RegExp, msg?: string): void;
/** Asserts that `actual` does not match `expected`. */
export function assertNotMatch(actual: string, expected: RegExp, msg?: string): void;
export function assertStringIncludes(actual: string, expected: string, msg?: string): void;
// deno-lint-ignore no-explicit-any -- a constructor of any arguments, as in @std/assert
export function assertInstanceOf<T extends abstract new (...args: any[]) => any>(
  actual: unknown,
  expectedType: T,
  msg?: string,
): asserts actual is InstanceType<T>;
/** Asserts that `fn` throws an `ErrorClass` whose message contains `msgIncludes`; returns the error. */
export function assertThrows<E extends Error = Error>(
  fn: () => unknown,
  // deno-lint-ignore no-explicit-any -- a constructor of any arguments, as in @std/assert
  ErrorClass?: abstract new (...args: any[]) => E,
  msgIncludes?: string,
  msg?: string,
): E;
/** Asserts that the promise of `fn` rejects with an `ErrorClass` whose message contains `msgIncludes`; returns the error. */
export function assertRejects<E extends Error = Error>(
  fn: () => PromiseLike<unknown>,
  // deno-lint-ignore no-explicit-any -- a constructor of any arguments, as in @std/assert
  ErrorClass?: abstract new (...args: any[]) => E,
  msgIncludes?: string,
  msg?: string,
): Promise<E>;
export function fail(msg?: string): never;
