import { assertEquals, assertNotEquals, assertStringIncludes } from "@std/assert";
import { createHash } from "node:crypto";
import { toFileUrl } from "@std/path";
import { readPageFiles } from "../../lib/serve/page_files.ts";
import { TemporaryFolder } from "../files/temporary_folder.ts";

Deno.test("readPageFiles() gives each file its type and tag, and a page a policy that allows its own scripts", () => {
  using folder = new TemporaryFolder();
  const url = toFileUrl(`${folder.path}/`);
  Deno.writeTextFileSync(
    folder.at("index.html"),
    '<script src="a.js"></script><script>run()</script><style>a{}</style>',
  );
  Deno.writeTextFileSync(folder.at("a.js"), "1");
  Deno.writeTextFileSync(folder.at("notes.md"), "no part of the page");
  const files = readPageFiles(url);
  assertEquals([...files.keys()].sort(), ["/", "/a.js"]);
  assertEquals(files.get("/a.js")?.type, "text/javascript; charset=utf-8");
  assertEquals(files.get("/a.js")?.policy, undefined);
  const hash = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
  const policy = files.get("/")?.policy ?? "";
  assertStringIncludes(policy, `script-src 'self' ${hash("run()")};`);
  assertStringIncludes(policy, `style-src 'self' ${hash("a{}")};`);
  const { etag } = files.get("/a.js") ?? {};
  Deno.writeTextFileSync(folder.at("a.js"), "2");
  assertNotEquals(readPageFiles(url).get("/a.js")?.etag, etag);
});

Deno.test("readPageFiles() gives a page that points to the API where there is none", () => {
  using folder = new TemporaryFolder();
  const file = readPageFiles(toFileUrl(folder.at("none/"))).get("/");
  assertStringIncludes(new TextDecoder().decode(file?.body), "openapi.json");
});
