/**
 * What the server counts of its requests and batches.
 *
 * @module
 */
import { Counter, exposition, Histogram, Reading } from "./metrics.ts";
import type { ServedModels } from "./served_models.ts";

/** Seconds; single questions take some 20 ms, searches a minute. */
const LATENCY_BOUNDS_S = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const BATCH_BOUNDS = [1, 2, 4, 8, 16, 32, 64, 128];

/** Counts of one server. */
export class ServerMetrics {
  readonly #requests = new Counter("ping_llm_requests_total", "Answered requests by route and status.");
  readonly #seconds = new Histogram(
    "ping_llm_request_seconds",
    "Seconds from a request's head to the end of its answer.",
    LATENCY_BOUNDS_S,
  );
  readonly #batches = new Histogram("ping_llm_batch_queries", "Queries in a batch of the GPU.", BATCH_BOUNDS);
  #numInFlight = 0;

  /**
   * Counts a request.
   *
   * @returns To be called at its end, with its route and status.
   */
  begin(): (route: string, status: number) => void {
    const startMs = performance.now();
    this.#numInFlight++;
    return (route, status) => {
      this.#numInFlight--;
      this.#requests.add({ route, status });
      this.#seconds.observe((performance.now() - startMs) / 1000, { route });
    };
  }

  /** Counts a batch. @param size Its queries. */
  batch(size: number): void {
    this.#batches.observe(size);
  }

  /** All of it as text. */
  text(models: ServedModels): string {
    const gauge = (name: string, help: string, read: () => number) => new Reading(name, help, "gauge", read);
    const total = (name: string, help: string, read: () => number) =>
      new Reading(name, help, "counter", read);
    return exposition([
      this.#requests,
      this.#seconds,
      this.#batches,
      gauge("ping_llm_requests_in_flight", "Requests being answered.", () => this.#numInFlight),
      gauge("ping_llm_queue_length", "Questions that wait.", () => models.current.service.queueLength),
      gauge("ping_llm_model_step", "Optimizer steps of the served model.", () => models.current.step),
      total("ping_llm_model_swaps_total", "Newer models served.", () => models.numSwaps),
      total(
        "ping_llm_model_load_failures_total",
        "Attempts to load a newer model that failed.",
        () => models.numFailedLoads,
      ),
      gauge("process_resident_memory_bytes", "Resident memory.", () => Deno.memoryUsage().rss),
      gauge("ping_llm_heap_bytes", "Used memory of the JavaScript heap.", () => Deno.memoryUsage().heapUsed),
    ]);
  }
}
