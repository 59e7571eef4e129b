import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path";
import { exists } from "../../lib/io/files/inputs.ts";
import { withFolder } from "../io/files/temporary_folder.ts";
import { makeDocumentation } from "./documentation.ts";

/** Pages that can be reached from a page by links, and dead links. */
function reachFrom(folder: string, first: string): { pages: Set<string>; dead: string[] } {
  const pages = new Set([first]);
  const dead: string[] = [];
  const textOf = (page: string) =>
    Deno.readTextFileSync(join(folder, page)).replaceAll("&#x2F;", "/").replaceAll("&#x27;", "'");
  // Iterating over a set includes elements added meanwhile.
  for (const page of pages) {
    const text = textOf(page);
    for (const [, link] of text.matchAll(/href="(?![a-z]+:)([^"]+)"/g)) {
      const [path, anchor] = link.split("#");
      const target = path === "" ? page : join(page, "..", path);
      const file = target.endsWith(".html") || !exists(join(folder, target, "index.html"))
        ? target
        : `${target}/index.html`;
      if (!exists(join(folder, file))) dead.push(`${page}: ${link}`);
      else if (file.endsWith(".html")) {
        pages.add(file);
        const isThere = !anchor || textOf(file).includes(`id="${anchor}"`);
        if (!isThere) dead.push(`${page}: ${link}`);
      }
    }
  }
  return { pages, dead };
}

Deno.test("the documentation contains the library and the READMEs, and no dead links", () =>
  withFolder(async (folder) => {
    await makeDocumentation(folder);
    const { pages, dead } = reachFrom(folder, "index.html");
    assertEquals(dead, []);
    for (
      const path of ["~/loadModel.html", "~/Model.html", "dist/guide/lib/query/README.ts/index.html"]
    ) {
      assert(pages.has(path), path);
    }
    const text = Deno.readTextFileSync(join(folder, "dist/guide/lib/cli/README.ts/index.html"));
    assert(text.includes('<h2 id="permissions"'), "it is not drawn");
    assertEquals(exists("dist/guide"), false);
  }));
