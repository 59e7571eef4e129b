/** A plain server of files, as any web host is one. @module */
import { join } from "@std/path";

const TYPES: Record<string, string> = {
  ".css": "text/css",
  ".html": "text/html",
  ".js": "text/javascript",
  ".json": "application/json",
  ".svg": "image/svg+xml",
};

/** Serves a folder until it is disposed of. */
export class StaticServer implements AsyncDisposable {
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  /** The paths that were asked for. */
  requests: string[] = [];

  constructor(readonly folder: string) {
    this.#server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
      const { pathname } = new URL(request.url);
      this.requests.push(pathname);
      return this.#answer(pathname === "/" ? "/index.html" : pathname);
    });
  }

  /** A page of it. */
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
