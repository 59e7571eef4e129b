/**
 * Problem details as responses (RFC 9457).
 *
 * @module
 */
import { ApiError, type ProblemStatus } from "./api/api_error.ts";
import type { Problem } from "./api/schemas.ts";

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
