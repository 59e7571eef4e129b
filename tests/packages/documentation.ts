/**
 * Makes the documentation site in `dist/doc`: `deno doc` of mod.ts, with a page for each README. Run by `deno
 * task doc`.
 *
 * @module
 */
import { dirname, fromFileUrl, join } from "@std/path";
import { ensure } from "../../lib/base/errors.ts";

const ROOT = fromFileUrl(new URL("../../", import.meta.url));
const OUTPUT = "dist/doc";
/** `deno doc` shows modules, so each Markdown page gets one here. Deleted at the end. */
const PAGES = "dist/guide";
/** Pages of text have no imports and no symbols. */
const STYLE = "<style>.usageContent, .topSymbols { display: none }</style>";

/** All Markdown pages of the package, relative to the root. */
function markdownPages(folder = ""): string[] {
  if (folder === "") return ["README.md", ...markdownPages("lib")];
  return [...Deno.readDirSync(join(ROOT, folder))].flatMap(({ name, isDirectory }) => {
    const path = `${folder}/${name}`;
    if (name === "node_modules") return [];
    return isDirectory ? markdownPages(path) : path.endsWith(".md") ? [path] : [];
  }).sort();
}

/** Path of the module for a page, relative to the root. */
function moduleOf(page: string): string {
  return `${PAGES}/${page.replace(/\.md$/, ".ts")}`;
}

/** A page with links to pages of the site; other links become text. */
function withLinks(page: string, text: string, pages: readonly string[]): string {
  const toRoot = "../".repeat(moduleOf(page).split("/").length);
  return text.replace(/\[([^\]]*)\]\((?![a-z]+:)([^)#]*)(#[^)]*)?\)/g, (_, label, path, anchor = "") => {
    if (path === "") return `[${label}](${anchor})`;
    const target = join(dirname(page), path);
    if (target === "mod.ts") return `[${label}](${toRoot}index.html)`;
    return pages.includes(target) ? `[${label}](${toRoot}${moduleOf(target)}/index.html${anchor})` : label;
  });
}

export async function makeDocumentation(folder: string): Promise<void> {
  const pages = markdownPages();
  for (const page of pages) {
    const text = withLinks(page, Deno.readTextFileSync(join(ROOT, page)), pages);
    const module = join(ROOT, moduleOf(page));
    Deno.mkdirSync(dirname(module), { recursive: true });
    Deno.writeTextFileSync(module, `/**\n${text.replace(/^/gm, " * ")}\n * @module\n */\nexport {};\n`);
  }
  const args = [
    "doc",
    "--quiet",
    "--html",
    "--name=ping-llm",
    `--output=${folder}`,
    "mod.ts",
    ...pages.map(moduleOf),
  ];
  const { success, stderr } = await new Deno.Command(Deno.execPath(), { args, cwd: ROOT }).output();
  Deno.removeSync(join(ROOT, PAGES), { recursive: true });
  if (!success) throw new Error(`deno doc failed: ${new TextDecoder().decode(stderr)}`);
  const insert = (path: string, before: string, added: string) => {
    const text = Deno.readTextFileSync(join(folder, path));
    ensure(text.includes(before), `${path} of deno doc has ${before}`);
    Deno.writeTextFileSync(join(folder, path), text.replace(before, added + before));
  };
  for (const page of pages) insert(`${moduleOf(page)}/index.html`, "</head>", STYLE);
  insert(
    "index.html",
    '<div class="space-y-7" id="module_doc">',
    `<div class="markdown"><p><a href="${moduleOf("README.md")}/index.html">` +
      "README: the program, how to install it, and pages on each part</a></p></div>",
  );
}

if (import.meta.main) {
  await makeDocumentation(join(ROOT, OUTPUT));
  console.log(`Wrote ${OUTPUT}: open ${OUTPUT}/index.html`);
}
