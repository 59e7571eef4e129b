/**
 * A local server that answers with real results, as documented by the APIs of RIPE Atlas and Globalping, and
 * fails on request.
 *
 * @module
 */
import { gunzipSync } from "node:zlib";
import { realData } from "../../data/measurement_files/batches.ts";

export type Fault =
  | { status: number; headers?: Record<string, string>; body?: string }
  /** The connection ends within the body, after this share of it. */
  | "cut"
  /** The body ends properly, but within a line. */
  | "short"
  /** Nothing arrives after the first bytes. */
  | "silent"
  /** The last line is an error object. */
  | "error line";

interface SeenRequest {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: Headers;
  body: string;
}

/** Lines of real results: twenty measurements during one hour of 2020. */
export const REAL_LINES: string[] = new TextDecoder()
  .decode(gunzipSync(Deno.readFileSync(`${realData("atlas/geo-2020-10")}/ping_results.txt.gz`)))
  .trim().split("\n");

/** Takes requests until it is disposed. */
export class ReplayServer implements AsyncDisposable {
  readonly requests: SeenRequest[] = [];
  /** Faults of the next requests whose path contains a text; faults with the same text are used in order. */
  readonly faults: [text: string, fault: Fault][] = [];
  /** Called before the usual answer, which it can replace. */
  answer: (request: SeenRequest) => Response | Promise<Response | undefined> | undefined = () => undefined;
  lines = REAL_LINES;
  pageSize = 3;
  /** Whether results at the endpoints of a span are left out. */
  isExclusive = false;
  /** The `Date` of its answers; by default from the machine's clock. */
  date: (() => string) | undefined;
  onRequest: () => void = () => {};
  readonly #server: Deno.HttpServer<Deno.NetAddr>;

  constructor() {
    this.#server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (request) => {
      const { pathname, searchParams } = new URL(request.url);
      const { method, headers } = request;
      // Only reports the server's time.
      if (method === "HEAD") return this.#dated(new Response(null, { status: 405 }));
      const seen = { method, headers, path: pathname, query: searchParams, body: await request.text() };
      this.requests.push(seen);
      this.onRequest();
      return this.#dated(await this.answer(seen) ?? this.#answer(seen));
    });
  }

  #dated(response: Response): Response {
    if (this.date) response.headers.set("Date", this.date());
    return response;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.addr.port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }

  #answer(request: SeenRequest): Response {
    const index = this.faults.findIndex(([text]) => `${request.path}?${request.query}`.includes(text));
    const fault = index < 0 ? undefined : this.faults.splice(index, 1)[0][1];
    if (typeof fault === "object") {
      const { status, headers = {}, body = "" } = fault;
      return new Response(body, { status, headers });
    }
    const [, measurement] = /^\/api\/v2\/measurements\/(\d+)\/results\/$/.exec(request.path) ?? [];
    if (measurement !== undefined) return this.#results(Number(measurement), request.query, fault);
    if (request.path === "/api/v2/probes/") {
      const ids = (request.query.get("id__in") ?? "").split(",").map(Number);
      return this.#page(request, ids.filter((id) => id !== UNKNOWN_PROBE).map(probeObject));
    }
    if (request.path === "/api/v2/anchors/") return this.#page(request, ANCHORS);
    return notFound();
  }

  #results(measurement: number, query: URLSearchParams, fault: Fault | undefined): Response {
    const [start, stop] = ["start", "stop"].map((name) => Number(query.get(name)));
    const probes = query.get("probe_ids");
    const edge = this.isExclusive ? 1 : 0;
    const found = this.lines.map((line) => ({ line, result: JSON.parse(line) })).filter(({ result }) =>
      result.msm_id === measurement && result.timestamp >= start + edge && result.timestamp <= stop - edge &&
      (probes === null || probes.split(",").includes(String(result.prb_id)))
    );
    if (!this.lines.some((line) => JSON.parse(line).msm_id === measurement)) return notFound();
    const text = found.map(({ line }) => `${line}\n`).join("");
    const headers = { "Content-Type": "text/plain" };
    const bytes = new TextEncoder().encode(text);
    if (fault === "error line") return new Response(`${text}{"error": {"status": 500}}\n`, { headers });
    if (fault === "short") return new Response(bytes.subarray(0, bytes.length - 40), { headers });
    if (fault === "cut" || fault === "silent") {
      return new Response(
        new ReadableStream({
          start: (controller) => {
            controller.enqueue(bytes.subarray(0, bytes.length >> 1));
            if (fault === "cut") setTimeout(() => controller.error(new Error("cut")));
          },
        }),
        { headers },
      );
    }
    // In pieces that end in the middle of lines.
    return new Response(
      new ReadableStream({
        start(controller) {
          for (let at = 0; at < bytes.length; at += 1000) controller.enqueue(bytes.slice(at, at + 1000));
          controller.close();
        },
      }),
      { headers },
    );
  }

  #page({ path, query }: SeenRequest, objects: unknown[]): Response {
    const page = Number(query.get("page") ?? 1);
    const end = page * this.pageSize;
    const others = new URLSearchParams(query);
    others.set("page", String(page + 1));
    return Response.json({
      count: objects.length,
      // The API names its own host even if a proxy was asked.
      next: end < objects.length ? `https://atlas.ripe.net${path}?${others}` : null,
      previous: null,
      results: objects.slice(end - this.pageSize, end),
    });
  }
}

/** A probe that is missing from the API's list. */
export const UNKNOWN_PROBE = 6130;

/** A probe as `/api/v2/probes/` describes it. */
function probeObject(id: number): Record<string, unknown> {
  return {
    address_v4: null,
    address_v6: "2001:db8:0:1::1",
    asn_v4: 3265,
    asn_v6: null,
    country_code: "NL",
    description: "",
    geometry: { type: "Point", coordinates: [4.9 + id / 1e7, 52.3] },
    id,
    is_anchor: false,
    is_public: true,
    prefix_v4: "198.51.100.0/24",
    prefix_v6: null,
    status: { id: 1, name: "Connected", since: "2026-05-08T09:24:57Z" },
    tags: [],
    type: "Probe",
  };
}

function anchorObject(id: number, probe: number, address: string): Record<string, unknown> {
  return {
    id,
    type: "Anchor",
    fqdn: "fi-tuu-as24940-client.anchors.atlas.ripe.net",
    probe,
    ip_v4: address,
    as_v4: 24940,
    ip_v6: null,
    as_v6: null,
    city: "Tuusula",
    country: "FI",
    geometry: { type: "Point", coordinates: [25.0276663, 60.3416703] },
    is_disabled: false,
  };
}

const ANCHORS = [
  anchorObject(1, 999_999, "203.0.113.1"),
  anchorObject(2, 999_998, "194.150.191.46"),
  ...[3, 4, 5, 6].map((id) => anchorObject(id, 900_000 + id, `203.0.113.${id}`)),
];

function notFound(): Response {
  const error = { status: 404, code: 104, detail: "Not found.", title: "Not Found" };
  return Response.json({ error }, { status: 404 });
}
