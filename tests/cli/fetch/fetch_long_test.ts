/**
 * `fetch` as a process: killed at any time, with answers larger than memory, and up to a model that answers.
 * @module
 */
import { assert, assertEquals, assertGreater, assertLess, assertRejects } from "@std/assert";
import { join } from "@std/path";
import { UsageError } from "../../../lib/base/errors.ts";
import { importMeasurements } from "../../../lib/data/import/import_measurements.ts";
import { demoStage } from "../../../tasks/demo.ts";
import { joinBatches, readAll } from "../../data/measurement_files/batches.ts";
import { TemporaryFolder } from "../../io/files/temporary_folder.ts";
import { TestServer } from "../../serve/test_server.ts";
import { untilAtWork } from "../../until.ts";
import { outputOf, runStageProcess, spawnStage, succeeded } from "../process.ts";
import { REAL_LINES, ReplayServer } from "./replay_server.ts";

const FLAGS = ["--allow-net", "--allow-env=RIPE_ATLAS_KEY"];
const IDS = [...new Set(REAL_LINES.map((line) => JSON.parse(line).msm_id as number))];
const HOUR = ["--start", "2020-10-07T03:00", "--stop", "2020-10-07T04:00"];

const fetchArgs = (server: ReplayServer, output: string, ids: readonly number[] = IDS) => [
  ...["fetch", "atlas", "--measurement", ids.join(), ...HOUR, "--window", "30m"],
  ...["--url", server.url, "--output", output, "--json"],
];

/** The rows of an import as text, sorted. */
async function rowsOf(folder: TemporaryFolder, name: string, paths: readonly string[]): Promise<string[]> {
  const path = folder.at(`${name}.parquet`);
  await importMeasurements(paths, path, {
    source: "auto",
    rtt: "mean",
    maxRejectRatio: 0,
    memoryLimitBytes: 1e9,
    rejectsPath: `${path}.rejects`,
  });
  const { eventTimeUs, srcAddr, dstAddr, rttMs, numRows } = joinBatches((await readAll([path])).batches);
  return Array.from({ length: numRows }, (_, i) => [eventTimeUs[i], srcAddr[i], dstAddr[i], rttMs[i]].join())
    .sort();
}

function filesIn(folder: string): string[] {
  try {
    return [...Deno.readDirSync(folder)].map(({ name }) => join(folder, name)).sort();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}

Deno.test("kill -9 at any request or within a body loses and duplicates no rows", async () => {
  await using server = new ReplayServer();
  using folder = new TemporaryFolder();
  const ids = IDS.slice(0, 4);
  const lines = REAL_LINES.filter((line) => ids.includes(JSON.parse(line).msm_id));
  Deno.writeTextFileSync(folder.at("all.jsonl"), lines.map((line) => `${line}\n`).join(""));
  const expected = await rowsOf(folder, "expected", [folder.at("all.jsonl")]);
  assertEquals(expected.length, lines.length);
  for (const stopAt of [1, 3, 6, 8, 9, 10, 11]) {
    const out = folder.at(`out${stopAt}`);
    const before = server.requests.length;
    // The body of this request stops in the middle, so the process waits for the rest.
    server.onRequest = () => {
      if (server.requests.length - before === stopAt) server.faults.push(["", "silent"]);
    };
    const child = spawnStage(fetchArgs(server, out, ids), { flags: FLAGS });
    await untilAtWork(child, "the request", () => server.requests.length - before >= stopAt);
    if (stopAt <= 2 * ids.length) {
      await untilAtWork(
        child,
        "half of the body",
        () => filesIn(join(out, ".work/next/results")).some((name) => name.endsWith(".tmp")),
      );
    }
    child.kill("SIGKILL");
    await outputOf(child);
    server.onRequest = () => {};
    server.faults.length = 0;
    const { stdout } = await succeeded(runStageProcess(fetchArgs(server, out, ids), { flags: FLAGS }));
    assertEquals(JSON.parse(stdout).results, lines.length, `killed at request ${stopAt}`);
    assertEquals(filesIn(join(out, "results")).length, 2 * ids.length);
    const rows = await rowsOf(folder, `rows${stopAt}`, filesIn(join(out, "results")));
    assertEquals(rows, expected, `killed at request ${stopAt}`);
  }
});

/** Peak resident memory of a process that fetches one window of results, in MB. */
async function peakMegabytes(numResults: number): Promise<number> {
  await using server = new ReplayServer();
  using folder = new TemporaryFolder();
  const line = new TextEncoder().encode(`${REAL_LINES[0]}\n`);
  const numPerChunk = 100;
  const chunk = new Uint8Array(numPerChunk * line.length);
  for (let i = 0; i < numPerChunk; i++) chunk.set(line, i * line.length);
  let peak = 0;
  const pid = Promise.withResolvers<number>();
  // Tests may not read /proc themselves.
  const measure = async () => {
    const { stdout } = await new Deno.Command("grep", {
      args: ["VmHWM", `/proc/${await pid.promise}/status`],
    })
      .output();
    const [, kilobytes] = /VmHWM:\s+(\d+) kB/.exec(new TextDecoder().decode(stdout)) ?? [];
    peak = Math.max(peak, Number(kilobytes) / 1000);
  };
  server.answer = async ({ path }) => {
    // The last request, when all results have been read.
    if (path.includes("anchors")) await measure();
    if (!path.includes("results")) return undefined;
    let numSent = 0;
    return new Response(
      new ReadableStream({
        pull(controller) {
          controller.enqueue(chunk.slice());
          numSent += numPerChunk;
          if (numSent >= numResults) controller.close();
        },
      }),
    );
  };
  const child = spawnStage(
    fetchArgs(server, folder.at("out"), [1768116]).map((word) => word === "30m" ? "1h" : word),
    { flags: FLAGS },
  );
  pid.resolve(child.pid);
  const { stdout } = await succeeded(outputOf(child));
  assertEquals(JSON.parse(stdout).results, numResults);
  return peak;
}

Deno.test(
  "memory does not grow with the size of an answer",
  { ignore: Deno.build.os !== "linux" },
  async () => {
    const [small, large] = [await peakMegabytes(20_000), await peakMegabytes(600_000)];
    console.log(`${small} MB with 13 MB, ${large} MB with 400 MB of results`);
    assertGreater(small, 50);
    assertLess(large - small, 100);
  },
);

Deno.test("demo --fetch turns measurement ids into a model that answers", async () => {
  await using server = new ReplayServer();
  using folder = new TemporaryFolder();
  const demo = folder.at("demo");
  const args = [
    ...["demo", "--fetch", IDS.join(), ...HOUR, "--url", server.url, "--output", demo],
    ...["--steps", "4", "--minutes", "10", "--json"],
  ];
  const flags = [...FLAGS, "--v8-flags=--expose-gc", "--allow-sys=systemMemoryInfo"];
  const { stdout, stderr } = await succeeded(runStageProcess(args, { flags }));
  const { query, steps } = JSON.parse(stdout);
  assertEquals(steps, 4);
  assert(stderr.includes("addresses have a place"), stderr);
  await using served = await TestServer.start(join(demo, "train"));
  const answer = await (await served.fetch(`/v1/rtt?src=${query.src}&dst=${query.dst}`)).json();
  assertEquals(answer.src, query.src);
  const numRequests = server.requests.length;
  await succeeded(runStageProcess(args, { flags }));
  assertEquals(server.requests.length, numRequests, "nothing is fetched again");
  const refused = (...more: string[]) => assertRejects(() => demoStage.run(more), UsageError);
  assertEquals(
    (await refused("--fetch", "1", "--start", "2020-10-07")).message,
    "Cannot use --fetch: --start or --stop is missing; add both",
  );
  for (const [name, ...value] of [["--synthetic"], ["--input", "x.json"]]) {
    const { message } = await refused(...args.slice(1), name, ...value);
    assertEquals(message, `Cannot use ${name} with --fetch: leave one out`);
  }
});
