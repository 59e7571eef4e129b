import { assert, assertEquals, assertMatch } from "@std/assert";
import { withCheckpoint } from "../query/tiny_checkpoint.ts";
import { until } from "../until.ts";
import { LINES, PAIR, PAIR_QUERY, TestServer } from "./test_server.ts";

const headOf = (path: string, length: number, type = "application/json") =>
  `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${type}\r\nContent-Length: ${length}\r\n\r\n`;

async function numberIn(server: TestServer, name: string): Promise<number> {
  const text = await (await server.fetch("/metrics")).text();
  return Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1]);
}

Deno.test("serve limits what a client can use", (test) =>
  withCheckpoint(async (_, checkpoint) => {
    const limits = ["--max-body-bytes", "2048", "--max-request-s", "20"];
    await using server = await TestServer.start(checkpoint, ...limits);
    const step = (name: string, run: () => Promise<void>) => test.step(name, run);

    await step("a body without a length and a long header are cut off at their limits", async () => {
      const chunk = `400\r\n${" ".repeat(1024)}\r\n`;
      const head = headOf("/v1/rtt", 0).replace("Content-Length: 0", "Transfer-Encoding: chunked");
      assertMatch(await server.send(head + chunk.repeat(3)), /^HTTP\/1.1 413 [^]*the limit of 2048 bytes/);
      const large = `GET / HTTP/1.1\r\nHost: localhost\r\nX: ${"x".repeat(2 ** 15)}\r\n\r\n`;
      assertMatch(await server.send(large), /^(?:HTTP\/1.1 431 [^]*"status":431|$)/);
    });

    // All run at once, because each waits for a time limit.
    await step(
      "clients who send or read too slowly are cut off, and others are answered meanwhile",
      async () => {
        const sendsSlowly = async () => {
          await using impatient = await TestServer.start(checkpoint, "--max-request-s", "1");
          assertMatch(await impatient.send(headOf("/v1/rtt", 10)), /^HTTP\/1.1 503 [^]*more than 1 s/);
          const lines = headOf("/v1/rtt:batch", 10, LINES["content-type"]);
          assertMatch(await impatient.send(lines + "{"), /^HTTP\/1.1 503 [^]*more than 1 s/);
          assertMatch(await server.send("GET / HTTP/1.1\r\nHost:"), /^HTTP\/1.1 408 [^]*"status":408/);
        };
        const sendsWithoutEnd = async (head: string, part: string) => {
          using connection = await Deno.connect({ hostname: "127.0.0.1", port: server.port });
          const encoder = new TextEncoder();
          await connection.write(encoder.encode(head));
          const bytes = encoder.encode(part);
          let isCut = false;
          const flood = async () => {
            for (;;) await connection.write(bytes);
          };
          const cut = flood().catch(() => isCut = true);
          let numAnswered = 0;
          await until("the client is cut off", async () => {
            const response = await server.fetch(`/v1/rtt?${PAIR_QUERY}&at=${numAnswered++}`);
            assertEquals(response.status, 200);
            await response.body?.cancel();
            return isCut;
          });
          await cut;
        };
        const before = await numberIn(server, "process_resident_memory_bytes");
        await Promise.all([
          sendsSlowly(),
          sendsWithoutEnd(
            headOf("/v1/rtt:batch", 1e9, LINES["content-type"]),
            `${JSON.stringify({ ...PAIR, cdf: 300 })}\n`,
          ),
          sendsWithoutEnd("", "GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(100)),
        ]);
        await until("an empty queue", async () => await numberIn(server, "ping_llm_queue_length") === 0);
        await until("its end", async () => await numberIn(server, "ping_llm_requests_in_flight") === 1);
        assert(await numberIn(server, "process_resident_memory_bytes") < before + 2 ** 28);
      },
    );

    await step("a full queue returns 429 with Retry-After", async () => {
      await using server = await TestServer.start(checkpoint, "--max-queue", "2");
      const statuses = new Set<string>();
      await until("a full queue", async () => {
        const asked = Array.from({ length: 10 }, () => server.post("/v1/rtt", PAIR));
        for (const { status, headers, body } of await Promise.all(asked)) {
          await body?.cancel();
          statuses.add(`${status} ${headers.get("retry-after")}`);
        }
        return statuses.size >= 2;
      });
      assertEquals([...statuses].sort(), ["200 null", "429 1"]);
    });

    await step("connections over the limit can reach only /healthz, until others close", async () => {
      const few = ["--max-connections", "12", "--max-request-s", "86400"];
      await using server = await TestServer.start(checkpoint, ...few);
      const held = await hold(server, 12);
      assertEquals(await statusOf(server, "/healthz"), 200);
      assertEquals(await statusOf(server, "/v1/model"), 503);
      await Promise.all((await hold(server, 24)).map(untilClosed));
      for (const connection of held) connection.close();
      await until("connections are taken again", async () => await statusOf(server, "/openapi.json") === 200);
    });
  }));

Deno.test("serve limits the connections of one client, but still answers /healthz", () =>
  withCheckpoint(async (_, checkpoint) => {
    const few = ["--max-client-connections", "8", "--max-request-s", "86400"];
    await using server = await TestServer.start(checkpoint, ...few);
    const held = await hold(server, 8);
    assertEquals(await statusOf(server, "/healthz"), 200);
    assertEquals(await statusOf(server, "/metrics"), 200);
    assertMatch(
      await answerOf(server, "/v1/model"),
      /^HTTP\/1.1 429 [^]*127.0.0.1 already has 8 connections; close some/,
    );
    for (const connection of held) connection.close();
    await until("connections are taken again", async () => await statusOf(server, "/openapi.json") === 200);
  }));

/** Opens connections with requests whose bodies never arrive. */
async function hold(server: TestServer, count: number): Promise<Deno.Conn[]> {
  const open: Deno.Conn[] = [];
  for (let i = 0; i < count; i++) {
    const connection = await Deno.connect({ hostname: "127.0.0.1", port: server.port });
    open.push(connection);
    await connection.write(new TextEncoder().encode(headOf("/v1/rtt", 10))).catch(() => {});
  }
  return open;
}

/** Asks on new connections until one is answered: a connection beyond the limit is open for at most 2 s. */
async function answerOf(server: TestServer, path: string): Promise<string> {
  let answer = "";
  await until(`an answer of ${path}`, async () => {
    answer = await server.send(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
    return answer !== "";
  });
  return answer;
}

async function statusOf(server: TestServer, path: string): Promise<number> {
  return Number(/^HTTP\/1.1 (\d+)/.exec(await answerOf(server, path))?.[1]);
}

async function untilClosed(connection: Deno.Conn): Promise<void> {
  const part = new Uint8Array(4096);
  const read = async () => {
    while (await connection.read(part) !== null);
  };
  await read().catch(() => {});
  connection.close();
}
