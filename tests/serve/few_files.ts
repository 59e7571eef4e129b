/**
 * A server without a model, for tests of a process's limit on open files. The line `take` on standard input
 * makes it open all remaining files; the next line closes them.
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

// Deno (2.9.6) panics if no file is free when its signal handler is first needed.
new SignalListener();
const taken: Deno.FsFile[] = [];

function takeAll(): void {
  try {
    for (;;) taken.push(Deno.openSync(fromFileUrl(import.meta.url)));
  } catch {
    // No more files can be opened.
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
