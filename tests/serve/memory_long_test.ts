/**
 * Mixed requests of 8 clients, and the memory of the server.
 *
 * `deno test … tests/serve/memory_long_test.ts -- 50000 5000` makes 50,000 and prints the memory every 5,000.
 */
import { assert } from "@std/assert";
import { MAX_PROGRAMS } from "../../lib/model/decoder.ts";
import { RandomStream } from "../../lib/base/random.ts";
import { withCheckpoint } from "../query/tiny_checkpoint.ts";
import { mixedRequest } from "./mixed_requests.ts";
import { TestServer } from "./test_server.ts";

const [numRequests = 6000, every = 500] = Deno.args.map(Number);
const NUM_CLIENTS = 8;
/** All programs of both decoders of the tiny model, 0.2 MB each: the first requests made some of them. */
const MOST_GROWTH_MB = 2 * MAX_PROGRAMS * 0.2;

/** Memory outside the JavaScript heap, which grows and shrinks by some 50 MB as garbage is collected. */
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
    const samplesMb: number[] = [];
    let next = 0;
    for (let end = every; end <= numRequests; end += every) {
      const client = async () => {
        while (next < end) {
          const { path, init } = mixedRequest(new RandomStream(1, "mixed", next++));
          const response = await server.fetch(path, init);
          await response.body?.pipeTo(new WritableStream());
          assert(response.status < 500 && response.status !== 429, `${path}: ${response.status}`);
        }
      };
      await Promise.all(Array.from({ length: NUM_CLIENTS }, client));
      samplesMb.push(await nativeMb(server, `${end} requests`));
    }
    // The first third is not counted: kernels are compiled, and buffers filled for the first time.
    const third = Math.floor(samplesMb.length / 3);
    const [early, late] = [samplesMb.slice(third, 2 * third), samplesMb.slice(2 * third)].map(median);
    assert(
      late < early + MOST_GROWTH_MB,
      `${early} MB, then ${late} MB: ${samplesMb.map(Math.round).join(" ")}`,
    );
  }));
