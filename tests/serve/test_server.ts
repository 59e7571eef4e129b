/** A server in a separate process, as users start it. @module */
import { spawnStage } from "../cli/process.ts";
import { join } from "@std/path";

/** Closes idle connections before the server does (15 s), so no request meets a closing connection. */
const CLIENT = Deno.createHttpClient({ poolIdleTimeout: 5000 });

export class TestServer implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;
  readonly #whole: Promise<void>;
  errors = "";
  url = "";

  private constructor(child: Deno.ChildProcess) {
    this.#child = child;
    this.#whole = this.#readErrors();
  }

  async #readErrors(): Promise<void> {
    for await (const text of this.#child.stderr.pipeThrough(new TextDecoderStream())) this.errors += text;
  }

  /** Starts a server on a free port and waits until it listens. */
  static start(checkpoint: string, ...options: string[]): Promise<TestServer> {
    return this.#start(["--checkpoint", checkpoint, "--port", "0", ...options], []);
  }

  /** {@link start} with a limit on the files that the process may open. */
  static startWithFiles(maxFiles: number, checkpoint: string): Promise<TestServer> {
    return this.#start(["--checkpoint", checkpoint, "--port", String(freePort())], withFiles(maxFiles));
  }

  static async #start(options: readonly string[], launcher: readonly string[]): Promise<TestServer> {
    const child = spawnStage(["serve", "--json", ...options], { flags: ["--allow-net"], launcher });
    const server = new TestServer(child);
    const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    while (!text.includes("\n")) {
      const { value, done } = await reader.read();
      if (done) throw new Error(`serve ended: ${(await server.end()).stderr}`);
      text += value;
    }
    // The remaining output must be read, or the server blocks.
    const rest = async () => {
      while (!(await reader.read()).done);
    };
    void rest();
    server.url = JSON.parse(text).url;
    return server;
  }

  get port(): number {
    return Number(new URL(this.url).port);
  }

  async fetch(path: string, options: RequestInit = {}): Promise<Response> {
    return await fetch(new URL(path, this.url), { client: CLIENT, ...options });
  }

  async post(path: string, body: unknown, options: RequestInit = {}): Promise<Response> {
    return await this.fetch(path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
      ...options,
    });
  }

  /** Posts JSON lines and reads all answers. */
  async postLines(path: string, lines: readonly unknown[]): Promise<Record<string, unknown>[]> {
    const body = lines.map((line) => typeof line === "string" ? line : JSON.stringify(line)).join("\n") +
      "\n";
    const response = await this.fetch(path, { method: "POST", headers: LINES, body });
    return (await response.text()).trimEnd().split("\n").map((line) => JSON.parse(line));
  }

  /** Sends raw text. @returns The answer, until it is complete or the server closes the connection. */
  async send(text: string): Promise<string> {
    using connection = await Deno.connect({ hostname: "127.0.0.1", port: this.port });
    const all = new TextEncoder().encode(text);
    let received = "";
    const receive = async () => {
      const part = new Uint8Array(2 ** 16);
      while (!isWhole(received)) {
        const length = await connection.read(part);
        if (length === null) return;
        received += new TextDecoder("latin1").decode(part.subarray(0, length));
      }
    };
    const send = async () => {
      for (let at = 0; at < all.length;) at += await connection.write(all.subarray(at));
    };
    await Promise.all([send(), receive()]).catch(() => {});
    return received;
  }

  kill(signal: Deno.Signal): void {
    this.#child.kill(signal);
  }

  async end(): Promise<{ code: number; stderr: string }> {
    const { code } = await this.#child.status;
    await this.#whole;
    return { code, stderr: this.errors };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.kill("SIGKILL");
    } catch {
      // The server has already ended.
    }
    await this.end();
  }
}

/** A port that is free now. A server may connect to itself only on a port that it was given. */
export function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

/** A launcher that limits the files that a process may open. */
export function withFiles(maxFiles: number): string[] {
  return ["sh", "-c", `ulimit -n ${maxFiles} && exec "$@"`, "sh"];
}

/** Opens local connections at once and sends a text on each. @returns Those that could be opened. */
export async function connectMany(port: number, count: number, text = ""): Promise<Deno.Conn[]> {
  const connecting = Array.from({ length: count }, () => Deno.connect({ hostname: "127.0.0.1", port }));
  const open = (await Promise.allSettled(connecting)).flatMap((each) =>
    each.status === "fulfilled" ? [each.value] : []
  );
  await Promise.allSettled(open.map((connection) => connection.write(new TextEncoder().encode(text))));
  return open;
}

/** Whether an answer with a content length is complete. */
function isWhole(answer: string): boolean {
  const [, head = "", body = ""] = /^([^]*?\r\n\r\n)([^]*)$/.exec(answer) ?? [];
  const length = /^content-length: (\d+)/im.exec(head)?.[1];
  return length !== undefined && body.length >= Number(length);
}

export const LINES = { "content-type": "application/x-ndjson" };
export const PAIR = { src: "192.0.2.1", dst: "198.51.100.7" };
/** {@link PAIR} as a URL query. */
export const PAIR_QUERY = "src=192.0.2.1&dst=198.51.100.7";

const TYPES: Record<string, string> = {
  ".css": "text/css",
  ".html": "text/html",
  ".js": "text/javascript",
  ".json": "application/json",
  ".svg": "image/svg+xml",
};

/** Serves a folder like any plain web host. */
export class StaticServer implements AsyncDisposable {
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  requests: string[] = [];

  constructor(readonly folder: string) {
    this.#server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
      const { pathname } = new URL(request.url);
      this.requests.push(pathname);
      return this.#answer(pathname === "/" ? "/index.html" : pathname);
    });
  }

  at(path: string): string {
    return `http://127.0.0.1:${this.#server.addr.port}${path}`;
  }

  #answer(path: string): Response {
    const headers = { "content-type": TYPES[/\.\w+$/.exec(path)?.[0] ?? ""] ?? "application/octet-stream" };
    try {
      return new Response(Deno.readFileSync(join(this.folder, path)), { headers });
    } catch {
      return new Response("not found", { status: 404 });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }
}
