/**
 * Explains why a zod schema rejected a value. The messages in schemas only name what is expected:
 * `z.string({ error: "an IPv4 or IPv6 address" })`.
 *
 * @module
 */
import type * as z from "zod";
import { type Fault, FormatError, pathText, shown } from "./errors.ts";

/** A value that a schema accepted, or its first fault. */
export type Checked<T> = { data: T } | { fault: Fault; issue: z.core.$ZodIssue };

/** Checks a value. @returns The value with the schema's defaults filled in, or the fault. */
export function checked<S extends z.ZodType>(schema: S, value: unknown): Checked<z.output<S>> {
  const { success, data, error } = schema.safeParse(value, { error: expectedBy });
  if (success) return { data };
  const { issues: [first, ...others] } = error;
  // An unknown name explains why another one is missing.
  const issue = others.find(({ code, path }) => code === "unrecognized_keys" && path.length === 0) ?? first;
  return { fault: faultOf(issue, value), issue };
}

/** Parses JSON that a program wrote. @throws {FormatError} With this fault, if the text does not fit the schema. */
export function parseAs<S extends z.ZodType>(
  schema: S,
  text: string,
  fault: string,
  path: string,
): z.output<S> {
  try {
    return schema.parse(JSON.parse(text));
  } catch (cause) {
    throw new FormatError(fault, { path, cause });
  }
}

/** Makes an issue for `superRefine` with all parts of a fault. */
export function issueOf({ expected = "", ...others }: Fault): z.core.$ZodSuperRefineIssue {
  return { code: "custom", message: expected, params: others };
}

function faultOf(issue: z.core.$ZodIssue, value: unknown): Fault {
  const { path, message: expected } = issue;
  if (issue.code === "unrecognized_keys") {
    const place = path.length === 0 ? "" : ` in ${pathText(path)}`;
    return { found: `found ${shown(issue.keys[0])}${place}`, expected };
  }
  const found = valueAt(value, path);
  const others: Fault = issue.code === "custom" ? issue.params ?? {} : {};
  return { path, value: found === undefined ? null : shown(found), expected, ...others };
}

/** The part of a value at a path; undefined if there is none. */
export function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let at = value;
  for (const key of path) {
    if (typeof at !== "object" || at === null) return undefined;
    at = (at as Record<PropertyKey, unknown>)[key];
  }
  return at;
}

const TYPES: Readonly<Record<string, string>> = {
  string: "text",
  int: "an integer",
  array: "an array",
  tuple: "an array",
  object: "a JSON object",
};

/** What is expected by a schema without a custom message. */
function expectedBy(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case "invalid_type":
      return TYPES[issue.expected] ?? `a ${issue.expected}`;
    case "invalid_union":
      return issue.errors.map(([first]) => first.message).join(" or ");
    case "invalid_value":
      return issue.values.map(shown).join(" or ");
    case "too_small":
      return `${issue.inclusive ? "at least" : "more than"} ${boundOf(issue.origin, issue.minimum)}`;
    case "too_big":
      return `${issue.inclusive ? "at most" : "less than"} ${boundOf(issue.origin, issue.maximum)}`;
    case "not_multiple_of":
      return `a multiple of ${issue.divisor}`;
    default:
      return undefined;
  }
}

function boundOf(origin: string, bound: number | bigint): string {
  if (origin !== "array") return String(bound);
  return bound === 1 ? "1 value" : `${bound} values`;
}
