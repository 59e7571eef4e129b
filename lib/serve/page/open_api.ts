/**
 * The API behind the page: a model in this browser for an exported site, else the server that sent the page.
 *
 * @module
 */
import type { PingApi } from "../api/ping_service.ts";
import type { Problem } from "../api/schemas.ts";
import type { AnswerOf, QuestionName, QuestionOf } from "../../query/questions/questions.ts";
import { WeightCache } from "./weight_cache.ts";

/** Where the model runs, and how much of it is loaded. */
export type ModelStatus =
  | { state: "remote" }
  | { state: "loading"; loadedBytes: number; totalBytes: number }
  | { state: "starting" }
  | {
    state: "ready";
    /** Bytes of the model that the browser keeps; 0 for none. */
    cachedBytes: number;
    /** Deletes the kept files. The model stays available until the page is closed. */
    deleteCached: () => Promise<void>;
  }
  /** The model cannot run here. `message`: what is missing and what to do, for people. */
  | { state: "failed"; message: string };

export interface OpenedApi {
  /** Methods wait until the model is ready, and throw if it cannot be loaded. */
  api: PingApi;
  /** Whether the page's server also serves programs (`/openapi.json`). */
  hasServer: boolean;
  /** Calls the listener with the current status and with each later one. */
  watchStatus: (listener: (status: ModelStatus) => void) => void;
}

/** Messages from the page to the worker. */
export type PageMessage =
  /** Loads the model. `site`: URL of `site.json`. */
  | { kind: "open"; site: string }
  | { kind: "ask"; id: number; operation: keyof PingApi; question: unknown }
  | { kind: "abort"; id: number };

/** Messages from the worker to the page. */
export type WorkerMessage =
  | { kind: "status"; status: Extract<ModelStatus, { state: "loading" | "starting" | "failed" }> }
  | { kind: "ready" }
  | { kind: "answer"; id: number; answer: unknown }
  | { kind: "problem"; id: number; problem: AskProblem };

type AskProblem = Pick<Problem, "detail" | "field">;

export class AskError extends Error {
  constructor(readonly problem: AskProblem) {
    super(problem.detail);
  }
}

/** @param base The parent URL of `v1/`, such as the page's own. */
function httpApi(base: string): PingApi {
  const post = (path: string, type: string, body: string, signal: AbortSignal | undefined) =>
    ask(new URL(path, base), { method: "POST", body, headers: { "content-type": type }, signal });
  const postQuestion =
    <N extends QuestionName>(name: N) =>
    async (question: QuestionOf<N>, signal?: AbortSignal): Promise<AnswerOf<N>> =>
      JSON.parse(await post(`v1/${name}`, "application/json", JSON.stringify(question), signal));
  const postLines = (path: string) => async (values: readonly unknown[], signal?: AbortSignal) => {
    const body = values.map((value) => `${JSON.stringify(value)}\n`).join("");
    const text = await post(path, "application/x-ndjson", body, signal);
    return text.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
  };
  return {
    rtt: postQuestion("rtt"),
    rttBatch: postLines("v1/rtt:batch"),
    destinations: postQuestion("destinations"),
    nearest: postQuestion("nearest"),
    map: postQuestion("map"),
    advise: postQuestion("advise"),
    place: postQuestion("place"),
    places: postQuestion("places"),
    score: postLines("v1/score"),
    model: async () => JSON.parse(await ask(new URL("v1/model", base), {})),
  };
}

/** @throws {AskError} With the server's problem. @throws {Error} If the server cannot be reached. */
async function ask(
  url: URL,
  { signal, ...request }: Omit<RequestInit, "signal"> & { signal?: AbortSignal | undefined },
): Promise<string> {
  let response: Response;
  let text: string;
  try {
    response = await fetch(url, { ...request, signal: signal ?? null });
    text = await response.text();
  } catch (error) {
    signal?.throwIfAborted();
    throw new Error(
      `Cannot reach the server at ${url.host}; check that it runs, and ask again`,
      { cause: error },
    );
  }
  if (response.ok) return text;
  const { status, statusText } = response;
  throw new AskError(
    problemIn(text) ?? { detail: `Cannot answer: the server answered ${status} ${statusText}` },
  );
}

/** A problem (RFC 9457); undefined if the text is not one. */
function problemIn(text: string): AskProblem | undefined {
  try {
    const problem = JSON.parse(text) as AskProblem;
    return typeof problem.detail === "string" ? problem : undefined;
  } catch {
    return undefined;
  }
}

const WORKER = "worker.js";

const OPERATIONS: readonly (keyof PingApi)[] = [
  ...[
    "rtt",
    "rttBatch",
    "destinations",
    "nearest",
    "advise",
    "map",
    "place",
    "places",
    "score",
    "model",
  ] as const,
];

interface Asked {
  resolve: (answer: unknown) => void;
  reject: (error: unknown) => void;
}

class WorkerApi {
  readonly #worker: Worker;
  readonly #cache: WeightCache;
  #listener = (_: ModelStatus): void => {};
  readonly #asked = new Map<number, Asked>();
  readonly #loaded = Promise.withResolvers<void>();
  #status: ModelStatus = { state: "loading", loadedBytes: 0, totalBytes: 0 };
  #numAsked = 0;

  constructor(site: URL) {
    // If loading fails before anything is asked, only the status reports it.
    this.#loaded.promise.catch(() => {});
    this.#cache = new WeightCache(site);
    this.#worker = new Worker(new URL(WORKER, site), { type: "module" });
    this.#worker.onmessage = ({ data }: MessageEvent<WorkerMessage>) => this.#receive(data);
    this.#worker.onerror = (event) => {
      const found = event.message || `${WORKER} cannot be loaded`;
      this.#fail(`Cannot run the model here: ${found}; load the page again`);
    };
    this.#post({ kind: "open", site: site.href });
  }

  get opened(): OpenedApi {
    const operations = OPERATIONS.map((operation) => [
      operation,
      (question?: unknown, signal?: AbortSignal) => this.#ask(operation, question, signal),
    ]);
    return {
      api: Object.fromEntries(operations) as PingApi,
      hasServer: false,
      watchStatus: (listener) => {
        this.#listener = listener;
        listener(this.#status);
      },
    };
  }

  /** A signal cannot be sent to the worker, so an abort is sent as a message. */
  async #ask(operation: keyof PingApi, question: unknown, signal?: AbortSignal): Promise<unknown> {
    await this.#loaded.promise;
    signal?.throwIfAborted();
    const id = this.#numAsked++;
    const { promise, ...settle } = Promise.withResolvers<unknown>();
    this.#asked.set(id, settle);
    signal?.addEventListener("abort", () => {
      this.#post({ kind: "abort", id });
      this.#asked.delete(id);
      settle.reject(signal.reason);
    });
    this.#post({ kind: "ask", id, operation, question });
    return await promise;
  }

  #receive(message: WorkerMessage): void {
    if (message.kind === "status") {
      if (message.status.state === "failed") this.#fail(message.status.message);
      else this.#show(message.status);
    } else if (message.kind === "ready") {
      this.#loaded.resolve();
      this.#showReady();
    } else {
      const asked = this.#asked.get(message.id);
      this.#asked.delete(message.id);
      if (message.kind === "answer") asked?.resolve(message.answer);
      else asked?.reject(new AskError(message.problem));
    }
  }

  async #showReady(): Promise<void> {
    const cachedBytes = await this.#cache.sizeBytes();
    const deleteCached = async () => {
      await this.#cache.delete();
      await this.#showReady();
    };
    this.#show({ state: "ready", cachedBytes, deleteCached });
  }

  #fail(message: string): void {
    const error = new Error(message);
    this.#loaded.reject(error);
    for (const { reject } of this.#asked.values()) reject(error);
    this.#asked.clear();
    this.#show({ state: "failed", message });
  }

  #show(status: ModelStatus): void {
    this.#status = status;
    this.#listener(status);
  }

  #post(message: PageMessage): void {
    this.#worker.postMessage(message);
  }
}

/** Uses the site that the page names, else the page's server. */
export function openApi(document: Document): OpenedApi {
  const site = document.querySelector<HTMLMetaElement>('meta[name="ping-llm-site"]')?.content;
  if (site) return new WorkerApi(new URL(site, document.baseURI)).opened;
  return {
    api: httpApi(document.baseURI),
    hasServer: true,
    watchStatus: (listener) => listener({ state: "remote" }),
  };
}
