import { assert, assertEquals } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { type DuckDbJob, statementOf } from "../../../lib/cli/bench/duckdb_child.ts";
import { withFolder } from "../../data/measurement_files/batches.ts";

const JOB: DuckDbJob = {
  kind: "sort",
  input: "a'b.parquet",
  output: "o.parquet",
  numThreads: 2,
  memoryLimitGb: 1,
};

/** Runs the child with what is in a cache of packages already: a test fetches nothing. */
async function runChildOffline(job: DuckDbJob, env: Record<string, string>): Promise<unknown> {
  const path = (name: string) => fromFileUrl(new URL(`../../../lib/cli/bench/${name}`, import.meta.url));
  const offline = [
    "--no-prompt",
    "--no-config",
    `--lock=${path("duckdb.lock")}`,
    "--frozen",
    "--cached-only",
  ];
  const { stdout, stderr, success } = await new Deno.Command(Deno.execPath(), {
    args: ["run", ...offline, "--allow-all", path("duckdb_child.ts"), JSON.stringify(job)],
    env: { NO_COLOR: "1", ...env },
  }).output();
  assert(success, new TextDecoder().decode(stderr));
  return JSON.parse(new TextDecoder().decode(stdout));
}

Deno.test("statementOf() sorts by source and time, or groups with lists in time order, and quotes paths", () => {
  assertEquals(
    statementOf(JOB),
    "COPY (SELECT * FROM 'a''b.parquet' ORDER BY src_addr, event_time) TO 'o.parquet' (FORMAT parquet, COMPRESSION zstd)",
  );
  const group = statementOf({ ...JOB, kind: "group" });
  assert(
    group.includes("ORDER BY event_time) AS measurements") && group.includes("GROUP BY src_addr"),
    group,
  );
});

Deno.test("DuckDB's child says why DuckDB cannot be had", () =>
  withFolder(async (folder) => {
    const { unavailable } = await runChildOffline(JOB, { DENO_DIR: folder }) as { unavailable?: string };
    assert(unavailable?.includes("duckdb"), unavailable);
  }));

Deno.test("DuckDB's child says why DuckDB cannot do a job, or cannot be had", () =>
  withFolder(async (folder) => {
    const job = { ...JOB, input: `${folder}/none.parquet`, output: `${folder}/o.parquet` };
    const { unavailable } = await runChildOffline(job, {}) as { unavailable?: string };
    assert(unavailable?.includes("none.parquet") || unavailable?.includes("duckdb"), unavailable);
  }));

Deno.test("nothing but the bench's own child needs DuckDB", async () => {
  const root = new URL("../../../", import.meta.url);
  for (const name of ["deno.json", "deno.lock", "setup.sh"]) {
    assert(!Deno.readTextFileSync(new URL(name, root)).includes("duckdb"), name);
  }
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", fromFileUrl(new URL("tasks/bench_data.ts", root))],
  }).output();
  const graph = new TextDecoder().decode(stdout);
  assert(
    graph.includes("lib/cli/bench/data_stages.ts") && !graph.includes("@duckdb"),
    "the graph of tasks/bench_data.ts",
  );
});
