import { assert, assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import { createHmac } from "node:crypto";
import {
  DELIVERY_HEADER,
  SIGNATURE_HEADER,
  Webhook,
  type WebhookOptions,
  webhookUrl,
} from "../../lib/cli/webhook.ts";
import { SimulatedTime } from "../simulated_time.ts";
import { until } from "../until.ts";

const KEY = "a secret key";

interface Received {
  readonly body: string;
  readonly headers: Headers;
}

/** Longer than any machine takes for a request. */
const LONG_MS = 600_000;

/** Runs a test with a receiver on the loopback interface. @param answer By the request's number, from 0. */
async function withReceiver(
  answer: (number: number, request: Request) => Response | Promise<Response>,
  test: (receiver: { url: URL; received: Received[]; log: string[]; webhook: Webhook }) => Promise<void>,
  options: Partial<WebhookOptions> = {},
): Promise<void> {
  const received: Received[] = [];
  const log: string[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (request) => {
    const number = received.length;
    received.push({ body: await request.text(), headers: request.headers });
    return await answer(number, request);
  });
  const url = new URL(`http://127.0.0.1:${server.addr.port}/alarms?token=hidden`);
  const webhook = new Webhook(url, {
    key: KEY,
    maxQueue: 100,
    timeoutMs: LONG_MS,
    firstWaitMs: 1,
    maxWaitMs: 20,
    log: (line) => log.push(line),
    ...options,
  });
  try {
    await test({ url, received, log, webhook });
  } finally {
    webhook[Symbol.dispose]();
    await server.shutdown();
  }
}

const status = (code: number, headers: HeadersInit = {}) => new Response("why", { status: code, headers });
const bodies = (received: readonly Received[]) => received.map(({ body }) => JSON.parse(body).alarm);

Deno.test("events are posted in order, signed over time and body", () =>
  withReceiver(() => status(201), async ({ received, webhook }) => {
    const sentS = Math.floor(Date.now() / 1000);
    for (const alarm of [1, 2, 3]) webhook.send({ alarm, text: "+38 ms, 3 × its usual spread" });
    await webhook.finish(2 * LONG_MS);
    assertEquals(bodies(received), [1, 2, 3]);
    assertEquals([webhook.numSent, webhook.numLost, webhook.numWaiting], [3, 0, 0]);
    const [{ body, headers }] = received;
    assertEquals(headers.get("content-type"), "application/json");
    const [, timeS, hex] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(headers.get(SIGNATURE_HEADER) ?? "") ?? [];
    assertEquals(hex, createHmac("sha256", KEY).update(`${timeS}.${body}`).digest("hex"));
    assert(sentS <= Number(timeS) && Number(timeS) <= Date.now() / 1000);
    assertEquals(new Set(received.map(({ headers }) => headers.get(DELIVERY_HEADER))).size, 3);
  }));

Deno.test("temporary failures are retried with the same delivery id, not before Retry-After, until one succeeds", () => {
  const statuses = [500, 503, 408, 425, 429, 502, 200, 200];
  const headers = (code: number): HeadersInit => code === 429 ? { "retry-after": "2" } : {};
  return withReceiver(
    (number) => status(statuses[number], headers(statuses[number])),
    async ({ received, webhook, log }) => {
      using time = new SimulatedTime();
      webhook.send({ alarm: 1 });
      webhook.send({ alarm: 2 });
      for (const ms of [1, 2, 4, 8, 2000, 20]) await time.passWait(ms);
      await webhook.finish(2 * LONG_MS);
      assertEquals(bodies(received), [1, 1, 1, 1, 1, 1, 1, 2]);
      const ids = received.map(({ headers }) => headers.get(DELIVERY_HEADER));
      assertEquals(new Set(ids.slice(0, 7)).size, 1);
      assertEquals([webhook.numSent, webhook.numFailedTries, webhook.numLost], [2, 6, 0]);
      assertEquals(log.map((line) => line.replace(/:\d+:/, ":PORT:")), [
        "webhook at http://127.0.0.1:PORT: found status 500; trying again",
        "webhook at http://127.0.0.1:PORT: it accepts alarms again",
      ]);
    },
  );
});

Deno.test("rejected events and redirects are dropped, and the next event is posted", () => {
  const statuses = [400, 302, 410, 200];
  const headers = { location: "http://127.0.0.2/" };
  return withReceiver((number) => status(statuses[number], headers), async ({ received, webhook, log }) => {
    for (const alarm of [1, 2, 3, 4]) webhook.send({ alarm });
    await webhook.finish(2 * LONG_MS);
    assertEquals(bodies(received), [1, 2, 3, 4]);
    assertEquals([webhook.numSent, webhook.numLost], [1, 3]);
    assertMatch(log[0], /found status 400, expected 200 to 299; the alarm is dropped$/);
  });
});

Deno.test("a post without an answer in time is retried", () => {
  const slow = Promise.withResolvers<Response>();
  return withReceiver(
    (number) => number === 0 ? slow.promise : status(200),
    async ({ received, webhook, log }) => {
      using time = new SimulatedTime();
      webhook.send({ alarm: 1 });
      await until("the request", () => received.length === 1);
      await time.passWait(300);
      await time.passWait(1);
      await webhook.finish(2 * LONG_MS);
      slow.resolve(status(200));
      assertEquals([webhook.numSent, webhook.numFailedTries], [1, 1]);
      assertStringIncludes(log[0], "no answer within 0.3 s; trying again");
    },
    { timeoutMs: 300 },
  );
});

Deno.test("events queue while the receiver is unreachable, the oldest are dropped, and without a key none is signed", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  listener.close();
  const log: string[] = [];
  const url = new URL(`http://127.0.0.1:${port}/alarms?token=hidden`);
  using webhook = new Webhook(url, {
    maxQueue: 3,
    timeoutMs: LONG_MS,
    firstWaitMs: 1,
    maxWaitMs: 10,
    log: (line) => log.push(line),
  });
  for (const alarm of [1, 2, 3, 4, 5, 6]) webhook.send({ alarm });
  await until("some tries", () => webhook.numFailedTries >= 3);
  // The first is being posted, three wait.
  assertEquals([webhook.numWaiting, webhook.numLost, webhook.numSent], [4, 2, 0]);
  let isSigned = false;
  const received: number[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port, onListen: () => {} }, async (request) => {
    isSigned ||= request.headers.has(SIGNATURE_HEADER);
    received.push((await request.json()).alarm);
    return status(200);
  });
  await webhook.finish(2 * LONG_MS);
  await server.shutdown();
  assertEquals([received, isSigned], [[1, 4, 5, 6], false]);
  assert(log.every((line) => !line.includes("hidden") && !line.includes("/alarms")), log.join("\n"));
  assertStringIncludes(log.join("\n"), "the connection failed; trying again");
});

Deno.test("finish() gives up at its time limit, or at that of one attempt after a signal", async () => {
  for (const isStopped of [false, true]) {
    const slow = Promise.withResolvers<Response>();
    await withReceiver(() => slow.promise, async ({ webhook, received }) => {
      using _ = { [Symbol.dispose]: () => slow.resolve(status(200)) };
      using time = new SimulatedTime();
      webhook.send({ alarm: 1 });
      webhook.send({ alarm: 2 });
      await until("the request", () => received.length === 1);
      time.pass(10);
      const stopped = new AbortController();
      const finished = webhook.finish(60_000, stopped.signal);
      if (isStopped) stopped.abort();
      time.pass(39);
      assertEquals(webhook.numFailedTries, 0);
      assertEquals(time.waitsMs, isStopped ? [1, 11, 59_961] : [1, 59_961]);
      time.pass(isStopped ? 11 : 59_961);
      await finished;
      assertEquals([webhook.numWaiting, webhook.numSent], [2, 0]);
    }, { timeoutMs: 50, firstWaitMs: 1e6, maxWaitMs: 1e6 });
  }
});

Deno.test("the URL is validated, and errors do not reveal it", () => {
  assertEquals(webhookUrl("https://example.org/a?b").href, "https://example.org/a?b");
  for (const text of ["example.org/secret", "ftp://example.org/secret", "https://me:secret@example.org/"]) {
    const { message } = assertThrows(
      () => webhookUrl(text),
      Error,
      "such as https://example.org",
    );
    assert(!message.includes("secret"), message);
  }
});
