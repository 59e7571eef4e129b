/** Requests as many different clients send them, valid and not, by a seed. @module */
import type { RandomStream } from "../../lib/base/random.ts";
import { LINES } from "./test_server.ts";

const KNOWN_PATHS = ["/", "/v1/model", "/openapi.json", "/healthz", "/metrics", "/docs"];
const JSON_TYPE = { "content-type": "application/json" };

/** A valid or invalid request. */
export interface MixedRequest {
  readonly path: string;
  readonly init?: RequestInit;
}

const address = (random: RandomStream) => `${random.below(224)}.${random.below(256)}.0.${random.below(256)}`;
const pair = (random: RandomStream) => ({ src_addr: address(random), dst_addr: address(random) });
const measured = (random: RandomStream) => ({
  ...pair(random),
  timestamp: 1_700_000_000 + random.below(1e6),
  rtt: random.below(8) === 0 ? null : random.below(300),
});
const many = <T>(random: RandomStream, most: number, make: (random: RandomStream) => T): T[] =>
  Array.from({ length: random.below(most + 1) }, () => make(random));

/** A question with earlier measurements of its source. */
function question(random: RandomStream) {
  const asked = pair(random);
  const context = many(random, 12, (each) => ({ ...measured(each), src_addr: asked.src_addr }));
  return { ...asked, context, at: [random.below(300)] };
}

function post(path: string, body: unknown): MixedRequest {
  return { path, init: { method: "POST", headers: JSON_TYPE, body: JSON.stringify(body) } };
}

function postLines(path: string, lines: readonly unknown[]): MixedRequest {
  const body = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
  return { path, init: { method: "POST", headers: LINES, body } };
}

function get(path: string, fields: Record<string, unknown>): MixedRequest {
  return { path: `${path}?${new URLSearchParams(fields as Record<string, string>)}` };
}

/** A kind stands as often as its requests come. */
const KINDS: ((random: RandomStream) => MixedRequest)[] = [
  ...Array(6).fill((random: RandomStream) => get("/v1/rtt", { ...pair(random), at: random.below(300) })),
  (random) => get("/v1/rtt", { ...pair(random), quantiles: "0.1,0.9", cdf: 2 + random.below(50) }),
  ...Array(3).fill((random: RandomStream) => post("/v1/rtt", question(random))),
  (random) => get("/v1/rtt", { ...pair(random), dst_addr: `${address(random)}/24`, draws: 2 }),
  (random) => postLines(`/v1/rtt:batch?at=${random.below(300)}`, many(random, 30, question)),
  (random) => postLines("/v1/score", many(random, 20, measured)),
  (random) => post("/v1/likelihood", measured(random)),
  (random) => get("/v1/destinations", { src_addr: address(random), rtt: "20..25", max_expansions: 1 }),
  (random) => get("/v1/places", { q: address(random).slice(0, 1 + random.below(12)) }),
  (random) =>
    get("/v1/nearest", { src_addr: address(random), candidates: `${address(random)},${address(random)}` }),
  (random) => get("/v1/matrix", { nodes: `10.0.0.${random.below(9)},${address(random)}`, samples: 2 }),
  (random) => ({ path: KNOWN_PATHS[random.below(KNOWN_PATHS.length)] }),
  (random) => ({ path: `/none/${random.below(1e9)}` }),
  (random) => get("/v1/rtt", { src_addr: `host${random.below(1e9)}`, dst_addr: address(random) }),
  (random) => get("/v1/rtt", { ...pair(random), [`x${random.below(1e9)}`]: 1 }),
  (random) => post("/v1/likelihood", { ...measured(random), rtt: "soon" }),
  (random) => ({
    path: "/v1/rtt",
    init: { method: "POST", headers: JSON_TYPE, body: `{"${random.below(1e9)}` },
  }),
  () => ({ path: "/v1/rtt", init: { method: "DELETE" } }),
];

/** One request. @param random By whose numbers it is made. */
export function mixedRequest(random: RandomStream): MixedRequest {
  return KINDS[random.below(KINDS.length)](random);
}
