import { assertEquals, assertMatch } from "@std/assert";
import { withCheckpoint } from "../query/tiny_checkpoint.ts";
import { until } from "../until.ts";
import { answerLines } from "../../lib/serve/answers.ts";
import type { ServedModels } from "../../lib/serve/served_models.ts";
import { LINES, PAIR, PAIR_QUERY, TestServer } from "./test_server.ts";

const encoder = new TextEncoder();

function connect(server: TestServer): Promise<Deno.Conn> {
  return Deno.connect({ hostname: "127.0.0.1", port: server.port });
}

async function isIdle(server: TestServer): Promise<boolean> {
  const text = await (await server.fetch("/metrics")).text();
  return /^ping_llm_requests_in_flight 1$/m.test(text);
}

Deno.test("nothing is logged about a client that leaves while its next answer is computed", async () => {
  const logged: string[] = [];
  const { promise: isAsked, resolve: asked } = Promise.withResolvers<void>();
  const { promise: isLeft, resolve: left } = Promise.withResolvers<void>();
  const { promise: isOver, resolve: over } = Promise.withResolvers<void>();
  const lease = { model: {}, [Symbol.dispose]: () => {} };
  const response = await answerLines(
    new Request("http://localhost/", { method: "POST", headers: LINES, body: "{}\n" }),
    {
      models: { lease: () => lease } as unknown as ServedModels,
      limits: { maxBodyBytes: 1024, maxRequestS: 600, maxConnections: 1, maxClientConnections: 1 },
      stopping: new AbortController().signal,
      log: (line) => logged.push(line),
      breakOff: () => {},
      isMeasurements: false,
    },
    async function* () {
      try {
        yield { line: 1 };
        asked();
        await isLeft;
        yield { line: 2 };
      } finally {
        over();
      }
    },
  );
  const reader = response.body?.getReader();
  await reader?.read();
  await isAsked;
  await reader?.cancel();
  left();
  await isOver;
  // The second answer is taken in a later turn of the event loop.
  await new Promise((resolve) => setTimeout(resolve, 0));
  assertEquals(logged, []);
});

Deno.test("serve logs nothing about clients that leave, pipeline requests or close the connection", (test) =>
  withCheckpoint(async (_, checkpoint) => {
    await using server = await TestServer.start(checkpoint);

    await test.step("clients that leave in the middle of an answer", async () => {
      const lines = `${JSON.stringify({ ...PAIR, dst: "198.51.100.0/24", draws: 64 })}\n`.repeat(200);
      const head = `Host: localhost\r\nContent-Type: ${
        LINES["content-type"]
      }\r\nContent-Length: ${lines.length}`;
      const requests = [
        `POST /v1/rtt:batch HTTP/1.1\r\n${head}\r\n\r\n${lines}`,
        `GET /v1/rtt?src=192.0.2.0/24&dst=198.51.100.0/24&draws=256 HTTP/1.1\r\nHost: localhost\r\n\r\n`,
        "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
      ];
      for (const request of requests) {
        for (const isBegun of [false, true]) {
          using connection = await connect(server);
          await connection.write(encoder.encode(request));
          if (isBegun) await connection.read(new Uint8Array(100));
        }
      }
      await until("the end of all", () => isIdle(server));
    });

    // Node warns about more than ten listeners for one event.
    await test.step("16 pipelined requests, and 20 in sequence", async () => {
      using connection = await connect(server);
      const part = new Uint8Array(2 ** 16);
      let text = "";
      const ask = async (path: string, times: number, answers: number) => {
        await connection.write(
          encoder.encode(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`.repeat(times)),
        );
        while (text.split("HTTP/1.1 200").length - 1 < answers) {
          text += new TextDecoder().decode(part.subarray(0, await connection.read(part) ?? 0));
        }
      };
      await ask(`/v1/rtt?${PAIR_QUERY}`, 16, 16);
      for (let i = 1; i <= 20; i++) await ask("/healthz", 1, 16 + i);
      await until("the end of all", () => isIdle(server));
    });

    await test.step("/mcp honours Connection: close", async () => {
      using connection = await connect(server);
      const clientInfo = { name: "test", version: "1" };
      const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo };
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params });
      const types = "Accept: application/json, text/event-stream\r\nContent-Type: application/json";
      await connection.write(encoder.encode(
        `POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${types}\r\n` +
          `Content-Length: ${body.length}\r\n\r\n${body}`,
      ));
      const text = await new Response(connection.readable).text();
      assertMatch(text, /^HTTP\/1\.1 200 [^]*\r\nconnection: close\r\n[^]*"serverInfo"/i);
    });

    assertEquals(server.errors, "");
  }));
