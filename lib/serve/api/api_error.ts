/**
 * Request errors as clients see them: problem details (RFC 9457) with the line that a stage would print.
 *
 * @module
 */
import { InterruptedError, UserError } from "../../base/errors.ts";
import { sentenceOf } from "../../query/questions/ask.ts";
import type { Problem } from "./schemas.ts";

/** Titles of `about:blank` problems: the status texts of RFC 9110, section 15, and RFC 6585. */
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
export type ProblemStatus = keyof typeof PROBLEM_TITLES;

/** Names of the errors of an `AbortSignal`: aborted by its owner or by a time limit. */
const ABORTS = ["AbortError", "TimeoutError"];

const ENDED = "Cannot answer: the request was cancelled before the answer was ready; ask again";

/** A request that cannot be answered. The message is for people. */
export class ApiError extends Error {
  override name = "ApiError";
  readonly problem: Problem;

  /** @param detail The line that a stage would print. */
  constructor(
    status: ProblemStatus,
    detail: string,
    { field, ...options }: ErrorOptions & { field?: string } = {},
  ) {
    super(detail, options);
    const title = PROBLEM_TITLES[status];
    this.problem = { type: "about:blank", title, status, detail, ...(field !== undefined && { field }) };
  }
}

/** The problem to report for an error. Errors that the client cannot fix are reported without details. */
export function problemOf(error: unknown): Problem {
  return apiErrorOf(error).problem;
}

function apiErrorOf(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof InterruptedError) return new ApiError(503, ENDED);
  if (error instanceof UserError) {
    const [field] = error.fault?.path ?? [];
    return new ApiError(400, sentenceOf(error), field === undefined ? {} : { field: String(field) });
  }
  if (error instanceof DOMException && ABORTS.includes(error.name)) {
    return new ApiError(503, ENDED);
  }
  return new ApiError(500, "Cannot answer: an error in the server, not in the request; see the server's log");
}

/**
 * Runs work for a validated request. If it fails now, for example on the GPU, the client is not at fault.
 *
 * @throws {Error} If the work fails; the reason of an aborted signal is thrown unchanged.
 */
export async function computed<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof UserError) || error instanceof InterruptedError) throw error;
    throw new Error(`Internal error: ${error.message}`, { cause: error });
  }
}

export const PROBLEM_TYPE = "application/problem+json";
/** How long a rejected client should wait, s. */
const RETRY_AFTER_S = 1;

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

/** A complete HTTP/1.1 response, which closes the connection, to input that is not an HTTP request. */
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
