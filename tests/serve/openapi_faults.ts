/** Faults in the structure of an OpenAPI 3.1 document. @module */
import * as z from "zod";

const ref = z.strictObject({ $ref: z.string().startsWith("#/components/schemas/") });
const schema = z.looseObject({}).refine(
  (value) => Object.keys(value).length > 0 && !("$schema" in value) && !("$id" in value),
  "a schema says something",
);
const content = z.record(
  z.string().regex(/^[a-z]+\/[a-z+-]+$/),
  z.strictObject({ schema: z.union([ref, schema]) }),
);
const operation = z.strictObject({
  operationId: z.string().regex(/^[a-z]+[A-Za-z]*$/),
  summary: z.string().min(1),
  parameters: z.array(z.strictObject({
    name: z.string().regex(/^[a-z_]+$/),
    in: z.enum(["path", "query"]),
    required: z.boolean(),
    schema,
    description: z.string().min(1),
  })),
  requestBody: z.strictObject({ required: z.boolean(), content }).optional(),
  responses: z.record(
    z.string().regex(/^[2-5]\d\d$/),
    z.strictObject({ description: z.string().min(1), content }),
  ).refine((responses) => "200" in responses, "an answer is described"),
});
const document = z.strictObject({
  openapi: z.literal("3.1.0"),
  info: z.strictObject({ title: z.string(), version: z.string(), description: z.string() }),
  paths: z.record(z.string().startsWith("/"), z.partialRecord(z.enum(["get", "post"]), operation)),
  components: z.strictObject({ schemas: z.record(z.string(), schema) }),
});

/** The faults: of structure, references that lead nowhere, schemas that nothing refers to. */
export function faultsOfOpenApi(value: unknown): string[] {
  const parsed = document.safeParse(value);
  if (!parsed.success) return parsed.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
  const named = new Set(Object.keys(parsed.data.components.schemas));
  const text = JSON.stringify(value);
  const referred = new Set(
    [...text.matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name),
  );
  return [
    ...[...referred].filter((name) => !named.has(name)).map((name) => `${name} is not there`),
    ...[...named].filter((name) => !referred.has(name)).map((name) => `nothing refers to ${name}`),
    ...[...text.matchAll(/"\$ref":"([^"]*)"/g)].filter(([, target]) =>
      !target.startsWith("#/components/schemas/")
    )
      .map(([, target]) => `${target} is no place of this document`),
  ];
}
