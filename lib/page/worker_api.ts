/**
 * The API of the model in a worker of this browser.
 *
 * @module
 */
import type { PingApi } from "../api/ping_api.ts";
import type { ModelStatus, OpenedApi } from "./model_status.ts";
import { WeightCache } from "./weight_cache.ts";
import type { Operation, PageMessage, WorkerMessage } from "./worker_messages.ts";

/** The model's script, beside the page. */
const WORKER = "worker.js";

/** The operations, and how many arguments each has before the signal. */
const NUM_ARGUMENTS: Record<Operation, number> = {
  rtt: 1,
  rttBatch: 1,
  destinations: 1,
  likelihood: 1,
  score: 2,
  model: 0,
};

/** Loads the model of a site. @param site The address of `site.json`. */
export function openWorkerApi(site: URL): OpenedApi {
  return new WorkerApi(site).opened;
}

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
    const ask = <Name extends Operation>(operation: Name): PingApi[Name] => this.#operation(operation);
    return {
      api: {
        rtt: ask("rtt"),
        rttBatch: ask("rttBatch"),
        destinations: ask("destinations"),
        likelihood: ask("likelihood"),
        score: ask("score"),
        model: ask("model"),
      },
      hasServer: false,
      watchStatus: (listener) => {
        this.#listeners.add(listener);
        listener(this.#status);
        return () => this.#listeners.delete(listener);
      },
    };
  }

  /** The signal does not cross to the worker. */
  #operation<Name extends Operation>(operation: Name): PingApi[Name] {
    const ask = async (...all: readonly unknown[]) => {
      const args = Array.from({ length: NUM_ARGUMENTS[operation] }, (_, i) => all[i]);
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
    return ask as unknown as PingApi[Name];
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
