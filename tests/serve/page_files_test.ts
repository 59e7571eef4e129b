import { assertEquals, assertNotEquals, assertThrows } from "@std/assert";
import { toFileUrl } from "@std/path";
import { UserError } from "../../lib/base/errors.ts";
import { readPageFiles } from "../../lib/serve/page_files.ts";
import { TemporaryFolder } from "../io/files/temporary_folder.ts";

Deno.test("readPageFiles() gives each file its type and tag", () => {
  using folder = new TemporaryFolder();
  const url = toFileUrl(`${folder.path}/`);
  Deno.writeTextFileSync(folder.at("index.html"), '<script src="a.js"></script>');
  Deno.writeTextFileSync(folder.at("a.js"), "1");
  const files = readPageFiles(url);
  assertEquals([...files.keys()].sort(), ["/", "/a.js"]);
  assertEquals(files.get("/a.js")?.type, "text/javascript; charset=utf-8");
  const { etag } = files.get("/a.js") ?? {};
  Deno.writeTextFileSync(folder.at("a.js"), "2");
  assertNotEquals(readPageFiles(url).get("/a.js")?.etag, etag);
});

Deno.test("readPageFiles() says how the page is made where there is none", () => {
  using folder = new TemporaryFolder();
  assertThrows(() => readPageFiles(toFileUrl(`${folder.path}/`)), UserError, "deno task bundle");
});
