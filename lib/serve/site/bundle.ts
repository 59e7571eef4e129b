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
import { licensesText, type ModuleGraph, moduleGraph } from "./licenses.ts";

const ROOT = new URL("../../../", import.meta.url);
const FOLDER = "lib/serve/page";
const OUTPUT = "lib/serve/page_bundle.json";
const SCRIPTS = { "page.js": "app.tsx", "docs.js": "docs.tsx", "worker.js": "worker.ts" };
const PAGE = Object.values(SCRIPTS).map((name) => `${FOLDER}/${name}`);
/** Files that browsers load unchanged. */
const COPIED = ["index.html", "docs.html", "icon.svg"];
/** Further sources of the bundle; the lock file contains the versions of packages. */
const FURTHER = [
  "lib/serve/site/bundle.ts",
  "lib/serve/site/licenses.ts",
  "lib/base/report/theme.ts",
  "deno.lock",
  `${FOLDER}/deno.json`,
];

/** Credits and licences of what is not a package. */
const PAGE_DATA =
  `The world map is made from Natural Earth (https://www.naturalearthdata.com), which is in the
public domain.
`;
const PROGRAM_DATA = `${PAGE_DATA}
The measurements of demo are from RIPE Atlas (https://atlas.ripe.net), their places from DB-IP
(https://db-ip.com, CC BY 4.0), their ASes from RouteViews, DB-IP and NRO by way of ip-location-db (CC BY 4.0).

An executable contains Deno (https://deno.com), Copyright the Deno authors, under the MIT licence, with V8 and
the libraries that https://github.com/denoland/deno lists.
`;

async function makeBundle(licenses: string): Promise<PageBundle> {
  const graph = await graphOf(PAGE);
  const own = graph.urls.filter((url) => url.startsWith(ROOT.href)).map((url) =>
    decodeURIComponent(url.slice(ROOT.href.length))
  );
  const copied = [...COPIED, "page.css"].map((name) => `${FOLDER}/${name}`);
  const sources = [...new Set([...own, ...copied, ...FURTHER])].sort();
  // Hashed before bundling, so that a file that changes in between makes the bundle outdated.
  const hash = hashOfFiles(fromFileUrl(ROOT), sources);
  const files: Record<string, string> = {};
  for (const name of COPIED) files[name] = await readSource(`${FOLDER}/${name}`);
  const css = await readSource(`${FOLDER}/page.css`);
  files["page.css"] = `${COLOR_VARIABLES.trim()}\n${uPlotCss.trim()}\n${css}`;
  const bundled: string[] = [];
  for (const [name, source] of Object.entries(SCRIPTS)) {
    const script = await bundle(`${FOLDER}/${source}`);
    files[name] = script.code;
    bundled.push(...script.modules);
  }
  const contained = graph.packages.filter(({ localPath }) =>
    bundled.some((path) => path.startsWith(`${localPath}/`))
  );
  files["licenses.txt"] = await licensesOf({ ...graph, packages: contained }, PAGE_DATA);
  return { sources, hash, files, licenses };
}

/** Bundles a script. @returns Its code and the paths of its modules. */
async function bundle(source: string): Promise<{ code: string; modules: string[] }> {
  const options = ["--minify", "--platform", "browser", "--sourcemap", "inline"];
  const text = await deno(["bundle", "-q", ...options, source]);
  const [code, map] = text.split("//# sourceMappingURL=data:application/json;base64,");
  const { sources } = JSON.parse(atob(map)) as { sources: string[] };
  return { code, modules: sources.map((path) => fromFileUrl(new URL(path, ROOT))) };
}

function graphOf(modules: readonly string[]): Promise<ModuleGraph> {
  return moduleGraph(modules.map((path) => new URL(path, ROOT).href), deno);
}

/** The licences of a graph's packages and of the map's shapes. @param about Precedes them. */
async function licensesOf({ packages, locked }: ModuleGraph, about: string): Promise<string> {
  const map = locked.filter(({ name }) => name === "world-atlas");
  return `${about}\n${licensesText(await readSource("LICENSE"), [...packages, ...map])}`;
}

async function programLicenses(): Promise<string> {
  const stages = [...Deno.readDirSync(new URL("tasks", ROOT))].map(({ name }) => `tasks/${name}`).sort();
  return await licensesOf(await graphOf([...stages, "lib/base/report/vega.ts", ...PAGE]), PROGRAM_DATA);
}

async function readSource(path: string): Promise<string> {
  return await Deno.readTextFile(new URL(path, ROOT));
}

async function deno(args: readonly string[]): Promise<string> {
  const command = new Deno.Command(Deno.execPath(), {
    args: [...args],
    cwd: ROOT,
    stdin: "null",
    stderr: "inherit",
  });
  const { success, stdout } = await command.output();
  if (!success) {
    console.error(
      `error: Cannot make the page: deno ${args[0]} failed; check the network and run deno task bundle again`,
    );
    Deno.exit(1);
  }
  return new TextDecoder().decode(stdout);
}

if (import.meta.main) {
  const licenses = await programLicenses();
  const found = await loadBundle();
  if (typeof found === "string" || found.licenses !== licenses) {
    const text = JSON.stringify(await makeBundle(licenses));
    writeFileAtomic(fromFileUrl(new URL(OUTPUT, ROOT)), text);
    console.log(`Wrote ${OUTPUT}: ${text.length} B`);
  }
}
