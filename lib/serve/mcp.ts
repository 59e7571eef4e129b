/**
 * The API's questions as tools for assistants, via the Model Context Protocol (MCP) over HTTP or standard
 * input and output.
 *
 * The package `@modelcontextprotocol/server` supports clients of protocol versions 2024-11-05 to 2026-07-28.
 * Few clients use MCP, so the package is loaded on the first request. HTTP requests are independent: there
 * are no sessions and no event streams. Specification:
 * https://modelcontextprotocol.io/specification/2026-07-28.
 *
 * @module
 */
import type {
  CallToolResult,
  JSONRPCErrorResponse,
  JSONRPCMessage,
  McpServer,
  RequestId,
  StandardSchemaWithJSON,
  Transport,
} from "@modelcontextprotocol/server";
import { isObject } from "../base/collections.ts";
import { shortened } from "../base/errors.ts";
import { VERSION } from "../base/version.ts";
import { printLine } from "../io/files/standard_output.ts";
import { chunksUntil, linesOf, type TextLine } from "../query/text_lines.ts";
import { problemOf } from "./api/api_error.ts";
import { jsonLines } from "../query/questions/lines.ts";
import { type AnswerOptions, askQuestion, describeError, readJson, TimeLimit } from "./answers.ts";
import * as z from "zod";
import { parseLenientJson } from "../io/text/json_stream.ts";
import { wholeSchema } from "../query/questions/question.ts";
import type { QuestionName } from "../query/questions/questions.ts";
import { readFields } from "../query/questions/read_fields.ts";
import { score } from "../query/questions/score.ts";
import { watch } from "../query/questions/watch.ts";
import type { PingService } from "./api/ping_service.ts";
import { type WatchedState, watchLines } from "./watched.ts";
import { ABOUT, toolsOf } from "./openapi.ts";

const INSTRUCTIONS =
  `${ABOUT} Ask \`model\` first: it reports which addresses, places and times the model knows. ` +
  "RTTs are in ms. Host names are not resolved: give addresses, prefixes or places, which `places` finds.";
/** Tools access only the model. */
const ANNOTATIONS = { readOnlyHint: true, openWorldHint: false };
/** Error codes of JSON-RPC 2.0, section 5.1. */
const PARSE_ERROR = -32700;
const INVALID_REQUEST = -32600;
const NO_MESSAGE = "expected a JSON-RPC message";
/** The package does not tell which client calls a tool, so all share one share of the GPU. */
const MCP_CLIENT = "mcp";
/** Depth of the parameters of an `initialize` request, such as `capabilities.roots.listChanged`. */
const PARAMS_DEPTH = 4;

interface McpOptions extends AnswerOptions {
  readonly watched: WatchedState;
}

export class McpTools {
  readonly #options: McpOptions;
  #http: Promise<(request: Request, body: unknown) => Promise<Response>> | undefined;

  constructor(options: McpOptions) {
    this.#options = options;
  }

  /** @throws {ApiError} If the body cannot be read. */
  async answerPost(request: Request): Promise<Response> {
    const { maxBodyBytes, maxRequestS } = this.#options.limits;
    using limit = new TimeLimit(maxRequestS, request.signal);
    const { signal } = limit;
    const { lengthBytes, value } = await readJson(request, { maxBytes: maxBodyBytes, signal });
    this.#http ??= this.#loadHttp();
    const http = await this.#http;
    const { gate } = this.#options.models.current.service;
    const answer = await gate.run(
      lengthBytes,
      async () => await http(request, withoutNullParams(value())),
      signal,
    );
    // The package always sends `keep-alive`; the server sets the actual value.
    answer.headers.delete("connection");
    return answer;
  }

  /**
   * Serves the client on standard input and output until the input ends or the server stops, and all requests
   * are answered.
   *
   * @throws {UserError} If the output is closed.
   */
  async serveLines(): Promise<void> {
    const { serveStdio } = await import("@modelcontextprotocol/server/stdio");
    const { parseJSONRPCMessage } = await import("@modelcontextprotocol/server");
    const { limits, stopping } = this.#options;
    const transport = new LineTransport(parseJSONRPCMessage);
    const handle = serveStdio(await this.#load(), { transport, maxSubscriptions: 0 });
    await transport.take(linesOf(chunksUntil(stopping, Deno.stdin.readable), limits.maxBodyBytes));
    await handle.close();
  }

  async #loadHttp() {
    const { createMcpHandler, parseJSONRPCMessage } = await import("@modelcontextprotocol/server");
    const handler = createMcpHandler(await this.#load(), { maxSubscriptions: 0 });
    return async (request: Request, body: unknown) => {
      try {
        if (idOf(body) !== undefined) parseJSONRPCMessage(body);
      } catch {
        // The package's own answer would have no id.
        const error = { code: INVALID_REQUEST, message: `Cannot read the request: ${NO_MESSAGE}` };
        return Response.json(refusal(error, body), { status: 400 });
      }
      return await handler.fetch(request, { parsedBody: body });
    };
  }

  async #load(): Promise<() => McpServer> {
    const { McpServer } = await import("@modelcontextprotocol/server");
    const tools = toolsOf().map(({ name, summary, input, output }) => {
      const schemas = { inputSchema: unchecked(input), outputSchema: unchecked(output) };
      // `watch` is not read-only: the server remembers its measurements.
      const annotations = { ...ANNOTATIONS, readOnlyHint: name !== watch.name };
      return { name, tool: { description: summary, ...schemas, annotations } };
    });
    return () => {
      const capabilities = { tools: { listChanged: false } };
      const options = { instructions: INSTRUCTIONS, capabilities };
      const server = new McpServer({ name: "ping-llm", version: VERSION }, options);
      for (const { name, tool } of tools) {
        server.registerTool(name, tool, (question, { mcpReq }) => this.#call(name, question, mcpReq.signal));
      }
      return server;
    };
  }

  async #answer(
    service: PingService,
    name: string,
    question: unknown,
    signal: AbortSignal,
  ): Promise<unknown> {
    if (name !== score.name && name !== watch.name) {
      return await askQuestion(service, name as QuestionName, question, { signal, client: MCP_CLIENT });
    }
    const kind = name === score.name ? score : watch;
    const { measurements, ...fields } = readFields(wholeSchema(kind, z.unknown()), question);
    const lines = jsonLines(measurements as unknown[]);
    const answers = name === score.name
      ? service.scoreLines(lines, fields, signal)
      : watchLines(this.#options.watched.watch, lines, service, { signal, isText: false, fields });
    return { answers: await Array.fromAsync<unknown>(answers) };
  }

  async #call(name: string, question: unknown, client: AbortSignal): Promise<CallToolResult> {
    const { models, limits, log } = this.#options;
    try {
      using limit = new TimeLimit(limits.maxRequestS, client);
      using lease = models.lease();
      const answer = await this.#answer(lease.model.service, name, question, limit.signal);
      return { structuredContent: answer, content: [{ type: "text", text: JSON.stringify(answer) }] };
    } catch (error) {
      const { status, detail } = problemOf(error);
      if (status === 500) log(describeError(error));
      return { isError: true, content: [{ type: "text", text: detail }] };
    }
  }
}

/** Wraps a JSON Schema for the package. It validates nothing: the service does, with a stage's messages. */
function unchecked(schema: Record<string, unknown>): StandardSchemaWithJSON {
  const jsonSchema = { input: () => schema, output: () => schema };
  return { "~standard": { version: 1, vendor: "ping-llm", validate: (value) => ({ value }), jsonSchema } };
}

/** Removes null parameters from messages. Tool arguments are left to their question's schema. */
function withoutNullParams(message: unknown): unknown {
  if (Array.isArray(message)) return message.map(withoutNullParams);
  if (!isObject(message) || !("params" in message)) return message;
  const { params, ...rest } = message;
  return { ...rest, ...(params !== null && { params: withoutNulls(params, PARAMS_DEPTH) }) };
}

function withoutNulls(value: unknown, depth: number): unknown {
  if (!isObject(value) || depth === 0) return value;
  const entries = Object.entries(value).filter(([, each]) => each !== null);
  const read = (name: string, each: unknown) =>
    name === "arguments" ? argumentsOf(each) : withoutNulls(each, depth - 1);
  return Object.fromEntries(entries.map(([name, each]) => [name, read(name, each)]));
}

/** Tool arguments, which some clients send as JSON text. */
function argumentsOf(given: unknown): unknown {
  return typeof given === "string" ? parseLenientJson(given) ?? given : given;
}

/** The id of a request, even if the request is otherwise invalid. */
function idOf(request: unknown): RequestId | undefined {
  if (!isObject(request) || "result" in request || "error" in request) return undefined;
  const { id } = request;
  return typeof id === "string" || typeof id === "number" ? id : undefined;
}

/** The answer to input that is not a message, with the id if it can be read (JSON-RPC 2.0, section 5). */
function refusal(error: JSONRPCErrorResponse["error"], request: unknown): JSONRPCErrorResponse {
  const id = idOf(request);
  return { jsonrpc: "2.0", ...(id !== undefined && { id }), error };
}

/** Messages as lines: reads requests from given lines, writes answers to standard output. */
class LineTransport implements Transport {
  onmessage?: (message: JSONRPCMessage) => void;
  onclose?: () => void;
  readonly #parse: (value: unknown) => JSONRPCMessage;
  readonly #running = new Set<RequestId>();
  #whenIdle: (() => void) | undefined;
  #fault: unknown;

  constructor(parse: (value: unknown) => JSONRPCMessage) {
    this.#parse = parse;
  }

  start(): Promise<void> {
    return Promise.resolve();
  }

  /** Handles all lines, then waits until they are answered. @throws {UserError} If the output is closed. */
  async take(lines: AsyncIterable<TextLine>): Promise<void> {
    let number = 0;
    for await (const line of lines) {
      number++;
      if (line.text.trim() !== "") await this.#takeLine(line, `line ${number} of standard input`);
      if (this.#fault) break;
    }
    if (this.#running.size > 0) await new Promise<void>((resolve) => this.#whenIdle = resolve);
    if (this.#fault) throw this.#fault;
  }

  send(message: JSONRPCMessage): Promise<void> {
    return Promise.try(() => {
      try {
        printLine(JSON.stringify(message));
      } catch (error) {
        // The package does not pass errors on.
        this.#fault = error;
      }
      if (!("method" in message)) this.#end(message.id);
    });
  }

  close(): Promise<void> {
    return Promise.try(() => this.onclose?.());
  }

  async #takeLine({ text, fault }: TextLine, place: string): Promise<void> {
    let value: unknown;
    let message: JSONRPCMessage;
    try {
      if (fault !== undefined) throw new SyntaxError(fault);
      value = JSON.parse(text);
      message = this.#parse(withoutNullParams(value));
    } catch (error) {
      const isText = error instanceof SyntaxError;
      const found = isText ? error.message : `found ${shortened(text)}`;
      const expected = fault === undefined ? `, ${NO_MESSAGE}` : "";
      const code = isText ? PARSE_ERROR : INVALID_REQUEST;
      const answer = { code, message: `Cannot read ${place}: ${found}${expected}` };
      return await this.send(refusal(answer, value));
    }
    if ("method" in message) {
      if ("id" in message) this.#running.add(message.id);
      // A cancelled request gets no answer.
      else if (message.method === "notifications/cancelled") this.#end(message.params?.requestId);
    }
    this.onmessage?.(message);
  }

  #end(id: unknown): void {
    this.#running.delete(id as RequestId);
    if (this.#running.size === 0) this.#whenIdle?.();
  }
}
