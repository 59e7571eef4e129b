/**
 * The API of the server that the page comes from.
 *
 * @module
 */
import type { PingApi } from "../api/ping_api.ts";
import type {
  DestinationsApiAnswer,
  LikelihoodApiAnswer,
  LineError,
  ModelApiAnswer,
  RttApiAnswer,
  ScoreApiAnswer,
} from "../api/schemas.ts";

/**
 * Makes the API.
 *
 * @param base Where `v1/` is, such as the page's own address.
 */
export function httpApi(base: string): PingApi {
  const post = <T>(path: string, body: unknown, signal?: AbortSignal) =>
    ask(new URL(path, base), { body: JSON.stringify(body), type: "application/json", signal })
      .then((text) => JSON.parse(text) as T);
  const postLines = <T>(path: string, lines: readonly unknown[], signal?: AbortSignal) =>
    ask(new URL(path, base), {
      body: lines.map((line) => `${JSON.stringify(line)}\n`).join(""),
      type: "application/x-ndjson",
      signal,
    }).then((text) => text.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line) as T));
  return {
    rtt: (question, signal) => post<RttApiAnswer>("v1/rtt", question, signal),
    rttBatch: (questions, signal) => postLines<RttApiAnswer | LineError>("v1/rtt:batch", questions, signal),
    destinations: (question, signal) => post<DestinationsApiAnswer>("v1/destinations", question, signal),
    likelihood: (question, signal) => post<LikelihoodApiAnswer>("v1/likelihood", question, signal),
    score: (measurements, options = {}, signal) => {
      const query = new URLSearchParams(
        Object.entries(options).map(([name, value]) => [name, String(value)]),
      );
      return postLines<ScoreApiAnswer | LineError>(`v1/score?${query}`, measurements, signal);
    },
    model: (signal) =>
      ask(new URL("v1/model", base), { signal }).then((text) => JSON.parse(text) as ModelApiAnswer),
  };
}

/** Sends a request. @throws {Error} With the detail of the server's problem, or that it cannot be reached. */
async function ask(
  url: URL,
  { body, type, signal }: { body?: string; type?: string; signal: AbortSignal | undefined },
): Promise<string> {
  const request: RequestInit = { signal: signal ?? null };
  if (body !== undefined && type) {
    Object.assign(request, { method: "POST", body, headers: { "content-type": type } });
  }
  let response: Response;
  let text: string;
  try {
    response = await fetch(url, request);
    text = await response.text();
  } catch (error) {
    signal?.throwIfAborted();
    throw new Error(
      `Cannot reach the server at ${url.host}; check that it runs, and ask again`,
      { cause: error },
    );
  }
  if (response.ok) return text;
  throw new Error(
    detailOf(text) ?? `Cannot answer: the server says ${response.status} ${response.statusText}`,
  );
}

/** The detail of a problem (RFC 9457); undefined if the text is none. */
function detailOf(text: string): string | undefined {
  try {
    const { detail } = JSON.parse(text) as { detail?: unknown };
    return typeof detail === "string" ? detail : undefined;
  } catch {
    return undefined;
  }
}
