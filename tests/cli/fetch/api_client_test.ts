/** Requests are retried if that may help, and their errors say what to do. @module */
import { assert, assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { gzipSync } from "node:zlib";
import { InterruptedError, UsageError, UserError } from "../../../lib/base/errors.ts";
import { ApiClient, type ApiOptions, parseBase, readKey } from "../../../lib/cli/fetch/api_client.ts";
import { TemporaryFolder } from "../../io/files/temporary_folder.ts";
import { SimulatedTime } from "../../simulated_time.ts";
import { until } from "../../until.ts";
import { ReplayServer } from "./replay_server.ts";

function clientOf(server: ReplayServer, options: Partial<ApiOptions> = {}) {
  const lines: string[] = [];
  const { signal } = new AbortController();
  const log = (line: string) => lines.push(line);
  const base = new URL(server.url);
  const client = new ApiClient({
    ...{ base, timeoutMs: 600_000, signal, log, firstWaitMs: 1, advice: "check the ids" },
    ...options,
  });
  return { client, lines };
}

/** Answers with each of these in turn, then with an empty list. */
function answering(server: ReplayServer, ...answers: (() => Response)[]): void {
  server.answer = () => (answers.shift() ?? (() => Response.json({ results: [] })))();
}

const cutBody = () =>
  new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode('{"results": ['));
      setTimeout(() => controller.error(new Error("cut")));
    },
  });

Deno.test("a request is retried after 429, 5xx, a truncated body and invalid JSON", async () => {
  await using server = new ReplayServer();
  answering(
    server,
    () => new Response("", { status: 429 }),
    () => new Response("<html>", { status: 503 }),
    () => new Response(cutBody()),
    () => new Response('{"results": ['),
  );
  const { client, lines } = clientOf(server);
  assertEquals(await client.json("/api/v2/probes/"), { results: [] });
  assertEquals(server.requests.length, 5);
  assertEquals(lines.length, 4);
  assertMatch(
    lines[0],
    /^127\.0\.0\.1:\d+: it answered 429 Too Many Requests; trying again in .* \(1 of 8\)$/,
  );
  assertMatch(lines[2], /the connection failed/);
  assertMatch(lines[3], /the answer is not JSON/);
});

Deno.test("the client honours Retry-After and X-RateLimit-Reset up to a quarter of an hour", async () => {
  await using server = new ReplayServer();
  using time = new SimulatedTime();
  // Dates are by the server's clock, which is two hours fast.
  const dateIn = (ms: number) => new Date(Date.now() + 7_200_000 + ms).toUTCString();
  answering(
    server,
    () => new Response("", { status: 429, headers: { "Retry-After": "7" } }),
    () => new Response("", { status: 503, headers: { "Retry-After": dateIn(5000), Date: dateIn(0) } }),
    // Waits as long as after a failure without such a header.
    () => new Response("", { status: 503, headers: { "Retry-After": "0" } }),
    () => new Response("", { status: 429, headers: { "X-RateLimit-Reset": "900" } }),
  );
  const { client, lines } = clientOf(server, { firstWaitMs: 1000, timeoutMs: 1e9 });
  const answered = client.json("/");
  for (const waitMs of [7000, 5000, 1000, 900_000]) await time.passWait(waitMs);
  await answered;
  assertEquals(lines.length, 4);
  answering(server, () => new Response("", { status: 429, headers: { "Retry-After": "901" } }));
  const error = await assertRejects(() => client.json("/"), UserError);
  assertMatch(
    error.message,
    /answered 429 Too Many Requests and asks to wait .*; run the same command again then/,
  );
});

Deno.test("a rejected request is not retried, and its error quotes the server", async () => {
  await using server = new ReplayServer();
  const { client } = clientOf(server);
  for (
    const [status, body, expected] of [
      [
        404,
        { error: { detail: "Not\n found." } },
        /the server answered 404 Not Found \(Not found\.\); check the ids/,
      ],
      [
        403,
        { error: { title: "Forbidden" } },
        /403 Forbidden \(Forbidden\); expected a key with access to this/,
      ],
      [422, { error: { message: "No suitable probes found." } }, /422 .*\(No suitable probes found\.\)/],
      [400, "no JSON", /400 Bad Request; check the ids/],
      // Without a body, or with part of one.
      [204, null, /the server answered 204 .*; expected 200 and the complete answer/],
      [206, [], /the server answered 206 .*; expected 200 and the complete answer/],
      [
        400,
        { status: "error", errorType: "bad_data", error: "1:15: parse error" },
        /\(bad_data: 1:15: parse error\)/,
      ],
    ] as const
  ) {
    answering(server, () => new Response(body && JSON.stringify(body), { status }));
    const error = await assertRejects(() => client.json("/"), UserError);
    assertMatch(error.message, expected);
    assert(!error.message.includes("\n"));
  }
  assertEquals(server.requests.length, 7);
});

Deno.test("nowS() returns the server's time, or the local time with a log line if answers have no Date", async () => {
  await using server = new ReplayServer();
  using time = new SimulatedTime();
  const serverMs = Date.now() - 7_200_000;
  server.date = () => new Date(serverMs).toUTCString();
  const { client, lines } = clientOf(server, { timeoutMs: 1e9 });
  assertEquals(await client.nowS(), serverMs / 1000);
  time.pass(10_000);
  assertEquals(await client.nowS(), serverMs / 1000 + 10);
  answering(server);
  await client.json("/");
  assertEquals(await client.nowS(), serverMs / 1000);
  assertEquals([lines, server.requests.length], [[], 1]);
  server.date = () => "yesterday";
  const dateless = clientOf(server, { timeoutMs: 1e9 });
  for (let i = 0; i < 2; i++) assertEquals(await dateless.client.nowS(), Math.floor(Date.now() / 1000));
  assertEquals(dateless.lines, [
    `${new URL(server.url).host}: its answers have no Date header, so this machine's clock is used`,
  ]);
});

Deno.test("all members of a gzip answer are read, and a truncated answer is requested again", async () => {
  await using server = new ReplayServer();
  const headers = { "Content-Encoding": "gzip" };
  const members = [...gzipSync('{"results": '), ...gzipSync("[1, 2]}")];
  answering(
    server,
    () => new Response(new Uint8Array(members), { headers }),
    () => new Response(new Uint8Array(members.slice(0, -20)), { headers }),
    () =>
      new Response(new Uint8Array(gzipSync('{"error": {"detail": "no such id"}}')), { status: 404, headers }),
  );
  const { client, lines } = clientOf(server);
  assertEquals(await client.json("/"), { results: [1, 2] });
  await assertRejects(() => client.json("/"), UserError, "404 Not Found (no such id)");
  assertEquals(lines.length, 1);
  assertMatch(lines[0], /the answer is not complete gzip; trying again/);
});

Deno.test("an answer of more than 67.1 MB is rejected", async () => {
  await using server = new ReplayServer();
  const chunk = new Uint8Array(1 << 20);
  answering(
    server,
    () => new Response(new ReadableStream({ pull: (controller) => controller.enqueue(chunk) })),
  );
  const { client } = clientOf(server);
  const error = await assertRejects(() => client.json("/"), UserError);
  assertEquals(
    error.message,
    "Cannot read an answer: it has more than 67.1 MB; request less, or a shorter time span",
  );
});

Deno.test("request paths are appended to the path of the base", async () => {
  await using server = new ReplayServer();
  answering(server);
  for (const base of ["/", "/prometheus", "/prometheus/"]) {
    await clientOf(server, { base: new URL(base, server.url) }).client.json("/api/v1/query?x=1");
  }
  assertEquals(server.requests.map(({ path, query }) => `${path} ${query}`), [
    "/api/v1/query x=1",
    "/prometheus/api/v1/query x=1",
    "/prometheus/api/v1/query x=1",
  ]);
});

Deno.test("a redirect is not followed, so no other host receives a key", async () => {
  await using server = new ReplayServer();
  await using other = new ReplayServer();
  answering(server, () => new Response("", { status: 302, headers: { Location: `${other.url}/x` } }));
  const { client } = clientOf(server, { authorization: "Key secret-1234" });
  const error = await assertRejects(() => client.json("/"), UserError, `it redirects to ${other.url}/x`);
  assert(!error.message.includes("secret"));
  assertEquals(other.requests.length, 0);
  assertEquals(server.requests[0].headers.get("Authorization"), "Key secret-1234");
  assertMatch(server.requests[0].headers.get("User-Agent") ?? "", /^ping-llm\/\d/);
});

Deno.test("silence ends an attempt, but a slow body does not", async () => {
  await using server = new ReplayServer();
  using time = new SimulatedTime();
  const silent = () =>
    new Response(new ReadableStream({ start: (body) => body.enqueue(new Uint8Array([0x7b])) }));
  let numPieces = 0;
  const slow = () =>
    new Response(
      new ReadableStream({
        pull(controller) {
          const { promise, resolve } = Promise.withResolvers<void>();
          setTimeout(() => {
            if (numPieces++ < 12) controller.enqueue(new TextEncoder().encode(" "));
            else {
              controller.enqueue(new TextEncoder().encode("[1]"));
              controller.close();
            }
            resolve();
          }, 300);
          return promise;
        },
      }),
    );
  answering(server, silent, slow);
  const { client, lines } = clientOf(server, { timeoutMs: 400 });
  const answer = client.json("/");
  await until("the request", () => server.requests.length === 1);
  await time.passWait(400);
  await time.passWait(1);
  // The time limit starts anew with each piece.
  for (let i = 0; i <= 12; i++) await time.passWait(300, 400);
  assertEquals(await answer, [1]);
  assertEquals(lines.length, 1);
  assertMatch(lines[0], /it sent nothing for/);
});

Deno.test("an unreachable server is a UserError", async () => {
  const gone = new ReplayServer();
  const { client } = clientOf(gone);
  await gone[Symbol.asyncDispose]();
  const error = await assertRejects(() => client.json("/"), UserError);
  assertMatch(
    error.message,
    /^Cannot fetch http:\/\/127\.0\.0\.1:\d+\/: the connection failed \(.*refused.*\), 8 times; run/,
  );
});

Deno.test("an interruption ends a request, its body or a wait at once", async () => {
  await using server = new ReplayServer();
  const endless = Promise.withResolvers<Response>();
  let stopped = new AbortController();
  const stop = () => stopped.abort(new InterruptedError("SIGINT"));
  const clientWith = (options: Partial<ApiOptions> = {}) => {
    stopped = new AbortController();
    return clientOf(server, { signal: stopped.signal, ...options }).client;
  };
  server.answer = () => endless.promise;
  server.onRequest = stop;
  await assertRejects(() => clientWith().json("/"), InterruptedError);
  server.onRequest = () => {};
  endless.resolve(new Response(""));

  server.answer = () =>
    new Response(new ReadableStream({ start: (body) => body.enqueue(new Uint8Array(4)) }));
  const read = async (body: AsyncIterable<Uint8Array>) => {
    for await (const _ of body) setTimeout(stop);
  };
  await assertRejects(() => clientWith().get("/", read), InterruptedError);

  server.answer = () => new Response("", { status: 429, headers: { "Retry-After": "600" } });
  const waiting = clientWith({ log: () => void setTimeout(stop) });
  await assertRejects(() => waiting.json("/"), InterruptedError);
});

Deno.test("readKey() reads a file or a variable, and never shows an invalid key", () => {
  using folder = new TemporaryFolder();
  const path = folder.at("key");
  Deno.writeTextFileSync(path, "1233-3434-4556\n");
  Deno.env.delete("FETCH_TEST_KEY");
  assertEquals(readKey(undefined, "FETCH_TEST_KEY"), undefined);
  assertEquals(readKey(path, "FETCH_TEST_KEY"), "1233-3434-4556");
  Deno.env.set("FETCH_TEST_KEY", "abc");
  assertEquals(readKey(undefined, "FETCH_TEST_KEY"), "abc");
  assertEquals(readKey(path, "FETCH_TEST_KEY"), "1233-3434-4556");
  Deno.env.delete("FETCH_TEST_KEY");
  for (const content of ["", "two words", "secret\nsecret", "sécret"]) {
    Deno.writeTextFileSync(path, content);
    const error = assertThrows(() => readKey(path, "FETCH_TEST_KEY"), UserError, path);
    assert(!/s.cret|words/.test(error.message), error.message);
  }
});

Deno.test("parseBase() accepts a scheme and a host, and a path only where allowed", () => {
  assertEquals(parseBase("https://atlas.ripe.net").href, "https://atlas.ripe.net/");
  assertEquals(parseBase("http://[::1]:8080/").port, "8080");
  for (const text of ["atlas.ripe.net", "https://a/b", "ftp://a", "https://user:key@a", "https://a/?x", ""]) {
    assertThrows(() => parseBase(text), UsageError, "Cannot use --url");
  }
  assertEquals(parseBase("https://a/b/c", true).pathname, "/b/c");
  for (const text of ["ftp://a/b", "https://user:key@a/b", "https://a/b?x", "https://a/b#x"]) {
    assertThrows(() => parseBase(text, true), UsageError, "and a path");
  }
});
