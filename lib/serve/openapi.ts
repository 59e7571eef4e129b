/**
 * The description of the API, made of the schemas that requests and answers have.
 *
 * Specification: OpenAPI 3.1.0, whose schemas are JSON Schema 2020-12.
 *
 * @module
 */
import * as z from "zod";
import { PROBLEM_TITLES, type ProblemStatus } from "./api/api_error.ts";
import {
  destinationsAnswerSchema,
  destinationsQuestionSchema,
  likelihoodAnswerSchema,
  likelihoodQuestionSchema,
  lineErrorSchema,
  measurementSchema,
  modelAnswerSchema,
  problemSchema,
  rttAnswerSchema,
  rttQuestionSchema,
  scoreAnswerSchema,
} from "./api/schemas.ts";
import { ensure } from "../base/errors.ts";
import { VERSION } from "../base/version.ts";
import { PROBLEM_TYPE } from "./problems.ts";

const SCHEMAS = {
  Measurement: measurementSchema,
  RttQuestion: rttQuestionSchema,
  RttAnswer: rttAnswerSchema,
  DestinationsQuestion: destinationsQuestionSchema,
  DestinationsAnswer: destinationsAnswerSchema,
  LikelihoodQuestion: likelihoodQuestionSchema,
  LikelihoodAnswer: likelihoodAnswerSchema,
  ScoreAnswer: scoreAnswerSchema,
  LineError: lineErrorSchema,
  ModelAnswer: modelAnswerSchema,
  Problem: problemSchema,
};
type SchemaName = keyof typeof SCHEMAS;

const JSON_TYPE = "application/json";
const LINES_TYPE = "application/x-ndjson";

interface Operation {
  /** What generators of clients name the function. */
  operationId: string;
  summary: string;
  parameters?: readonly object[];
  body?: { type: string; schema: SchemaName };
  /** The media type and the schemas of one of which an answer is. */
  answer: { type: string; schemas: readonly SchemaName[] };
  /** Further statuses. */
  problems: readonly ProblemStatus[];
}

const text = { type: "string" };
const whole = { type: "integer", minimum: 0 };
const parameter = (name: string, schema: object, description: string, required = false) => ({
  name,
  in: "query",
  required,
  schema,
  description,
});
const SOURCE = parameter("src_addr", text, "source: an address or prefix; also `src`", true);
const TIME = parameter("timestamp", text, "when: Unix seconds or ISO 8601 (any time); also `time`");
const WANTED = [
  parameter("quantiles", text, "quantiles from 0 to 1, separated by commas (0.05,0.25,0.5,0.75,0.95)"),
  parameter("at", text, "RTTs in ms, separated by commas: the probability of each and of at most each"),
  parameter("cdf", { type: "integer", minimum: 2, maximum: 1000 }, "points of the distribution function"),
  parameter("draws", { type: "integer", minimum: 2 }, "addresses, or pairs of them, drawn from prefixes"),
  parameter("seed", whole, "seed of these draws (0)"),
];

const ASKED = [400, 429, 503] as const;
const READ = [400, 408, 413, 415, 429, 503] as const;
/** Of all paths: a foreign host, and a fault of the server. */
const ANYWHERE = [421, 500] as const;
const rttAnswer = { type: JSON_TYPE, schemas: ["RttAnswer"] } as const;
const destinationsAnswer = { type: JSON_TYPE, schemas: ["DestinationsAnswer"] } as const;

/** By path and method. */
const OPERATIONS: Record<string, Record<string, Operation>> = {
  "/v1/rtt": {
    get: {
      operationId: "getRtt",
      summary: "the distribution of the RTT between two addresses or prefixes",
      parameters: [
        SOURCE,
        parameter("dst_addr", text, "destination: an address or prefix; also `dst`", true),
        TIME,
        ...WANTED,
      ],
      answer: rttAnswer,
      problems: ASKED,
    },
    post: {
      operationId: "postRtt",
      summary: "the same, given recent measurements as context",
      body: { type: JSON_TYPE, schema: "RttQuestion" },
      answer: rttAnswer,
      problems: READ,
    },
  },
  "/v1/rtt:batch": {
    post: {
      operationId: "postRttBatch",
      summary: "one answer or error for each line, in order, while lines come",
      parameters: WANTED,
      body: { type: LINES_TYPE, schema: "RttQuestion" },
      answer: { type: LINES_TYPE, schemas: ["RttAnswer", "LineError"] },
      problems: READ,
    },
  },
  "/v1/destinations": {
    get: {
      operationId: "getDestinations",
      summary: "the most probable destinations for an RTT",
      parameters: [
        SOURCE,
        parameter("rtt", text, "an RTT in ms, or a range of them such as 20..25", true),
        TIME,
        parameter("top", { type: "integer", minimum: 1 }, "how many (20)"),
        parameter("prefix_length", whole, "of the listed prefixes, which are sums over their addresses"),
        parameter(
          "candidates",
          { type: "integer", minimum: 1 },
          "how many likely destinations are ranked besides those that the source is known to measure (256)",
        ),
        parameter(
          "max_expansions",
          { type: "integer", minimum: 1 },
          "after how many prefixes the search for likely ones ends (512)",
        ),
      ],
      answer: destinationsAnswer,
      problems: ASKED,
    },
    post: {
      operationId: "postDestinations",
      summary: "the same, given recent measurements as context",
      body: { type: JSON_TYPE, schema: "DestinationsQuestion" },
      answer: destinationsAnswer,
      problems: READ,
    },
  },
  "/v1/likelihood": {
    post: {
      operationId: "postLikelihood",
      summary: "how probable a measurement is, in every order of its fields",
      body: { type: JSON_TYPE, schema: "LikelihoodQuestion" },
      answer: { type: JSON_TYPE, schemas: ["LikelihoodAnswer"] },
      problems: READ,
    },
  },
  "/v1/score": {
    post: {
      operationId: "postScore",
      summary: "how surprising each measurement is, given the lines before it",
      parameters: [
        parameter("context", whole, "lines of the same source that a line sees, at most (20)"),
        parameter("seed", whole, "seed of p-values (0)"),
      ],
      body: { type: LINES_TYPE, schema: "Measurement" },
      answer: { type: LINES_TYPE, schemas: ["ScoreAnswer", "LineError"] },
      problems: READ,
    },
  },
  "/v1/model": {
    get: {
      operationId: "getModel",
      summary: "what the model is and what it was trained on",
      answer: { type: JSON_TYPE, schemas: ["ModelAnswer"] },
      problems: [503],
    },
  },
  "/healthz": {
    get: {
      operationId: "getHealth",
      summary: "whether the server answers",
      answer: { type: "text/plain", schemas: [] },
      problems: [503],
    },
  },
  "/metrics": {
    get: {
      operationId: "getMetrics",
      summary: "counts and times, as Prometheus reads them",
      answer: { type: "text/plain", schemas: [] },
      problems: [],
    },
  },
};

/** The paths that the description has. */
export const DESCRIBED_PATHS: readonly string[] = Object.keys(OPERATIONS);

const ref = (name: SchemaName) => ({ $ref: `#/components/schemas/${name}` });

/** The description as a JSON value. */
export function openApiDocument(): Record<string, unknown> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(SCHEMAS)) registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, {
    uri: (id) => `#/components/schemas/${id}`,
    io: "input",
    // Generators of clients in Python stop at `items: false`, which closes a tuple; as a list of a fixed length it is as exact.
    override: ({ zodSchema, jsonSchema }) => {
      if (zodSchema._zod.def.type !== "tuple") return;
      const [first, ...rest] = jsonSchema.prefixItems ?? [];
      ensure(rest.every((item) => JSON.stringify(item) === JSON.stringify(first)), "items of a tuple differ");
      delete jsonSchema.prefixItems;
      const length = rest.length + 1;
      Object.assign(jsonSchema, { items: first, minItems: length, maxItems: length });
    },
  });
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
    info: {
      title: "ping-llm",
      version: VERSION,
      description: "RTT distributions, destinations and likelihoods from a generative model of pings.",
    },
    paths: Object.fromEntries(paths),
    components: { schemas },
  };
}

function operationObject(
  { operationId, summary, parameters = [], body, answer, problems }: Operation,
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
    parameters,
    ...(body && {
      requestBody: { required: true, content: { [body.type]: { schema: ref(body.schema) } } },
    }),
    responses: {
      "200": { description: "the answer", content: { [answer.type]: { schema } } },
      ...Object.fromEntries(refusals),
    },
  };
}
