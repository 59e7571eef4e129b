/** Requests that mean no good, by a seed. @module */
import type { RandomStream } from "../../lib/base/random.ts";
import { PAIR, PAIR_QUERY } from "./test_server.ts";

/** The bytes sent over one connection. */
export interface HostileRequest {
  /** Its kind, for messages. */
  readonly kind: string;
  /** Sent one after the other, with pauses where there are several. */
  readonly parts: readonly (string | Uint8Array)[];
  /** How the client behaves: it waits for an answer, goes away at once, or takes no answer for a while. */
  readonly end: "wait" | "leave" | "read nothing";
}

const JSON_TYPE = "application/json";
const LINES_TYPE = "application/x-ndjson";
const QUESTION = JSON.stringify(PAIR);
const POSTS = [
  "/v1/rtt",
  "/v1/rtt:batch",
  "/v1/destinations",
  "/v1/nearest",
  "/v1/matrix",
  "/v1/likelihood",
  "/v1/score",
];
const PATHS = [...POSTS, "/v1/places?q=a", "/", "/v1/model", "/openapi.json", "/healthz", "/metrics"];

/** A request as text; the connection ends with it. */
function requestOf(method: string, path: string, body = "", headers: readonly string[] = []): string {
  const length = new TextEncoder().encode(body).length;
  const lines = [`Host: localhost`, "Connection: close", ...headers];
  if (body !== "" || method === "POST") lines.push(`Content-Length: ${length}`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n${body}`;
}

const typed = (type: string) => [`Content-Type: ${type}`];
const post = (path: string, body: string) =>
  requestOf("POST", path, body, typed(/batch|score/.test(path) ? LINES_TYPE : JSON_TYPE));

/** Makers of each kind. */
const KINDS: Record<string, (random: RandomStream) => Omit<HostileRequest, "kind">> = {
  "noise": (random) => ({
    parts: [Uint8Array.from({ length: 1 + random.below(4096) }, () => random.below(256))],
    end: "leave",
  }),
  "damaged request": (random) => {
    const bytes = new TextEncoder().encode(post(pick(random, POSTS), QUESTION));
    for (let n = 1 + random.below(8); n > 0; n--) bytes[random.below(bytes.length)] = random.below(256);
    return { parts: [bytes], end: pick(random, ["leave", "leave", "wait"]) };
  },
  "request line": (random) => ({
    parts: [
      pick(random, [
        ...["GET\r\n\r\n", "G@T / HTTP/1.1\r\n\r\n", "GET / HTTP/9.9\r\nHost: a\r\n\r\n", "\r\n\r\n\r\n\r\n"],
        ...["PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "CONNECT localhost:1 HTTP/1.1\r\nHost: a\r\n\r\n"],
        ...["GET / HTTP/1.1\r\n\r\n", "TRACE / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"],
        "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        `GET /${"a".repeat(random.below(40_000))} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
        requestOf("BREW", "/v1/rtt"),
        requestOf("OPTIONS", "*"),
      ]),
    ],
    end: "leave",
  }),
  "header flood": (random) => ({
    parts: [requestOf(
      "GET",
      "/healthz",
      "",
      Array.from({ length: 1 + random.below(5000) }, (_, i) => `X-${i}: ${"y".repeat(random.below(64))}`),
    )],
    end: "wait",
  }),
  "one long header": (random) => ({
    parts: [requestOf("GET", "/", "", [`Cookie: ${"z".repeat(random.below(2 ** 20))}`])],
    end: "wait",
  }),
  "slow head": (random) => ({
    parts: [
      "GET /healthz HTTP/1.1\r\n",
      ...Array.from({ length: random.below(5) }, (_, i) => `X-${i}: y\r\n`),
    ],
    end: "leave",
  }),
  "slow body": (random) => ({
    parts: [
      `POST ${pick(random, POSTS)} HTTP/1.1\r\nHost: localhost\r\nContent-Type: ` +
      `${pick(random, [JSON_TYPE, LINES_TYPE])}\r\nContent-Length: 1000\r\n\r\n`,
      ...QUESTION.slice(0, random.below(6)),
    ],
    end: "leave",
  }),
  "large body": (random) => ({
    parts: [post(pick(random, POSTS), " ".repeat(2 ** 20 + random.below(2 ** 21)) + QUESTION)],
    end: pick(random, ["wait", "leave"]),
  }),
  "bad chunks": (random) => ({
    parts: [
      `POST ${pick(random, POSTS)} HTTP/1.1\r\nHost: localhost\r\nContent-Type: ` +
      `${pick(random, [JSON_TYPE, LINES_TYPE])}\r\nTransfer-Encoding: chunked\r\n\r\n` +
      pick(random, ["zz\r\n", "fffffffffffffffff\r\nabc", "-1\r\n\r\n", "5\r\nab\r\n0\r\n\r\n", "0\r\n"]),
    ],
    end: "leave",
  }),
  "two lengths": (random) => ({
    parts: [
      requestOf("POST", "/v1/rtt", QUESTION, [
        ...typed(JSON_TYPE),
        pick(random, [
          "Content-Length: 5",
          "Content-Length: -1",
          "Transfer-Encoding: chunked",
          "Content-Length: 1e9",
        ]),
      ]),
    ],
    end: "leave",
  }),
  "path traversal": (random) => {
    const up = pick(random, [
      "../",
      "%2e%2e/",
      "..%2f",
      "..\\",
      "%2e%2e%5c",
      "....//",
      "..;/",
      "%c0%ae%c0%ae/",
    ]);
    const file = pick(random, ["etc/passwd", "proc/self/environ", "state.json", "index.html%00.js"]);
    return { parts: [requestOf("GET", `/${up.repeat(1 + random.below(12))}${file}`)], end: "wait" };
  },
  "host": (random) => ({
    parts: [
      `GET /healthz HTTP/1.1\r\nHost: ${
        pick(random, [
          "example.org",
          "a b",
          "[::",
          "localhost:99999999",
          "",
          "xn--",
          "a@b",
          "localhost, localhost",
        ])
      }\r\nConnection: close\r\n\r\n`,
    ],
    end: "wait",
  }),
  "query": (random) => ({
    parts: [requestOf(
      "GET",
      pick(random, [
        `/v1/rtt?${PAIR_QUERY}&${pick(random, ["quantiles=", "at=", "cdf=", "draws=", "seed="])}${
          oddValue(random)
        }`,
        `/v1/rtt?${"&x=1".repeat(random.below(1000))}`,
        `/v1/rtt?src_addr=${oddValue(random)}&dst_addr=${oddValue(random)}&timestamp=${oddValue(random)}`,
        `/v1/destinations?src=192.0.2.1&rtt=${oddValue(random)}..${oddValue(random)}&max_expansions=4`,
        `/v1/nearest?src=192.0.2.1&candidates=${oddValue(random)},198.51.100.7&by=${oddValue(random)}`,
        `/v1/matrix?nodes=${oddValue(random)},192.0.2.1&samples=${oddValue(random)}`,
        `/v1/places?q=${oddValue(random)}&count=${oddValue(random)}`,
        `/v1/rtt?${"%".repeat(random.below(50))}=%ff&__proto__=1&constructor=2`,
      ]),
    )],
    end: "wait",
  }),
  "JSON": (random) => ({ parts: [post(pick(random, POSTS), oddJson(random))], end: "wait" }),
  "bad UTF-8": (random) => {
    const path = pick(random, POSTS);
    const bytes = new TextEncoder().encode(post(path, `{"src_addr":"____"}\n${QUESTION}`));
    bytes.fill(0xc0 + random.below(64), bytes.indexOf(0x5f), bytes.indexOf(0x5f) + 1 + random.below(4));
    return { parts: [bytes], end: "wait" };
  },
  "content type": (random) => ({
    parts: [
      requestOf(
        "POST",
        pick(random, POSTS),
        QUESTION,
        pick(random, [
          [],
          typed("text/plain"),
          typed(";;;"),
          typed("multipart/form-data; boundary=x"),
          typed("\x7f"),
        ]),
      ),
    ],
    end: "wait",
  }),
  "many at once": (random) => ({
    parts: [
      requestOf("GET", pick(random, PATHS)).replace("Connection: close\r\n", "").repeat(1 + random.below(50)),
    ],
    end: "leave",
  }),
  "lines that end early": (random) => ({
    parts: [
      post("/v1/rtt:batch", `${QUESTION}\n`.repeat(1 + random.below(200))).replace(
        /Content-Length: \d+/,
        "Content-Length: 99999999",
      ),
    ],
    end: pick(random, ["leave", "read nothing"]),
  }),
  "empty lines": (random) => ({
    parts: [post(pick(random, ["/v1/rtt:batch", "/v1/score"]), "\n".repeat(random.below(100_000)))],
    end: "wait",
  }),
  "odd lines": (random) => ({
    parts: [
      post(
        pick(random, ["/v1/rtt:batch", "/v1/score"]),
        Array.from({ length: 1 + random.below(20) }, () => oddJson(random).slice(0, 2 ** 14)).join("\n"),
      ),
    ],
    end: "wait",
  }),
};

/** One request. @param random By whose numbers it is made. */
export function hostileRequest(random: RandomStream): HostileRequest {
  const kind = pick(random, Object.keys(KINDS));
  return { kind, ...KINDS[kind](random) };
}

function pick<T>(random: RandomStream, values: readonly T[]): T {
  return values[random.below(values.length)];
}

function oddValue(random: RandomStream): string {
  return pick(random, [
    ...[
      "NaN",
      "Infinity",
      "-1",
      "1e999",
      "0x10",
      "",
      ",",
      ",,,,",
      "null",
      "%00",
      "%F0%9F%92%A9",
      "1".repeat(400),
    ],
    ...[
      "0.5,".repeat(300),
      "-0",
      "1e-320",
      "2099-12-31",
      "::/0",
      "0.0.0.0/0",
      "::ffff:1.2.3.4",
      "1.2.3.4/33",
    ],
    ...["256.1.1.1", "1..2", "..", "99999999999999999999", "'--", "<script>", "${7*7}"],
  ]);
}

function oddJson(random: RandomStream): string {
  const depth = 1 + random.below(100_000);
  const field = pick(random, [
    "src_addr",
    "dst_addr",
    "timestamp",
    "context",
    "rtt",
    "quantiles",
    "cdf",
    "__proto__",
  ]);
  const value = pick(random, [
    ...[
      "NaN",
      "Infinity",
      "-0",
      "1e999",
      "1e308",
      "null",
      "true",
      "[]",
      "{}",
      '""',
      '"\\ud800"',
      '"\\u0000"',
    ],
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
