/**
 * Errors of requests, as callers see them: problem details (RFC 9457) and the words of a stage.
 *
 * @module
 */
import * as z from "zod";
import { InterruptedError, UserError } from "../../base/errors.ts";
import { shown } from "../../query/rtt/rtt_question.ts";
import type { Problem } from "./schemas.ts";

/** The titles of the problems of type `about:blank`, which are those of the status (RFC 9110, section 15; RFC 6585). */
export const PROBLEM_TITLES = {
  400: "Bad Request",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  408: "Request Timeout",
  413: "Content Too Large",
  415: "Unsupported Media Type",
  421: "Misdirected Request",
  429: "Too Many Requests",
  431: "Request Header Fields Too Large",
  500: "Internal Server Error",
  503: "Service Unavailable",
} as const;
/** A status that a problem can have. */
export type ProblemStatus = keyof typeof PROBLEM_TITLES;

/** Names of the errors of an `AbortSignal`: aborted by a caller, or by its time limit. */
const ABORTS = ["AbortError", "TimeoutError"];

const ENDED = "Cannot answer: the request was ended before its answer was there; ask again";

/** A request that is not answered; its message is for people. */
export class ApiError extends Error {
  /** Stands before the message in logs and stack traces. */
  override name = "ApiError";
  /** The answer to the caller. */
  readonly problem: Problem;

  /**
   * Makes a problem of type `about:blank`.
   *
   * @param status The status of HTTP.
   * @param detail The line that a stage would print.
   */
  constructor(status: ProblemStatus, detail: string, options?: ErrorOptions) {
    super(detail, options);
    this.problem = { type: "about:blank", title: PROBLEM_TITLES[status], status, detail };
  }
}

/**
 * The problem that an error is for a caller. Of errors that no caller can mend it tells nothing but that there is one.
 *
 * @param error Any value that was thrown while a request was answered.
 */
export function problemOf(error: unknown): Problem {
  return apiErrorOf(error).problem;
}

function apiErrorOf(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof InterruptedError) return new ApiError(503, ENDED);
  if (error instanceof UserError) return new ApiError(400, sentenceOf(error.message));
  if (error instanceof z.ZodError) return new ApiError(400, sentenceOf(faultOf(error)));
  if (error instanceof DOMException && ABORTS.includes(error.name)) {
    return new ApiError(503, ENDED);
  }
  return new ApiError(500, "Cannot answer: an error of the server, not of the request; its log says more");
}

/**
 * Does work on a request that was checked before, so that what fails then, such as the GPU, is no fault of the caller.
 *
 * @throws {Error} If it fails; what a signal ends is thrown as it is.
 */
export async function computed<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof UserError) || error instanceof InterruptedError) throw error;
    throw new Error(`Internal error: ${error.message}`, { cause: error });
  }
}

/** A fault such as `found no src, …` as a whole sentence. */
function sentenceOf(fault: string): string {
  return fault.startsWith("Cannot ") ? fault : `Cannot answer: ${fault}`;
}

/**
 * The fault in a value that a schema refused: the first field at fault, what was found there, what is expected and a
 * value that is right there.
 *
 * @param refused The value and the schema, where they are known; else only what is expected is given. `isUrl`: whether
 *   the value has the fields of a URL's query.
 */
export function faultOf(
  { issues: [issue] }: z.core.$ZodError,
  refused?: { value: unknown; schema: z.core.$ZodType; isUrl?: boolean },
): string {
  const { path } = issue;
  const name = path.map((key, i) =>
    typeof key === "number" ? `[${key}]` : `${i > 0 ? "." : ""}${String(key)}`
  )
    .join("");
  if (issue.code === "unrecognized_keys") {
    const key = shown(issue.keys[0]);
    return `found ${name === "" ? key : `${key} in ${name}`}, ${issue.message}`;
  }
  const wanted = expectedBy(issue);
  if (!refused) return name === "" ? wanted : `${name}: ${wanted}`;
  // A URL has whole lists.
  const [field] = path;
  const isInUrl = refused.isUrl && field !== undefined;
  const right = (isInUrl ? [field] : path).reduce(fieldOf, exampleOf(refused.schema));
  const example = isInUrl ? `${String(field)}=${urlText(right)}` : exampleText(right);
  const asked = name === "" || right === undefined ? wanted : `${wanted}, such as ${example}`;
  const found = path.reduce(fieldOf, refused.value);
  if (found === undefined) return `found no ${name || "value"}, ${asked}`;
  return `found ${name === "" ? "" : `${name} `}${shown(found)}, ${asked}`;
}

/** A value that a schema takes, made of the examples of its parts; undefined if a part has none. */
export function exampleOf(schema: z.core.$ZodType): unknown {
  const example = z.globalRegistry.get(schema)?.examples;
  if (Array.isArray(example)) return example[0];
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) return exampleOf(schema.unwrap());
  if (schema instanceof z.ZodArray) return [exampleOf(schema.element)];
  if (!(schema instanceof z.ZodObject)) return undefined;
  return Object.fromEntries(Object.entries(schema.shape).map(([name, field]) => [name, exampleOf(field)]));
}

function exampleText(value: unknown): string {
  return Array.isArray(value) ? `[${value.map(exampleText).join(", ")}]` : JSON.stringify(value);
}

/** An example as the query of a URL has it. */
function urlText(value: unknown): string {
  const isFlat = !Array.isArray(value) || value.every((each) => typeof each !== "object");
  return isFlat ? String(value) : JSON.stringify(value);
}

/** A field, or an item of an array, whose first one stands for those it lacks. */
function fieldOf(value: unknown, key: PropertyKey): unknown {
  if (Array.isArray(value) && !(key in value)) return value[0];
  return typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined;
}

const TYPES: Readonly<Record<string, string>> = {
  string: "expected text",
  number: "expected a number",
  int: "expected a whole number",
  array: "expected an array",
  tuple: "expected an array",
  object: "expected a JSON object",
};

function expectedBy(issue: z.core.$ZodIssue): string {
  // A schema's own words.
  if (issue.message.startsWith("expected ")) return issue.message;
  if (issue.code === "invalid_type") return TYPES[issue.expected] ?? `expected ${issue.expected}`;
  if (issue.code === "invalid_union") {
    const ways = issue.errors.map(([first]) => expectedBy(first).replace(/^expected /, ""));
    return `expected ${ways.join(" or ")}`;
  }
  if (issue.code === "invalid_value") return `expected ${issue.values.map(shown).join(" or ")}`;
  if (issue.code === "too_small") return `expected at least ${boundOf(issue.origin, issue.minimum)}`;
  if (issue.code === "too_big") return `expected at most ${boundOf(issue.origin, issue.maximum)}`;
  return issue.message;
}

function boundOf(origin: string, bound: number | bigint): string {
  if (origin !== "array") return String(bound);
  return bound === 1 ? "1 value" : `${bound} values`;
}

// Problem details as responses (RFC 9457).

/** The media type of problems. */
export const PROBLEM_TYPE = "application/problem+json";
/** How long a refused client should wait, s. */
const RETRY_AFTER_S = 1;

/** The response that says what is wrong. */
export function problemResponse(problem: Problem, headers: Record<string, string> = {}): Response {
  const isTemporary = problem.status === 429 || problem.status === 503;
  return new Response(JSON.stringify(problem), {
    status: problem.status,
    headers: {
      "content-type": PROBLEM_TYPE,
      "cache-control": "no-store",
      ...(isTemporary && { "retry-after": String(RETRY_AFTER_S) }),
      ...headers,
    },
  });
}

/** A whole HTTP/1.1 response, for what is no HTTP request. The connection ends with it. */
export function rawProblem(status: ProblemStatus, detail: string): string {
  const { problem } = new ApiError(status, detail);
  const body = JSON.stringify(problem);
  return [
    `HTTP/1.1 ${status} ${problem.title}`,
    `Content-Type: ${PROBLEM_TYPE}`,
    `Content-Length: ${new TextEncoder().encode(body).length}`,
    "Connection: close",
    "",
    body,
  ].join("\r\n");
}
