import { assertEquals } from "@std/assert";
import { bundleFiles } from "../../../lib/serve/site/bundle.ts";

const BUNDLE = "lib/serve/bundle";

Deno.test("the committed bundle is what deno task bundle makes of the sources", async () => {
  const files = await bundleFiles();
  const committed = [...Deno.readDirSync(BUNDLE)].map(({ name }) => name);
  assertEquals(committed.sort(), [...files.keys()].sort());
  for (const [name, text] of files) {
    const isEqual = Deno.readTextFileSync(`${BUNDLE}/${name}`) === text;
    assertEquals(
      isEqual,
      true,
      `${BUNDLE}/${name} is another one; run deno task bundle and commit what it makes`,
    );
  }
});

Deno.test("the page needs nothing but its own files, and has no scripts or styles in its HTML", () => {
  const html = Deno.readTextFileSync(`${BUNDLE}/index.html`);
  const asked = [...html.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, name]) => name);
  assertEquals(asked, ["icon.svg", "page.css", "page.js"]);
  assertEquals(/<style|style=|<script[^>]*>[^<]| on\w+=/.exec(html), null);
  // zod compiles code, which the page's policy forbids: only the worker may have it.
  assertEquals(Deno.readTextFileSync(`${BUNDLE}/page.js.txt`).includes("ZodError"), false);
  const css = Deno.readTextFileSync(`${BUNDLE}/page.css`);
  assertEquals(/@import|url\(/.exec(css), null);
});
