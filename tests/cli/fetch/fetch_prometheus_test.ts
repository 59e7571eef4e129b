/** `fetch prometheus` against a server that answers as Prometheus does, and fails. @module */
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { UsageError, UserError } from "../../../lib/base/errors.ts";
import { exists } from "../../../lib/io/files/inputs.ts";
import { fetchPrometheusStage } from "../../../tasks/fetch.ts";
import { TemporaryFolder } from "../../io/files/temporary_folder.ts";
import { answersIn, pointsIn } from "./fetched_files.ts";
import { pointsBetween, PrometheusServer } from "./prometheus_server.ts";
import type { ReplayServer } from "./replay_server.ts";

/** 40 minutes in four windows, the last of which is shorter. */
const SPAN = {
  query: "probe_duration_seconds",
  start: "2020-10-07T03:00:00",
  stop: "2020-10-07T03:40:00",
  window: "12m",
};
const START_S = Date.parse("2020-10-07T03:00Z") / 1000;
const STOP_S = START_S + 2400;

/** The arguments, with changed options; options with an empty value are left out. */
function argsOf(server: ReplayServer, output: string, changes: Record<string, string> = {}): string[] {
  const options = Object.entries({ ...SPAN, url: server.url, output, ...changes });
  return options.filter(([, value]) => value !== "").flatMap(([name, value]) => [`--${name}`, value]);
}

async function fetchInto(
  server: ReplayServer,
  folder: string,
  changes: Record<string, string> = {},
  lines: string[] = [],
): Promise<Record<string, unknown>> {
  const { json } = await fetchPrometheusStage.run([...argsOf(server, folder, changes), "--quiet"], {
    log: (line) => lines.push(line),
  });
  assert(json);
  return json;
}

const numberOf = (name: string, { query }: { query: URLSearchParams }) => Number(query.get(name));

Deno.test("each value is written once, at the multiples of the step before --stop", async () => {
  await using server = new PrometheusServer();
  using folder = new TemporaryFolder();
  const result = await fetchInto(server, folder.at("out"));
  assertEquals(
    server.requests.map((each) => ["start", "end"].map((name) => numberOf(name, each) - START_S)),
    [[0, 719], [720, 1439], [1440, 2159], [2160, 2399]],
  );
  const { query } = server.requests[0];
  assertEquals([query.get("query"), query.get("step")], ["probe_duration_seconds", "15"]);
  assertEquals(await pointsIn(folder.at("out")), pointsBetween(START_S, STOP_S, 15));
  assertEquals([result.points, result.windows, result.fetched_windows], [320, 4, 4]);
  // The start lies between two steps, and the step does not divide the window.
  const [start, stop] = [START_S + 1, START_S + 400].map(String);
  await fetchInto(server, folder.at("odd"), { start, stop, step: "7s", window: "1m" });
  const firstS = 7 * Math.ceil((START_S + 1) / 7);
  assertEquals(await pointsIn(folder.at("odd")), pointsBetween(firstS, START_S + 400, 7));
});

Deno.test("no request asks for more than 11,000 points per series", async () => {
  await using server = new PrometheusServer();
  using folder = new TemporaryFolder();
  const day = { start: "2020-10-07", stop: "2020-10-08", step: "1s", window: "7d" };
  const result = await fetchInto(server, folder.at("out"), day);
  assertEquals([result.windows, result.points], [8, 2 * 86_400]);
  for (const each of server.requests) assert(numberOf("end", each) - numberOf("start", each) < 11_000);
});

Deno.test("answers are written unchanged", async () => {
  await using server = new PrometheusServer();
  using folder = new TemporaryFolder();
  const text = '{ "status":"success", "isPartial":false,\n"data":' +
    '{"resultType":"matrix","result":[{"metric":{},"values":[[1602039600,"NaN"]]}]}}\n';
  server.answer = () => new Response(text);
  await fetchInto(server, folder.at("out"), { window: "1h" });
  assertEquals(await answersIn(folder.at("out")), [text]);
});

Deno.test("an answer above 4 MiB is split by target, each with all of its series", async () => {
  await using server = new PrometheusServer();
  using folder = new TemporaryFolder();
  const targets = ["127.0.0.1", "192.0.2.1"];
  const values = (value: string) => Array.from({ length: 80_000 }, (_, i) => [START_S + i, value]);
  const result = [["probe_icmp_duration_seconds", "0.01"], ["probe_success", "1"]].flatMap((
    [__name__, value],
  ) => targets.map((instance) => ({ metric: { __name__, instance }, values: values(value) })));
  server.answer = () => Response.json({ status: "success", data: { resultType: "matrix", result } });
  await fetchInto(server, folder.at("out"), { window: "1h" });
  const [text] = await answersIn(folder.at("out"));
  const divided = targets.map((target) => {
    const ofTarget = result.filter(({ metric }) => metric.instance === target);
    return JSON.stringify({ status: "success", data: { resultType: "matrix", result: ofTarget } });
  });
  assert(text === `${divided.join("\n")}\n`);
});

Deno.test("without --stop a later run fetches the windows that were not over, up to the server's time", async () => {
  await using server = new PrometheusServer();
  using folder = new TemporaryFolder();
  // This machine's clock is two hours fast.
  const fastS = 7200;
  server.date = () => new Date(Date.now() - 1000 * fastS).toUTCString();
  const nowS = Math.floor(Date.now() / 1000) - fastS;
  // The last window is half over, so the run does not reach the next one.
  const startS = 15 * Math.floor((nowS - 5.5 * 3600) / 15);
  const open = { start: String(startS), stop: "", window: "1h" };
  const first = await fetchInto(server, folder.at("out"), open);
  assertEquals([first.windows, first.fetched_windows], [6, 6]);
  const second = await fetchInto(server, folder.at("out"), open);
  assertEquals([second.windows, second.fetched_windows], [6, 1]);
  for (const at of [5, 6]) {
    assertEquals(numberOf("start", server.requests[at]), startS + 5 * 3600);
    const end = numberOf("end", server.requests[at]);
    assert(end >= nowS && end <= Date.now() / 1000 - fastS, `${end}`);
  }
  const points = await pointsIn(folder.at("out"));
  assertEquals(points, pointsBetween(startS, startS + 15 * points[0].length, 15));
});

Deno.test("a warning is logged once", async () => {
  await using server = new PrometheusServer();
  using folder = new TemporaryFolder();
  server.further = { warnings: ["store 192.0.2.9 did not answer"] };
  const lines: string[] = [];
  await fetchInto(server, folder.at("out"), {}, lines);
  assertEquals(lines, [`${server.url} warns: store 192.0.2.9 did not answer`]);
});

Deno.test("API errors and undocumented answers are one-line errors", async () => {
  await using server = new PrometheusServer();
  using folder = new TemporaryFolder();
  const real = (name: string) =>
    Deno.readTextFileSync(new URL(`../../data/formats/${name}`, import.meta.url));
  const matrix = (...result: unknown[]) =>
    JSON.stringify({ status: "success", data: { resultType: "matrix", result } });
  const answer = server.answer;
  for (
    const [body, status, message] of [
      [real("prometheus_error.json"), 400, /400 Bad Request \(bad_data: exceeded .*\); check --query and/],
      [real("prometheus_error.json"), 200, /the server answered bad_data: exceeded maximum resolution/],
      [real("prometheus_instant.json"), 200, /its result is of the type vector, expected matrix/],
      ["[]", 200, /the answer is not from Prometheus's API; check --url/],
      ["{}", 200, /the answer is not from Prometheus's API/],
      ['{"status":"success"}', 200, /the answer is not from Prometheus's API/],
      ['{"status":"success","data":{"resultType":"matrix"}}', 200, /data.result is not a list of series/],
      [matrix(null), 200, /returned the series null, expected "metric" and "values"/],
      [matrix({ metric: {} }), 200, /returned the series/],
      [matrix({ metric: {}, values: [[1, 2]] }), 200, /returned the series/],
      [matrix({ metric: {}, values: [["1", "2"]] }), 200, /returned the series/],
      [matrix(), 200, /no series matches it at these times; check --query, --start and --stop$/],
      [matrix({ metric: {}, histograms: [] }), 200, /no series matches it/],
      ["<html>", 404, /404 Not Found; check --query and --url$/],
    ] as const
  ) {
    server.answer = () => new Response(body, { status });
    const error = await assertRejects(() => fetchInto(server, folder.at("out")), UserError);
    assertMatch(error.message, message);
    assert(!error.message.includes("\n"), error.message);
  }
  // None of these windows counts as fetched.
  server.answer = answer;
  assertEquals((await fetchInto(server, folder.at("out"))).fetched_windows, 4);
});

Deno.test("invalid options are rejected before any request or write", async () => {
  await using server = new PrometheusServer();
  using folder = new TemporaryFolder();
  const cases: [changes: Record<string, string>, message: string][] = [
    [{ step: "0.5s" }, "--step 0.5s: expected whole seconds"],
    [{ step: "often" }, "--step often"],
    [{ start: "2001-01-01", window: "1s", step: "1s" }, "raise --window"],
    [{ url: `${server.url}/graph?g0.expr=up` }, "expected https://HOST, perhaps with a port and a path"],
  ];
  for (const [changes, message] of cases) {
    await assertRejects(() => fetchInto(server, folder.at("out"), changes), UsageError, message);
  }
  assertEquals(server.requests, []);
  assertEquals(exists(folder.at("out")), false);
});
