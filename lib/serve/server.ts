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
import { ApiError, type ProblemStatus } from "../api/api_error.ts";
import { UserError } from "../errors.ts";
import { urlHost } from "../text/url_host.ts";
import type { Limits } from "./limits.ts";
import { problemResponse, rawProblem } from "./problems.ts";

/** Bytes of a request's head; a question with every field is shorter. */
const MAX_HEAD_BYTES = 16 * 2 ** 10;
/** How long a head may take, s; people's networks are faster. */
const MAX_HEAD_S = 10;
/** How long a connection may wait for the next request, s. */
const MAX_IDLE_S = 15;

/** Requests of one connection that are sent before the first of them is answered; most clients send one. */
const MAX_PIPELINED = 16;

/** Where a server listens, and what it takes. */
export interface ServerOptions {
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
    }, listenerOf(options));
    server.maxConnections = limits.maxConnections;
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

function listenerOf({ fetch }: ServerOptions): (request: IncomingMessage, response: ServerResponse) => void {
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
    response.once("close", () => count(-1));
    void listener(request, response);
  };
}

/** What is said to a client who sends what is no request. */
function faultOf(
  { code, message }: { code?: string; message: string },
): [status: ProblemStatus, detail: string] {
  if (code === "HPE_HEADER_OVERFLOW") {
    return [431, `Cannot read the request: its head has more than ${MAX_HEAD_BYTES} bytes; use POST`];
  }
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") {
    return [408, `Cannot read the request: its head took more than ${MAX_HEAD_S} s; send it faster`];
  }
  return [400, `Cannot read the request: ${message}; an HTTP/1.1 request was wanted`];
}
