import { assert, assertEquals, assertMatch, assertNotEquals, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import * as z from "zod";
import { modelAnswerSchema, problemSchema, statusCheckAnswerSchema } from "../../lib/serve/api/schemas.ts";
import { QUESTIONS } from "../../lib/query/questions/questions.ts";
import { watch } from "../../lib/query/questions/watch.ts";
import { runStageProcess } from "../cli/process.ts";
import { withCheckpoint } from "../query/tiny_checkpoint.ts";
import { until } from "../until.ts";
import { LINES, PAIR, PAIR_QUERY, TestServer } from "./test_server.ts";

/** Parses an answer, which must have exactly the fields of a schema. */
async function answerOf<Schema extends z.ZodObject>(
  schema: Schema,
  response: Promise<Response>,
): Promise<z.output<Schema>> {
  const { status, text } = await response.then(async (r) => ({ status: r.status, text: await r.text() }));
  assertEquals(status, 200, text);
  return schema.strict().parse(JSON.parse(text)) as z.output<Schema>;
}

const MANY_NODES = Array.from({ length: 65 }, (_, i) => `10.0.0.${i}`);

async function requireProblem(
  response: Promise<Response>,
  status: number,
  detail: RegExp,
): Promise<Response> {
  const found = await response;
  assertEquals(found.headers.get("content-type"), "application/problem+json");
  const problem = problemSchema.strict().parse(await found.json());
  assertEquals([found.status, problem.status], [status, status], problem.detail);
  assertMatch(problem.detail, detail);
  return found;
}

Deno.test("serve answers every route", (test) =>
  withCheckpoint(async (folder, checkpoint) => {
    await using server = await TestServer.start(checkpoint);
    const step = (name: string, run: () => Promise<void>) => test.step(name, run);

    await step("POST /v1/rtt:batch answers each line, in order, with an answer or an error", async () => {
      const long = { ...PAIR, context: [], time: "x".repeat(2 ** 20) };
      const lines = [
        PAIR,
        { ...PAIR, dst: "::1" },
        "{",
        "",
        "\xff",
        { ...PAIR, quantiles: [0.9] },
        long,
        PAIR,
      ];
      const answers = await server.postLines("/v1/rtt:batch?quantiles=0.5", lines);
      assertEquals(answers.map(({ line }) => line), [1, 2, 3, 5, 6, 7, 8]);
      const isAnswer = [true, false, false, false, true, false, true];
      assertEquals(answers.map(({ error }) => error === undefined), isAnswer);
      assertStringIncludes(String(answers[5].error), "expected at most 1048576 per line");
      assertEquals([0, 4].map((i) => Object.keys(answers[i].quantiles_ms as object)), [["0.5"], ["0.9"]]);
      const bytes = new Uint8Array([...new TextEncoder().encode(JSON.stringify(PAIR) + "\n"), 0xff, 0x0a]);
      const response = await server.fetch("/v1/rtt:batch", { method: "POST", headers: LINES, body: bytes });
      assertEquals(response.headers.get("content-type"), "application/x-ndjson");
      assertStringIncludes(
        (await response.text()).split("\n")[1],
        '{"line":2,"error":"found bytes that are not UTF-8',
      );
    });

    await step("a batch is answered while its lines arrive", async () => {
      const sent = new TransformStream<Uint8Array, Uint8Array>();
      const writer = sent.writable.getWriter();
      const line = new TextEncoder().encode(JSON.stringify(PAIR) + "\n");
      void writer.write(line);
      const options = { method: "POST", headers: LINES, body: sent.readable };
      const response = await server.fetch("/v1/rtt:batch", options);
      const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
      for (let number = 1; number < 4; number++) {
        assertEquals(JSON.parse((await reader?.read())?.value ?? "").line, number);
        if (number < 3) await writer.write(line);
        else await writer.close();
        if (number === 3) break;
      }
      assertEquals((await reader?.read())?.done, true);
    });

    await step("GET and POST /v1/places return a bounded number of matches for a text", async () => {
      const found = await answerOf(QUESTIONS.places.answer, server.fetch("/v1/places?q=192.0.2.1&count=3"));
      assertEquals(found, { q: "192.0.2.1", places: [{ text: "192.0.2.1", position: null }] });
      const asked = { q: "192.0.2.1", count: 3 };
      assertEquals(await answerOf(QUESTIONS.places.answer, server.post("/v1/places", asked)), found);
      await requireProblem(server.fetch("/v1/places?q=a&count=51"), 400, /count/);
      await requireProblem(server.fetch("/v1/places"), 400, /q/);
    });

    await step("POST /v1/watch reports alarms across requests, and status checks include them", async () => {
      const startS = 1_480_000_000;
      const measured = (from: number, to: number) =>
        Array.from({ length: to - from }, (_, i) => {
          const levelMs = from + i >= 60 && from + i < 90 ? 58 : 20;
          const rtt = levelMs + 0.1 * ((from + i) % 3);
          return { ...PAIR, time: startS + 240 * (from + i), rtt, msm_id: 1001, prb_id: 77 };
        });
      const check = (id: number | string, asked = "") =>
        server.fetch(`/api/v2/measurements/${id}/status-check${asked}`);
      await requireProblem(check(1001), 404, /no watched measurement has that msm_id or dst/);
      // Wrong clocks in other measurements must not hide anything about the pair.
      const wrong = { ...PAIR, time: "2099-12-31", rtt: 3 };
      const ahead = { ...PAIR, time: startS + 1e8, rtt: 3 };
      const others = [
        "{",
        { ...PAIR, rtt: 3 },
        { ...PAIR, tme: startS, rtt: 3 },
        wrong,
        ahead,
      ];
      const faults = await server.postLines("/v1/watch", [...measured(0, 50), ...others]);
      assertEquals(faults.map(({ line }) => line), [51, 52, 53, 54]);
      assertStringIncludes(String(faults[3].error), "time must not be in the future");
      assertStringIncludes(String(faults[1].error), "time must be given");
      const [begin, ...more] = await server.postLines("/v1/watch", measured(50, 91));
      assertEquals(more, []);
      const { line, event, cause, expected_ms, per_day, size_ms } = watch.answer.extend({ line: z.int() })
        .strict().parse(begin);
      assertEquals([line, event], [16, "begin"]);
      assert(Math.abs(Number(size_ms) - 38) < 0.5 && cause === "shift" && per_day === 1);
      assertEquals(Object.keys(expected_ms ?? {}), ["5", "50", "95"]);
      const answer = await answerOf(statusCheckAnswerSchema, check(1001));
      assertEquals([answer.global_alert, answer.total_alerts], [true, 1]);
      const { all, last, ...probe } = answer.probes[77];
      assert(Math.abs(Number(last) - 20) < 0.02);
      assertEquals(probe, { alert: true, last_packet_loss: 0, source: PAIR.src });
      assertEquals(all?.length, 42);
      const permitted = await answerOf(
        statusCheckAnswerSchema,
        check(PAIR.dst, "/?permitted_total_alerts=1"),
      );
      assertEquals([permitted.global_alert, permitted.total_alerts], [false, 1]);
      await requireProblem(check(1001, "?lookback=10"), 400, /expected only permitted_total_alerts/);
      const [end, late] = await server.postLines("/v1/watch", [...measured(91, 130), ...measured(99, 100)]);
      assertEquals([end.event, end.reason], ["end", "usual"]);
      assertStringIncludes(String(late.error), "time must not be before the pair's earlier measurements");
      const lost = { ...PAIR, time: startS + 240 * 130, rtt: null, prb_id: 77 };
      assertEquals(
        await (await server.fetch("/v1/watch", {
          method: "POST",
          headers: LINES,
          body: JSON.stringify(lost),
        })).text(),
        "",
      );
      const calm = await answerOf(statusCheckAnswerSchema, check(1001, "?show_all=true"));
      assertEquals([calm.global_alert, calm.probes[77].last, calm.probes[77].last_packet_loss], [
        false,
        null,
        100,
      ]);
      assertEquals(calm.probes[77].all?.length, 42);
      assertEquals(
        (await answerOf(statusCheckAnswerSchema, check(1001, "?max_packet_loss=75"))).total_alerts,
        1,
      );
      assertStringIncludes(
        await (await server.fetch("/metrics")).text(),
        "ping_llm_watch_measurements_total 134\n",
      );
    });

    await step("the model, description, health and page routes answer", async () => {
      const model = await answerOf(modelAnswerSchema, server.fetch("/v1/model"));
      assertEquals([model.step, model.evaluation, model.is_calibrated], [3, null, false]);
      const { paths } = await (await server.fetch("/openapi.json")).json();
      for (const [path, methods] of Object.entries<object>(paths)) {
        const allow = (await server.fetch(path, { method: "OPTIONS" })).headers.get("allow")?.split(", ") ??
          [];
        const named = Object.keys(methods).map((method) => method.toUpperCase());
        assertEquals(allow.filter((method) => named.includes(method)).sort(), named.sort(), path);
        const operations = Object.entries<{ parameters: { name: string; in: string }[] }>({ ...methods });
        for (const [method, { parameters }] of operations) {
          const asked = method === "post" ? { method: "POST", headers: LINES, body: "\n" } : {};
          for (const { name, in: place } of parameters) {
            if (place === "path") continue;
            const text = await (await server.fetch(`${path}?${name}=1`, asked)).text();
            assert(!text.includes("expected only"), `${method} ${path}: ${text}`);
          }
        }
      }
      assertEquals(await (await server.fetch("/healthz")).text(), "ok\n");
      const page = await server.fetch("/");
      const policy = page.headers.get("content-security-policy") ?? "";
      const text = await page.clone().text();
      const own = /http-equiv="Content-Security-Policy"\s+content="([^"]*)"/.exec(text)?.[1];
      assertEquals(policy, `${own}; frame-ancestors 'none'`, "the header and the page say the same");
      assertStringIncludes(policy, "script-src 'self';");
      const known = await server.fetch("/", { headers: { "if-none-match": page.headers.get("etag") ?? "" } });
      assertEquals([known.status, known.headers.get("content-security-policy")], [304, policy]);
      assertStringIncludes(await page.text(), "default-src 'none'");
      const lengthFor = async (accepted: string) => {
        const asked = `Host: localhost\r\nAccept-Encoding: ${accepted}`;
        const answer = await server.send(`GET /page.js HTTP/1.1\r\n${asked}\r\n\r\n`);
        return [
          /^content-encoding: (.*)\r$/im.exec(answer)?.[1],
          Number(/^content-length: (.*)\r$/im.exec(answer)?.[1]),
        ] as const;
      };
      const [, plainBytes] = await lengthFor("gzip;q=0, identity");
      const [encoding, zippedBytes] = await lengthFor("br, GZIP;q=0.5");
      assertEquals(encoding, "gzip");
      assert(zippedBytes < 0.5 * plainBytes, `${zippedBytes} of ${plainBytes} bytes`);
    });

    await step("entity tags avoid repeated answers, and HEAD returns no body", async () => {
      for (const path of [`/v1/rtt?${PAIR_QUERY}`, "/v1/model", "/openapi.json", "/"]) {
        const first = await server.fetch(path);
        await first.body?.cancel();
        const etag = first.headers.get("etag") ?? "";
        assertMatch(etag, /^"[\w-]{22}(?:-gzip)?"$/);
        const again = await server.fetch(path, { headers: { "if-none-match": `"other", W/${etag}` } });
        assertEquals([again.status, await again.text(), again.headers.get("etag")], [304, "", etag]);
        const head = await server.fetch(path, { method: "HEAD" });
        assertEquals([head.status, await head.text(), head.headers.get("etag")], [200, "", etag]);
      }
      const other = await server.fetch(`/v1/rtt?${PAIR_QUERY}&cdf=2`, { method: "HEAD" });
      assertNotEquals(
        other.headers.get("etag"),
        (await server.fetch(`/v1/rtt?${PAIR_QUERY}`, { method: "HEAD" })).headers.get("etag"),
      );
    });

    await step("invalid requests return problems with the wording of a stage", async () => {
      const { stderr } = await runStageProcess([
        ...["query", "rtt", "--checkpoint", checkpoint, "--src", "nobody", "--dst", "192.0.2.1"],
      ]);
      assertStringIncludes(stderr, "expected an IPv4 or IPv6 address or prefix");
      const rtt = `/v1/rtt?${PAIR_QUERY}`;
      const lines = { method: "POST", headers: LINES, body: "{}\n" };
      const requests: [Promise<Response>, number, RegExp][] = [
        [
          server.fetch("/v1/rtt?src=nobody&dst=192.0.2.1"),
          400,
          /^Cannot answer: .*nobody.*expected an IPv4 or IPv6 address or prefix/,
        ],
        [server.fetch("/v1/rtt"), 400, /src/],
        [server.fetch(`${rtt}&src=::1`), 400, /src twice/],
        [server.fetch(`${rtt}&quantiles=0.5,2`), 400, /quantiles\[1\] 2/],
        [server.fetch(`${rtt}&quantile=1`), 400, /quantile/],
        [server.post("/v1/rtt", []), 400, /expected a JSON object/],
        [server.post("/v1/matrix", { nodes: MANY_NODES }), 400, /65 nodes .* expected at most 4096 pairs/],
        [server.post("/v1/nearest", { src: PAIR.src, candidates: [] }), 400, /candidates/],
        [
          server.post("/v1/nearest", { src: PAIR.src, candidates: [PAIR.dst, "nowhere"] }),
          400,
          /found candidates\[1\].dst "nowhere"/,
        ],
        [server.post("/v1/matrix", { nodes: [PAIR.src, "nowhere"] }), 400, /nodes\[1\]: found dst "nowhere"/],
        [server.post("/v1/rtt", PAIR, { body: "{" }), 400, /^Cannot read the request/],
        [server.fetch("/v1/rtt:batch?quantiles=x", lines), 400, /quantiles/],
        [server.post("/v1/rtt", PAIR, { headers: {} }), 415, /content-type: application\/json/],
        [server.post("/v1/rtt:batch", PAIR), 415, /application\/x-ndjson; add/],
        [
          server.post("/v1/score", PAIR, { headers: { "content-type": "application/pdf" } }),
          415,
          /x-ndjson, or text\/plain for measurements/,
        ],
        [server.post("/v1/rtt", "x".repeat(2 ** 20)), 413, /the limit of 1048576 bytes/],
        [server.fetch("/v2"), 404, /no such path/],
        [server.post("/v1/rtt:all", PAIR), 404, /no such path/],
      ];
      for (const [request, status, detail] of requests) await requireProblem(request, status, detail);
      const deleted = server.fetch("/v1/rtt", { method: "DELETE" });
      const removed = await requireProblem(deleted, 405, /GET, HEAD, POST/);
      assertEquals(removed.headers.get("allow"), "GET, HEAD, POST, OPTIONS");
    });

    await step("a text in UTF-16 or Latin-1 is read", async () => {
      const text = `\ufeffsrc,dst,rtt\n${PAIR.src},${PAIR.dst},5\n`;
      const body = Uint16Array.from(text, (character) => character.charCodeAt(0));
      const headers = { "content-type": "text/csv" };
      const latin = Uint8Array.from(text.replace("\ufeff", "# \xfc\n"), (letter) => letter.charCodeAt(0));
      for (const [posted, line] of [[body, 2], [latin, 3]] as const) {
        const response = await server.fetch("/v1/score", { method: "POST", headers, body: posted });
        assertStringIncludes(await response.text(), `{"line":${line},"src":"${PAIR.src}"`);
      }
    });
    await step("other origins may not read answers, and other host names get 421", async () => {
      const headers = { origin: "https://example.org", "access-control-request-method": "POST" };
      const preflight = await server.fetch("/v1/rtt", { method: "OPTIONS", headers });
      assertEquals(preflight.headers.get("access-control-allow-origin"), null);
      const rebound = await server.send(
        "GET /healthz HTTP/1.1\r\nHost: example.org\r\nConnection: close\r\n\r\n",
      );
      assertMatch(rebound, /^HTTP\/1.1 421 Misdirected Request\r\n[^]*example\.org/);
      for (const host of ["localhost", "a.localhost:8080", "127.0.0.2", "[::1]:99"]) {
        const head = `GET /healthz HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
        assertMatch(await server.send(head), /^HTTP\/1.1 200 OK/, host);
      }
    });

    await step("pages of other sites may not send POSTs", async () => {
      const numWatched = async () =>
        /measurements_total \d+/.exec(await (await server.fetch("/metrics")).text())?.[0];
      const before = await numWatched();
      const post = async (path: string, headers: Record<string, string>) => {
        const body = "src,dst,time,rtt_ms\n192.0.2.1,198.51.100.7,2026-11-01,9\n";
        const options = { method: "POST", headers: { "content-type": "text/plain", ...headers }, body };
        const { status, body: answer } = await server.fetch(path, options);
        await answer?.cancel();
        return status;
      };
      const { host, origin } = new URL(server.url);
      const foreign: Record<string, string>[] = [
        { "origin": "https://example.org" },
        { "origin": "null" },
        { "origin": `http://example.org@${host}.example.org` },
        { "origin": origin.replace(/\d+$/, "9") },
        { "origin": "https://example.org", "sec-fetch-site": "none" },
        { "origin": "https://example.org", "sec-fetch-site": "cross-site" },
        { "sec-fetch-site": "same-site" },
        { "sec-fetch-site": "cross-site" },
      ];
      const paths = [...Object.keys(QUESTIONS).flatMap((name) => [`/v1/${name}`, `/v1/${name}:batch`])];
      for (const path of [...paths, "/v1/score", "/v1/watch", "/mcp", "/"]) {
        const statuses = await Promise.all(foreign.map((headers) => post(path, headers)));
        assertEquals(statuses, foreign.map(() => 403), path);
      }
      assertEquals(await numWatched(), before);
      const own: Record<string, string>[] = [
        {},
        { origin },
        { "sec-fetch-site": "none" },
        { origin, "sec-fetch-site": "same-origin" },
        // A proxy has changed the host.
        { "origin": "https://example.org", "sec-fetch-site": "same-origin" },
      ];
      for (const headers of own) assertEquals(await post("/v1/watch", headers), 200);
    });

    await step("an IPv4-mapped address is its IPv4 address", async () => {
      const context = [{ ...PAIR, time: 1_500_000_000, rtt: 9 }];
      const mapped = ({ src, dst }: typeof PAIR) => ({ src: `::ffff:${src}`, dst: `::ffff:${dst}` });
      const asked = (ends: typeof PAIR, of: typeof PAIR) => ({
        ...ends,
        time: 1_500_000_060,
        context: context.map((each) => ({ ...each, ...of })),
      });
      const plain = await answerOf(QUESTIONS.rtt.answer, server.post("/v1/rtt", asked(PAIR, PAIR)));
      const same = server.post("/v1/rtt", asked(mapped(PAIR), mapped(PAIR)));
      assertEquals(await answerOf(QUESTIONS.rtt.answer, same), { ...plain, ...mapped(PAIR) });
      const status = server.fetch(`/api/v2/measurements/::ffff:${PAIR.dst}/status-check`);
      const { probes } = await answerOf(statusCheckAnswerSchema, status);
      assertEquals(Object.keys(probes), [PAIR.src]);
      const line = { ...mapped(PAIR), time: 1_500_000_000, rtt: 9 };
      const [{ src, dst }] = await server.postLines("/v1/score", [line]);
      assertEquals({ src, dst }, PAIR);
    });

    const ask = async (head: string[], expected: RegExp) =>
      assertMatch(await server.send(head.join("\r\n") + "\r\n\r\n"), expected);

    await step("a client that half-closes the connection gets its answer", async () => {
      using connection = await Deno.connect({ hostname: "127.0.0.1", port: server.port });
      const request = `GET /v1/rtt?${PAIR_QUERY} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`;
      await connection.write(new TextEncoder().encode(request));
      await connection.closeWrite();
      const answer = await new Response(connection.readable).text();
      assertMatch(answer, /^HTTP\/1.1 200 [^]*"quantiles_ms"/);
    });

    await step("HTTP/1.0 needs no Host, and HTTP/1.1 exactly one", async () => {
      await ask(["GET /healthz HTTP/1.0"], /^HTTP\/1.1 200 [^]*ok\n$/);
      await ask(["GET /healthz HTTP/1.1"], /^HTTP\/1.1 400 [^]*found 0 Host fields, expected one/);
      const hosts = ["Host: localhost", "Host: evil.example"];
      await ask(["GET /healthz HTTP/1.1", ...hosts], /^HTTP\/1.1 400 [^]*found 2 Host fields, expected one/);
      await ask(["GET /healthz HTTP/1.1", "Host: localhost.", "Connection: close"], /^HTTP\/1.1 200 /);
      await ask(
        ["GET /healthz HTTP/1.1", "Host: localhost.evil.example", "Connection: close"],
        /^HTTP\/1.1 421 /,
      );
    });

    await step("an encoded body gets 415", async () => {
      const headers = { "content-type": "application/json", "content-encoding": "gzip" };
      const response = server.post("/v1/rtt", PAIR, { headers });
      await requireProblem(response, 415, /its content encoding is gzip, expected none/);
    });

    await step("metrics are counted by route and status", async () => {
      const response = await server.fetch("/metrics");
      assertEquals(response.headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8");
      const text = await response.text();
      const sample = /^[a-z_]+(?:\{[a-z]+="[^"\n]*"(?:,[a-z]+="[^"\n]*")*\})? [-+.\de]+$/;
      for (const line of text.trimEnd().split("\n")) {
        assertMatch(line, /^# /.test(line) ? /^# (?:HELP|TYPE) [a-z_]+ ./ : sample);
      }
      assertStringIncludes(text, 'ping_llm_requests_total{route="/v1/rtt",status="415"} 2\n');
      assertStringIncludes(text, 'ping_llm_requests_total{route="none",status="404"} 2\n');
      assertStringIncludes(text, 'ping_llm_request_seconds_bucket{route="/v1/rtt:batch",le="+Inf"}');
      assertMatch(text, /^ping_llm_batch_queries_sum [1-9]/m);
      assertMatch(text, /^ping_llm_queue_length 0$/m);
    });

    await step("a port in use, invalid hosts and origins, and unsuitable reports are errors", async () => {
      const serve = (...args: string[]) =>
        runStageProcess(["serve", "--checkpoint", checkpoint, ...args], { flags: ["--allow-net"] });
      const taken = await serve("--port", String(server.port));
      assertEquals(taken.code, 1);
      assertStringIncludes(taken.stderr, `error: Cannot listen at 127.0.0.1:${server.port}: another program`);
      for (const [option, value] of [["--host", "localhost"], ["--allow-origin", "example.org"]]) {
        const { stderr } = await serve(option, value);
        assertStringIncludes(stderr, `error: Cannot use ${option} ${value}: `);
      }
      const report = join(folder, "report.json");
      Deno.writeTextFileSync(report, "{}");
      assertStringIncludes((await serve("--report", report)).stderr, "it is not the report.json of an eval");
      const run = { modelSha256: "0", numMeasurements: 1, split: "test" };
      Deno.writeTextFileSync(report, JSON.stringify({ run }));
      assertStringIncludes((await serve("--report", report)).stderr, "it is the report of another model");
    });
  }, { scale: 12 }));

Deno.test("serve --allow-origin allows only that origin, and --max-request-s ends reading", () =>
  withCheckpoint(async (_, checkpoint) => {
    const origin = "https://example.org";
    const limits = ["--max-request-s", "1", "--max-body-bytes", String(2 ** 25)];
    await using server = await TestServer.start(checkpoint, "--allow-origin", origin, ...limits);
    const allowed = async (from: string, method: string) => {
      const headers = { origin: from, "access-control-request-method": "POST" };
      const response = await server.fetch("/v1/model", { method, headers });
      await response.body?.cancel();
      return [response.status, response.headers.get("access-control-allow-origin")];
    };
    assertEquals(await allowed(origin, "GET"), [200, origin]);
    assertEquals(await allowed(origin, "OPTIONS"), [204, origin]);
    assertEquals(await allowed("https://example.com", "GET"), [200, null]);
    for (const [from, status] of [[origin, 200], ["https://example.com", 403]] as const) {
      const headers = { "origin": from, "sec-fetch-site": "cross-site", "content-type": "application/json" };
      const response = await server.post("/v1/rtt", PAIR, { headers });
      assertEquals((await response.body?.cancel(), response.status), status);
    }
    const named = "GET /healthz HTTP/1.1\r\nHost: example.org\r\nConnection: close\r\n\r\n";
    assertMatch(await server.send(named), /^HTTP\/1.1 200 OK/);

    // One line of three million objects takes much longer to read.
    const post = (body: string) =>
      server.fetch("/v1/watch", { method: "POST", headers: { "content-type": "text/plain" }, body });
    let isEnded = false;
    const ended = requireProblem(post(`[${'{"a":1},'.repeat(3e6)}{}]`), 503, /took more than 1 s/)
      .finally(() => isEnded = true);
    while (!isEnded) assertEquals(await (await server.fetch("/healthz")).text(), "ok\n");
    await ended;
    await until("measurements are read", async () => {
      const { status, body } = await post("src,dst,time,rtt_ms\n192.0.2.1,198.51.100.7,2026-11-01,9\n");
      await body?.cancel();
      return status === 200;
    });
  }));

Deno.test("serve --names includes names in every answer, and searches them", () =>
  withCheckpoint(async (folder, checkpoint) => {
    const names = join(folder, "names.csv");
    Deno.writeTextFileSync(names, `${PAIR.src},probe 6001\n198.51.100.0/24,"<i>Example</i>"\n`);
    await using server = await TestServer.start(checkpoint, "--names", names);
    const ends = { src_name: "probe 6001", dst_name: "<i>Example</i>" };
    const named = async (schema: z.ZodObject, response: Promise<Response>) => {
      const { src_name, dst_name } = await answerOf(schema, response) as typeof ends;
      return { src_name, dst_name };
    };
    assertEquals(await named(QUESTIONS.rtt.answer, server.fetch(`/v1/rtt?${PAIR_QUERY}`)), ends);
    assertEquals(
      await named(QUESTIONS.likelihood.answer, server.post("/v1/likelihood", { ...PAIR, rtt: 9 })),
      ends,
    );
    for (const [path, line] of [["/v1/rtt:batch", PAIR], ["/v1/score", { ...PAIR, rtt: 9 }]] as const) {
      const [{ src_name, dst_name }] = await server.postLines(path, [line]);
      assertEquals([src_name, dst_name], [ends.src_name, ends.dst_name], path);
    }
    const asked = "src=192.0.2.1&candidates=198.51.100.7,203.0.113.5";
    const { nearest, src_name } = await answerOf(
      QUESTIONS.nearest.answer,
      server.fetch(`/v1/nearest?${asked}`),
    );
    const found = nearest.map(({ candidate, name }) => `${candidate} ${name}`).sort();
    assertEquals([src_name, found], ["probe 6001", ["198.51.100.7 <i>Example</i>", "203.0.113.5 undefined"]]);
    const nodes = "192.0.2.1,198.51.100.7";
    const matrix = await answerOf(QUESTIONS.matrix.answer, server.fetch(`/v1/matrix?nodes=${nodes}`));
    const both = [ends.src_name, ends.dst_name];
    assertEquals([matrix.destination_names, matrix.rows.map((row) => row.src_name)], [both, both]);
    const { places } = await answerOf(QUESTIONS.places.answer, server.fetch("/v1/places?q=probe"));
    assertEquals(places, [{ text: "192.0.2.1", name: "probe 6001", position: null }]);
    const lines = Array.from({ length: 100 }, (_, i) => {
      const rtt = (i < 60 ? 20 : 58) + 0.1 * (i % 3);
      return { ...PAIR, time: 1_480_000_000 + 240 * i, rtt };
    });
    const [alarm] = await server.postLines("/v1/watch", lines);
    assertEquals([alarm.event, alarm.src_name, alarm.dst_name], ["begin", ends.src_name, ends.dst_name]);
    const label = `{src="192.0.2.1",dst="198.51.100.7",src_name="probe 6001",dst_name="<i>Example</i>"} 1`;
    assertStringIncludes(await (await server.fetch("/metrics")).text(), `ping_llm_watch_alarm${label}`);
  }));
