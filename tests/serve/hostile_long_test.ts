/**
 * Sends hostile requests while another client keeps asking. The server must answer that client, keep running,
 * and have nothing left to do afterwards.
 *
 * `deno test … tests/serve/hostile_long_test.ts -- 10000 7` sends 10,000 requests with seed 7.
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { RandomStream } from "../../lib/base/random.ts";
import { withCheckpoint } from "../query/tiny_checkpoint.ts";
import { until } from "../until.ts";
import { PAIR, PAIR_QUERY, TestServer } from "./test_server.ts";

const NUM_ATTACKERS = 16;
const [count = 300, seed = 1] = Deno.args.map(Number);
/** Longer than the server's limits, even on a busy machine. */
const PATIENCE_MS = 300_000;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** @returns The beginning of the answer, empty if there was none. */
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

/** @returns The number of rounds that were answered. */
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

Deno.test("serve survives hostile requests, and another client is unaffected", () =>
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

async function numLeft(server: TestServer): Promise<number> {
  const text = await (await server.fetch("/metrics")).text();
  return Number(/^ping_llm_requests_in_flight (\d+)$/m.exec(text)?.[1]);
}

interface HostileRequest {
  readonly kind: string;
  /** Sent one after the other, with pauses in between. */
  readonly parts: readonly (string | Uint8Array)[];
  /** The client waits for an answer, leaves immediately, or reads nothing for a while. */
  readonly end: "wait" | "leave" | "read nothing";
}

const JSON_TYPE = "application/json";
const LINES_TYPE = "application/x-ndjson";
const QUESTION = JSON.stringify(PAIR);
const POSTS = ["rtt", "rtt:batch", "destinations", "nearest", "matrix", "likelihood", "score"].map((name) =>
  `/v1/${name}`
);
const HOSTS = ["example.org", "a b", "[::", "localhost:99999999", "", "xn--", "a@b", "localhost, localhost"];
const PATHS = [...POSTS, "/v1/places?q=a", "/", "/v1/model", "/openapi.json", "/healthz", "/metrics"];

/** A request as text; the connection closes after it. */
function requestOf(method: string, path: string, body = "", headers: readonly string[] = []): string {
  const length = new TextEncoder().encode(body).length;
  const lines = [`Host: localhost`, "Connection: close", ...headers];
  if (body !== "" || method === "POST") lines.push(`Content-Length: ${length}`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n${body}`;
}

const typed = (type: string) => [`Content-Type: ${type}`];
const post = (path: string, body: string) =>
  requestOf("POST", path, body, typed(/batch|score/.test(path) ? LINES_TYPE : JSON_TYPE));

type Ends = readonly HostileRequest["end"][];
const [LEAVE, WAIT, EITHER]: Ends[] = [["leave"], ["wait"], ["wait", "leave"]];
const LINE_PATHS = ["/v1/rtt:batch", "/v1/score"];
/** The head of a POST whose body the caller writes. */
const postHead = (random: RandomStream, header: string) =>
  `POST ${pick(random, POSTS)} HTTP/1.1\r\nHost: localhost\r\nContent-Type: ` +
  `${pick(random, [JSON_TYPE, LINES_TYPE])}\r\n${header}\r\n\r\n`;

/** For each kind, the possible client behaviours and a function that makes the parts. */
const KINDS: Record<string, [ends: Ends, parts: (random: RandomStream) => HostileRequest["parts"]]> = {
  "noise": [
    LEAVE,
    (random) => [Uint8Array.from({ length: 1 + random.below(4096) }, () => random.below(256))],
  ],
  "damaged request": [["leave", "leave", "wait"], (random) => {
    const bytes = new TextEncoder().encode(post(pick(random, POSTS), QUESTION));
    for (let n = 1 + random.below(8); n > 0; n--) bytes[random.below(bytes.length)] = random.below(256);
    return [bytes];
  }],
  "request line": [LEAVE, (random) => [
    pick(random, [
      ...["GET\r\n\r\n", "G@T / HTTP/1.1\r\n\r\n", "GET / HTTP/9.9\r\nHost: a\r\n\r\n", "\r\n\r\n\r\n\r\n"],
      ...["PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "CONNECT localhost:1 HTTP/1.1\r\nHost: a\r\n\r\n"],
      ...["GET / HTTP/1.1\r\n\r\n", "TRACE / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"],
      "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
      `GET /${"a".repeat(random.below(40_000))} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
      ...[requestOf("BREW", "/v1/rtt"), requestOf("OPTIONS", "*")],
    ]),
  ]],
  "header flood": [WAIT, (random) => {
    const header = (i: number) => `X-${i}: ${"y".repeat(random.below(64))}`;
    return [
      requestOf("GET", "/healthz", "", Array.from({ length: 1 + random.below(5000) }, (_, i) => header(i))),
    ];
  }],
  "one long header": [WAIT, (random) => [
    requestOf("GET", "/", "", [`Cookie: ${"z".repeat(random.below(2 ** 20))}`]),
  ]],
  "slow head": [LEAVE, (random) => [
    "GET /healthz HTTP/1.1\r\n",
    ...Array.from({ length: random.below(5) }, (_, i) => `X-${i}: y\r\n`),
  ]],
  "slow body": [LEAVE, (random) => [
    postHead(random, "Content-Length: 1000"),
    ...QUESTION.slice(0, random.below(6)),
  ]],
  "large body": [EITHER, (random) => [
    post(pick(random, POSTS), " ".repeat(2 ** 20 + random.below(2 ** 21)) + QUESTION),
  ]],
  "bad chunks": [LEAVE, (random) => [
    postHead(random, "Transfer-Encoding: chunked") +
    pick(random, ["zz\r\n", "fffffffffffffffff\r\nabc", "-1\r\n\r\n", "5\r\nab\r\n0\r\n\r\n", "0\r\n"]),
  ]],
  "two lengths": [LEAVE, (random) => {
    const lengths = ["5", "-1", "1e9"].map((length) => `Content-Length: ${length}`);
    const second = pick(random, ["Transfer-Encoding: chunked", ...lengths]);
    return [requestOf("POST", "/v1/rtt", QUESTION, [...typed(JSON_TYPE), second])];
  }],
  "path traversal": [WAIT, (random) => {
    const up = pick(random, "../ %2e%2e/ ..%2f ..\\ %2e%2e%5c ....// ..;/ %c0%ae%c0%ae/".split(" "));
    const file = pick(random, ["etc/passwd", "proc/self/environ", "state.json", "index.html%00.js"]);
    return [requestOf("GET", `/${up.repeat(1 + random.below(12))}${file}`)];
  }],
  "host": [WAIT, (random) => [
    `GET /healthz HTTP/1.1\r\nHost: ${pick(random, HOSTS)}\r\nConnection: close\r\n\r\n`,
  ]],
  "query": [WAIT, (random) => {
    const odd = () => oddValue(random);
    const paths = [
      `/v1/rtt?${PAIR_QUERY}&${pick(random, ["quantiles=", "at=", "cdf=", "draws=", "seed="])}${odd()}`,
      `/v1/rtt?${"&x=1".repeat(random.below(1000))}`,
      `/v1/rtt?src=${odd()}&dst=${odd()}&time=${odd()}`,
      `/v1/destinations?src=192.0.2.1&rtt=${odd()}..${odd()}&max_expansions=4`,
      `/v1/nearest?src=192.0.2.1&candidates=${odd()},198.51.100.7&by=${odd()}`,
      `/v1/matrix?nodes=${odd()},192.0.2.1&samples=${odd()}`,
      `/v1/places?q=${odd()}&count=${odd()}`,
      `/v1/rtt?${"%".repeat(random.below(50))}=%ff&__proto__=1&constructor=2`,
    ];
    return [requestOf("GET", pick(random, paths))];
  }],
  "JSON": [WAIT, (random) => [post(pick(random, POSTS), oddJson(random))]],
  "bad UTF-8": [WAIT, (random) => {
    const bytes = new TextEncoder().encode(post(pick(random, POSTS), `{"src":"____"}\n${QUESTION}`));
    bytes.fill(0xc0 + random.below(64), bytes.indexOf(0x5f), bytes.indexOf(0x5f) + 1 + random.below(4));
    return [bytes];
  }],
  "content type": [WAIT, (random) => {
    const types = ["text/plain", ";;;", "multipart/form-data; boundary=x", "\x7f"].map(typed);
    return [requestOf("POST", pick(random, POSTS), QUESTION, pick(random, [[], ...types]))];
  }],
  "many at once": [LEAVE, (random) => [
    requestOf("GET", pick(random, PATHS)).replace("Connection: close\r\n", "").repeat(1 + random.below(50)),
  ]],
  "lines that end early": [["leave", "read nothing"], (random) => {
    const whole = post("/v1/rtt:batch", `${QUESTION}\n`.repeat(1 + random.below(200)));
    return [whole.replace(/Content-Length: \d+/, "Content-Length: 99999999")];
  }],
  "empty lines": [WAIT, (random) => [post(pick(random, LINE_PATHS), "\n".repeat(random.below(100_000)))]],
  "odd lines": [WAIT, (random) => {
    const lines = Array.from({ length: 1 + random.below(20) }, () => oddJson(random).slice(0, 2 ** 14));
    return [post(pick(random, LINE_PATHS), lines.join("\n"))];
  }],
};

function hostileRequest(random: RandomStream): HostileRequest {
  const kind = pick(random, Object.keys(KINDS));
  const [ends, parts] = KINDS[kind];
  return { kind, parts: parts(random), end: pick(random, ends) };
}

function pick<T>(random: RandomStream, values: readonly T[]): T {
  return values[random.below(values.length)];
}

function oddValue(random: RandomStream): string {
  return pick(random, [
    ..."NaN Infinity -1 1e999 0x10 , ,,,, null %00 %F0%9F%92%A9 -0 1e-320 2099-12-31 ::/0".split(" "),
    ..."0.0.0.0/0 ::ffff:1.2.3.4 1.2.3.4/33 256.1.1.1 1..2 .. 99999999999999999999 '-- <script> ${7*7}".split(
      " ",
    ),
    ...["", "1".repeat(400), "0.5,".repeat(300)],
  ]);
}

function oddJson(random: RandomStream): string {
  const depth = 1 + random.below(100_000);
  const field = pick(random, "src dst time context rtt quantiles cdf __proto__".split(" "));
  const value = pick(random, [
    ...'NaN Infinity -0 1e999 1e308 null true [] {} "" "\\ud800" "\\u0000"'.split(" "),
    ...[
      "[".repeat(depth) + "]".repeat(depth),
      '{"a":'.repeat(depth) + "1" + "}".repeat(depth),
      "9".repeat(4000),
    ],
    ...[`[${"0,".repeat(random.below(5000))}0]`, `"${"x".repeat(random.below(10_000))}"`, `[${QUESTION}]`],
    `{"toString":1,"constructor":{"prototype":2}}`,
  ]);
  return pick(random, [value, `{"${field}":${value}}`, QUESTION.replace("}", `,"${field}":${value}}`)]);
}
