/** The alert rules for Prometheus. @module */
import { assert, assertEquals } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { programsAreMissing } from "../../cli/missing_programs.ts";
import { PROMETHEUS_PROGRAMS, RealPrometheus } from "../../cli/fetch/real_prometheus.ts";
import { TemporaryFolder } from "../../io/files/temporary_folder.ts";
import { until } from "../../until.ts";
import { RunningWatch } from "./rotated_watch.ts";

const RULES = fromFileUrl(new URL("../../../lib/query/changes/prometheus_rules.yml", import.meta.url));
const ignore = programsAreMissing(["promtool", ...PROMETHEUS_PROGRAMS]);

async function promtool(...args: string[]): Promise<void> {
  const { success, stdout, stderr } = await new Deno.Command("promtool", { args }).output();
  assert(success, new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr));
}

/** The expected alerts after some minutes of series sampled each minute. */
function unitTest(minutes: number, series: Record<string, string>, expected: Record<string, string[]>) {
  const names = Array.from(Deno.readTextFileSync(RULES).matchAll(/- alert: (\w+)/g), ([, name]) => name);
  return {
    interval: "1m",
    input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
    promql_expr_test: names.map((name) => ({
      expr: `count by (summary) (ALERTS{alertname="${name}",alertstate="firing"}) > 0`,
      eval_time: `${minutes}m`,
      exp_samples: (expected[name] ?? []).map((value) => ({ labels: "{}", value: Number(value) })),
    })),
  };
}

Deno.test("promtool accepts the alert rules, and they fire when they should", { ignore }, async () => {
  using folder = new TemporaryFolder();
  await promtool("check", "rules", RULES);
  const pair = (metric: string, dst: string, more = "") =>
    `ping_llm_watch_${metric}{instance="w",src="a",dst="${dst}"${more}}`;
  const counts = (rising: string) =>
    Object.fromEntries(
      ["measurements", "unusable", "late", "in_future", "wrong_clock", "dropped_pairs", "webhook_lost"].map((
        name,
      ) => [
        `ping_llm_watch_${name}_total{instance="w"}`,
        name === rising || name === "measurements" ? "0+10x60" : "0x60",
      ]),
    );
  const quiet = Object.fromEntries(["1", "2", "3", "4"].map((dst) => [pair("alarm", dst), "0x60"]));
  const tests = [
    unitTest(60, { ...quiet, ...counts("") }, {}),
    unitTest(60, { ...quiet, ...counts(""), [pair("alarm_cause", "1", ',cause="outage"')]: "_x50 1x10" }, {
      PingOutage: ["1"],
    }),
    unitTest(60, {
      ...{ ...quiet, ...counts(""), [pair("alarm_cause", "1", ',cause="shift"')]: "_x50 1x10" },
      [pair("alarm_size_ms", "1", ',group="7"')]: "_x50 12x10",
    }, { PingRttChanged: ["1"] }),
    unitTest(60, {
      ...{
        ...quiet,
        ...counts(""),
        [pair("alarm_cause", "1", ',cause="limit",limit="losses above 5 %"')]: "_x50 1x10",
      },
      [pair("alarm_size_ms", "2", ',group="7"')]: "_x50 12x10",
    }, { PingLimitPassed: ["1"] }),
    unitTest(60, {
      ...{ ...counts(""), [pair("alarm", "1")]: "1x60", [pair("alarm", "2")]: "1x60" },
      ...{ [pair("alarm", "3")]: "1x60", [pair("alarm", "4")]: "0x60" },
    }, { PingSourceUnwell: ["1"] }),
    unitTest(60, {
      ...{ ...quiet, ...counts(""), [pair("alarm_cause", "1", ',cause="loss"')]: "_x50 1x10" },
    }, { PingLossesRose: ["1"] }),
    unitTest(60, quiet, { PingWatchAbsent: ["1"] }),
    unitTest(60, { ...counts(""), 'ping_llm_watch_measurements_total{instance="w"}': "9x60" }, {
      PingWatchIdle: ["1"],
    }),
    unitTest(60, counts("late"), { PingWatchLeavesOut: ["1"] }),
    unitTest(60, counts("dropped_pairs"), { PingWatchPairsDropped: ["1"] }),
    unitTest(60, counts("webhook_lost"), { PingWatchWebhookFails: ["1"] }),
  ];
  // YAML parsers read JSON.
  Deno.writeTextFileSync(
    folder.at("test.yml"),
    JSON.stringify({ rule_files: [RULES], evaluation_interval: "1m", tests }),
  );
  await promtool("test", "rules", folder.at("test.yml"));
});

Deno.test("a real Prometheus fires an alert for an outage that watch reports", { ignore }, async () => {
  using folder = new TemporaryFolder();
  const input = folder.at("pings.csv");
  const rows = Array.from(
    { length: 60 },
    (_, i) => `10.0.0.1,192.0.2.1,${1_480_000_000 + 60 * i},${i < 40 ? 20 + i % 3 : ""}`,
  );
  Deno.writeTextFileSync(input, `src,dst,time,rtt\n${rows.join("\n")}\n`);
  Deno.writeTextFileSync(folder.at("names.csv"), "10.0.0.1,hq\n");
  const args = ["--input", input, "--follow", "--listen", "127.0.0.1:0", "--names", folder.at("names.csv")];
  await using watch = new RunningWatch(args, { flags: ["--allow-net", "--allow-env=PING_LLM_WEBHOOK_KEY"] });
  await until("the server", () => /Listening at \S+\s/.test(watch.stderr));
  const [, url] = /Listening at (\S+)/.exec(watch.stderr) ?? [];
  await using prometheus = await RealPrometheus.start(folder.path, {
    targets: [new URL(url).host],
    rules: [RULES],
  });
  const query = 'ALERTS{alertname="PingOutage",alertstate="firing"}';
  await until("the alert", async () => (await prometheus.ask("query", { query })).length === 1);
  const { data } = await (await fetch(`${prometheus.url}/api/v1/alerts`)).json();
  const outage = data.alerts.find(({ labels }: { labels: Record<string, string> }) =>
    labels.alertname === "PingOutage"
  );
  assertEquals(outage.annotations.summary, "hq -> 192.0.2.1: no reply");
});
