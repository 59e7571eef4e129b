/**
 * Accepts connections and lets an app answer.
 *
 * It uses `node:http`, because `Deno.serve` (2.9.6) limits neither connections nor the time to send headers,
 * and does not report input that is not HTTP.
 *
 * @module
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { Server as ListeningServer, type Socket } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { ApiError, problemResponse, type ProblemStatus, rawProblem } from "./api/api_error.ts";
import { addToCount } from "../base/collections.ts";
import { UserError } from "../base/errors.ts";
import { urlHost } from "../base/text.ts";
import type { Limits } from "./answers.ts";
import { type ConnectionLimits, withinDescriptors } from "./descriptors.ts";

/** Maximum bytes of a request's head; a question with every field is shorter. */
const MAX_HEAD_BYTES = 16 * 2 ** 10;
/** Maximum time to send a head, s; even slow networks need less. */
const MAX_HEAD_S = 10;
/** How long a connection may wait for its next request, s. */
const MAX_IDLE_S = 15;

/** Paths that spare connections serve. */
const SPARE_PATHS = ["/healthz", "/metrics"];
/** How long a spare connection may be open, s. */
const MAX_SPARE_S = 2;

/** Maximum requests that a connection may send before the first is answered. Most clients send one. */
const MAX_PIPELINED = 16;

interface ServerOptions {
  host: string;
  /** 0 for any free port. */
  port: number;
  limits: Limits;
  log: (line: string) => void;
  fetch: (request: Request, env: object) => Response | Promise<Response>;
}

/** When to check whether connections are still accepted, ms: regularly, and after a refused one. */
const LOOK_MS = { usual: 5000, afterRefusal: 100 };
/** How a check waits for its own connection: interval and maximum number of event loop turns. */
const LOOK_TURNS = { everyMs: 50, most: 20 };
/** Minimum time between log lines about connections not being accepted, ms. */
const LOG_EVERY_MS = 60_000;

export class HttpServer {
  readonly #server: Server;
  readonly #acceptWatch: AcceptWatch;

  private constructor(server: Server, readonly url: string, acceptWatch: AcceptWatch) {
    this.#server = server;
    this.#acceptWatch = acceptWatch;
  }

  /** Starts listening. @throws {UserError} If the port is in use or the host is not of this machine. */
  static async listen(options: ServerOptions): Promise<HttpServer> {
    const { host, port, log } = options;
    const limits = withinDescriptors(options.limits, log);
    const server = createServer({
      maxHeaderSize: MAX_HEAD_BYTES,
      headersTimeout: 1000 * MAX_HEAD_S,
      // The app limits the time for bodies.
      requestTimeout: 0,
      keepAliveTimeout: 1000 * MAX_IDLE_S,
      connectionsCheckingInterval: 1000,
      requireHostHeader: false,
    });
    const connections = new Connections(limits);
    server.on("connection", (socket: Socket) => connections.take(socket));
    server.on("request", listenerOf(options, connections));
    // A client may close its side after the request (RFC 9112, section 9.6), as `nc -N` does.
    (server as Server & { httpAllowHalfOpen: boolean }).httpAllowHalfOpen = true;
    // Disconnects clients that do not read their answer; the app ends those that wait for one.
    server.timeout = 1000 * (limits.maxRequestS + MAX_HEAD_S);
    server.on("clientError", (error: Error & { code?: string }, socket) => {
      if (socket.writable) socket.end(rawProblem(...faultOf(error)));
      else socket.destroy();
    });
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    // Also handles later errors of a server that cannot listen again yet.
    server.on("error", reject);
    server.listen({ port, host, backlog: limits.maxBacklog }, resolve);
    try {
      await promise;
    } catch (error) {
      throw listenError(error, `${host}:${port}`);
    }
    const address = server.address();
    const ownPort = typeof address === "object" && address !== null ? address.port : port;
    const place = { host, port: ownPort, backlog: limits.maxBacklog };
    const acceptWatch = new AcceptWatch(server, connections, place, log);
    return new HttpServer(server, `http://${urlHost(host)}:${ownPort}/`, acceptWatch);
  }

  /**
   * Stops accepting connections and waits until all requests are answered.
   *
   * @param withinS Requests that take longer are broken off.
   */
  async stop(withinS: number): Promise<void> {
    this.#acceptWatch[Symbol.dispose]();
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    // Gives a client that still sends lines time to read that they are not answered.
    const idle = setInterval(() => this.#server.closeIdleConnections(), 1000);
    const late = setTimeout(() => this.#server.closeAllConnections(), 1000 * withinS);
    await closed;
    clearInterval(idle);
    clearTimeout(late);
  }
}

const LISTEN_FAULTS: Record<string, string> = {
  EADDRINUSE: "another program listens there; choose another --port",
  EADDRNOTAVAIL: "it is not an address of this machine; choose another --host",
  EACCES: "the system does not allow it; choose a --port of at least 1024",
};

function listenError(error: unknown, place: string): unknown {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (!Object.hasOwn(LISTEN_FAULTS, code)) return error;
  return new UserError(`Cannot listen at ${place}: ${LISTEN_FAULTS[code]}`, { cause: error });
}

/** Tracks open connections and which of them are beyond the limits. */
class Connections {
  readonly #limits: ConnectionLimits;
  readonly #numOfClient = new Map<string, number>();
  /** Connections beyond the limits, with the reason. */
  readonly #spare = new Map<Socket, ApiError>();
  #numOpen = 0;
  numTaken = 0;
  /** Called when a connection is closed immediately. */
  onRefusal = (): void => {};

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
  }

  /** Counts a connection until it closes. Closes it immediately if too many are beyond the limits. */
  take(socket: Socket): void {
    this.numTaken++;
    // Every waiting request adds listeners, including the app's for the end of the answer.
    socket.setMaxListeners(4 * MAX_PIPELINED);
    const client = socket.remoteAddress ?? "";
    const fault = this.#faultOf(client);
    if (fault) {
      if (this.#spare.size >= this.#limits.maxSpare) {
        socket.destroy();
        return this.onRefusal();
      }
      this.#spare.set(socket, fault);
      const timer = setTimeout(() => socket.destroy(), 1000 * MAX_SPARE_S);
      socket.once("close", () => {
        clearTimeout(timer);
        this.#spare.delete(socket);
      });
      return;
    }
    const count = (change: number) => {
      this.#numOpen += change;
      addToCount(this.#numOfClient, client, change);
    };
    count(1);
    socket.once("close", () => count(-1));
  }

  /** Why a request is refused; undefined if it is accepted. */
  refusalOf({ socket, url = "" }: IncomingMessage): ApiError | undefined {
    return SPARE_PATHS.includes(url.split("?")[0]) ? undefined : this.#spare.get(socket);
  }

  /** Whether the connection closes after the next answer. */
  isSpare(socket: Socket): boolean {
    return this.#spare.has(socket);
  }

  #faultOf(client: string): ApiError | undefined {
    const { maxConnections, maxClientConnections } = this.#limits;
    if ((this.#numOfClient.get(client) ?? 0) >= maxClientConnections) {
      const found = `${client} already has ${maxClientConnections} connections`;
      return new ApiError(429, `Cannot answer: ${found}; close some and ask again`);
    }
    if (this.#numOpen < maxConnections) return undefined;
    const found = `${maxConnections} connections are already open`;
    return new ApiError(503, `Cannot answer: ${found}; ask again later`);
  }
}

interface ListeningPlace {
  host: string;
  port: number;
  backlog: number;
}

/**
 * Makes a server listen again when it no longer accepts connections.
 *
 * If the process cannot open more files when a connection arrives, `node:http` of Deno (2.9.6) reports
 * nothing and never accepts again. It opens all waiting connections before the first can be refused.
 * Therefore a server that has accepted no connection for a while connects to itself.
 */
class AcceptWatch implements Disposable {
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isLooking = false;
  #isOver = false;
  #numSeen = 0;
  #loggedMs = -Infinity;

  constructor(
    readonly server: Server,
    readonly connections: Connections,
    readonly place: ListeningPlace,
    readonly log: (line: string) => void,
  ) {
    connections.onRefusal = () => this.#lookAfter(LOOK_MS.afterRefusal, true);
    this.#lookAfter(LOOK_MS.usual);
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }

  #lookAfter(ms: number, wasRefused = false): void {
    // The check's own connection may be refused.
    if (this.#isLooking || this.#isOver) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      // If many connections arrive at once, the last one may have found no free descriptor.
      if (wasRefused) this.#numSeen = this.connections.numTaken;
      void this.#look();
    }, ms);
  }

  async #look(): Promise<void> {
    this.#isLooking = true;
    const isTaking = this.#hasTaken() || await this.#takesOwn();
    this.#isLooking = false;
    this.#numSeen = this.connections.numTaken;
    if (!isTaking && !this.#isOver) this.#listenAgain();
    this.#lookAfter(LOOK_MS.usual);
  }

  #hasTaken(): boolean {
    return this.connections.numTaken > this.#numSeen;
  }

  async #takesOwn(): Promise<boolean> {
    const { host: hostname, port } = this.place;
    const { everyMs, most } = LOOK_TURNS;
    try {
      (await Deno.connect({ hostname, port, signal: AbortSignal.timeout(everyMs * most) })).close();
    } catch (error) {
      // A permission to listen on port 0 covers no other port.
      if (error instanceof Deno.errors.NotCapable) return true;
    }
    // Counts turns rather than time, because the event loop may have been busy.
    for (let turn = 0; turn < most && !this.#hasTaken(); turn++) {
      await new Promise((resolve) => setTimeout(resolve, everyMs));
    }
    return this.#hasTaken();
  }

  #listenAgain(): void {
    const nowMs = performance.now();
    if (nowMs - this.#loggedMs >= LOG_EVERY_MS) {
      this.log(
        "Cannot accept connections: no file descriptor is free, idle connections are closed; " +
          "raise the limit with ulimit -n",
      );
      this.#loggedMs = nowMs;
    }
    this.server.closeIdleConnections();
    // Not the server's own close(), which would stop the checks of open connections.
    ListeningServer.prototype.close.call(this.server);
    this.server.listen(this.place);
  }
}

/** The fault in a request's Host headers (RFC 9112, section 3.2); HTTP/1.0 requires none. */
function hostFault({ rawHeaders, httpVersion }: IncomingMessage): ApiError | undefined {
  const number = rawHeaders.filter((text, i) => i % 2 === 0 && text.toLowerCase() === "host").length;
  if (number === 1 || (number === 0 && httpVersion === "1.0")) return undefined;
  return new ApiError(400, `Cannot read the request: found ${number} Host fields, expected one`);
}

function listenerOf(
  { fetch, host }: ServerOptions,
  connections: Connections,
): (request: IncomingMessage, response: ServerResponse) => void {
  const listener = getRequestListener((request, env) => fetch(request, env), {
    overrideGlobalObjects: false,
    errorHandler: (error) => {
      const message = error instanceof Error ? error.message : String(error);
      return problemResponse(new ApiError(400, `Cannot read the request: ${message}`).problem);
    },
  });
  const numWaiting = new WeakMap<Socket, number>();
  return (request, response) => {
    const { socket } = request;
    const count = (change: number) => {
      const number = (numWaiting.get(socket) ?? 0) + change;
      numWaiting.set(socket, number);
      return number;
    };
    // `node:http` of Deno keeps reading without limit while answers wait to be sent.
    if (socket.destroyed || count(1) > MAX_PIPELINED) return void socket.destroy();
    // A client that closes its side within a body has left.
    const onEnd = () => {
      if (!request.complete) socket.destroy();
    };
    response.once("close", () => {
      count(-1);
      socket.off("end", onEnd);
    });
    if (connections.isSpare(socket)) response.setHeader("connection", "close");
    const fault = hostFault(request) ?? connections.refusalOf(request);
    if (fault) return void sendProblem(response, fault);
    socket.once("end", onEnd);
    request.headers.host ??= urlHost(host);
    void listener(request, response);
  };
}

/** Answers without the app and closes the connection. */
function sendProblem(response: ServerResponse, { problem }: ApiError): void {
  const { status, headers } = problemResponse(problem, { connection: "close" });
  response.writeHead(status, Object.fromEntries(headers)).end(JSON.stringify(problem));
}

/** The error to report for input that is not valid HTTP. */
function faultOf(
  { code, message }: { code?: string; message: string },
): [status: ProblemStatus, detail: string] {
  if (code === "HPE_HEADER_OVERFLOW") {
    return [431, `Cannot read the request: its head has more than ${MAX_HEAD_BYTES} bytes; use POST`];
  }
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") {
    return [408, `Cannot read the request: its head took more than ${MAX_HEAD_S} s; send it faster`];
  }
  return [400, `Cannot read the request: ${message}; expected an HTTP/1.1 request`];
}
