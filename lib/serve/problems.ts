/**
 * Problem details as responses (RFC 9457).
 *
 * @module
 */
import { STATUS_CODES } from "node:http";
import type { Problem } from "../api/schemas.ts";

/** The media type of problems. */
export const PROBLEM_TYPE = "application/problem+json";
/** How long a refused client should wait, s. */
const RETRY_AFTER_S = 1;

/** The response that says what is wrong. */
export function problemResponse(problem: Problem, headers: Record<string, string> = {}): Response {
  const isTemporary = problem.status === 429 || problem.status === 503;
  return new Response(problemText(problem), {
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
export function rawProblem(status: number, detail: string): string {
  const body = problemText({ type: "about:blank", title: "", status, detail });
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `Content-Type: ${PROBLEM_TYPE}`,
    `Content-Length: ${new TextEncoder().encode(body).length}`,
    "Connection: close",
    "",
    body,
  ].join("\r\n");
}

/** With the title that the status has in HTTP. */
function problemText(problem: Problem): string {
  return JSON.stringify({ ...problem, title: STATUS_CODES[problem.status] ?? problem.title });
}
