/** `fetch prometheus` against a real Prometheus. @module */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { TemporaryFolder } from "../../io/files/temporary_folder.ts";
import { until } from "../../until.ts";
import { programsAreMissing } from "../missing_programs.ts";
import { refused, runStageProcess, succeed, succeeded } from "../process.ts";
import { pointsIn } from "./fetched_files.ts";
import { PROMETHEUS_PROGRAMS, RealPrometheus } from "./real_prometheus.ts";

Deno.test({
  name: "fetch prometheus writes each value of a real Prometheus once",
  ignore: programsAreMissing(PROMETHEUS_PROGRAMS),
  fn: async () => {
    using folder = new TemporaryFolder();
    const startS = Math.floor(Date.now() / 1000);
    await using prometheus = await RealPrometheus.start(folder.path);
    const { url, openTarget, closedTarget } = prometheus;
    const holdsFor = (count: number, query: string) => async () =>
      (await prometheus.ask("query", { query })).length === count;
    await until("three values of each target", holdsFor(3, "count_over_time(probe_success[1h]) >= 3"));
    await until("a success", holdsFor(1, `max_over_time(probe_success{instance="${openTarget}"}[1h]) == 1`));
    const stopS = Math.ceil(Date.now() / 1000);
    // A target is scraped again only after its last values have been stored.
    await until("later values of each target", holdsFor(3, `timestamp(probe_success) > ${stopS}`));

    const query = '{__name__=~"probe_success|probe_icmp_duration_seconds|probe_duration_seconds"}';
    const run = (output: string, changes: Record<string, string> = {}) => {
      const options = { url, query, start: String(startS), stop: String(stopS), step: "1s", ...changes };
      const words = Object.entries({ ...options, output }).flatMap(([name, value]) => [`--${name}`, value]);
      const flags = ["--allow-net", "--allow-env=PROMETHEUS_TOKEN"];
      return runStageProcess(["fetch", "prometheus", ...words, "--json"], { flags });
    };
    const span = { query, start: String(startS), end: String(stopS - 1), step: "1" };
    const expected = await prometheus.ask("query_range", span);
    const { stdout } = await succeeded(run(folder.at("out"), { window: "2s" }));
    const sortedPoints = (series: unknown[]) => series.map((each) => JSON.stringify(each)).sort();
    assertEquals(
      sortedPoints(await pointsIn(folder.at("out"))),
      sortedPoints(expected.map(({ values }) => values)),
    );
    assertEquals(JSON.parse(stdout).windows, Math.ceil((stopS - startS) / 2));
    const valuesOf = (name: string, instance: string, phase?: string) => {
      const found = expected.find(({ metric }) => {
        const labels = metric as Record<string, string>;
        return labels.__name__ === name && labels.instance === instance && labels.phase === phase;
      });
      return new Set((found?.values as [number, string][]).map(([, value]) => value));
    };
    assert(valuesOf("probe_success", openTarget).has("1"));
    assertEquals([...valuesOf("probe_success", closedTarget)], ["0"]);
    assert(valuesOf("probe_icmp_duration_seconds", "127.0.0.1", "rtt").size > 0);

    // One row per probe; a failed probe is a loss.
    const success = expected.filter(({ metric }) =>
      (metric as Record<string, string>).__name__ === "probe_success"
    );
    const probes = success.flatMap(({ values }) => (values as [number, string][]).map(([, value]) => value));
    const measured = folder.at("measured.parquet");
    const words = ["--input", folder.at("out"), "--output", measured, "--src", "127.0.0.9", "--json"];
    const counts = JSON.parse((await succeed("import", ...words)).stdout);
    assertEquals(counts.rows, probes.length);
    assertEquals(counts.failed, probes.filter((value) => value === "0").length);
    assertEquals([counts.destinations, counts.rejected], [1, {}]);

    // Prometheus refuses more than 11,000 points per series.
    const long = await succeeded(
      run(folder.at("long"), { start: String(stopS - 40_000), window: "7d" }),
    );
    assertEquals(JSON.parse(long.stdout).windows, 4);

    assertMatch(
      await refused(run(folder.at("wrong"), { query: "probe_success[" }), 1),
      /^error: Cannot fetch http.*400 Bad Request \(bad_data: .*parse error.*\); check --query and --url\n$/,
    );
    assertMatch(
      await refused(run(folder.at("none"), { query: "absent_metric" }), 1),
      /^error: Cannot fetch absent_metric from http.*: no series matches it at these times; check .*\n$/,
    );
  },
});
