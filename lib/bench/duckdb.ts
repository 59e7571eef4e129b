/**
 * Measures DuckDB on the same file, where it can be had.
 *
 * @module
 */
import { fromFileUrl } from "@std/path";
import { runChild } from "./child_process.ts";
import type { DuckDbJob } from "./duckdb_child.ts";
import type { Usage } from "./usage.ts";

/** DuckDB's usage, or why there is none. */
export type DuckDbResult = { usage: Usage } | { unavailable: string };

/**
 * Runs a job in a process of its own, which fetches DuckDB from npm the first time.
 *
 * @param job What is to be done.
 * @param options `signal` ends it.
 * @throws {UserError} If the process did not end as it should.
 */
export async function runDuckDb(
  job: DuckDbJob,
  options: { signal?: AbortSignal } = {},
): Promise<DuckDbResult> {
  if (Deno.build.standalone) {
    return { unavailable: "this is the compiled program; run bench from a checkout" };
  }
  const path = (name: string) => fromFileUrl(new URL(name, import.meta.url));
  return await runChild({
    program: Deno.execPath(),
    // Permissions do not bind native code, and the kernel's peak memory can be read only with all of them.
    args: [
      "run",
      "--no-prompt",
      "--no-config",
      `--lock=${path("duckdb.lock")}`,
      "--frozen",
      "--allow-all",
      path("duckdb_child.ts"),
      JSON.stringify(job),
    ],
    label: `DuckDB's ${job.kind}`,
    ...options,
  }) as DuckDbResult;
}
