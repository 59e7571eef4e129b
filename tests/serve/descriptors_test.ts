import { assertEquals, assertMatch } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { spawnDeno } from "../cli/process.ts";
import { until } from "../until.ts";
import { connectMany, freePort, withFiles } from "./test_server.ts";

const FEW_FILES = fromFileUrl(new URL("./few_files.ts", import.meta.url));
const ASK = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

/** A small server in a process with a limit on open files. */
class SmallServer implements AsyncDisposable {
  readonly port = freePort();
  readonly #child: Deno.ChildProcess;
  readonly #output: ReadableStreamDefaultReader<string>;
  readonly #whole: Promise<void>;
  errors = "";

  constructor(maxFiles: number) {
    const args = ["--allow-read", "--allow-net", FEW_FILES, String(this.port)];
    const child = spawnDeno(args, { launcher: withFiles(maxFiles), stdin: new Uint8Array() });
    this.#child = child;
    this.#output = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    this.#whole = (async () => {
      for await (const text of child.stderr.pipeThrough(new TextDecoderStream())) this.errors += text;
    })();
  }

  /** The next line of output; undefined if the server has ended. */
  async line(): Promise<string | undefined> {
    return (await this.#output.read()).value;
  }

  /** Sends a line and waits until the server has acted on it. */
  async tell(text: string): Promise<void> {
    const writer = this.#child.stdin.getWriter();
    await writer.write(new TextEncoder().encode(`${text}\n`));
    writer.releaseLock();
    assertEquals(await this.line(), `${text}\n`);
  }

  async isHealthy(): Promise<boolean> {
    try {
      const options = { signal: AbortSignal.timeout(5000), headers: { connection: "close" } };
      return await (await fetch(`http://127.0.0.1:${this.port}/`, options)).text() === "ok";
    } catch {
      return false;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#child.stdin.close();
    await this.#output.cancel();
    await this.#child.status;
    await this.#whole;
  }
}

Deno.test("a server refuses to listen if the limit of open files is too low", async () => {
  await using server = new SmallServer(36);
  assertEquals(await server.line(), undefined);
  assertMatch(
    server.errors,
    /^Cannot listen: this process can open only \d+ more files and needs at least 20; .*\n$/,
  );
});

Deno.test("a server accepts connections again after running out of file descriptors", async () => {
  await using server = new SmallServer(64);
  await server.line();
  await server.tell("take");
  const waiting = await connectMany(server.port, 1, ASK);
  await until(
    "the line of it",
    () => server.errors.includes("Cannot accept connections: no file descriptor is free"),
  );
  await server.tell("free");
  await until("an answer", () => server.isHealthy());
  for (const connection of waiting) connection.close();
  assertEquals(server.errors.match(/^Cannot accept connections/gm)?.length, 1, server.errors);
});
