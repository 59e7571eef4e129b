/**
 * Hostile requests, while a client who means well asks all the time: the server answers that one, does not end, and has
 * nothing left to do when they are over.
 *
 * `deno test … tests/serve/hostile_long_test.ts -- 10000 7` makes 10,000 of seed 7.
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { RandomStream } from "../../lib/base/random.ts";
import { withCheckpoint } from "../query/tiny_checkpoint.ts";
import { until } from "../until.ts";
import { type HostileRequest, hostileRequest } from "./hostile_requests.ts";
import { PAIR, PAIR_QUERY, TestServer } from "./test_server.ts";

const NUM_ATTACKERS = 16;
const [count = 300, seed = 1] = Deno.args.map(Number);
/** Longer than the server's limits. */
const PATIENCE_MS = 30_000;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Makes the request. @returns How the answer begins, empty if there is none. */
async function attack(server: TestServer, { parts, end }: HostileRequest): Promise<string> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port: server.port });
  const send = async () => {
    for (const part of parts) {
      const bytes = typeof part === "string" ? new TextEncoder().encode(part) : part;
      for (let at = 0; at < bytes.length;) at += await connection.write(bytes.subarray(at));
      if (parts.length > 1) await pause(20);
    }
  };
  const buffer = new Uint8Array(2 ** 16);
  let start = "";
  const receive = async () => {
    for (let n = await connection.read(buffer); n !== null; n = await connection.read(buffer)) {
      if (start.length < 300) start += new TextDecoder().decode(buffer.subarray(0, n));
    }
  };
  // The server may close the connection at any time.
  const isGone = () => {};
  const sent = send().catch(isGone);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<"late">((resolve) => timer = setTimeout(resolve, PATIENCE_MS, "late"));
  const received = end === "read nothing" ? Promise.resolve() : receive().catch(isGone);
  const outcome = end === "wait"
    ? await Promise.race([Promise.all([sent, received]), late])
    : await Promise.race([sent, late]);
  clearTimeout(timer);
  if (end !== "wait") await pause(50);
  connection.close();
  await Promise.all([sent, received]);
  assert(outcome !== "late", "the server did not answer in time");
  return start;
}

/** Asks until told to stop. @returns How often it got an answer. */
async function askWell(server: TestServer, isOver: () => boolean): Promise<number> {
  let numAnswers = 0;
  while (!isOver()) {
    const response = await server.fetch(`/v1/rtt?${PAIR_QUERY}&at=${numAnswers}`);
    assertEquals(response.status, 200, await response.text());
    const lines = await server.postLines("/v1/rtt:batch?quantiles=0.5", [PAIR, PAIR, PAIR]);
    assert(lines.length === 3 && lines.every((line) => line.quantiles_ms), JSON.stringify(lines));
    numAnswers++;
  }
  return numAnswers;
}

Deno.test("serve outlives hostile requests, and another client sees nothing of them", () =>
  withCheckpoint(async (_, checkpoint) => {
    await using server = await TestServer.start(checkpoint);
    let next = 0;
    const attacker = async () => {
      while (next < count) {
        const index = next++;
        const request = hostileRequest(new RandomStream(seed, "hostile", index));
        const about = `request ${index} (${request.kind}) of seed ${seed}`;
        const answer = await attack(server, request).catch((error) => {
          throw new Error(`${about}: ${error.message}`, { cause: error });
        });
        if (answer !== "") assertMatch(answer, /^HTTP\/1\.1 (?:[234]\d\d|503) /, `${about}: ${answer}`);
        if (request.end === "wait") {
          assert(
            answer !== "" || request.kind === "one long header" || request.kind === "header flood",
            `${about} has no answer`,
          );
        }
      }
    };
    let isOver = false;
    const well = askWell(server, () => isOver);
    try {
      await Promise.race([Promise.all(Array.from({ length: NUM_ATTACKERS }, attacker)), well]);
    } finally {
      isOver = true;
    }
    assert(await well > 0);
    await until("only the question for metrics is left", async () => await numLeft(server) === 1);
    server.kill("SIGTERM");
    const { code, stderr } = await server.end();
    assertEquals(code, 75);
    assertEquals(stderr.split("\n").filter((line) => /^error: (?!stopped)|^ {4}at /.test(line)), [], stderr);
  }));

/** How many requests are being answered. */
async function numLeft(server: TestServer): Promise<number> {
  const text = await (await server.fetch("/metrics")).text();
  return Number(/^ping_llm_requests_in_flight (\d+)$/m.exec(text)?.[1]);
}
