/** The routes of the server. @module */
import { ApiError, problemOf, problemResponse } from "./api/api_error.ts";
import { shortened } from "../base/errors.ts";
import { urlHost } from "../base/text.ts";
import type { HttpBindings } from "@hono/node-server";
import { type Context, Hono } from "hono";
import { cors } from "hono/cors";
import { methodNotAllowed } from "hono/method-not-allowed";
import { routePath } from "hono/route";
import { type QuestionName, QUESTIONS } from "../query/questions/questions.ts";
import { queryFields } from "../query/questions/read_fields.ts";
import {
  answerGet,
  answerLines,
  type AnswerOptions,
  answerPost,
  type AskLines,
  askQuestion,
  describeError,
  isKnown,
  stoppingError,
} from "./answers.ts";
import { McpTools } from "./mcp.ts";
import { exposition, METRICS_TYPE, type ServerMetrics } from "./metrics.ts";
import { openApiDocument } from "./openapi.ts";
import { ANSWER_POLICY, PAGE_POLICY, type PageFile } from "./page_files.ts";
import { withReadings } from "../query/questions/lines.ts";
import { statusCheck, type WatchedState, watchLines, watchMetrics } from "./watched.ts";

interface AppOptions extends AnswerOptions {
  readonly metrics: ServerMetrics;
  readonly host: string;
  /** Origins of other pages that may send requests; `*` allows all. */
  readonly allowOrigins: readonly string[];
  readonly pageFiles: ReadonlyMap<string, PageFile>;
  readonly watched: WatchedState;
}

export function makeApp(options: AppOptions): Hono {
  const app = new Hono();
  addRules(app, options);
  addQuestions(app, options);
  addDescriptions(app, options);
  addStatusChecks(app, options.watched);
  for (const [path, file] of options.pageFiles) app.get(path, (c) => pageResponse(c.req.raw, file));
  addProblems(app, { log: options.log, advice: "see /openapi.json" });
  return app;
}

/**
 * The app of a watching stage, which serves only what monitors request.
 *
 * @param options `refresh`: called before metrics are read.
 */
export function makeWatchApp(
  watched: WatchedState,
  { host, refresh, log }: { host: string; refresh: () => Promise<void>; log: (line: string) => void },
): Hono {
  const app = new Hono();
  const hosts = new HostNames(host, []);
  app.use(async (c, next) => {
    hosts.require(c.req.url);
    await next();
  });
  app.get("/metrics", async () => {
    await refresh();
    return metricsResponse(exposition(watchMetrics(watched)));
  });
  addStatusChecks(app, watched);
  addProblems(app, { log, advice: "expected /metrics or /api/v2/measurements/{id}/status-check" });
  return app;
}

/** Uses RIPE Atlas' paths, so that tools that monitor its status checks work with these too. */
function addStatusChecks(app: Hono, { watch }: WatchedState): void {
  for (const end of ["", "/"]) {
    app.get(`/api/v2/measurements/:id/status-check${end}`, (c) => {
      const answer = statusCheck(watch, c.req.param("id"), queryFields(c.req.url));
      return Response.json(answer, {
        headers: {
          "cache-control": "no-store",
          "x-ripe-atlas-global-alert": answer.global_alert ? "1" : "0",
        },
      });
    });
  }
}

function metricsResponse(text: string): Response {
  return new Response(text, { headers: { "content-type": METRICS_TYPE, "cache-control": "no-store" } });
}

/** Handles unknown paths and errors. */
function addProblems(app: Hono, { log, advice }: { log: (line: string) => void; advice: string }): void {
  app.notFound((c) => {
    const detail = `Cannot answer ${c.req.path}: there is no such path; ${advice}`;
    return problemResponse(new ApiError(404, detail).problem);
  });
  app.onError((error) => {
    const problem = problemOf(error);
    if (problem.status === 500) log(describeError(error));
    return problemResponse(problem);
  });
}

function addRules(app: Hono, { host, allowOrigins, stopping, metrics }: AppOptions): void {
  const hosts = new HostNames(host, allowOrigins);
  app.use(async (c, next) => {
    const end = metrics.begin();
    await next();
    const route = routePath(c, -1);
    whenSent(c, () => end(route === "/*" ? "none" : route, c.res.status));
    c.header("x-content-type-options", "nosniff");
    c.header("referrer-policy", "no-referrer");
    if (!c.res.headers.has("content-security-policy")) c.header("content-security-policy", ANSWER_POLICY);
    if (allowOrigins.length === 0) c.header("cross-origin-resource-policy", "same-origin");
    if (stopping.aborted) c.header("connection", "close");
  });
  app.use(async (c, next) => {
    hosts.require(c.req.url);
    if (!SAFE_METHODS.includes(c.req.method)) requireOwnPage(c.req.raw, allowOrigins);
    if (stopping.aborted && c.req.path !== "/metrics") throw stoppingError();
    return await next();
  });
  if (allowOrigins.length > 0) {
    app.use(cors({
      origin: allowOrigins.includes("*") ? "*" : [...allowOrigins],
      allowMethods: ["GET", "HEAD", "POST"],
      allowHeaders: ["content-type", "if-none-match", "mcp-protocol-version", "mcp-method", "mcp-name"],
      exposeHeaders: ["etag", "retry-after"],
      maxAge: 600,
    }));
  }
  app.use(methodNotAllowed({
    app,
    onMethodNotAllowed: (c, methods) => {
      const allow = [...methods, "OPTIONS"].join(", ");
      if (c.req.method === "OPTIONS") return new Response(null, { status: 204, headers: { allow } });
      const detail = `Cannot answer ${c.req.method} ${c.req.path}: expected ${allow}; see /openapi.json`;
      return problemResponse(new ApiError(405, detail).problem, { allow });
    },
  }));
}

function addQuestions(app: Hono, options: AppOptions): void {
  const get = (name: QuestionName | "model") =>
    app.get(`/v1/${name}`, (c) =>
      answerGet(
        c.req.raw,
        options,
        (service, signal) =>
          askQuestion(service, name, queryFields(c.req.url), { signal, client: clientOf(c) }),
      ));
  get("model");
  const tools = new McpTools(options);
  app.post("/mcp", (c) => tools.answerPost(c.req.raw));
  const postLines = (path: string, ask: (client: string) => AskLines, isMeasurements = true) =>
    app.post(path, (c) => {
      const breakOff = () => void (c.env as HttpBindings).outgoing.destroy();
      return answerLines(c.req.raw, { ...options, breakOff, isMeasurements }, ask(clientOf(c)));
    });
  for (const name of Object.keys(QUESTIONS) as QuestionName[]) {
    get(name);
    app.post(`/v1/${name}`, (c) => answerPost(c.req.raw, options, { name, client: clientOf(c) }));
    postLines(
      `/v1/${name}:batch`,
      (client) => (service, lines, { url, signal }) =>
        service.lines(name, lines, queryFields(url), signal, client),
      false,
    );
  }
  postLines(
    "/v1/score",
    () => (service, lines, { url, signal, isText }) =>
      withReadings((onReading) => service.scoreLines(lines, queryFields(url), signal, isText, onReading)),
  );
  postLines(
    "/v1/watch",
    () => (service, lines, { url, signal, isText }) =>
      withReadings((onReading) =>
        watchLines(options.watched.watch, lines, service, {
          signal,
          isText,
          fields: queryFields(url),
          onReading,
        })
      ),
  );
}

function clientOf(c: Context): string {
  return (c.env as HttpBindings).incoming.socket.remoteAddress ?? "";
}

function addDescriptions(app: Hono, options: AppOptions): void {
  const description = openApiDocument();
  app.get("/openapi.json", (c) => answerGet(c.req.raw, options, () => Promise.resolve(description)));
  app.get("/healthz", (c) => {
    const fault = options.models.current.fault();
    if (fault !== undefined) throw new ApiError(503, `Cannot answer: ${fault}; restart the server`);
    return c.text("ok\n");
  });
  app.get(
    "/metrics",
    () => metricsResponse(options.metrics.text(options.models, watchMetrics(options.watched))),
  );
}

function pageResponse(request: Request, { body, gzip, type, hash }: PageFile): Response {
  const accepted = request.headers.get("accept-encoding")?.toLowerCase() ?? "";
  const isZipped = /(?:^|[,\s])gzip\s*(?:,|$|;\s*q=(?:1|0\.\d*[1-9]))/.test(accepted);
  const etag = `"${hash}${isZipped ? "-gzip" : ""}"`;
  // A browser replaces the headers that it has with those of a 304.
  const headers = {
    etag,
    "cache-control": "no-cache",
    "content-security-policy": PAGE_POLICY,
    vary: "accept-encoding",
  };
  if (isKnown(request, etag)) return new Response(null, { status: 304, headers });
  return new Response(isZipped ? gzip : body, {
    headers: { ...headers, "content-type": type, ...(isZipped && { "content-encoding": "gzip" }) },
  });
}

/** Calls back once, when the answer has been sent or can no longer be sent. */
function whenSent(c: Context, done: () => void): void {
  const { outgoing, incoming: { socket } } = c.env as HttpBindings;
  let isOver = false;
  const end = () => {
    if (isOver) return;
    isOver = true;
    socket.off("close", end);
    done();
  };
  outgoing.once("close", end);
  // If the connection closes while this answer waits behind another one, it never emits `close` itself.
  socket.once("close", end);
  if (socket.destroyed) end();
}

/** Also matches the final dot of a fully qualified name (RFC 1034, section 3.1), which some clients send. */
const LOOPBACK = /^(?:localhost\.?|.*\.localhost\.?|127(?:\.\d+){3}|\[::1\])$/;

/**
 * The hosts that a server answers for. Any website can let its own name resolve to 127.0.0.1, and its pages
 * then send same-origin requests to a server that listens there (DNS rebinding). A server on the loopback
 * interface therefore accepts only requests for names of this machine. A server that others can reach anyway
 * accepts all names.
 */
class HostNames {
  readonly #isAny: boolean;
  readonly #names: ReadonlySet<string>;

  /** @param allowOrigins Their hosts are accepted too, because a proxy may keep the original host. */
  constructor(host: string, allowOrigins: readonly string[]) {
    this.#isAny = !LOOPBACK.test(urlHost(host)) || allowOrigins.includes("*");
    this.#names = new Set(
      allowOrigins.filter((origin) => origin !== "*").map((origin) => new URL(origin).hostname),
    );
  }

  /** @throws {ApiError} 421 if a URL names another host, 400 if the URL is invalid. */
  require(url: string): void {
    const hostname = URL.parse(url)?.hostname;
    if (hostname === undefined) {
      throw new ApiError(400, `Cannot read the request: ${shortened(url)} is not a URL; send a path`);
    }
    if (this.#isAny || LOOPBACK.test(hostname) || this.#names.has(hostname)) return;
    throw new ApiError(
      421,
      `Cannot answer for the host ${shortened(hostname)}: expected a name of this machine such as ` +
        "localhost; start the server with --allow-origin and the origin that people use",
    );
  }
}

/** Methods that change nothing (RFC 9110, section 9.2.1). */
const SAFE_METHODS = ["GET", "HEAD", "OPTIONS"];

/**
 * Rejects requests of other sites' pages: CORS keeps such a page from reading an answer, but lets it send text
 * and forms. Programs send neither header. Behind a proxy that changes the host, only `Sec-Fetch-Site`
 * identifies the server's own page; browsers omit it for plain HTTP to other machines.
 *
 * @throws {ApiError} 403.
 */
function requireOwnPage({ headers, url }: Request, allowOrigins: readonly string[]): void {
  const [origin, site] = ["origin", "sec-fetch-site"].map((name) => headers.get(name));
  const isOwn = site === null || site === "none"
    ? origin === null || URL.parse(origin)?.host === new URL(url).host
    : site === "same-origin";
  if (isOwn || allowOrigins.includes("*") || allowOrigins.includes(origin ?? "")) return;
  const from = origin === null ? "another site" : shortened(origin);
  const advice = "start the server with --allow-origin and the page's origin";
  throw new ApiError(403, `Cannot answer a page from ${from}: it is not from this server; ${advice}`);
}
