/** A package registry on this machine that accepts `deno publish` and answers as jsr.io does. @module */
import { assertEquals } from "@std/assert";
import { createHash } from "node:crypto";
import { outputOf, type ProcessResult, requirePage, succeeded } from "../cli/process.ts";
import { TemporaryFolder } from "../io/files/temporary_folder.ts";

const TYPES: Record<string, string> = {
  ".ts": "text/typescript",
  ".js": "text/javascript",
  ".json": "application/json",
};

/** A registry with one package, and a Deno cache that knows no other registry. */
export class LocalRegistry implements AsyncDisposable {
  readonly #files = new Map<string, Uint8Array<ArrayBuffer>>();
  readonly #folder = new TemporaryFolder();
  readonly #server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    (request) => this.#answer(request),
  );
  #package: { scope: string; name: string; version: string; exports: Record<string, string> } | undefined;

  /** Publishes the package of a folder with the command that people use. */
  static async of(folder: string): Promise<LocalRegistry> {
    requirePage();
    const registry = new LocalRegistry();
    const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["info", "--json"] }).output();
    Deno.mkdirSync(registry.#folder.at("cache"));
    Deno.symlinkSync(JSON.parse(new TextDecoder().decode(stdout)).npmCache, registry.#folder.at("cache/npm"));
    // Uncommitted changes are published too.
    await succeeded(
      registry.run(
        ["publish", "--allow-dirty", "--allow-slow-types", "--no-check", "--token", "any"],
        folder,
      ),
    );
    return registry;
  }

  get files(): string[] {
    return [...this.#files.keys()];
  }

  /** A command in a folder that uses only this registry. */
  start(program: string, args: readonly string[], folder: string): Deno.Command {
    const { port } = this.#server.addr;
    const jsr = { JSR_URL: `http://127.0.0.1:${port}/`, DENO_DIR: this.#folder.at("cache") };
    return new Deno.Command(program, {
      args: [...args],
      env: { NO_COLOR: "1", ...jsr },
      cwd: folder,
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    });
  }

  /** Runs `deno ARGS…` in a folder until it ends. */
  run(args: readonly string[], folder: string): Promise<ProcessResult> {
    return outputOf(this.start(Deno.execPath(), args, folder).spawn());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
    this.#folder[Symbol.dispose]();
  }

  async #answer(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    const [, scope, name, version] =
      /^\/api\/scopes\/(.*)\/packages\/([^/]*)(?:\/versions\/(.*))?$/.exec(pathname) ?? [];
    if (request.method === "POST") {
      await this.#unpack(new Uint8Array(await request.arrayBuffer()));
      const { exports } = JSON.parse(
        new TextDecoder().decode(this.#files.get(searchParams.get("config") ?? "")),
      );
      this.#package = {
        scope,
        name,
        version,
        exports: typeof exports === "string" ? { ".": exports } : exports,
      };
      return Response.json({ id: crypto.randomUUID(), status: "success", error: null });
    }
    if (version) return Response.json({ code: "packageVersionNotFound", message: "none" }, { status: 404 });
    if (scope) return Response.json({ scope, name });
    return this.#read(pathname);
  }

  async #unpack(archive: Uint8Array<ArrayBuffer>): Promise<void> {
    const folder = this.#folder.at("package");
    Deno.mkdirSync(folder);
    const tar = new Deno.Command("tar", { args: ["-xzf", "-", "-C", folder], stdin: "piped" }).spawn();
    const writer = tar.stdin.getWriter();
    await writer.write(archive);
    await writer.close();
    assertEquals((await tar.status).code, 0);
    const read = (path: string) => {
      for (const { name, isDirectory } of Deno.readDirSync(`${folder}${path}`)) {
        if (isDirectory) read(`${path}/${name}`);
        else this.#files.set(`${path}/${name}`, Deno.readFileSync(`${folder}${path}/${name}`));
      }
    };
    read("");
  }

  #read(pathname: string): Response {
    if (!this.#package) return new Response(null, { status: 404 });
    const { scope, name, version, exports } = this.#package;
    const root = `/@${scope}/${name}/`;
    if (pathname === `${root}meta.json`) {
      return Response.json({ scope, name, latest: version, versions: { [version]: {} } });
    }
    if (pathname === `${root}${version}_meta.json`) {
      const manifest = Object.fromEntries([...this.#files].map(([path, bytes]) => [path, {
        size: bytes.length,
        checksum: `sha256-${createHash("sha256").update(bytes).digest("hex")}`,
      }]));
      return Response.json({ manifest, exports });
    }
    const path = pathname.slice(`${root}${version}`.length);
    const bytes = pathname.startsWith(root) ? this.#files.get(path) : undefined;
    const headers = { "content-type": TYPES[path.slice(path.lastIndexOf("."))] ?? "text/plain" };
    return bytes ? new Response(bytes, { headers }) : new Response(null, { status: 404 });
  }
}
