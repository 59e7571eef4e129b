/**
 * DuckDB (https://duckdb.org) doing the main work of `shard` and `probe-rows`, for comparison. This is a separate
 * program, which {@link file://./data_stages.ts} starts, since nothing else needs DuckDB.
 *
 * The name of the package is built at run time, so that neither `deno install` nor `deno check` fetches it.
 * `duckdb.lock` fixes its version. The argument is a {@link DuckDbJob} as JSON. The output is `{usage}`, or
 * `{unavailable}` with the reason if DuckDB is not available or fails, for example for lack of memory.
 *
 * @module
 */
import { measureUsage } from "./usage.ts";

const PACKAGE = ["npm:@duckdb/node-api", "1.5.5-r.5"].join("@");

/** A job. */
export interface DuckDbJob {
  /** `sort`: all rows by source and time. `group`: a row per source with its list of measurements in time order. */
  kind: "sort" | "group";
  /** Parquet file to read. */
  input: string;
  /** Parquet file to write. */
  output: string;
  numThreads: number;
  memoryLimitGb: number;
}

/** The used part of `@duckdb/node-api`. */
interface DuckDbApi {
  DuckDBInstance: {
    create(path: string, options: Record<string, string>): Promise<{
      connect(): Promise<{ run(sql: string): Promise<unknown> }>;
    }>;
  };
}

const quote = (path: string) => `'${path.replaceAll("'", "''")}'`;

/** The statement of a job. */
export function statementOf({ kind, input, output }: DuckDbJob): string {
  const query = kind === "sort"
    ? `SELECT * FROM ${quote(input)} ORDER BY src_addr, event_time`
    : `SELECT src_addr, LIST({event_time: event_time, dst_addr: dst_addr, ip_version: ip_version, rtt: rtt} ` +
      `ORDER BY event_time) AS measurements FROM ${quote(input)} GROUP BY src_addr`;
  return `COPY (${query}) TO ${quote(output)} (FORMAT parquet, COMPRESSION zstd)`;
}

async function runJob(job: DuckDbJob): Promise<unknown> {
  let api: DuckDbApi;
  try {
    api = await import(PACKAGE) as DuckDbApi;
  } catch (error) {
    return { unavailable: reasonOf(error) };
  }
  const instance = await api.DuckDBInstance.create(":memory:", {
    threads: String(job.numThreads),
    memory_limit: `${job.memoryLimitGb}GB`,
    temp_directory: `${job.output}.spill`,
  });
  const connection = await instance.connect();
  try {
    return await measureUsage(() => connection.run(statementOf(job)).then(() => null));
  } catch (error) {
    return { unavailable: reasonOf(error) };
  }
}

function reasonOf(error: unknown): string {
  return String(error instanceof Error ? error.message : error).split("\n")[0];
}

if (import.meta.main) {
  const result = await runJob(JSON.parse(Deno.args[0]) as DuckDbJob);
  console.log(JSON.stringify(result));
  Deno.exit(0);
}
