import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { withCheckpoint } from "../query/tiny_checkpoint.ts";
import { until } from "../until.ts";
import { PAIR, PAIR_QUERY, TestServer } from "./test_server.ts";

for (const [signal, exitCode] of [["SIGTERM", 75], ["SIGINT", 130]] as const) {
  Deno.test(`serve answers accepted requests and exits with ${exitCode} at ${signal}`, () =>
    withCheckpoint(async (_, checkpoint) => {
      await using server = await TestServer.start(checkpoint);
      let hasBegun = false;
      const batchText = linesWithoutEnd(server, (text) => hasBegun ||= text.includes("quantiles_ms"));
      // Clients keep asking until they are refused.
      const outcomes: (number | "closed")[] = [];
      const client = async (index: number) => {
        for (let i = 0;; i++) {
          try {
            const response = await server.fetch(`/v1/rtt?${PAIR_QUERY}&at=${index},${i}`);
            const { quantiles_ms, status } = await response.json();
            assertEquals(response.status === 200, quantiles_ms !== undefined);
            outcomes.push(status ?? 200);
            if (response.status !== 200) return;
          } catch (error) {
            assert(error instanceof TypeError, String(error));
            outcomes.push("closed");
            return;
          }
        }
      };
      const clients = Array.from({ length: 8 }, (_, index) => client(index));
      await until("an answer to each client", () => outcomes.length >= 8 && hasBegun);
      server.kill(signal);
      await Promise.all(clients);
      const { code, stderr } = await server.end();
      assertEquals(code, exitCode);
      assertStringIncludes(stderr, `error: stopped by ${signal}`);
      assert(outcomes.filter((outcome) => outcome === 200).length >= 8);
      assertEquals(outcomes.filter((outcome) => outcome !== 200).length, 8);
      assert(outcomes.every((outcome) => outcome === 200 || outcome === 503 || outcome === "closed"));
      // Every line that was read is answered, and a final error covers the remaining lines.
      const text = await batchText;
      assertMatch(text, /\r\n0\r\n\r\n$/, "the answer is whole");
      const lines = [...text.matchAll(/^\{.*\}$/gm)].map(([line]) => JSON.parse(line));
      assertEquals(lines.map(({ line }) => line), lines.map((_, i) => i + 1));
      assertMatch(lines.at(-1).error, new RegExp(`^Cannot answer line ${lines.length} and those after it`));
      assert(lines.length > 1 && lines.slice(0, -1).every(({ quantiles_ms }) => quantiles_ms));
    }));
}

/** Sends lines until the server ends the answer. @param onText Gets the answer so far. */
async function linesWithoutEnd(server: TestServer, onText: (text: string) => void): Promise<string> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port: server.port });
  const encoder = new TextEncoder();
  const line = JSON.stringify(PAIR) + "\n";
  const chunk = encoder.encode(`${line.length.toString(16)}\r\n${line}\r\n`);
  const head = "POST /v1/rtt:batch HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n" +
    "Transfer-Encoding: chunked\r\n\r\n";
  await connection.write(encoder.encode(head));
  const send = async () => {
    for (;;) await connection.write(chunk);
  };
  const sent = send().catch(() => {});
  const decoder = new TextDecoder();
  const part = new Uint8Array(2 ** 16);
  let text = "";
  try {
    for (let n = await connection.read(part); n !== null; n = await connection.read(part)) {
      text += decoder.decode(part.subarray(0, n), { stream: true });
      onText(text);
    }
  } catch {
    // The server closed the connection while data was being sent.
  }
  await sent;
  return text;
}
