/**
 * The API behind the page: a model in this browser if the page is part of an exported site, else the server that it
 * comes from.
 *
 * @module
 */
import type { PingApi } from "../api/ping_service.ts";
import type { AnswerOf } from "../../query/questions/questions.ts";
import type { LineError } from "../../query/questions/question.ts";
import type { ModelAnswer } from "../api/schemas.ts";
import type { ScoreAnswer } from "../../query/questions/score.ts";
import { WeightCache } from "./weight_cache.ts";

/** Where the model that answers is and how far it is, for the line below the page's heading. */
export type ModelStatus =
  /** It runs on the server; there is nothing to say. */
  | { state: "remote" }
  /** Its weights are on their way. */
  | { state: "loading"; loadedBytes: number; totalBytes: number }
  /** The weights are here; the GPU is made ready. */
  | { state: "starting" }
  /** It runs in this browser. */
  | {
    state: "ready";
    /** Bytes that the browser keeps of it; 0 if it keeps none. */
    cachedBytes: number;
    /** Removes what the browser keeps. The model goes on until the page is closed. */
    deleteCached: () => Promise<void>;
  }
  /** It cannot run here. `message`: what is missing and what to do, for people. */
  | { state: "failed"; message: string };

/** The API that answers the page's questions. */
export interface OpenedApi {
  /** Its methods wait until the model is ready, and throw if it fails. */
  api: PingApi;
  /** Whether the page comes from a server that also answers programs (`/openapi.json`). */
  hasServer: boolean;
  /** Calls with each state, the present one at once. @returns A function that ends that. */
  watchStatus: (listener: (status: ModelStatus) => void) => () => void;
}

/** An operation of the API. */
type Operation = keyof PingApi;

/** From the page to the worker. */
export type PageMessage =
  /** Loads the model. `site`: the address of `site.json`. */
  | { kind: "open"; site: string }
  | { kind: "ask"; id: number; operation: Operation; args: readonly unknown[] }
  /** The answer is not wanted any more. */
  | { kind: "abort"; id: number };

/** From the worker to the page. */
export type WorkerMessage =
  | { kind: "status"; status: Extract<ModelStatus, { state: "loading" | "starting" | "failed" }> }
  /** Questions are answered from here on. */
  | { kind: "ready" }
  | { kind: "answer"; id: number; answer: unknown }
  /** `detail`: what went wrong, for people. */
  | { kind: "problem"; id: number; detail: string };

// The API of the server that the page comes from.

/** Makes the API. @param base Where `v1/` is, such as the page's own address. */
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
    rtt: (question, signal) => post<AnswerOf<"rtt">>("v1/rtt", question, signal),
    rttBatch: (questions, signal) =>
      postLines<AnswerOf<"rtt"> | LineError>("v1/rtt:batch", questions, signal),
    destinations: (question, signal) => post<AnswerOf<"destinations">>("v1/destinations", question, signal),
    map: (question, signal) => post<AnswerOf<"map">>("v1/map", question, signal),
    places: (question, signal) => post<AnswerOf<"places">>("v1/places", question, signal),
    score: (measurements, options = {}, signal) => {
      const query = new URLSearchParams(
        Object.entries(options).map(([name, value]) => [name, String(value)]),
      );
      return postLines<ScoreAnswer | LineError>(`v1/score?${query}`, measurements, signal);
    },
    model: (signal) =>
      ask(new URL("v1/model", base), { signal }).then((text) => JSON.parse(text) as ModelAnswer),
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

/** The detail of a problem (RFC 9457); undefined if the text is not one. */
function detailOf(text: string): string | undefined {
  try {
    const { detail } = JSON.parse(text) as { detail?: unknown };
    return typeof detail === "string" ? detail : undefined;
  } catch {
    return undefined;
  }
}

// The API of the model in a worker of this browser.

/** The model's script, beside the page. */
const WORKER = "worker.js";

/** The operations, and how many arguments each has before the signal. */
const NUM_ARGUMENTS: Record<Operation, number> = {
  rtt: 1,
  rttBatch: 1,
  destinations: 1,
  map: 1,
  places: 1,
  score: 2,
  model: 0,
};

interface Asked {
  resolve: (answer: unknown) => void;
  reject: (error: unknown) => void;
}

class WorkerApi {
  readonly #worker: Worker;
  readonly #cache: WeightCache;
  readonly #listeners = new Set<(status: ModelStatus) => void>();
  readonly #asked = new Map<number, Asked>();
  readonly #loaded = Promise.withResolvers<void>();
  #status: ModelStatus = { state: "loading", loadedBytes: 0, totalBytes: 0 };
  #numAsked = 0;

  constructor(site: URL) {
    // Where nobody asks before it fails, the status says so.
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
    const operations = Object.entries(NUM_ARGUMENTS).map(([name, numArguments]) => [
      name,
      this.#operation(name as Operation, numArguments),
    ]);
    return {
      api: Object.fromEntries(operations) as PingApi,
      hasServer: false,
      watchStatus: (listener) => {
        this.#listeners.add(listener);
        listener(this.#status);
        return () => this.#listeners.delete(listener);
      },
    };
  }

  /** The signal does not cross to the worker. */
  #operation(operation: Operation, numArguments: number): (...all: readonly unknown[]) => Promise<unknown> {
    return async (...all) => {
      const args = Array.from({ length: numArguments }, (_, i) => all[i]);
      const signal = all[args.length] as AbortSignal | undefined;
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
      this.#post({ kind: "ask", id, operation, args });
      return await promise;
    };
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
      else asked?.reject(new Error(message.detail));
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
    for (const listener of this.#listeners) listener(status);
  }

  #post(message: PageMessage): void {
    this.#worker.postMessage(message);
  }
}

/** Opens the API that the page is made for. @param document The page. */
export function openApi(document: Document): OpenedApi {
  const site = document.querySelector<HTMLMetaElement>('meta[name="ping-llm-site"]')?.content;
  if (site) return new WorkerApi(new URL(site, document.baseURI)).opened;
  return {
    api: httpApi(document.baseURI),
    hasServer: true,
    watchStatus: (listener) => {
      listener({ state: "remote" });
      return () => {};
    },
  };
}
