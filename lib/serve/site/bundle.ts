/**
 * Makes `lib/serve/bundle/`, the page as browsers load it, of the files of `lib/serve/page/`: `deno task bundle`.
 *
 * @module
 */
import uPlotCss from "uplot/dist/uPlot.min.css" with { type: "text" };
import { COLOR_VARIABLES } from "../../base/report/theme.ts";

const FOLDER = new URL("../page/", import.meta.url);
/** The scripts of the bundle and their sources. */
const SCRIPTS = { "page.js": "app.tsx", "docs.js": "docs.tsx", "worker.js": "worker.ts" };

/** Makes the bundle. @returns The text of each file by its name in the folder. @throws {Error} If `deno bundle` fails. */
export async function bundleFiles(): Promise<Map<string, string>> {
  const files = new Map<string, string>();
  for (const name of ["index.html", "docs.html", "icon.svg"]) files.set(name, await readSource(name));
  files.set("page.css", `${COLOR_VARIABLES.trim()}\n${uPlotCss.trim()}\n${await readSource("page.css")}`);
  for (const [name, source] of Object.entries(SCRIPTS)) files.set(`${name}.txt`, await bundleScript(source));
  return files;
}

async function readSource(name: string): Promise<string> {
  return await Deno.readTextFile(new URL(name, FOLDER));
}

async function bundleScript(source: string): Promise<string> {
  const args = ["bundle", "-q", "--minify", "--platform", "browser", new URL(source, FOLDER).href];
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args,
    cwd: FOLDER,
    stdin: "null",
  }).output();
  if (!success) throw new Error(`deno ${args.join(" ")} failed: ${new TextDecoder().decode(stderr)}`);
  return new TextDecoder().decode(stdout);
}

if (import.meta.main) {
  for (const [name, text] of await bundleFiles()) {
    await Deno.writeTextFile(new URL(`../bundle/${name}`, import.meta.url), text);
    console.log(`lib/serve/bundle/${name} ${text.length} B`);
  }
}
