/**
 * Takes connections and has an app answer.
 *
 * `node:http` of Deno, not `Deno.serve`: it limits connections and the time that a request's head may take, and tells of
 * what is no request. `Deno.serve` (2.9.6) has none of these, and waits for a head without end.
 *
 * @module
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { ApiError, problemResponse, type ProblemStatus, rawProblem } from "./api/api_error.ts";
import { UserError } from "../base/errors.ts";
import { urlHost } from "../base/text.ts";
import type { Limits } from "./answers.ts";

/** Bytes of a request's head; a question with every field is shorter. */
const MAX_HEAD_BYTES = 16 * 2 ** 10;
/** How long a head may take, s; people's networks are faster. */
const MAX_HEAD_S = 10;
/** How long a connection may wait for the next request, s. */
const MAX_IDLE_S = 15;

/** Connections over the limits, which monitors need while clients hold all others. */
const MAX_SPARE = 16;
/** The paths that are answered on these. */
const SPARE_PATHS = ["/healthz", "/metrics"];
/** How long one of these may be open, s. */
const MAX_SPARE_S = 2;

/** Requests of one connection that are sent before the first of them is answered; most clients send one. */
const MAX_PIPELINED = 16;

/** Where a server listens, and what it takes. */
interface ServerOptions {
  host: string;
  /** 0 for any that is free. */
  port: number;
  limits: Limits;
  /** Answers a request. */
  fetch: (request: Request, env: object) => Response | Promise<Response>;
}

/** A server that listens. */
export class HttpServer {
  readonly #server: Server;

  private constructor(server: Server, readonly url: string) {
    this.#server = server;
  }

  /** Starts to listen. @throws {UserError} If the place is taken or not of this machine. */
  static async listen(options: ServerOptions): Promise<HttpServer> {
    const { host, port, limits } = options;
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
    // A client who does not read what is sent; those who wait for an answer are the app's.
    server.timeout = 1000 * (limits.maxRequestS + MAX_HEAD_S);
    server.on("clientError", (error: Error & { code?: string }, socket) => {
      if (socket.writable) socket.end(rawProblem(...faultOf(error)));
      else socket.destroy();
    });
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    server.once("error", reject);
    server.listen(port, host, resolve);
    try {
      await promise;
    } catch (error) {
      throw listenError(error, `${host}:${port}`);
    }
    const address = server.address();
    const ownPort = typeof address === "object" && address !== null ? address.port : port;
    return new HttpServer(server, `http://${urlHost(host)}:${ownPort}/`);
  }

  /**
   * Takes no more connections, and waits until all requests are answered.
   *
   * @param withinS Ends those that take longer.
   */
  async stop(withinS: number): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    // A client who still sends lines gets time to read that they are not answered.
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

/** The open connections, and those of them that are over the limits. */
class Connections {
  readonly #limits: Limits;
  readonly #numOfClient = new Map<string, number>();
  /** Over the limits, and why. */
  readonly #spare = new Map<Socket, ApiError>();
  #numOpen = 0;

  /** Counts from zero. */
  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /** Counts a connection until it is closed; closes it at once if too many are over the limits. */
  take(socket: Socket): void {
    const client = socket.remoteAddress ?? "";
    const fault = this.#faultOf(client);
    if (fault) {
      if (this.#spare.size >= MAX_SPARE) return void socket.destroy();
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

  /** Why a request is not answered; undefined if it is. */
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
