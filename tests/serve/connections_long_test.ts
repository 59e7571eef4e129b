/** Opens thousands of connections to servers whose processes may open few files. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { spawnStage } from "../cli/process.ts";
import { withCheckpoint } from "../query/tiny_checkpoint.ts";
import { until } from "../until.ts";
import { connectMany, freePort, PAIR_QUERY, TestServer, withFiles } from "./test_server.ts";

/** Memory grows once, when decoders and buffers are created. */
const MOST_GROWTH_BYTES = 2 ** 28;

interface Waves {
  waves: number;
  /** Connections per wave. */
  size: number;
}

async function residentBytes(server: TestServer): Promise<number> {
  const text = await (await server.fetch("/metrics", CLOSING)).text();
  return Number(/^process_resident_memory_bytes (\S+)$/m.exec(text)?.[1]);
}

const CLOSING = { headers: { connection: "close" } };

/** Asks until there is an answer, because connections beyond the limits are closed without one. */
async function untilAnswered(url: URL): Promise<void> {
  await until(`an answer of ${url}`, async () => {
    try {
      const response = await fetch(url, { ...CLOSING, signal: AbortSignal.timeout(2000) });
      await response.body?.cancel();
      return response.status === 200;
    } catch {
      return false;
    }
  });
}

/** Opens connections in waves. Most send a request; all are closed without reading. */
async function flood(port: number, path: string, { waves, size }: Waves): Promise<void> {
  for (let wave = 0; wave < waves; wave++) {
    const text = wave % 3 === 0 ? "" : `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
    const open = await connectMany(port, size, text);
    for (const connection of open) connection.close();
    await untilAnswered(new URL(path, `http://127.0.0.1:${port}/`));
  }
}

for (const [maxFiles, waves] of [[64, { waves: 20, size: 150 }], [1024, { waves: 12, size: 500 }]] as const) {
  Deno.test(`serve survives thousands of connections with a limit of ${maxFiles} open files`, () =>
    withCheckpoint(async (_, checkpoint) => {
      await using server = await TestServer.startWithFiles(maxFiles, checkpoint);
      const path = `/v1/rtt?${PAIR_QUERY}`;
      await untilAnswered(new URL(path, server.url));
      const before = await residentBytes(server);
      await flood(server.port, path, waves);
      const after = await residentBytes(server);
      assert(after - before < MOST_GROWTH_BYTES, `${before} bytes before, ${after} after`);
      const lines = server.errors.trimEnd();
      const lowered =
        /^Cannot accept 256 connections: .*(?:\nCannot accept connections: no file descriptor is free.*)*$/;
      assertMatch(lines, maxFiles === 64 ? lowered : /^$/);
    }));
}

Deno.test("watch survives many connections with a low limit of open files", async () => {
  const port = freePort();
  const args = ["watch", "--input", "-", "--listen", `127.0.0.1:${port}`];
  const child = spawnStage(args, {
    flags: ["--allow-net"],
    launcher: withFiles(64),
    stdin: new Uint8Array(),
  });
  const output = child.output();
  await untilAnswered(new URL(`http://127.0.0.1:${port}/metrics`));
  await flood(port, "/metrics", { waves: 10, size: 150 });
  child.kill("SIGTERM");
  const { code, stderr } = await output;
  const text = new TextDecoder().decode(stderr);
  assertEquals(code, 75, text);
  assertMatch(text, /^Cannot accept 64 connections: this process can open only \d+ more files/m);
});
