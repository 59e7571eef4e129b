/**
 * `deno task bundle`: makes `lib/serve/page_bundle.json`, the page as browsers load it, unless it is current.
 *
 * @module
 */
import { fromFileUrl } from "@std/path";
import uPlotCss from "uplot/dist/uPlot.min.css" with { type: "text" };
import { COLOR_VARIABLES } from "../../base/report/theme.ts";
import { writeFileAtomic } from "../../io/files/atomic.ts";
import { hashOfFiles } from "../../io/files/manifest.ts";
import { loadBundle, type PageBundle } from "../page_files.ts";

const ROOT = new URL("../../../", import.meta.url);
const FOLDER = "lib/serve/page";
const OUTPUT = "lib/serve/page_bundle.json";
const SCRIPTS = { "page.js": "app.tsx", "docs.js": "docs.tsx", "worker.js": "worker.ts" };
/** Files that browsers load unchanged. */
const COPIED = ["index.html", "docs.html", "icon.svg"];
/** Further sources of the bundle; the lock file contains the versions of packages. */
const FURTHER = ["lib/serve/site/bundle.ts", "lib/base/report/theme.ts", "deno.lock", `${FOLDER}/deno.json`];

async function makeBundle(): Promise<PageBundle> {
  const copied = [...COPIED, "page.css"].map((name) => `${FOLDER}/${name}`);
  const sources = [...new Set([...await modulesOfScripts(), ...copied, ...FURTHER])].sort();
  // Hashed before bundling, so that a file that changes in between makes the bundle outdated.
  const hash = hashOfFiles(fromFileUrl(ROOT), sources);
  const files: Record<string, string> = {};
  for (const name of COPIED) files[name] = await readSource(name);
  files["page.css"] = `${COLOR_VARIABLES.trim()}\n${uPlotCss.trim()}\n${await readSource("page.css")}`;
  for (const [name, source] of Object.entries(SCRIPTS)) {
    files[name] = await deno("bundle", "-q", "--minify", "--platform", "browser", `${FOLDER}/${source}`);
  }
  return { sources, hash, files };
}

async function modulesOfScripts(): Promise<string[]> {
  const graphs = Object.values(SCRIPTS).map(async (source) =>
    JSON.parse(await deno("info", "--json", `${FOLDER}/${source}`)).modules as { specifier: string }[]
  );
  const modules = (await Promise.all(graphs)).flat().map(({ specifier }) => specifier);
  return modules.filter((url) => url.startsWith(ROOT.href)).map((url) =>
    decodeURIComponent(url.slice(ROOT.href.length))
  );
}

async function readSource(name: string): Promise<string> {
  return await Deno.readTextFile(new URL(`${FOLDER}/${name}`, ROOT));
}

async function deno(...args: string[]): Promise<string> {
  const command = new Deno.Command(Deno.execPath(), { args, cwd: ROOT, stdin: "null", stderr: "inherit" });
  const { success, stdout } = await command.output();
  if (!success) {
    console.error(
      `error: Cannot make the page: deno ${args[0]} failed; check the network and run deno task bundle again`,
    );
    Deno.exit(1);
  }
  return new TextDecoder().decode(stdout);
}

if (import.meta.main && typeof await loadBundle() === "string") {
  const text = JSON.stringify(await makeBundle());
  writeFileAtomic(fromFileUrl(new URL(OUTPUT, ROOT)), text);
  console.log(`Wrote ${OUTPUT}: ${text.length} B`);
}
