/**
 * Checks configurations against their zod schemas, with one-line errors. The schema of each section is in the
 * folder that uses it (lib/model/model_config.ts, …).
 *
 * @module
 */
import { isObject, parseJson } from "./collections.ts";
import * as z from "zod";
import { didYouMean } from "./text.ts";
import { ConfigError, UsageError } from "./errors.ts";
import { checked, valueAt } from "./schema_fault.ts";

/**
 * Checks parsed JSON.
 *
 * @param schema The section's schema, of strict objects.
 * @param keyPath The dotted path of the section, prefixed to the key in errors; empty for a whole
 *   configuration.
 * @returns The value with the schema's defaults filled in.
 * @throws {ConfigError} If a key is unknown (the nearest known one is named), missing, or has an invalid
 *   value.
 */
export function parseConfig<T>(schema: z.ZodType<T>, value: unknown, keyPath = ""): T {
  const result = checked(schema, value);
  if ("data" in result) return result.data;
  const { issue, fault } = result;
  const path = issue.path.map(String);
  if (issue.code === "unrecognized_keys") {
    const key = issue.keys[0];
    const hint = didYouMean(key, knownKeys(schema, path, value));
    throw new ConfigError(dotted(keyPath, [...path, key]), `the key is unknown${hint}`);
  }
  throw new ConfigError(dotted(keyPath, path), { ...fault, path: [], value: fault.value ?? "nothing" });
}

/**
 * Changes one key of an unchecked configuration.
 *
 * @param text `KEY=VALUE`; a value that is not valid JSON is taken as text.
 * @throws {UsageError} If the text has no `=`.
 * @throws {ConfigError} If a part of the key contains a value instead of keys.
 */
export function applySet(raw: Record<string, unknown>, text: string): void {
  const equals = text.indexOf("=");
  if (equals < 1) {
    throw new UsageError(`Cannot use --set ${text}: expected KEY=VALUE, such as train.steps=100`);
  }
  const keyPath = text.slice(0, equals).trim();
  const keys = keyPath.split(".");
  const last = keys.pop() ?? "";
  let at = raw;
  for (const key of keys) {
    if (!Object.hasOwn(at, key)) Object.defineProperty(at, key, { value: {}, ...PLAIN });
    const inner = at[key];
    if (!isObject(inner)) throw new ConfigError(keyPath, `${key} is a value and has no keys`);
    at = inner;
  }
  const given = text.slice(equals + 1).trim();
  const value = parseJson(given);
  Object.defineProperty(at, last, { value: value === undefined ? given : value, ...PLAIN });
}

/** Attributes of a plain property, also for keys such as `__proto__`. */
const PLAIN = { writable: true, enumerable: true, configurable: true };

function dotted(prefix: string, path: readonly string[]): string {
  return [...(prefix ? [prefix] : []), ...path].join(".") || "(all)";
}

/** The keys that the schema knows at a path. In a union, the discriminator selects the members. */
function knownKeys(schema: z.ZodType, path: readonly string[], value: unknown): string[] {
  const unwrapped = unwrap(schema);
  if (unwrapped instanceof z.ZodUnion) {
    const members = unwrapped.options.map((option) => unwrap(option as z.ZodType));
    const fitting = members.filter((member) => fitsLiterals(member, value));
    return (fitting.length > 0 ? fitting : members).flatMap((member) => knownKeys(member, path, value));
  }
  if (!(unwrapped instanceof z.ZodObject)) return [];
  const shape = unwrapped.shape as Record<string, z.ZodType>;
  if (path.length === 0) return Object.keys(shape);
  const [head, ...rest] = path;
  return shape[head] ? knownKeys(shape[head], rest, valueAt(value, [head])) : [];
}

function fitsLiterals(schema: z.ZodType, value: unknown): boolean {
  if (!(schema instanceof z.ZodObject)) return false;
  return Object.entries(schema.shape as Record<string, z.ZodType>).every(([key, field]) =>
    !(field instanceof z.ZodLiteral) || field.safeParse(valueAt(value, [key])).success
  );
}

function unwrap(schema: z.ZodType): z.ZodType {
  let at = schema;
  while (
    at instanceof z.ZodDefault || at instanceof z.ZodPrefault || at instanceof z.ZodOptional ||
    at instanceof z.ZodNullable
  ) {
    at = at.unwrap() as z.ZodType;
  }
  return at;
}
