/** Debian's Prometheus and blackbox exporter, which use this machine's own network only. @module */
import { until } from "../../until.ts";

/** Programs that {@link RealPrometheus} needs. */
export const PROMETHEUS_PROGRAMS = ["prometheus", "prometheus-blackbox-exporter"];

interface Scraped {
  /** Further servers of metrics. */
  targets: string[];
  /** Files of rules. */
  rules: string[];
}

/** Scrapes probes of three targets every 2 s: TCP to an open and a closed port, and ICMP to 127.0.0.1. */
export class RealPrometheus implements AsyncDisposable {
  readonly openTarget: string;
  readonly closedTarget: string;
  /** With a path, as if behind a proxy. */
  readonly url: string;
  readonly #children: Deno.ChildProcess[];

  private constructor(folder: string, { targets, rules }: Scraped) {
    const [port, exporterPort, closedPort] = freePorts(3);
    this.openTarget = `127.0.0.1:${exporterPort}`;
    this.closedTarget = `127.0.0.1:${closedPort}`;
    this.url = `http://127.0.0.1:${port}/prometheus`;
    const job = (module: string, targets: string[]) => ({
      job_name: module,
      metrics_path: "/probe",
      params: { module: [module] },
      static_configs: [{ targets }],
      relabel_configs: [
        { source_labels: ["__address__"], target_label: "__param_target" },
        { source_labels: ["__param_target"], target_label: "instance" },
        { target_label: "__address__", replacement: this.openTarget },
      ],
    });
    // YAML parsers read JSON.
    const write = (name: string, config: unknown) =>
      Deno.writeTextFileSync(`${folder}/${name}`, JSON.stringify(config));
    write("exporter.yml", { modules: { icmp: { prober: "icmp" }, tcp: { prober: "tcp" } } });
    write("prometheus.yml", {
      global: { scrape_interval: "2s", scrape_timeout: "2s", evaluation_interval: "1s" },
      scrape_configs: [
        job("tcp", [this.openTarget, this.closedTarget]),
        job("icmp", ["127.0.0.1"]),
        { job_name: "metrics", static_configs: [{ targets }] },
      ],
      rule_files: rules,
    });
    const start = (program: string, ...args: string[]) =>
      new Deno.Command(program, { args, stdout: "null", stderr: "null" }).spawn();
    this.#children = [
      start(
        "prometheus-blackbox-exporter",
        `--config.file=${folder}/exporter.yml`,
        `--web.listen-address=${this.openTarget}`,
      ),
      start(
        "prometheus",
        `--config.file=${folder}/prometheus.yml`,
        `--storage.tsdb.path=${folder}/data`,
        `--web.listen-address=127.0.0.1:${port}`,
        `--web.external-url=${this.url}`,
      ),
    ];
  }

  /** Starts both and waits until Prometheus answers. @param folder For its files. */
  static async start(
    folder: string,
    scraped: Scraped = { targets: [], rules: [] },
  ): Promise<RealPrometheus> {
    const started = new RealPrometheus(folder, scraped);
    try {
      await until("Prometheus is ready", async () => {
        const response = await fetch(`${started.url}/-/ready`).catch(() => undefined);
        await response?.body?.cancel();
        return response?.ok ?? false;
      });
      return started;
    } catch (error) {
      await started[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Queries an endpoint, such as `query_range`. @returns The result. */
  async ask(endpoint: string, words: Record<string, string>): Promise<Record<string, unknown>[]> {
    const response = await fetch(`${this.url}/api/v1/${endpoint}?${new URLSearchParams(words)}`);
    return (await response.json()).data.result;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#children) {
      try {
        child.kill("SIGTERM");
      } catch { /* it has ended */ }
      await child.status;
    }
  }
}

function freePorts(count: number): number[] {
  const listeners = Array.from({ length: count }, () => Deno.listen({ hostname: "127.0.0.1", port: 0 }));
  return listeners.map((listener) => {
    listener.close();
    return listener.addr.port;
  });
}
