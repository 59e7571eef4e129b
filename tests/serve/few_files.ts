/**
 * A server without a model, for tests of the files that a process may open. It opens all of them at a line `take` on
 * standard input, and closes them at the next line.
 *
 * @module
 */
import { fromFileUrl } from "@std/path";
import { HttpServer } from "../../lib/serve/server.ts";
import { SignalListener } from "../../lib/cli/stage_thread.ts";
import { UserError } from "../../lib/base/errors.ts";
import { linesOf } from "../../lib/query/text_lines.ts";

const LIMITS = { maxBodyBytes: 1024, maxRequestS: 10, maxConnections: 64, maxClientConnections: 32 };
const place = { host: "127.0.0.1", port: Number(Deno.args[0]) };

// Deno (2.9.6) panics if it finds no free file where it first needs its handler of signals.
new SignalListener();
const taken: Deno.FsFile[] = [];

function takeAll(): void {
  try {
    for (;;) taken.push(Deno.openSync(fromFileUrl(import.meta.url)));
  } catch {
    // There are no more.
  }
}

try {
  const log = (line: string) => console.error(line);
  const { url } = await HttpServer.listen({ ...place, limits: LIMITS, log, fetch: () => new Response("ok") });
  console.log(url);
  for await (const { text } of linesOf(Deno.stdin.readable)) {
    if (text === "take") takeAll();
    else for (const file of taken.splice(0)) file.close();
    console.log(text);
  }
} catch (error) {
  if (!(error instanceof UserError)) throw error;
  console.error(error.message);
}
Deno.exit();
