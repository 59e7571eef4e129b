/** `fetch globalping` against a server that answers as documented by its API, and fails. @module */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { InterruptedError, UsageError, UserError } from "../../../lib/base/errors.ts";
import { placeholderAddress } from "../../../lib/data/formats/globalping.ts";
import { addressNumber, PlaceTable } from "../../../lib/data/addresses/place_table.ts";
import { parseAddress } from "../../../lib/data/addresses/ip.ts";
import { openPlaces } from "../../../lib/data/addresses/places/open_places.ts";
import { fetchGlobalpingStage } from "../../../tasks/fetch.ts";
import { importStage } from "../../../tasks/import.ts";
import {
  finishedPing,
  globalpingMeasurement,
  globalpingProbe,
} from "../../data/import/globalping_measurement.ts";
import { TemporaryFolder } from "../../io/files/temporary_folder.ts";
import { SimulatedTime } from "../../simulated_time.ts";
import { runStageProcess, succeeded } from "../process.ts";
import { PrometheusServer } from "./prometheus_server.ts";
import { ReplayServer } from "./replay_server.ts";

const ASHBURN = globalpingProbe({ asn: 14618, country: "US", state: "VA", city: "Ashburn" });
const BERLIN = globalpingProbe({ asn: 3320, country: "DE", city: "Berlin" });
const RESULTS = [
  [ASHBURN, finishedPing("151.101.129.229", [1.5, 1.7, 1.6])],
  [BERLIN, finishedPing("151.101.1.229", [9], 3)],
] as const;

/** A server that creates measurements, which are in progress when first polled. */
class GlobalpingServer extends ReplayServer {
  /** Bodies of the requests that created measurements. */
  readonly created: Record<string, unknown>[] = [];
  readonly looks = new Map<string, number>();
  /** How many polls find a created measurement in progress. */
  numPending = 1;

  constructor() {
    super();
    this.answer = ({ method, path, body }) => {
      if (method === "POST" && path === "/v1/measurements") {
        if (this.takeFault()) return this.limited();
        this.created.push(JSON.parse(body));
        return Response.json({ id: `made${this.created.length}`, probesCount: 2 }, { status: 202 });
      }
      const [, id] = /^\/v1\/measurements\/(\w+)$/.exec(path) ?? [];
      if (id === undefined || id === "unknown") {
        const error = { type: "not_found", message: "Couldn't find the requested item." };
        return Response.json({ error }, { status: 404 });
      }
      if (this.takeFault()) return this.limited();
      const looks = (this.looks.get(id) ?? 0) + 1;
      this.looks.set(id, looks);
      const isOver = id !== "endless" && (looks > this.numPending || !id.startsWith("made"));
      const pending = [ASHBURN, { status: "in-progress", rawOutput: "" }] as const;
      return Response.json(globalpingMeasurement(isOver ? RESULTS : [pending], {
        id: id === "redirected" ? "other" : id,
        status: isOver ? "finished" : "in-progress",
        type: id === "dns" ? "dns" : "ping",
      }));
    };
  }

  /** How many requests from now on are answered with 429. */
  numLimited = 0;

  takeFault(): boolean {
    return this.numLimited-- > 0;
  }

  limited(): Response {
    const error = { type: "rate_limit_exceeded", message: "API rate limit exceeded." };
    return Response.json({ error }, { status: 429, headers: { "X-RateLimit-Reset": "0" } });
  }
}

async function fetchInto(
  server: ReplayServer,
  folder: string,
  args: readonly string[],
  signal?: AbortSignal,
): Promise<Record<string, unknown>> {
  const words = [...args, "--url", server.url, "--output", folder, "--quiet"];
  const { json } = await fetchGlobalpingStage.run(words, { log: () => {}, ...(signal && { signal }) });
  assert(json);
  return json;
}

Deno.test("targets are measured with the given options, and measurements in progress are awaited", async () => {
  await using server = new GlobalpingServer();
  using folder = new TemporaryFolder();
  server.numLimited = 1;
  const result = await fetchInto(server, folder.at("out"), [
    ...["--target", "example.com", "192.0.2.1", "--from", "Germany", "AWS+Virginia"],
    ...["--limit", "2", "--packets", "6", "--ip-version", "6"],
  ]);
  const asked = {
    type: "ping",
    limit: 2,
    locations: [{ magic: "Germany" }, { magic: "AWS+Virginia" }],
    measurementOptions: { packets: 6, ipVersion: 6 },
  };
  assertEquals(server.created, [{ ...asked, target: "example.com" }, { ...asked, target: "192.0.2.1" }]);
  assertEquals([...server.looks.values()], [2, 2]);
  assertEquals([result.results, result.measurements, result.networks], [4, 2, 2]);
  assertEquals(result.created, { "example.com": "made1", "192.0.2.1": "made2" });
  const again = await fetchInto(server, folder.at("out"), [
    ...["--target", "example.com", "192.0.2.1", "--from", "Germany", "AWS+Virginia"],
    ...["--limit", "2", "--packets", "6", "--ip-version", "6"],
  ]);
  assertEquals([again.done_already, server.created.length], [true, 2]);
});

Deno.test("after an interruption at any request, no target is measured twice", async () => {
  await using server = new GlobalpingServer();
  using folder = new TemporaryFolder();
  server.numPending = 0;
  const args = ["--id", "old", "--target", "a.example", "b.example"];
  await fetchInto(server, folder.at("whole"), args);
  const numRequests = server.requests.length;
  assertEquals(numRequests, 5);
  for (let stopAt = 2; stopAt <= numRequests; stopAt++) {
    server.created.length = 0;
    server.looks.clear();
    const stopped = new AbortController();
    const before = server.requests.length;
    server.onRequest = () => {
      if (server.requests.length - before === stopAt) stopped.abort(new InterruptedError("SIGTERM"));
    };
    const out = folder.at(`${stopAt}`);
    await assertRejects(() => fetchInto(server, out, args, stopped.signal), InterruptedError);
    server.onRequest = () => {};
    const { results, created } = await fetchInto(server, out, args);
    assertEquals(results, 6);
    // A request that was stopped before the answer arrived is sent again.
    assertEquals(server.created.length, stopAt === 2 ? 3 : 2);
    assertEquals(Object.keys(created as object), ["a.example", "b.example"]);
  }
});

Deno.test("a deleted result is fetched again, and no target is measured twice", async () => {
  await using server = new GlobalpingServer();
  using folder = new TemporaryFolder();
  const args = ["--id", "old", "--target", "a.example"];
  await fetchInto(server, folder.at("out"), args);
  Deno.removeSync(folder.at("out/results/old.json.zst"));
  const { results } = await fetchInto(server, folder.at("out"), args);
  assertEquals([results, server.created.length], [4, 1]);
});

Deno.test("results import with their places, and only with --source network", async () => {
  await using server = new GlobalpingServer();
  using folder = new TemporaryFolder();
  const { input, geo } = await fetchInto(server, folder.at("out"), ["--id", "old"]);
  const importing = ["--input", String(input), "--output", folder.at("pings.parquet"), "--quiet"];
  await assertRejects(() => importStage.run(importing), UserError, "--source network");
  const { json } = await importStage.run([...importing, "--source", "network"]);
  assertEquals([json?.rows, json?.sources, json?.destinations], [2, 2, 2]);
  const places = await openPlaces(geo as string[]);
  const address = parseAddress(
    placeholderAddress({ asn: 14618, country: "US", state: "VA", city: "Ashburn" }, false),
  );
  assertEquals(places.locate(address ?? new Uint8Array()), {
    countryCode: "US",
    region: "VA",
    latitude: 52.52,
    longitude: 13.41,
    asNumber: 14618,
  });
  // As a model stores it.
  const located = PlaceTable.of(places).locate(addressNumber(address ?? new Uint8Array()), 4);
  assertEquals([located.position, located.asNumber], [{ latitude: 52.5, longitude: 13.5 }, 14618]);
});

Deno.test("invalid ids and measurements other than ping are errors", async () => {
  await using server = new GlobalpingServer();
  using folder = new TemporaryFolder();
  for (
    const [args, kind, message] of [
      [[], UsageError, "--id ID or --target HOST is missing"],
      [["--id", "../x"], UsageError, "--id ../x"],
      [["--id", "unknown"], UserError, "404 Not Found (Couldn't find the requested item.)"],
      [["--id", "dns"], UserError, "of the type dns, expected ping"],
      [
        ["--id", "redirected"],
        UserError,
        "measurement redirected: the answer is measurement other; check --url",
      ],
    ] as const
  ) await assertRejects(() => fetchInto(server, folder.at(String(args.at(1))), args), kind, message);
});

Deno.test("a measurement that does not end is polled until the time limit", async () => {
  await using server = new GlobalpingServer();
  using folder = new TemporaryFolder();
  using time = new SimulatedTime();
  const fetched = fetchInto(server, folder.at("out"), ["--id", "endless", "--timeout", "2s"]);
  const message = "still in progress; run the same command again later";
  const refused = assertRejects(() => fetched, UserError, message);
  for (const waitMs of [500, 1000]) await time.passWait(waitMs);
  await refused;
  assertEquals(server.looks.get("endless"), 3);
});

Deno.test("the examples of lib/cli/fetch/README.md run unchanged, and never show the keys of the environment", async () => {
  await using atlas = new ReplayServer();
  await using globalping = new GlobalpingServer();
  await using prometheus = new PrometheusServer();
  using folder = new TemporaryFolder();
  const readme = Deno.readTextFileSync(new URL("../../../lib/cli/fetch/README.md", import.meta.url));
  const commands = [...readme.matchAll(/^deno task (.*)$/gm)].map(([, words]) =>
    words.split(" ").map((word) => word.replace(/^'(.*)'$/, "$1"))
  );
  assertEquals(commands.map(([name]) => name), ["fetch", "import", "fetch", "import", "fetch"]);
  const env = { RIPE_ATLAS_KEY: "a-key", GLOBALPING_TOKEN: "g-key", PROMETHEUS_TOKEN: "p-key" };
  const outputs: Record<string, unknown>[] = [];
  for (const [stage, ...rest] of commands) {
    const args = rest.map((word) => word.replace(/^data\//, `${folder.path}/`));
    const server = rest[0] === "atlas" ? atlas : rest[0] === "globalping" ? globalping : prometheus;
    const { stdout, stderr } = await succeeded(runStageProcess(
      [
        stage,
        ...args.map((word) => word === "http://localhost:9090" ? server.url : word),
        ...(stage === "fetch" && !args.includes("--url") ? ["--url", server.url] : []),
        "--json",
      ],
      { flags: ["--allow-net", `--allow-env=${Object.keys(env)}`], env },
    ));
    assert(!`${stdout}${stderr}`.includes("-key"), `${stdout}${stderr}`);
    outputs.push(JSON.parse(stdout));
  }
  assertEquals(outputs.map(({ rows, results, points }) => rows ?? results ?? points), [
    150,
    150,
    2,
    152,
    2 * 7 * 5760,
  ]);
  for (
    const [{ requests }, header] of [[atlas, "Key a-key"], [globalping, "Bearer g-key"], [
      prometheus,
      "Bearer p-key",
    ]] as const
  ) {
    assertEquals(new Set(requests.map(({ headers }) => headers.get("Authorization"))), new Set([header]));
  }
});
