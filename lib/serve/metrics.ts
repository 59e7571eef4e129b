/** The server's metrics in Prometheus' text exposition format 0.0.4. @module */
import { getOrMake } from "../base/collections.ts";
import type { ServedModels } from "./served_models.ts";

export const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

type Labels = Readonly<Record<string, string | number>>;

export interface Metric {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram";
  /** `[suffix of the name, labels, value]` of each sample. */
  samples(): Iterable<readonly [ending: string, labels: Labels, value: number]>;
}

export class Counter implements Metric {
  readonly type = "counter";
  readonly #counts = new Map<string, { labels: Labels; count: number }>();

  constructor(readonly name: string, readonly help: string) {}

  add(labels: Labels): void {
    getOrMake(this.#counts, JSON.stringify(labels), () => ({ labels, count: 0 })).count++;
  }

  *samples(): Iterable<readonly [string, Labels, number]> {
    for (const { labels, count } of this.#counts.values()) yield ["", labels, count];
  }
}

function reading(type: "counter" | "gauge", name: string, help: string, value: number): Metric {
  return { name, help, type, samples: () => [["", {}, value]] };
}

export const gauge = (name: string, help: string, value: number) => reading("gauge", name, help, value);
/** @param name Must end with `_total`. */
export const total = (name: string, help: string, value: number) => reading("counter", name, help, value);

/** Counts values up to each bound, for each set of labels. */
export class Histogram implements Metric {
  readonly type = "histogram";
  readonly #series = new Map<string, { labels: Labels; counts: number[]; sum: number; count: number }>();

  /** @param bounds Ascending; infinity is added. */
  constructor(readonly name: string, readonly help: string, readonly bounds: readonly number[]) {}

  observe(value: number, labels: Labels = {}): void {
    const series = getOrMake(
      this.#series,
      JSON.stringify(labels),
      () => ({ labels, counts: this.bounds.map(() => 0), sum: 0, count: 0 }),
    );
    const index = this.bounds.findIndex((bound) => value <= bound);
    if (index >= 0) series.counts[index]++;
    series.sum += value;
    series.count++;
  }

  *samples(): Iterable<readonly [string, Labels, number]> {
    for (const { labels, counts, sum, count } of this.#series.values()) {
      let below = 0;
      for (const [i, bound] of this.bounds.entries()) {
        below += counts[i];
        yield ["_bucket", { ...labels, le: bound }, below];
      }
      yield ["_bucket", { ...labels, le: "+Inf" }, count];
      yield ["_sum", labels, sum];
      yield ["_count", labels, count];
    }
  }
}

export function exposition(metrics: readonly Metric[]): string {
  const lines = metrics.flatMap((metric) => [
    `# HELP ${metric.name} ${metric.help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")}`,
    `# TYPE ${metric.name} ${metric.type}`,
    ...[...metric.samples()].map(([ending, labels, value]) =>
      `${metric.name}${ending}${labelsText(labels)} ${value}`
    ),
  ]);
  return lines.join("\n") + "\n";
}

function labelsText(labels: Labels): string {
  const texts = Object.entries(labels).map(([name, value]) => {
    const escaped = String(value).replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
    return `${name}="${escaped}"`;
  });
  return texts.length === 0 ? "" : `{${texts.join(",")}}`;
}

/** Seconds; single questions take about 20 ms, searches a minute. */
const LATENCY_BOUNDS_S = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const BATCH_BOUNDS = [1, 2, 4, 8, 16, 32, 64, 128];

export class ServerMetrics {
  readonly #requests = new Counter("ping_llm_requests_total", "Answered requests by route and status.");
  readonly #seconds = new Histogram(
    "ping_llm_request_seconds",
    "Seconds from a request's head to the end of its answer.",
    LATENCY_BOUNDS_S,
  );
  readonly #batches = new Histogram("ping_llm_batch_queries", "Queries per GPU batch.", BATCH_BOUNDS);
  #numInFlight = 0;

  /** Counts a request. @returns A function to call when it ends, with its route and status. */
  begin(): (route: string, status: number) => void {
    const startMs = performance.now();
    this.#numInFlight++;
    return (route, status) => {
      this.#numInFlight--;
      this.#requests.add({ route, status });
      this.#seconds.observe((performance.now() - startMs) / 1000, { route });
    };
  }

  batch(size: number): void {
    this.#batches.observe(size);
  }

  text(models: ServedModels, others: readonly Metric[] = []): string {
    const { current: { service, step }, numSwaps, numFailedLoads } = models;
    const { rss, heapUsed } = Deno.memoryUsage();
    return exposition([
      this.#requests,
      this.#seconds,
      this.#batches,
      gauge("ping_llm_requests_in_flight", "Requests being answered.", this.#numInFlight),
      gauge("ping_llm_queue_length", "Waiting questions.", service.queueLength),
      gauge("ping_llm_model_step", "Optimizer steps of the served model.", step),
      total("ping_llm_model_swaps_total", "Switches to a newer model.", numSwaps),
      total(
        "ping_llm_model_load_failures_total",
        "Failed attempts to load a newer model.",
        numFailedLoads,
      ),
      gauge("process_resident_memory_bytes", "Resident memory.", rss),
      gauge("ping_llm_heap_bytes", "Used memory of the JavaScript heap.", heapUsed),
      ...others,
    ]);
  }
}
