/**
 * Results of the library as messages have them: the same numbers under names in snake_case, and their schemas.
 *
 * @module
 */
import * as z from "zod";

type SnakeCase<S extends string> = S extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : S;

/** A type whose keys, and those of all it holds, are in snake_case. */
type SnakeKeys<T> = T extends readonly (infer Element)[] ? SnakeKeys<Element>[]
  : T extends object
    ? { -readonly [K in keyof T as K extends string ? SnakeCase<K> : never]: SnakeKeys<T[K]> }
  : T;

/** The fields of a schema with such keys. */
type SnakeShape<Shape extends z.ZodRawShape> = {
  [K in keyof Shape as K extends string ? SnakeCase<K> : never]: Shape[K] extends z.ZodOptional
    ? z.ZodOptional<z.ZodType<SnakeKeys<Exclude<z.output<Shape[K]>, undefined>>>>
    : z.ZodType<SnakeKeys<z.output<Shape[K]>>>;
};

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
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [nameOf(key), renamed(each)]));
}

function nameOf(key: string): string {
  return key.replace(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`);
}

/** The fields of what {@link snakeKeys} makes of an object of the schema. */
export function snakeShape<Shape extends z.ZodRawShape>({ shape }: z.ZodObject<Shape>): SnakeShape<Shape> {
  const fields = Object.entries(shape).map(([key, field]) => [nameOf(key), snakeSchema(field)]);
  return Object.fromEntries(fields) as SnakeShape<Shape>;
}

function snakeSchema(schema: z.core.$ZodType): z.core.$ZodType {
  let renamed = schema;
  if (schema instanceof z.ZodObject) renamed = z.object(snakeShape(schema));
  else if (schema instanceof z.ZodArray) renamed = z.array(snakeSchema(schema.element));
  else if (schema instanceof z.ZodOptional) renamed = z.optional(snakeSchema(schema.unwrap()));
  else if (schema instanceof z.ZodNullable) renamed = z.nullable(snakeSchema(schema.unwrap()));
  const meta = z.globalRegistry.get(schema);
  if (renamed !== schema && meta) z.globalRegistry.add(renamed, meta);
  return renamed;
}
