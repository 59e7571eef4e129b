/**
 * Takes connections and has an app answer.
 *
 * It uses `node:http`, because `Deno.serve` (2.9.6) limits neither connections nor the time to send a head,
 * and does not report what is not HTTP.
 *
 * @module
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { Server as ListeningServer, type Socket } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { ApiError, problemResponse, type ProblemStatus, rawProblem } from "./api/api_error.ts";
import { UserError } from "../base/errors.ts";
import { urlHost } from "../base/text.ts";
import type { Limits } from "./answers.ts";
import { type ConnectionLimits, withinDescriptors } from "./descriptors.ts";

/** Bytes of a request's head; a question with every field is shorter. */
const MAX_HEAD_BYTES = 16 * 2 ** 10;
/** The longest time for a head, s; people's networks are faster. */
const MAX_HEAD_S = 10;
/** How long a connection may wait for the next request, s. */
const MAX_IDLE_S = 15;

/** The paths that are answered on spare connections. */
const SPARE_PATHS = ["/healthz", "/metrics"];
/** How long one of these may be open, s. */
const MAX_SPARE_S = 2;

/** The most requests that a connection may send before the first is answered; most clients send one. */
const MAX_PIPELINED = 16;

/** Where a server listens, and what it takes. */
interface ServerOptions {
  host: string;
  /** 0 for any that is free. */
  port: number;
  limits: Limits;
  log: (line: string) => void;
  fetch: (request: Request, env: object) => Response | Promise<Response>;
}

/** When to look whether connections are still taken, ms: now and then, and after one that was refused. */
const LOOK_MS = { usual: 5000, afterRefusal: 100 };
/** How often and how many turns of the event loop the look waits for a connection of its own. */
const LOOK_TURNS = { everyMs: 50, most: 20 };
/** The time between two lines that say that none are taken, ms. */
const LOG_EVERY_MS = 60_000;

export class HttpServer {
  readonly #server: Server;
  readonly #acceptWatch: AcceptWatch;

  private constructor(server: Server, readonly url: string, acceptWatch: AcceptWatch) {
    this.#server = server;
    this.#acceptWatch = acceptWatch;
  }

  /** Starts to listen. @throws {UserError} If the place is taken or not of this machine. */
  static async listen(options: ServerOptions): Promise<HttpServer> {
    const { host, port, log } = options;
    const limits = withinDescriptors(options.limits, log);
    const server = createServer({
      maxHeaderSize: MAX_HEAD_BYTES,
      headersTimeout: 1000 * MAX_HEAD_S,
      // The app limits the time of bodies.
      requestTimeout: 0,
      keepAliveTimeout: 1000 * MAX_IDLE_S,
      connectionsCheckingInterval: 1000,
      requireHostHeader: false,
    });
    const connections = new Connections(limits);
    server.on("connection", (socket: Socket) => connections.take(socket));
    server.on("request", listenerOf(options, connections));
    // A client may end its side after the request (RFC 9112, section 9.6), as `nc -N` does.
    (server as Server & { httpAllowHalfOpen: boolean }).httpAllowHalfOpen = true;
    // Ends a client that does not read what is sent; the app ends those that wait for an answer.
    server.timeout = 1000 * (limits.maxRequestS + MAX_HEAD_S);
    server.on("clientError", (error: Error & { code?: string }, socket) => {
      if (socket.writable) socket.end(rawProblem(...faultOf(error)));
      else socket.destroy();
    });
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    // Also takes later errors of a server that cannot listen again yet.
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
   * Takes no more connections, and waits until all requests are answered. @param withinS Ends those that take
   * longer.
   */
  async stop(withinS: number): Promise<void> {
    this.#acceptWatch[Symbol.dispose]();
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    // A client that still sends lines gets time to read that they are not answered.
    const idle = setInterval(() => this.#server.closeIdleConnections(), 1000);
    const late = setTimeout(() => this.#server.closeAllConnections(), 1000 * withinS);
    await closed;
    clearInterval(idle);
    clearTimeout(late);
  }
}

/** Why a server cannot listen, by the codes of the system. */
const LISTEN_FAULTS: Record<string, string> = {
  EADDRINUSE: "another program listens there; choose another --port",
  EADDRNOTAVAIL: "it is no address of this machine; choose another --host",
  EACCES: "the system does not allow it; choose a --port of at least 1024",
};

function listenError(error: unknown, place: string): unknown {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (!Object.hasOwn(LISTEN_FAULTS, code)) return error;
  return new UserError(`Cannot listen at ${place}: ${LISTEN_FAULTS[code]}`, { cause: error });
}

/** The open connections, and which of them are over the limits. */
class Connections {
  readonly #limits: ConnectionLimits;
  readonly #numOfClient = new Map<string, number>();
  /** Over the limits, and why. */
  readonly #spare = new Map<Socket, ApiError>();
  #numOpen = 0;
  numTaken = 0;
  /** Called when a connection is closed at once. */
  onRefusal = (): void => {};

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
  }

  /** Counts a connection until it is closed; closes it at once if too many are over the limits. */
  take(socket: Socket): void {
    this.numTaken++;
    // Each request that waits listens, the app's for the end of its answer.
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
      const number = (this.#numOfClient.get(client) ?? 0) + change;
      if (number > 0) this.#numOfClient.set(client, number);
      else this.#numOfClient.delete(client);
    };
    count(1);
    socket.once("close", () => count(-1));
  }

  /** Why a request is refused; undefined if it is not. */
  refusalOf({ socket, url = "" }: IncomingMessage): ApiError | undefined {
    return SPARE_PATHS.includes(url.split("?")[0]) ? undefined : this.#spare.get(socket);
  }

  /** Whether the connection ends with the next answer. */
  isSpare(socket: Socket): boolean {
    return this.#spare.has(socket);
  }

  #faultOf(client: string): ApiError | undefined {
    const { maxConnections, maxClientConnections } = this.#limits;
    if ((this.#numOfClient.get(client) ?? 0) >= maxClientConnections) {
      const found = `${client} has ${maxClientConnections} connections`;
      return new ApiError(429, `Cannot answer: ${found}, expected fewer; close some and ask again`);
    }
    if (this.#numOpen < maxConnections) return undefined;
    const found = `${maxConnections} connections are open`;
    return new ApiError(503, `Cannot answer: ${found}, expected fewer; ask again later`);
  }
}

interface ListeningPlace {
  host: string;
  port: number;
  backlog: number;
}

/**
 * Has a server listen again that takes no more connections.
 *
 * If the process may open no more files when a connection comes, `node:http` of Deno (2.9.6) reports nothing
 * and never accepts again. It opens all waiting connections before the first of them can be refused. So a
 * server that has accepted none for a while connects to itself.
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
    // A look may itself be refused.
    if (this.#isLooking || this.#isOver) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      // When many connections come at once, the last one may have found no free descriptor.
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
      // A permission to listen at port 0 is for no other port.
      if (error instanceof Deno.errors.NotCapable) return true;
    }
    // Turns and not the time: the event loop may have been busy.
    for (let turn = 0; turn < most && !this.#hasTaken(); turn++) {
      await new Promise((resolve) => setTimeout(resolve, everyMs));
    }
    return this.#hasTaken();
  }

  #listenAgain(): void {
    const nowMs = performance.now();
    if (nowMs - this.#loggedMs >= LOG_EVERY_MS) {
      this.log(
        "Cannot take connections: found no free file, expected one for each; idle connections are closed, " +
          "raise the limit with ulimit -n",
      );
      this.#loggedMs = nowMs;
    }
    this.server.closeIdleConnections();
    // Not its own close(), which would end the checks of open connections.
    ListeningServer.prototype.close.call(this.server);
    this.server.listen(this.place);
  }
}

/** The fault in the Host fields of a request (RFC 9112, section 3.2); HTTP/1.0 needs none. */
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
    // `node:http` of Deno reads on while answers wait to be sent, without end.
    if (socket.destroyed || count(1) > MAX_PIPELINED) return void socket.destroy();
    // A client that ends its side within a body is gone.
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

/** Answers without the app, and ends the connection. */
function sendProblem(response: ServerResponse, { problem }: ApiError): void {
  const { status, headers } = problemResponse(problem, { connection: "close" });
  response.writeHead(status, Object.fromEntries(headers)).end(JSON.stringify(problem));
}

/** The error of a client whose request is not valid HTTP. */
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
