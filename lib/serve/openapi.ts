/**
 * The description of the API, made of the schemas that requests and answers have.
 *
 * Specification: OpenAPI 3.1.0, whose schemas are JSON Schema 2020-12.
 *
 * @module
 */
import * as z from "zod";
import { MEASUREMENT_TYPES } from "./api/lines.ts";
import { PROBLEM_TITLES, PROBLEM_TYPE, type ProblemStatus } from "./api/api_error.ts";
import {
  destinationsAnswerSchema,
  destinationsQuestionSchema,
  likelihoodAnswerSchema,
  likelihoodQuestionSchema,
  lineErrorSchema,
  mapAnswerSchema,
  mapQuestionSchema,
  matrixAnswerSchema,
  matrixQuestionSchema,
  measurementSchema,
  modelAnswerSchema,
  modelQuestionSchema,
  nearestAnswerSchema,
  nearestQuestionSchema,
  placesAnswerSchema,
  placesQuestionSchema,
  problemSchema,
  rttAnswerSchema,
  rttDefaultsSchema,
  rttQuestionSchema,
  scoreAnswerSchema,
  scoreOptionsSchema,
  statusCheckAnswerSchema,
  statusCheckQuestionSchema,
  watchAnswerSchema,
  watchedMeasurementSchema,
  watchOptionsSchema,
} from "./api/schemas.ts";
import { type QueryForm, queryFormOf } from "./api/read_question.ts";
import type { PingService } from "./api/ping_service.ts";
import { ensure } from "../base/errors.ts";
import { VERSION } from "../base/version.ts";

const SCHEMAS = {
  Measurement: measurementSchema,
  RttQuestion: rttQuestionSchema,
  RttAnswer: rttAnswerSchema,
  DestinationsQuestion: destinationsQuestionSchema,
  DestinationsAnswer: destinationsAnswerSchema,
  NearestQuestion: nearestQuestionSchema,
  NearestAnswer: nearestAnswerSchema,
  MatrixQuestion: matrixQuestionSchema,
  MatrixAnswer: matrixAnswerSchema,
  MapQuestion: mapQuestionSchema,
  MapAnswer: mapAnswerSchema,
  PlacesQuestion: placesQuestionSchema,
  PlacesAnswer: placesAnswerSchema,
  LikelihoodQuestion: likelihoodQuestionSchema,
  LikelihoodAnswer: likelihoodAnswerSchema,
  ScoreAnswer: scoreAnswerSchema,
  WatchedMeasurement: watchedMeasurementSchema,
  WatchAnswer: watchAnswerSchema,
  StatusCheck: statusCheckAnswerSchema,
  LineError: lineErrorSchema,
  ModelAnswer: modelAnswerSchema,
  Problem: problemSchema,
};
type SchemaName = keyof typeof SCHEMAS;

const JSON_TYPE = "application/json";
const LINES_TYPE = "application/x-ndjson";

interface Operation {
  /** The function's name in generated clients. */
  operationId: string;
  summary: string;
  /** Descriptions of the variable parts of the path, by their names. */
  path?: Readonly<Record<string, string>>;
  /** The fields of the URL's query. */
  query?: z.ZodObject;
  /** `texts`: further types, of texts in the formats that are read. */
  body?: { type: string; schema: SchemaName; texts?: readonly string[] };
  /** The media type and the schemas of one of which an answer is. */
  answer: { type: string; schemas: readonly SchemaName[] };
  /** Further statuses. */
  problems: readonly ProblemStatus[];
}

const ASKED = [400, 429, 503] as const;
const READ = [400, 408, 413, 415, 429, 503] as const;
/** Of all paths: a foreign host, and a fault of the server. */
const ANYWHERE = [421, 500] as const;

/** The schemas of the questions to the model. Each is a method of `PingService`, a path `/v1/NAME` and a tool (`mcp.ts`). */
export const QUESTIONS = {
  rtt: rttQuestionSchema,
  destinations: destinationsQuestionSchema,
  nearest: nearestQuestionSchema,
  matrix: matrixQuestionSchema,
  map: mapQuestionSchema,
  places: placesQuestionSchema,
  likelihood: likelihoodQuestionSchema,
  model: modelQuestionSchema,
} satisfies Partial<Record<keyof PingService, z.ZodObject>>;
/** The name of one. */
export type QuestionName = keyof typeof QUESTIONS;

/** The operations of a question that is asked by the query of a URL, or as JSON. */
function asked(
  name: "Rtt" | "Destinations" | "Nearest" | "Matrix" | "Map" | "Places",
  summary: string,
  postSummary = "the same, given recent measurements as context",
): Record<string, Operation> {
  const question = `${name}Question` as const;
  const answer = { type: JSON_TYPE, schemas: [`${name}Answer`] } as const;
  const body = { type: JSON_TYPE, schema: question };
  return {
    get: { operationId: `get${name}`, summary, query: SCHEMAS[question], answer, problems: ASKED },
    post: { operationId: `post${name}`, summary: postSummary, body, answer, problems: READ },
  };
}

/** By path and method. */
const OPERATIONS: Record<string, Record<string, Operation>> = {
  "/v1/rtt": asked("Rtt", "the distribution of the RTT between two addresses or prefixes"),
  "/v1/rtt:batch": {
    post: {
      operationId: "postRttBatch",
      summary: "one answer or error for each line, in order, while lines come",
      query: rttDefaultsSchema,
      body: { type: LINES_TYPE, schema: "RttQuestion" },
      answer: { type: LINES_TYPE, schemas: ["RttAnswer", "LineError"] },
      problems: READ,
    },
  },
  "/v1/destinations": asked("Destinations", "the most probable destinations for an RTT"),
  "/v1/nearest": asked("Nearest", "the nearest of some candidates, addresses or prefixes, to a source"),
  "/v1/matrix": asked("Matrix", "the RTTs between all of some nodes, or from them to others"),
  "/v1/map": asked(
    "Map",
    "the RTTs from a source to countries or cells, a part of a map of the world",
    "the same, asked for as JSON",
  ),
  "/v1/places": asked(
    "Places",
    "meanings of a text while it is typed: addresses, names, cities, regions, countries, ASes",
    "the same, asked for as JSON",
  ),
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
      query: scoreOptionsSchema,
      body: { type: LINES_TYPE, schema: "Measurement", texts: MEASUREMENT_TYPES },
      answer: { type: LINES_TYPE, schemas: ["ScoreAnswer", "LineError"] },
      problems: READ,
    },
  },
  "/v1/watch": {
    post: {
      operationId: "postWatch",
      summary: "alarms when pairs leave their usual RTT and when they return; the server remembers the pairs",
      query: watchOptionsSchema,
      body: { type: LINES_TYPE, schema: "WatchedMeasurement", texts: MEASUREMENT_TYPES },
      answer: { type: LINES_TYPE, schemas: ["WatchAnswer", "LineError"] },
      problems: READ,
    },
  },
  "/api/v2/measurements/{id}/status-check": {
    get: {
      operationId: "getStatusCheck",
      summary: "the alarms of a watched measurement by probe, as RIPE Atlas' status checks have them",
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

/** A description of the API, for people. */
export const ABOUT = "RTT distributions, destinations and likelihoods from a generative model of pings.";

/** How schemas become JSON Schema. */
const JSON_SCHEMA: Pick<z.core.ToJSONSchemaParams, "io" | "override"> = {
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
};

/** The methods by which a question is asked, in lower case. */
export function methodsOf(name: QuestionName): string[] {
  return Object.keys(OPERATIONS[`/v1/${name}`]);
}

/** The purpose of a question, and the JSON Schemas of it and its answer. */
export function describeQuestion(name: QuestionName) {
  const [{ summary, answer: { schemas: [answer] } }] = Object.values(OPERATIONS[`/v1/${name}`]);
  return {
    summary,
    input: z.toJSONSchema(QUESTIONS[name], JSON_SCHEMA),
    output: z.toJSONSchema(SCHEMAS[answer], JSON_SCHEMA),
  };
}

const ref = (name: SchemaName) => ({ $ref: `#/components/schemas/${name}` });

/** The description as a JSON value. */
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

/** Descriptions of the forms of a URL's query, for people. */
const FORM_TEXTS: Record<QueryForm, string> = {
  text: "",
  number: "",
  list: "; with commas between them",
  texts: "; with commas between them",
  range: "; as in 20..25, or one",
};

/** The fields of a question that the query of a URL can have. */
function parametersOf({ shape }: z.ZodObject): object[] {
  return Object.entries(shape).flatMap(([name, field]) => {
    const form = queryFormOf(field);
    if (form === undefined) return [];
    const { description = "", $schema: _, ...schema } = z.toJSONSchema(field, { io: "input" });
    return [{
      name,
      in: "query",
      required: !z.safeParse(field, undefined).success,
      schema: form === "number" ? schema : { type: "string" },
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
