/** `fetch atlas` against a server that replays real results, and fails as real ones do. @module */
import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { UsageError, UserError } from "../../../lib/base/errors.ts";
import { permissionsOf } from "../../../lib/cli/stage_permissions.ts";
import { parseAddress } from "../../../lib/data/addresses/ip.ts";
import { addressNumber, PlaceTable } from "../../../lib/data/addresses/place_table.ts";
import { openPlaces } from "../../../lib/data/addresses/places/open_places.ts";
import { exists } from "../../../lib/io/files/inputs.ts";
import { readManifest } from "../../../lib/io/files/manifest.ts";
import { fetchAtlasStage } from "../../../tasks/fetch.ts";
import { fetchAtlasCommand } from "../../../tasks/fetch.command.ts";
import { TemporaryFolder } from "../../io/files/temporary_folder.ts";
import { SimulatedTime } from "../../simulated_time.ts";
import { refused, runStageProcess, succeeded } from "../process.ts";
import { answersIn } from "./fetched_files.ts";
import { type Fault, REAL_LINES, ReplayServer, UNKNOWN_PROBE } from "./replay_server.ts";

const HOUR = ["--start", "2020-10-07T03:00", "--stop", "2020-10-07T04:00", "--window", "15m"];
const TWO = ["--measurement", "1768116-1768118"];
/** Ids without results are refused in a range, as by the API; both of these have some. */
const MEASUREMENTS = ["--measurement", "1768116,1768118"];

const LINES_OF_TWO = REAL_LINES.filter((line) => /"msm_id": (1768116|1768118),/.test(line));

/** Runs the stage in this process. */
async function fetchInto(
  server: ReplayServer,
  folder: string,
  args: readonly string[] = HOUR,
  { lines = [] }: { lines?: string[] } = {},
): Promise<Record<string, unknown>> {
  const measurements = args.includes("--measurement") ? [] : MEASUREMENTS;
  const { json } = await fetchAtlasStage.run([
    ...measurements,
    ...args,
    "--url",
    server.url,
    "--output",
    folder,
    "--quiet",
  ], { log: (line) => lines.push(line) });
  assert(json);
  return json;
}

/** All lines of the files of results, sorted. */
async function linesIn(folder: string): Promise<string[]> {
  return (await answersIn(folder)).flatMap((text) => text.split("\n")).filter((line) => line !== "").sort();
}

const paths = (server: ReplayServer) => server.requests.map(({ path }) => path);

for (const isExclusive of [false, true]) {
  const edges = isExclusive ? "left out" : "counted";
  Deno.test(`each result is written once, byte for byte, where the ends of a span are ${edges}`, async () => {
    await using server = new ReplayServer();
    server.isExclusive = isExclusive;
    using folder = new TemporaryFolder();
    // A result at the first second of a window and one at the last second of another.
    const first = Date.parse("2020-10-07T03:15Z") / 1000;
    const edge = (timestamp: number) =>
      LINES_OF_TWO[0].replace(/"timestamp": \d+/, `"timestamp": ${timestamp}`);
    server.lines = [...REAL_LINES, edge(first), edge(first - 1), edge(first - 900), edge(first + 2700)];
    const result = await fetchInto(server, folder.at("out"));
    // The last one is at the end of the span, which is exclusive.
    assertEquals(await linesIn(folder.at("out")), [...LINES_OF_TWO, ...server.lines.slice(-4, -1)].sort());
    assertEquals([result.results, result.windows, result.fetched_windows], [153, 8, 8]);
    const manifest = readManifest(folder.at("out/manifest.json"));
    assertEquals(manifest?.complete, true);
    assertEquals(manifest?.outputs.length, 9);
  });
}

Deno.test("a second run sends no requests, and one with other options is refused", async () => {
  await using server = new ReplayServer();
  using folder = new TemporaryFolder();
  const first = await fetchInto(server, folder.at("out"));
  const numRequests = server.requests.length;
  const second = await fetchInto(server, folder.at("out"));
  assertEquals(server.requests.length, numRequests);
  assertEquals([second.done_already, second.results, second.probes], [true, first.results, first.probes]);
  await assertRejects(
    () => fetchInto(server, folder.at("out"), [...HOUR, "--probes", "6130"]),
    UserError,
    "--overwrite",
  );
  const probe = await fetchInto(server, folder.at("out"), [...HOUR, "--probes", "6130", "--overwrite"]);
  assertEquals(probe.results, LINES_OF_TWO.filter((line) => line.includes('"prb_id": 6130,')).length);
  assertEquals(server.requests.at(numRequests)?.query.get("probe_ids"), "6130");
});

const FAULTS: [name: string, fault: Fault][] = [
  ["a connection that ends in the body", "cut"],
  ["a body that ends within a line", "short"],
  ["an error at the end of the lines", "error line"],
];
for (const [name, fault] of FAULTS) {
  Deno.test(`no result is lost or duplicated after ${name}`, async () => {
    await using server = new ReplayServer();
    using folder = new TemporaryFolder();
    server.faults.push(["1768116/results/?start=1602040499", fault]);
    const lines: string[] = [];
    using time = new SimulatedTime();
    const fetched = fetchInto(server, folder.at("out"), [...HOUR, "--timeout", "600s"], { lines });
    await time.passWait(1000);
    await fetched;
    assertEquals(await linesIn(folder.at("out")), LINES_OF_TWO.toSorted());
    assertEquals([server.faults, lines.length], [[], 1], lines.join("\n"));
  });
}

Deno.test("complete windows are kept when the server refuses a later one, and the next run fetches only the rest", async () => {
  await using server = new ReplayServer();
  using folder = new TemporaryFolder();
  server.faults.push(["1768118/results/?start=1602040499", { status: 403 }]);
  const error = await assertRejects(() => fetchInto(server, folder.at("out")), UserError, "403 Forbidden");
  assertStringIncludes(error.message, "--key-file");
  assertEquals(exists(folder.at("out/manifest.json")), false);
  const numRequests = server.requests.length;
  const result = await fetchInto(server, folder.at("out"));
  assertEquals([result.fetched_windows, result.results], [3, 150]);
  const asked = paths(server).slice(numRequests).filter((path) => path.includes("results"));
  assertEquals(asked, new Array(3).fill("/api/v2/measurements/1768118/results/"));
  assertEquals(await linesIn(folder.at("out")), LINES_OF_TWO.toSorted());
});

Deno.test("without --stop a later run fetches new results and the windows that were not over", async () => {
  await using server = new ReplayServer();
  using folder = new TemporaryFolder();
  const hourS = 3600;
  const nowS = Math.floor(Date.now() / 1000);
  // The last window is half over, so the run does not reach the next one.
  const startS = nowS - 5.5 * hourS;
  const lineAt = (timeS: number) => LINES_OF_TWO[0].replace(/"timestamp": \d+/, `"timestamp": ${timeS}`);
  const span = ["--measurement", "1768116", "--start", String(startS), "--window", "2h"];
  server.lines = [startS, startS + 3 * hourS, nowS - 60].map(lineAt);
  const first = await fetchInto(server, folder.at("out"), span);
  assertEquals(first.results, 3);
  // The last window is not over, and results of the previous one may still arrive.
  server.lines.push(lineAt(nowS - 30), lineAt(startS + 1));
  const numRequests = server.requests.length;
  const second = await fetchInto(server, folder.at("out"), span);
  const starts = server.requests.slice(numRequests).flatMap(({ query }) => query.get("start") ?? []);
  assertEquals(starts.slice(0, 1), [String(startS + 4 * hourS - 1)]);
  assertEquals([second.results, second.windows, second.fetched_windows], [4, first.windows, starts.length]);
  assertEquals((await linesIn(folder.at("out"))).length, 4);
  assertEquals([...Deno.readDirSync(folder.at("out/results"))].length, first.windows);
});

Deno.test("pages that repeat, never end or contain no objects are a one-line error", async () => {
  await using server = new ReplayServer();
  const anchor = { type: "Anchor", id: 1, probe: 1 };
  const anchors =
    (page: (number: number) => unknown) => ({ path, query }: { path: string; query: URLSearchParams }) =>
      path === "/api/v2/anchors/" ? Response.json(page(Number(query.get("page") ?? 1))) : undefined;
  const link = (number: number) => `https://atlas.ripe.net/api/v2/anchors/?page_size=500&page=${number}`;
  for (
    const [page, message] of [
      [() => ({ count: 9, results: [anchor], next: link(2) }), "its next page was already read"],
      [
        (i: number) => ({ count: 3, results: [anchor], next: link(i + 1) }),
        "another page after 3 objects, expected 3",
      ],
      [(i: number) => ({ results: [], next: link(i + 1) }), "another page after 0 objects"],
      [() => ({ count: 1, results: [null] }), "contains a result that is not an object"],
      [() => null, "it has no list of results"],
    ] as const
  ) {
    using folder = new TemporaryFolder();
    server.answer = anchors(page);
    const error = await assertRejects(() => fetchInto(server, folder.at("out")), UserError, message);
    assertMatch(error.message, /^Cannot read the answer to \/api\/v2\/anchors\/.*; check --url$/);
  }
});

Deno.test("probes.json contains the results' probes from every page, with places for their addresses", async () => {
  await using server = new ReplayServer();
  using folder = new TemporaryFolder();
  const { probes } = await fetchInto(server, folder.at("out"));
  const ids = [...new Set(LINES_OF_TWO.map((line) => JSON.parse(line).prb_id as number))];
  assert(ids.length > server.pageSize && ids.includes(UNKNOWN_PROBE));
  const listed: Record<string, unknown>[] = JSON.parse(Deno.readTextFileSync(folder.at("out/probes.json")));
  const found = new Set(listed.filter(({ type }) => type === "Probe").map(({ id }) => id));
  assertEquals([...found].sort(), ids.filter((id) => id !== UNKNOWN_PROBE).sort());
  const anchors = listed.filter(({ type }) => type === "Anchor");
  assertEquals(anchors.map(({ ip_v4 }) => ip_v4), ["194.150.191.46"]);
  assertEquals(probes, found.size + 1);
  assertEquals(paths(server).filter((path) => path === "/api/v2/anchors/").length, 2);
  const places = await openPlaces([folder.at("out/probes.json")]);
  const locate = (address: string) => places.locate(parseAddress(address) ?? new Uint8Array());
  const { from, prb_id } = JSON.parse(LINES_OF_TWO.find((line) => !line.includes('"prb_id": 6130,')) ?? "");
  assertEquals(locate(from)?.longitude, 4.9 + prb_id / 1e7);
  assertEquals(locate("194.150.191.46"), {
    latitude: 60.3416703,
    longitude: 25.0276663,
    countryCode: "FI",
    asNumber: 24940,
  });
});

Deno.test("a model's table of places contains the probes' addresses of both IP versions", async () => {
  await using server = new ReplayServer();
  using folder = new TemporaryFolder();
  // The same target over IPv4 and IPv6.
  await fetchInto(server, folder.at("out"), [...HOUR, "--measurement", "9184480,9184483,1768116,1768118"]);
  const table = PlaceTable.of(await openPlaces([folder.at("out/probes.json")]));
  const versions = new Set<number>();
  for (const line of await linesIn(folder.at("out"))) {
    const { from, prb_id } = JSON.parse(line);
    const address = parseAddress(from) ?? new Uint8Array();
    const length = address.length === 4 ? 4 : 16;
    const { position } = table.locate(addressNumber(address), length);
    assertEquals(position?.latitude, prb_id === UNKNOWN_PROBE ? undefined : 52.5, from);
    versions.add(length);
  }
  assertEquals(versions.size, 2);
});

Deno.test("an unknown measurement, results of another one and a type other than ping are errors", async () => {
  await using server = new ReplayServer();
  using folder = new TemporaryFolder();
  await assertRejects(
    () => fetchInto(server, folder.at("a"), [...TWO, ...HOUR]),
    UserError,
    "the server answered 404 Not Found (Not found.); check the ids",
  );
  const other = LINES_OF_TWO.filter((line) => line.includes('"msm_id": 1768118,')).join("\n");
  server.answer = ({ path }) => path.includes("/1768116/results/") ? new Response(other) : undefined;
  await assertRejects(
    () => fetchInto(server, folder.at("c")),
    UserError,
    "found one of measurement 1768118; check --url",
  );
  server.answer = () => undefined;
  server.lines = LINES_OF_TWO.map((line) => line.replace('"type": "ping"', '"type": "traceroute"'));
  const error = await assertRejects(
    () => fetchInto(server, folder.at("b")),
    UserError,
    "of the type traceroute",
  );
  assertMatch(error.message, /^Cannot use measurement 1768116: .* leave it out of --measurement$/);
});

Deno.test("invalid ids and times are rejected before any request or write", async () => {
  await using server = new ReplayServer();
  using folder = new TemporaryFolder();
  for (
    const [args, message] of [
      [["--measurement", "1,x", ...HOUR], "--measurement 1,x: expected up to"],
      [["--measurement", "5-3", ...HOUR], "--measurement 5-3"],
      [["--measurement", "1-99999999", ...HOUR], "up to 100000 ids"],
      [["--start", "yesterday"], "--start yesterday: it is not a time"],
      [["--start", "2020-10-07", "--stop", "2020-10-06"], "--stop 2020-10-06: expected a time after --start"],
      [["--start", "2020-10-07", "--stop", "2021-10-07", "--window", "0.1s"], "raise --window"],
      [[...HOUR, "--probes", ""], "--probes"],
      [[...HOUR, "--timeout", "soon"], "--timeout soon"],
    ] as const
  ) await assertRejects(() => fetchInto(server, folder.at("out"), args), UsageError, message);
  assertEquals(server.requests, []);
  assertEquals(exists(folder.at("out")), false);
});

Deno.test("the process may connect to the named host only, and neither writes nor prints the key", async () => {
  await using server = new ReplayServer();
  using folder = new TemporaryFolder();
  const key = "0123-4567-secret";
  const args = [
    ...["fetch", "atlas", ...MEASUREMENTS, ...HOUR, "--url", server.url],
    ...["--output", folder.at("out")],
  ];
  const options = { flags: ["--allow-net", "--allow-env=RIPE_ATLAS_KEY"], env: { RIPE_ATLAS_KEY: key } };
  server.faults.push(["/api/v2/probes/", { status: 403, body: JSON.stringify({ error: { detail: "no" } }) }]);
  const error = await refused(runStageProcess(args, options), 1);
  const { stdout, stderr } = await succeeded(runStageProcess(args, options));
  assertStringIncludes(stdout, "150 results");
  assert(server.requests.every(({ headers }) => headers.get("Authorization") === `Key ${key}`));
  for (const text of [error, stdout, stderr]) assert(!text.includes("secret"), text);
  for (const { name, isFile } of Deno.readDirSync(folder.at("out"))) {
    if (isFile) assert(!Deno.readTextFileSync(folder.at(`out/${name}`)).includes("secret"), name);
  }
  // A server that repeats the header in logged text, whole or shortened, and sends terminal commands.
  const echoes = ["", "x".repeat(190)].map((before) =>
    JSON.stringify({ error: { detail: `${before}Key ${key}\x1b]0;x\x07` } })
  );
  server.faults.push(
    ["results", { status: 503, body: echoes[0] }],
    ["results", { status: 503, body: echoes[1] }],
    ["results", { status: 400, body: echoes[0] }],
  );
  const echoed = await runStageProcess([...args.slice(0, -1), folder.at("other")], options);
  assertEquals(echoed.code, 1);
  assertMatch(echoed.stderr, /503 Service Unavailable \(Key \[key\]\\u001b\]0;x\\u0007\); trying again/);
  assertMatch(echoed.stderr, /xKey \[key\]…\); trying again/);
  assertMatch(echoed.stderr, /^error: .*400 Bad Request \(Key \[key\]\\u001b/m);
  // deno-lint-ignore no-control-regex
  assert(!/0123|\x1b/.test(echoed.stderr + echoed.stdout), echoed.stderr);
  const { net, env } = permissionsOf(fetchAtlasCommand, args.slice(2)) as Deno.PermissionOptionsObject;
  assertEquals([net, env], [[new URL(server.url).host], ["RIPE_ATLAS_KEY"]]);
});
