/**
 * Mixed requests of 8 clients, and the memory of the server.
 *
 * `deno test … tests/serve/memory_long_test.ts -- 50000 5000` sends 50,000 requests and prints the memory
 * every 5,000.
 */
import { assert, assertEquals } from "@std/assert";
import { RandomStream } from "../../lib/base/random.ts";
import { withCheckpoint } from "../query/tiny_checkpoint.ts";
import { LINES, TestServer } from "./test_server.ts";

const [numRequests = 4800, every = 400] = Deno.args.map(Number);
const NUM_CLIENTS = 8;
/** Batches of 1, 2, … lines compile most decoder programs; mixed requests alone would take 5,000 for that. */
const NUM_FIRST_BATCHES = 100;
/** Growth per quarter of the requests: half of the 128 programs of both decoders, 0.2 MB each. */
const MOST_GROWTH_MB = 128 * 0.2;
/** Memory may grow once by this much, late in busy runs; a leak grows in every quarter. */
const STEP_MB = 64;

/** Memory outside the JavaScript heap, which varies by some 50 MB with garbage collection. */
async function nativeMb(server: TestServer, what: string): Promise<number> {
  const text = await (await server.fetch("/metrics")).text();
  const mb = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1]) / 1e6;
  const [residentMb, heapMb] = [mb("process_resident_memory_bytes"), mb("ping_llm_heap_bytes")];
  if (Deno.args.length > 0) {
    console.log(`${what}: resident ${residentMb.toFixed(1)} MB, heap ${heapMb.toFixed(1)} MB`);
  }
  return residentMb - heapMb;
}

const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[values.length >> 1];

Deno.test("serve's memory does not grow with the number of requests", () =>
  withCheckpoint(async (_, checkpoint) => {
    await using server = await TestServer.start(checkpoint);
    const ask = async ({ path, init }: MixedRequest) => {
      const response = await server.fetch(path, init);
      await response.body?.pipeTo(new WritableStream());
      assert(response.status < 500 && response.status !== 429, `${path}: ${response.status}`);
    };
    for (let size = 1; size <= NUM_FIRST_BATCHES; size++) {
      const random = new RandomStream(1, "first batches", size);
      await ask(postLines("/v1/rtt:batch", Array.from({ length: size }, () => question(random))));
    }
    const samplesMb: number[] = [];
    let next = 0;
    for (let end = every; end <= numRequests; end += every) {
      const client = async () => {
        while (next < end) await ask(mixedRequest(new RandomStream(1, "mixed", next++)));
      };
      await Promise.all(Array.from({ length: NUM_CLIENTS }, client));
      samplesMb.push(await nativeMb(server, `${end} requests`));
    }
    // The first quarter is ignored: kernels are compiled and buffers are filled for the first time.
    const quarterMb = [1, 2, 3].map((i) =>
      median(samplesMb.slice(i * samplesMb.length / 4, (i + 1) * samplesMb.length / 4))
    );
    const growthMb = [quarterMb[1] - quarterMb[0], quarterMb[2] - quarterMb[1]];
    const found = `${growthMb.join(" and ")} MB a quarter: ${samplesMb.map(Math.round).join(" ")}`;
    assert(Math.min(...growthMb) < MOST_GROWTH_MB, found);
    assert(growthMb[0] + growthMb[1] < MOST_GROWTH_MB + STEP_MB, found);
  }));

/** Without a bound on the questions in work, memory reaches at least 2 GB. */
const MOST_WITH_LARGE_MB = 1600;

Deno.test("serve's memory is bounded while many clients post large questions", () =>
  withCheckpoint(async (_, checkpoint) => {
    await using server = await TestServer.start(checkpoint, "--max-request-s", "600");
    const context = Array.from(
      { length: 12_000 },
      (_, i) => ({ src: "192.0.2.1", dst: "198.51.100.7", time: 1_700_000_000 + i, rtt: 20 }),
    );
    const large = { src: "192.0.2.1", dst: "198.51.100.7", context };
    const line = postLines("/v1/rtt:batch", [large, large]);
    const client = async (i: number) => {
      const { path, init } = i % 4 === 0 ? line : post("/v1/rtt", large);
      const response = await server.fetch(path, init);
      assertEquals(response.status, 200, await response.text());
    };
    await Promise.all(Array.from({ length: 64 }, (_, i) => client(i)));
    const text = await (await server.fetch("/metrics")).text();
    const residentMb = Number(/^process_resident_memory_bytes (\S+)$/m.exec(text)?.[1]) / 1e6;
    assert(residentMb < MOST_WITH_LARGE_MB, `${residentMb} MB`);
  }));

const KNOWN_PATHS = ["/", "/v1/model", "/openapi.json", "/healthz", "/metrics", "/docs"];
const JSON_TYPE = { "content-type": "application/json" };

interface MixedRequest {
  readonly path: string;
  readonly init?: RequestInit;
}

const address = (random: RandomStream) => `${random.below(224)}.${random.below(256)}.0.${random.below(256)}`;
const pair = (random: RandomStream) => ({ src: address(random), dst: address(random) });
const measured = (random: RandomStream) => ({
  ...pair(random),
  time: 1_700_000_000 + random.below(1e6),
  rtt: random.below(8) === 0 ? null : random.below(300),
});
const many = <T>(random: RandomStream, most: number, make: (random: RandomStream) => T): T[] =>
  Array.from({ length: random.below(most + 1) }, () => make(random));

/** A question with earlier measurements of its source. */
function question(random: RandomStream) {
  const asked = pair(random);
  const context = many(random, 12, (each) => ({ ...measured(each), src: asked.src }));
  return { ...asked, context, at: [random.below(300)] };
}

function post(path: string, body: unknown): MixedRequest {
  return { path, init: { method: "POST", headers: JSON_TYPE, body: JSON.stringify(body) } };
}

function postLines(path: string, lines: readonly unknown[]): MixedRequest {
  const body = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
  return { path, init: { method: "POST", headers: LINES, body } };
}

function get(path: string, fields: Record<string, unknown>): MixedRequest {
  return { path: `${path}?${new URLSearchParams(fields as Record<string, string>)}` };
}

/** Each kind is repeated according to its share of the requests. */
const KINDS: ((random: RandomStream) => MixedRequest)[] = [
  ...Array(6).fill((random: RandomStream) => get("/v1/rtt", { ...pair(random), at: random.below(300) })),
  (random) => get("/v1/rtt", { ...pair(random), quantiles: "0.1,0.9", cdf: 2 + random.below(50) }),
  ...Array(3).fill((random: RandomStream) => post("/v1/rtt", question(random))),
  (random) => get("/v1/rtt", { ...pair(random), dst: `${address(random)}/24`, draws: 2 }),
  (random) => postLines(`/v1/rtt:batch?at=${random.below(300)}`, many(random, 30, question)),
  (random) => postLines("/v1/score", many(random, 20, measured)),
  (random) => post("/v1/likelihood", measured(random)),
  (random) => get("/v1/destinations", { src: address(random), rtt: "20..25", max_expansions: 1 }),
  (random) => get("/v1/places", { q: address(random).slice(0, 1 + random.below(12)) }),
  (random) =>
    get("/v1/nearest", { src: address(random), candidates: `${address(random)},${address(random)}` }),
  (random) => get("/v1/matrix", { nodes: `10.0.0.${random.below(9)},${address(random)}`, samples: 2 }),
  (random) => ({ path: KNOWN_PATHS[random.below(KNOWN_PATHS.length)] }),
  (random) => ({ path: `/none/${random.below(1e9)}` }),
  (random) => get("/v1/rtt", { src: `host${random.below(1e9)}`, dst: address(random) }),
  (random) => get("/v1/rtt", { ...pair(random), [`x${random.below(1e9)}`]: 1 }),
  (random) => post("/v1/likelihood", { ...measured(random), rtt: "soon" }),
  (random) => ({
    path: "/v1/rtt",
    init: { method: "POST", headers: JSON_TYPE, body: `{"${random.below(1e9)}` },
  }),
  () => ({ path: "/v1/rtt", init: { method: "DELETE" } }),
];

function mixedRequest(random: RandomStream): MixedRequest {
  return KINDS[random.below(KINDS.length)](random);
}
