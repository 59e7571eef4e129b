/**
 * The description of the API (OpenAPI 3.1.0, JSON Schema 2020-12), generated from the schemas of requests and
 * answers.
 *
 * @module
 */
import * as z from "zod";
import { ensure } from "../base/errors.ts";
import { VERSION } from "../base/version.ts";
import {
  fields,
  lineErrorSchema,
  type LineQuestion,
  measurementSchema,
  type Question,
  readingLineSchema,
  servedSchema,
  wholeSchema,
} from "../query/questions/question.ts";
import { QUESTIONS } from "../query/questions/questions.ts";
import { defaultsSchema, type QueryForm, queryFormOf } from "../query/questions/read_fields.ts";
import { score } from "../query/questions/score.ts";
import { watch } from "../query/questions/watch.ts";
import { PROBLEM_TITLES, PROBLEM_TYPE, type ProblemStatus } from "./api/api_error.ts";
import { MEASUREMENT_TYPES } from "../query/questions/lines.ts";
import {
  modelAnswerSchema,
  problemSchema,
  statusCheckAnswerSchema,
  statusCheckQuestionSchema,
} from "./api/schemas.ts";

const KINDS: readonly Question[] = Object.values(QUESTIONS);
/** Questions whose lines are measurements. */
const LINE_KINDS: readonly LineQuestion[] = [score, watch];

const capital = (name: string) => `${name[0].toUpperCase()}${name.slice(1)}`;

function lineNameOf({ name, line }: LineQuestion): string {
  return line === measurementSchema ? "Measurement" : `${capital(name)}Line`;
}

const SCHEMAS: Record<string, z.ZodObject> = {
  ...Object.fromEntries(KINDS.flatMap((kind) => [
    [`${capital(kind.name)}Question`, servedSchema(kind)],
    [`${capital(kind.name)}Answer`, kind.answer],
  ])),
  ...Object.fromEntries(LINE_KINDS.flatMap((kind) => [
    [lineNameOf(kind), kind.line],
    [`${capital(kind.name)}Answer`, z.object({ line: z.int(), ...kind.answer.shape })],
  ])),
  StatusCheck: statusCheckAnswerSchema,
  LineError: lineErrorSchema,
  ReadingLine: readingLineSchema,
  ModelAnswer: modelAnswerSchema,
  Problem: problemSchema,
};

const JSON_TYPE = "application/json";
const LINES_TYPE = "application/x-ndjson";

interface Operation {
  /** Name of the function in generated clients. */
  operationId: string;
  summary: string;
  /** Descriptions of path parameters, by name. */
  path?: Readonly<Record<string, string>>;
  query?: z.ZodObject;
  /** `texts`: media types of texts in known formats, accepted as well. */
  body?: { type: string; schema: string; texts?: readonly string[] };
  /** The media type, and the schemas that an answer can have. */
  answer: { type: string; schemas: readonly string[] };
  /** Error statuses of this operation, in addition to {@link ANYWHERE}. */
  problems: readonly ProblemStatus[];
}

const ASKED = [400, 429, 503] as const;
const READ = [400, 408, 413, 415, 429, 503] as const;
/** Possible for all paths: a foreign host or a server fault. */
const ANYWHERE = [421, 500] as const;

/** The operations of a question: as a URL query, as JSON, and in lines. */
function asked(kind: Question): [path: string, methods: Record<string, Operation>][] {
  const { name, summary } = kind;
  const question = servedSchema(kind);
  const answer = { type: JSON_TYPE, schemas: [`${capital(name)}Answer`] };
  const body = { type: JSON_TYPE, schema: `${capital(name)}Question` };
  const methods = {
    get: { operationId: `get${capital(name)}`, summary, query: question, answer, problems: ASKED },
    post: {
      operationId: `post${capital(name)}`,
      summary: `${summary}; asked as JSON`,
      body,
      answer,
      problems: READ,
    },
  };
  const batch = {
    operationId: `post${capital(name)}Batch`,
    summary: "one answer or error for each line, in order, sent as lines arrive",
    query: defaultsSchema(question),
    body: { ...body, type: LINES_TYPE },
    answer: { type: LINES_TYPE, schemas: [...answer.schemas, "LineError"] },
    problems: READ,
  };
  return [[`/v1/${name}`, methods], [`/v1/${name}:batch`, { post: batch }]];
}

function askedInLines(kind: LineQuestion): [path: string, methods: Record<string, Operation>] {
  const { name, summary, options } = kind;
  const post = {
    operationId: `post${capital(name)}`,
    summary,
    query: options,
    body: { type: LINES_TYPE, schema: lineNameOf(kind), texts: MEASUREMENT_TYPES },
    answer: { type: LINES_TYPE, schemas: [`${capital(name)}Answer`, "LineError", "ReadingLine"] },
    problems: READ,
  };
  return [`/v1/${name}`, { post }];
}

const OPERATIONS: Record<string, Record<string, Operation>> = {
  ...Object.fromEntries(KINDS.flatMap(asked)),
  ...Object.fromEntries(LINE_KINDS.map(askedInLines)),
  "/api/v2/measurements/{id}/status-check": {
    get: {
      operationId: "getStatusCheck",
      summary: "the alarms of a watched measurement by probe, in the format of RIPE Atlas' status checks",
      path: { id: "the msm_id of watched measurements, or their dst" },
      query: statusCheckQuestionSchema,
      answer: { type: JSON_TYPE, schemas: ["StatusCheck"] },
      problems: [400, 404, 503],
    },
  },
  "/v1/model": {
    get: {
      operationId: "getModel",
      summary: "the model and its training data",
      answer: { type: JSON_TYPE, schemas: ["ModelAnswer"] },
      problems: [503],
    },
  },
  "/healthz": {
    get: {
      operationId: "getHealth",
      summary: "whether the server can answer",
      answer: { type: "text/plain", schemas: [] },
      problems: [503],
    },
  },
  "/metrics": {
    get: {
      operationId: "getMetrics",
      summary: "the server's metrics in Prometheus' text format",
      answer: { type: "text/plain", schemas: [] },
      problems: [],
    },
  },
};

export const ABOUT = "RTT distributions, destinations and likelihoods from a generative model of pings.";

const JSON_SCHEMA: Pick<z.core.ToJSONSchemaParams, "io" | "override"> = {
  io: "input",
  // Python client generators fail on `items: false`, which closes a tuple. A list of fixed length is equally
  // exact.
  override: ({ zodSchema, jsonSchema }) => {
    if (zodSchema._zod.def.type !== "tuple") return;
    const [first, ...rest] = jsonSchema.prefixItems ?? [];
    ensure(rest.every((item) => JSON.stringify(item) === JSON.stringify(first)), "items of a tuple differ");
    delete jsonSchema.prefixItems;
    const length = rest.length + 1;
    Object.assign(jsonSchema, { items: first, minItems: length, maxItems: length });
  },
};

/** A tool for assistants, with the JSON Schemas of its question and answer. */
interface Tool {
  readonly name: string;
  readonly summary: string;
  readonly input: Record<string, unknown>;
  readonly output: Record<string, unknown>;
}

export function toolsOf(): Tool[] {
  const { summary } = OPERATIONS["/v1/model"].get;
  const tool = (name: string, summary: string, [question, answer]: readonly [z.ZodObject, z.ZodObject]) => (
    {
      name,
      summary,
      input: z.toJSONSchema(question, JSON_SCHEMA),
      output: z.toJSONSchema(answer, JSON_SCHEMA),
    }
  );
  const answersTo = (name: string) => z.array(z.union([SCHEMAS[`${capital(name)}Answer`], lineErrorSchema]));
  return [
    ...KINDS.map((kind) => tool(kind.name, kind.summary, [servedSchema(kind), kind.answer])),
    ...LINE_KINDS.map((kind) =>
      tool(kind.name, kind.summary, [wholeSchema(kind), z.object({ answers: answersTo(kind.name) })])
    ),
    tool("model", summary, [fields({}), modelAnswerSchema]),
  ];
}

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });

export function openApiDocument(): Record<string, unknown> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(SCHEMAS)) registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, { uri: (id) => `#/components/schemas/${id}`, ...JSON_SCHEMA });
  for (const schema of Object.values(schemas)) {
    delete schema.$schema;
    delete schema.$id;
  }
  const paths = Object.entries(OPERATIONS).map(([path, methods]) => [
    path,
    Object.fromEntries(
      Object.entries(methods).map(([method, operation]) => [method, operationObject(operation)]),
    ),
  ]);
  return {
    openapi: "3.1.0",
    info: { title: "ping-llm", version: VERSION, description: ABOUT },
    paths: Object.fromEntries(paths),
    components: { schemas },
  };
}

/** Describes for people how each form is written in a URL query. */
const FORM_TEXTS: Record<QueryForm, string> = {
  text: "",
  number: "",
  boolean: "",
  list: "; separated by commas",
  texts: "; separated by commas",
  range: "; written as 20..25 or as a single number",
};

/** The fields of a question that fit in a URL query. */
function parametersOf({ shape }: z.ZodObject): object[] {
  return Object.entries(shape).flatMap(([name, field]) => {
    const form = queryFormOf(field);
    if (form === undefined) return [];
    const { description = "", $schema: _, ...schema } = z.toJSONSchema(field, { io: "input" });
    return [{
      name,
      in: "query",
      required: !z.safeParse(field, undefined).success,
      schema: form === "number" || form === "boolean" ? schema : { type: "string" },
      description: `${description}${FORM_TEXTS[form]}`,
    }];
  });
}

function contentOf({ type, schema, texts = [] }: NonNullable<Operation["body"]>): object {
  const contents = texts.map((text) => [text, { schema: { type: "string" } }]);
  return Object.fromEntries([[type, { schema: ref(schema) }], ...contents]);
}

function operationObject(
  { operationId, summary, path = {}, query, body, answer, problems }: Operation,
): object {
  const [first, ...others] = answer.schemas;
  const schema = first === undefined
    ? { type: "string" }
    : others.length === 0
    ? ref(first)
    : { anyOf: answer.schemas.map(ref) };
  const problem = { content: { [PROBLEM_TYPE]: { schema: ref("Problem") } } };
  const refusals = [...problems, ...ANYWHERE].map((status) => [
    String(status),
    { description: PROBLEM_TITLES[status], ...problem },
  ]);
  return {
    operationId,
    summary,
    parameters: [
      ...Object.entries(path).map(([name, description]) => (
        { name, in: "path", required: true, schema: { type: "string" }, description }
      )),
      ...query ? parametersOf(query) : [],
    ],
    ...(body && { requestBody: { required: true, content: contentOf(body) } }),
    responses: {
      "200": { description: "the answer", content: { [answer.type]: { schema } } },
      ...Object.fromEntries(refusals),
    },
  };
}
