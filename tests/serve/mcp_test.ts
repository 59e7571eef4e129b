import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { getDefaultEnvironment, StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { PlaceTable } from "../../lib/data/addresses/place_table.ts";
import { openPlaces } from "../../lib/data/addresses/places/open_places.ts";
import { DEMO_CAMPAIGN } from "../../tasks/demo.command.ts";
import { runStageProcess, spawnStage } from "../cli/process.ts";
import { withCheckpoint } from "../query/tiny_checkpoint.ts";
import { PAIR, TestServer } from "./test_server.ts";

const ROOT = new URL("../../", import.meta.url);
const PLACES = PlaceTable.of(
  await openPlaces(DEMO_CAMPAIGN.places.map((path) => fromFileUrl(new URL(path, ROOT)))),
);
const MEASURED = { ...PAIR, time: 1748736000, rtt: 12.5 };

/** A question for each tool; the path under `/v1` has the tool's name. */
const QUESTIONS: Record<string, Record<string, unknown>> = {
  rtt: { ...PAIR, time: "2025-06-01", quantiles: [0.1, 0.5], context: [MEASURED] },
  destinations: { src: PAIR.src, rtt: [20, 21], top: 2, prefix_length: 8, max_expansions: 64 },
  nearest: { src: PAIR.src, candidates: ["198.51.100.7", "203.0.113.0/24"], draws: 4 },
  matrix: { nodes: ["192.0.2.1", "198.51.100.7"], destinations: ["203.0.113.0/24"], draws: 4, samples: 2 },
  places: { q: "Frankf", count: 2 },
  map: { src: PAIR.src, count: 3 },
  place: { src: PAIR.src, context: [{ ...MEASURED, dst: "212.215.133.8" }] },
  likelihood: MEASURED,
  sample: { count: 2 },
  // Fails, because the model has no coordinates.
  advise: { src: PAIR.src, candidates: ["198.51.100.7"] },
  model: {},
};
const LINE_TOOLS = ["score", "watch"];
const PINGS = [12.5, 12.6, 12.4, null].map((rtt, i) => ({ ...PAIR, time: 1748736000 + 60 * i, rtt }));

async function connected(
  transport: StdioClientTransport | StreamableHTTPClientTransport,
  mode: "legacy" | "auto",
): Promise<Client & AsyncDisposable> {
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
  await client.connect(transport);
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.close() });
}

/** Checks that a client gets the same tools and numbers as from `/v1`. */
async function checkTools(client: Client, { url }: TestServer): Promise<void> {
  const { tools: all } = await client.listTools();
  const tools = all.filter(({ name }) => !LINE_TOOLS.includes(name));
  assertEquals(tools.map(({ name }) => name).sort(), Object.keys(QUESTIONS).sort());
  for (const { name, description, inputSchema, outputSchema, annotations } of tools) {
    assert(description && outputSchema && annotations?.readOnlyHint, name);
    const asked = Object.keys(QUESTIONS[name]).filter((field) => field !== "src");
    for (const field of asked) assert(field in (inputSchema.properties ?? {}), `${name} ${field}`);
    const question = QUESTIONS[name];
    const post = { method: "POST", headers: { "content-type": "application/json" } };
    const response = await fetch(new URL(`v1/${name}`, url), {
      ...name !== "model" && { ...post, body: JSON.stringify(question) },
    });
    const expected = await response.json();
    assertEquals(response.status, name === "advise" ? 400 : 200, JSON.stringify(expected));
    // The client validates the answer against the tool's output schema.
    const { isError, structuredContent, content } = await client.callTool({ name, arguments: question });
    if (name === "advise") {
      assertEquals([isError, content], [true, [{ type: "text", text: expected.detail }]]);
      continue;
    }
    assertEquals([isError ?? false, structuredContent], [false, expected], name);
    assertEquals(content.map((part) => part.type === "text" && JSON.parse(part.text)), [expected]);
  }
  const wrong = { ...PAIR, src: "nobody" };
  const refused = await (await fetch(new URL("v1/rtt?src=nobody&dst=198.51.100.7", url))).json();
  const { isError, content } = await client.callTool({ name: "rtt", arguments: wrong });
  assertEquals([isError, content], [true, [{ type: "text", text: refused.detail }]]);
  const unknown = await client.callTool({ name: "rtt", arguments: { ...PAIR, cdfs: 2 } });
  assertMatch(
    JSON.stringify(unknown),
    /Cannot answer: found \\"cdfs\\", expected only src, .*"isError":true/,
  );
}

/** Checks that tools for many measurements return the same numbers as the lines of `/v1`. */
async function checkLineTools(client: Client, server: TestServer): Promise<void> {
  const { tools } = await client.listTools();
  const found = tools.filter(({ name }) => LINE_TOOLS.includes(name));
  assertEquals(found.map(({ name, annotations }) => [name, annotations?.readOnlyHint]), [
    ["score", true],
    ["watch", false],
  ]);
  const lines = [...PINGS, { ...PAIR, src: "nobody", rtt: 1 }];
  const answersOf = async (name: string, args: Record<string, unknown>) => {
    const { isError, structuredContent } = await client.callTool({ name, arguments: args });
    assertEquals(isError ?? false, false, name);
    return (structuredContent as { answers: Record<string, unknown>[] }).answers;
  };
  const scored = await answersOf("score", { measurements: lines, context: 2, seed: 5 });
  assertEquals(scored, await server.postLines("/v1/score?context=2&seed=5", lines));
  assert(Number(scored[3].loss_run_p_value) < 1 && scored[4].error);
  // `watch` answers only lines with events or errors; after another client, all lines but the newest are late.
  const watched = await answersOf("watch", { measurements: lines });
  const late = watched.filter(({ error }) => /must not be before/.test(String(error)));
  assert([0, PINGS.length - 1].includes(late.length));
  assertEquals(watched.slice(late.length), [scored[4]]);
  const { isError, content } = await client.callTool({ name: "score", arguments: { measurements: "x" } });
  assertEquals(isError, true);
  assertMatch(JSON.stringify(content), /Cannot answer: .*measurements.*array/);
}

/** Requests with null parameters, and unanswerable requests; all have an id. */
const ODD_REQUESTS: readonly { id: string; params?: unknown; [field: string]: unknown }[] = [
  { id: "list", method: "tools/list", params: null },
  { id: "cursor", method: "tools/list", params: { cursor: null, _meta: null } },
  { id: "model", method: "tools/call", params: { name: "model", arguments: null } },
  {
    id: "rtt",
    method: "tools/call",
    params: { name: "rtt", arguments: { ...PAIR, time: null, context: null, quantiles: "[0.1,0.9]" } },
  },
  {
    id: "likelihood",
    method: "tools/call",
    params: { name: "likelihood", arguments: { ...PAIR, rtt: null } },
  },
  {
    id: "deep",
    method: "tools/call",
    params: {
      name: "model",
      _meta: { progressToken: null, a: JSON.parse("[".repeat(9999) + "]".repeat(9999)) },
    },
  },
  { id: "array", method: "tools/call", params: [] },
  { id: "number", method: 7 },
  { id: "nothing" },
];

/** Checks that each odd request is answered with its id. */
function checkOddAnswers(
  answers: readonly { id?: unknown; result?: Record<string, unknown>; error?: unknown }[],
) {
  const byId = new Map(answers.map((answer) => [answer.id, answer]));
  assertEquals([...byId.keys()].sort(), ODD_REQUESTS.map(({ id }) => id).sort());
  for (const id of ["list", "cursor"]) assert(Array.isArray(byId.get(id)?.result?.tools), id);
  for (const id of ["model", "deep", "rtt", "likelihood"]) {
    const result = byId.get(id)?.result;
    assertEquals(result?.isError, undefined, JSON.stringify(result));
    assert(result?.structuredContent, id);
  }
  for (const id of ["array", "number", "nothing"]) assert(byId.get(id)?.error, id);
}

/** The command that CLIENTS.md tells assistants to run. */
function stdioOf(checkpoint: string): StdioClientTransport {
  const readme = Deno.readTextFileSync(new URL("lib/serve/CLIENTS.md", ROOT));
  const [, text] = /```json\n([^]*?"mcpServers"[^]*?)```/.exec(readme) ?? [];
  const { command, args } = JSON.parse(text).mcpServers["ping-llm"];
  assertEquals(command, "deno");
  const backend = Deno.env.get("DENO_WEBGPU_BACKEND");
  return new StdioClientTransport({
    command: Deno.execPath(),
    args: args.map((arg: string) =>
      arg.replace("/home/me/ping-llm/", fromFileUrl(ROOT)).replace("runs/demo/train", checkpoint)
    ),
    env: { ...getDefaultEnvironment(), NO_COLOR: "1", ...backend && { DENO_WEBGPU_BACKEND: backend } },
    stderr: "pipe",
  });
}

Deno.test("MCP tools return the answers of /v1 over HTTP and standard input", (test) =>
  withCheckpoint(async (_, checkpoint) => {
    await using server = await TestServer.start(checkpoint);
    const url = new URL("mcp", server.url);

    for (const mode of ["legacy", "auto"] as const) {
      await test.step(`over HTTP, ${mode}`, async () => {
        await using client = await connected(new StreamableHTTPClientTransport(url), mode);
        const isModern = (client.getNegotiatedProtocolVersion() ?? "") >= "2026";
        assertEquals(isModern, mode === "auto");
        assertMatch(client.getInstructions() ?? "", /ping/);
        await checkTools(client, server);
        await checkLineTools(client, server);
      });
    }

    await test.step("over standard input and output", async () => {
      const transport = stdioOf(checkpoint);
      let errors = "";
      transport.stderr?.on("data", (chunk) => errors += chunk);
      await using client = await connected(transport, "legacy");
      await checkTools(client, server);
      assertEquals(errors, "");
    });

    await test.step("requests with null parameters and errors keep their ids over HTTP", async () => {
      const headers = { "content-type": "application/json", "accept": "application/json, text/event-stream" };
      const answers = ODD_REQUESTS.map(async (request) => {
        const text = await (await server.post("/mcp", { jsonrpc: "2.0", ...request }, { headers })).text();
        return JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text);
      });
      checkOddAnswers(await Promise.all(answers));
    });

    await test.step("/mcp applies the limits of the other routes", async () => {
      const call = (name: string) => ({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name } });
      const large = await server.post("/mcp", { ...call("rtt"), _: "x".repeat(2 ** 20) });
      assertEquals(large.status, 413);
      assertMatch((await large.json()).detail, /the limit of 1048576 bytes/);
      const typed = await server.post("/mcp", call("rtt"), { headers: { "content-type": "text/plain" } });
      assertEquals([typed.status, (await typed.json()).title], [415, "Unsupported Media Type"]);
      const got = await server.fetch("/mcp");
      assertEquals([got.status, got.headers.get("allow")], [405, "POST, OPTIONS"]);
      await got.body?.cancel();
      const head = "POST /mcp HTTP/1.1\r\nContent-Length: 0\r\nConnection: close\r\n";
      assertMatch(await server.send(`${head}Host: example.org\r\n\r\n`), /^HTTP\/1.1 421 /);
      const text = await (await server.fetch("/metrics")).text();
      assertStringIncludes(text, 'ping_llm_requests_total{route="/mcp",status="413"} 1\n');
    });
  }, { scale: 12, places: PLACES }));

Deno.test("serve --mcp prints only protocol lines, and exits after answering all of its input", (test) =>
  withCheckpoint(async (_, checkpoint) => {
    const serve = ["serve", "--mcp", "--checkpoint", checkpoint];
    const lines = [
      { id: 0, method: "initialize", params: { protocolVersion: "2025-06-18", capabilities: {} } },
      { method: "notifications/initialized" },
      // Some clients send arguments as a text.
      {
        id: 1,
        method: "tools/call",
        params: { name: "rtt", arguments: JSON.stringify({ ...PAIR, time: "" }) },
      },
      { id: 2, method: "tools/call", params: { name: "rtts", arguments: PAIR } },
    ].map((message) => JSON.stringify({ jsonrpc: "2.0", ...message }));
    lines[0] = lines[0].replace(
      '"capabilities":{}',
      '"capabilities":{},"clientInfo":{"name":"a","version":"1"}',
    );

    await test.step("piped lines, including odd and invalid messages", async () => {
      const odd = ODD_REQUESTS.map((request) => JSON.stringify({ jsonrpc: "2.0", ...request }));
      const text = [...lines, "{", '{"a":1}', "x".repeat(2 ** 20 + 1), ...odd].join("\n");
      const { code, stdout, stderr } = await runStageProcess(serve, {
        stdin: new TextEncoder().encode(text),
      });
      assertEquals([code, stderr], [0, ""]);
      const answers = stdout.trimEnd().split("\n").map((line) => JSON.parse(line));
      const [start, rtt, rtts] = [0, 1, 2].map((id) => answers.find((answer) => answer.id === id));
      assertEquals(start.result.serverInfo.name, "ping-llm");
      assert(rtt.result.structuredContent.quantiles_ms["0.5"] > 0);
      assertMatch(rtts.error.message, /rtts/);
      checkOddAnswers(answers.filter(({ id }) => typeof id === "string"));
      const faults = answers.filter(({ id }) => id === undefined).map(({ error }) => error);
      assertEquals(faults.map(({ code }) => code), [-32700, -32600, -32700]);
      assertMatch(
        faults[0].message,
        /^Cannot read line 5 of standard input: .*, expected a JSON-RPC message$/,
      );
      assertMatch(
        faults[2].message,
        /^Cannot read line 7 of standard input: found 1048577 bytes, expected at most 1048576 per line$/,
      );
      assertEquals(answers.length, 6 + odd.length);
    });

    await test.step("Ctrl-C ends it with a one-line error", async () => {
      const child = spawnStage(serve, { stdin: new Uint8Array() });
      const writer = child.stdin.getWriter();
      await writer.write(new TextEncoder().encode(lines[0] + "\n"));
      const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
      assertStringIncludes((await reader.read()).value ?? "", '"serverInfo"');
      child.kill("SIGINT");
      assertEquals([(await child.status).code, (await reader.read()).done], [130, true]);
      assertMatch(await new Response(child.stderr).text(), /\nerror: stopped by SIGINT[^\n]*\n$/);
      await writer.close().catch(() => {});
    });

    await test.step("a closed standard output ends it with a one-line error", async () => {
      const child = spawnStage(serve, { stdin: new Uint8Array() });
      await child.stdout.cancel();
      const writer = child.stdin.getWriter();
      await writer.write(new TextEncoder().encode(lines.join("\n")));
      await writer.close();
      assertEquals((await child.status).code, 1);
      assertEquals(
        await new Response(child.stderr).text(),
        "error: Cannot write to standard output: its reader has exited\n",
      );
    });

    await test.step("options for a port are rejected", async () => {
      for (const flags of [["--port", "9"], ["--host", "::1"], ["--allow-origin", "*"], ["--json"]]) {
        const { code, stdout, stderr } = await runStageProcess([...serve, ...flags]);
        assertEquals([code, stdout], [2, ""]);
        assertMatch(
          stderr,
          new RegExp(`^error: Cannot use ${flags[0]} with --mcp: [^\\n]*; leave it out\\n$`),
        );
      }
    });
  }));
