/**
 * Reads questions as callers write them: converts values to a schema's types and explains invalid ones.
 *
 * @module
 */
import * as z from "zod";
import { isObject, parseJson } from "../../base/collections.ts";
import { type Fault, shortened, UserError } from "../../base/errors.ts";
import { checked } from "../../base/schema_fault.ts";
import { FAILED_RTT_MS } from "../../data/formats/batch.ts";
import { readRtt, USUAL_READING } from "../../data/formats/format.ts";

/**
 * Validates a request and converts its values to the types of a schema.
 *
 * @param value Any JSON, or the fields of a URL's query.
 * @throws {UserError} If it does not match the schema.
 */
export function readFields<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const given = normalized(schema, value);
  const result = checked(schema, given);
  if ("data" in result) return result.data;
  throw new UserError(withExample(result.fault, schema, IN_URL.has(Object(value))));
}

/**
 * Converts a value to the types of its schema, recursively: null means that an optional field is absent, as
 * does an empty text other than an endpoint; text becomes a number or a list if one is expected, and -1 or a
 * word for no reply in place of an RTT becomes null.
 */
export function normalized(schema: z.core.$ZodType, value: unknown): unknown {
  const inner = unwrapped(schema);
  if (inner !== schema) return normalized(inner, value);
  const given = typeof value === "string" ? valueOf(value, queryFormOf(schema)) : value;
  if (Array.isArray(given)) {
    if (schema instanceof z.ZodArray) return given.map((each) => normalized(schema.element, each));
    return schema instanceof z.ZodTuple ? given.map((each) => normalized(schema.def.items[0], each)) : given;
  }
  if (schema instanceof z.ZodUnion && isObject(given)) {
    const object = schema.options.find((option) => option instanceof z.ZodObject);
    return object ? normalized(object, given) : given;
  }
  if (!(schema instanceof z.ZodObject) || !isObject(given)) return given;
  const fields = Object.entries(given).flatMap(([name, each]) => {
    const field = Object.hasOwn(schema.shape, name) ? schema.shape[name] : undefined;
    // An empty endpoint may come from an unset variable; without it the question would be about all.
    const isEmpty = each === "" && !["src", "dst", "within"].includes(name);
    if ((each === null || isEmpty) && field instanceof z.ZodOptional) return [];
    // Only an RTT may be null in its own right.
    const isRtt = field instanceof z.ZodNullable && each !== undefined;
    if (isRtt && readRtt(each, 1, USUAL_READING) === FAILED_RTT_MS) return [[name, null]];
    return [[name, field ? normalized(field, each) : each]];
  });
  return Object.fromEntries(fields);
}

/** A field's text form: as is, a number, true or false, comma-separated, or a range such as `20..25`. */
export type QueryForm = "text" | "number" | "boolean" | "list" | "texts" | "range";

/** Unwraps optional and nullable schemas. */
export function unwrapped(field: z.core.$ZodType): z.core.$ZodType {
  return field instanceof z.ZodOptional || field instanceof z.ZodNullable ? unwrapped(field.unwrap()) : field;
}

/** The text form of a field; undefined if it has none. */
export function queryFormOf(optional: z.core.$ZodType): QueryForm | undefined {
  const field = unwrapped(optional);
  if (field instanceof z.ZodArray) {
    const element = queryFormOf(field.element);
    return element === "number" ? "list" : element === "text" ? "texts" : undefined;
  }
  if (field instanceof z.ZodTuple) return "range";
  if (field instanceof z.ZodNumber) return "number";
  if (field instanceof z.ZodBoolean) return "boolean";
  const isText = [z.ZodString, z.ZodUnion, z.ZodEnum].some((type) => field instanceof type);
  return isText ? "text" : undefined;
}

/** The schema of defaults that questions may override: the optional fields that a URL can contain. */
export function defaultsSchema({ shape }: z.ZodObject): z.ZodObject {
  const optional = Object.entries(shape).filter(([, field]) =>
    queryFormOf(field) !== undefined && z.safeParse(field, undefined).success
  );
  return z.strictObject(Object.fromEntries(optional), {
    error: ({ code }) =>
      code === "unrecognized_keys" ? `only ${optional.map(([name]) => name).join(", ")}` : undefined,
  });
}

/** Results of {@link queryFields}, for which errors show examples in URL form. */
const IN_URL = new WeakSet<object>();

/** A time whose offset lost its plus sign, which means a space in a URL. */
const BLANK_OFFSET = /(\d:\d\d(?:[.:][\d.]+)?) ([01]\d(?::?[0-5]\d)?)$/;

/** The fields of a URL's query as text. @throws {UserError} If a field is given twice. */
export function queryFields(url: string): Record<string, string> {
  const fields = new Map<string, string>();
  for (const [name, text] of new URL(url).searchParams) {
    if (fields.has(name)) throw new UserError({ value: `${shortened(name)} twice`, expected: "it once" });
    fields.set(name, text.replace(BLANK_OFFSET, "$1+$2"));
  }
  const all = Object.fromEntries(fields);
  IN_URL.add(all);
  return all;
}

/** Parses a text; returns invalid ones as is, for the error. Lists may also be JSON: `[0.1, 0.9]`. */
function valueOf(text: string, form: QueryForm | undefined): unknown {
  if (form === "text") return text;
  if (form === "number") return numberOf(text) ?? text;
  if (form === "boolean") return text === "true" || (text === "false" ? false : text);
  if (/^\s*[[{]/.test(text)) return parseJson(text) ?? text;
  if (form === "texts") return text.split(",").map((each) => each.trim());
  if (form === undefined) return text;
  const parts = text.split(form === "range" ? /\.\.|,/ : ",");
  const numbers = parts.map(numberOf);
  if (numbers.includes(undefined)) return text;
  return form === "range" && numbers.length === 1 ? [...numbers, ...numbers] : numbers;
}

function numberOf(text: string): number | undefined {
  const number = text.trim() === "" ? NaN : Number(text);
  return Number.isFinite(number) ? number : undefined;
}

/** Adds an example to what a schema expected. @param isUrl Whether the value is a URL's query. */
function withExample(fault: Fault, schema: z.core.$ZodType, isUrl: boolean): Fault {
  const { path = [], expected } = fault;
  // A URL contains whole lists.
  const [field] = path;
  const isInUrl = isUrl && field !== undefined;
  const right = (isInUrl ? [field] : path).reduce(fieldOf, exampleOf(schema));
  if (field === undefined || right === undefined) return fault;
  const example = isInUrl ? `${String(field)}=${urlText(right)}` : exampleText(right);
  return { ...fault, expected: `${expected}, such as ${example}` };
}

/** A valid value for a schema, built from the examples of its parts; undefined if a part has none. */
export function exampleOf(schema: z.core.$ZodType): unknown {
  const example = z.globalRegistry.get(schema)?.examples;
  if (Array.isArray(example)) return example[0];
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) return exampleOf(schema.unwrap());
  if (schema instanceof z.ZodArray) {
    const each = exampleOf(schema.element);
    return each === undefined ? undefined : [each];
  }
  if (!(schema instanceof z.ZodObject)) return undefined;
  return Object.fromEntries(Object.entries(schema.shape).map(([name, field]) => [name, exampleOf(field)]));
}

function exampleText(value: unknown): string {
  return Array.isArray(value) ? `[${value.map(exampleText).join(", ")}]` : JSON.stringify(value);
}

/** Writes an example as in the query of a URL. */
function urlText(value: unknown): string {
  const isFlat = !Array.isArray(value) || value.every((each) => typeof each !== "object");
  return isFlat ? String(value) : JSON.stringify(value);
}

/** A field or array element; a missing element is replaced by the first. */
function fieldOf(value: unknown, key: PropertyKey): unknown {
  if (Array.isArray(value) && !(key in value)) return value[0];
  return typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined;
}
