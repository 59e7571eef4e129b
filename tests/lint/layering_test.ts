import { assert, assertEquals, assertMatch } from "@std/assert";
import { dirname, join, resolve, toFileUrl } from "@std/path";
import { exists } from "../../lib/io/files/inputs.ts";
import plugin, { faultInBrowser, faultOfImport, IN_BROWSER, LAYERS } from "./layering.ts";

Deno.test("faultOfImport() rejects imports up the layers, of private files and of kernels", () => {
  assertEquals(
    faultOfImport("lib/tensor/program.ts", "../model/model_config.ts"),
    "lib/tensor may not import lib/model",
  );
  assertEquals(
    faultOfImport("lib/data/addresses/ip.ts", "../../tensor/device.ts"),
    "lib/data may not import lib/tensor",
  );
  assert(faultOfImport("lib/model/forward.ts", "../tensor/_private.ts"));
  assert(faultOfImport("lib/model/forward.ts", "../../kernels/gemm.wgsl"));
  assert(faultOfImport("lib/train/trainer.ts", "../../tasks/train.ts"));
  assert(faultOfImport("lib/unknown/a.ts", "../tensor/device.ts"));
});

/** The linter's messages for a text, as if it were this file. */
function lintOf(path: string, text: string): string[] {
  return Deno.lint.runPlugin(plugin, `/checkout/${path}`, text).map(({ message }) => message);
}

Deno.test("modules that run in a browser neither use Deno nor import modules that do", () => {
  const path = "lib/query/ping_model.ts";
  const refused: [text: string, of: RegExp][] = [
    ["export const text = Deno.readTextFileSync('a');", /has no Deno/],
    ["using file = open();", /not all know using/],
    ["export type Signal = Deno.Signal;", /has no Deno/],
    ['import { createHash } from "node:crypto";', /has no node:crypto/],
    ['import { join } from "@std/path";', /has no @std\/path/],
    ['import { readText } from "../io/files/inputs.ts";', /lib\/io\/files\/inputs.ts does not/],
    [
      'import { type Batches, batches } from "../data/loader/batches.ts";',
      /lib\/data\/loader\/batches.ts does not/,
    ],
    ['export * from "../io/threads/worker_pool.ts";', /lib\/io\/threads\/worker_pool.ts does not/],
  ];
  for (const [text, wanted] of refused) {
    const [message = ""] = lintOf(path, text);
    assertMatch(message, wanted);
    assertEquals(lintOf("lib/query/files/load_model.ts", text), [], "a module of Deno may");
  }
  const accepted = [
    'import * as z from "zod";',
    'import { contextForm } from "../data/tokens/context_form.ts";',
    'import type { LoadedCheckpoint } from "../train/checkpoint_files.ts";',
    'import { type LoadedCheckpoint } from "../train/checkpoint_files.ts";',
  ];
  for (const text of accepted) assertEquals(lintOf(path, text), []);
  assertEquals(faultInBrowser("lib/cli/version.ts", "node:process"), undefined);
  const missing = IN_BROWSER.filter((name) => !exists(`lib/${name}`));
  assertEquals(missing, []);
});

Deno.test("the layers are the folders of lib/, with at most eight folders each", () => {
  const foldersIn = (path: string) =>
    [...Deno.readDirSync(path)].filter(({ isDirectory }) => isDirectory).map(({ name }) => name).sort();
  assertEquals(foldersIn("lib"), [...LAYERS].sort());
  assertEquals([...Deno.readDirSync("lib")].flatMap(({ name, isFile }) => isFile ? name : []), ["README.md"]);
  for (const layer of LAYERS) assert(foldersIn(`lib/${layer}`).length <= 8, layer);
});

Deno.test("every folder of lib/ has a README.md that names only existing files", async () => {
  const { stdout } = await new Deno.Command("git", { args: ["ls-files", "lib/*README.md"] }).output();
  const paths = new TextDecoder().decode(stdout).split("\n").filter((path) => path !== "" && exists(path));
  assertEquals(LAYERS.map((name) => `lib/${name}/README.md`).filter((path) => !paths.includes(path)), []);
  const faults: string[] = [];
  for (const path of paths) {
    const text = Deno.readTextFileSync(path);
    const folder = dirname(path);
    if (!text.startsWith(`# ${folder}\n`)) faults.push(`${path} does not begin with "# ${folder}"`);
    const sources = sourcesIn(folder);
    for (
      const [, name] of text.matchAll(/`((?:lib|tasks|tests|kernels|configs)\/[\w./-]+|[a-z][\w/]*\.tsx?)`/g)
    ) {
      const isThere = /^(?:lib|tasks|tests|kernels|configs)\//.test(name)
        ? exists(name)
        : sources.some((source) => source.endsWith(`/${name}`));
      if (!isThere) faults.push(`${path} names ${name}, which is not there`);
    }
  }
  assertEquals(faults, []);
});

/** Links of a Markdown page, outside code, to files or headings that do not exist. */
function deadLinks(path: string, text: string): string[] {
  const prose = (markdown: string) => markdown.replace(/^```[^]*?^```/gm, "").replace(/`[^`\n]*`/g, "code");
  const anchorsOf = (markdown: string) =>
    [...markdown.replace(/^```[^]*?^```/gm, "").matchAll(/^#+ +(.*)$/gm)].map(([, heading]) =>
      heading.toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, "").replaceAll(" ", "-")
    );
  const links = [...prose(text).matchAll(/\]\(<?([^)\s>]+)|^\[[^\]]+\]: *(\S+)/gm)].map(([, inline, named]) =>
    inline ?? named
  );
  return links.filter((link) => !/^[a-z]+:/.test(link)).filter((link) => {
    const [name, anchor] = link.split("#");
    const target = name === "" ? path : join(dirname(path), name);
    if (!exists(target)) return true;
    return anchor !== undefined &&
      !anchorsOf(name === "" ? text : Deno.readTextFileSync(target)).includes(anchor);
  });
}

Deno.test("links in Markdown files lead to existing files and headings", async () => {
  const text =
    "# A `b` c\n[1](#a-b-c) [2](#gone) [3](../README.md) [4](gone.md) [5](https://deno.com)\n[6]: cli/gone.md\n";
  assertEquals(deadLinks("lib/README.md", text), ["#gone", "gone.md", "cli/gone.md"]);
  const { stdout } = await new Deno.Command("git", { args: ["ls-files", "*.md"] }).output();
  const paths = new TextDecoder().decode(stdout).split("\n").filter((path) => path !== "" && exists(path));
  assert(paths.length > 40, `only ${paths.length} files`);
  const dead = paths.flatMap((path) =>
    deadLinks(path, Deno.readTextFileSync(path)).map((link) => `${path}: ${link}`)
  );
  assertEquals(dead, []);
});

Deno.test("names of files are plain, and no file refers to design pages, which are not in the repository", async () => {
  const { stdout } = await new Deno.Command("git", { args: ["ls-files", "-z"] }).output();
  const names = new TextDecoder().decode(stdout).split("\0");
  assertEquals(names.filter((path) => !/^[\w./=-]*$/.test(path)), []);
  const paths = names.filter((path) =>
    /\.(?:ts|wgsl|md|sh|json)$/.test(path) && exists(path) && path !== "tests/lint/layering_test.ts"
  );
  assert(paths.length > 500, `only ${paths.length} files`);
  const pointing = paths.filter((path) =>
    /\bdesign\/?[ \d]*(?:page|\d\d-)/i.test(Deno.readTextFileSync(path))
  );
  assertEquals(pointing, []);
});

Deno.test("tests that need a browser, SLURM, MPI or Prometheus are in files *_long_test.ts", () => {
  const needing = sourcesIn("tests").filter((path) =>
    /_test\.tsx?$/.test(path) &&
    /from "[^"]*\/(?:browser|launchers|slurm_cluster|real_prometheus)\.ts"/.test(Deno.readTextFileSync(path))
  );
  assert(needing.length >= 8, `only ${needing.length} files`);
  assertEquals(needing.filter((path) => !path.endsWith("_long_test.ts")), []);
});

Deno.test("tests that cannot run here are ignored rather than returning early", () => {
  const returning = /\breturn console\.log\(|if \(.*\bDeno\.(?:build|uid)\b.*\) return;/;
  const tests = sourcesIn("tests").filter((path) => /_test\.tsx?$/.test(path));
  assertEquals(tests.filter((path) => returning.test(Deno.readTextFileSync(path))), []);
});

type Dependency = { specifier: string } | undefined;

interface Graph {
  modules: { specifier: string; dependencies?: { code?: Dependency; type?: Dependency }[] }[];
}

/** Paths of all TypeScript files in a folder and its subfolders, including JSX. */
function sourcesIn(folder: string): string[] {
  return [...Deno.readDirSync(folder)].flatMap(({ name, isDirectory }) => {
    const path = `${folder}/${name}`;
    if (isDirectory) return sourcesIn(path);
    return /\.tsx?$/.test(name) ? [path] : [];
  });
}

/** The imports of each module of lib/ and tasks/, including type imports. */
async function importsOfSources(): Promise<Map<string, string[]>> {
  const entry = await Deno.makeTempFile({ suffix: ".ts" });
  const addresses = ["lib", "tasks"].flatMap(sourcesIn).map((path) => toFileUrl(resolve(path)).href);
  await Deno.writeTextFile(
    entry,
    addresses.map((address) => `import ${JSON.stringify(address)};\n`).join(""),
  );
  const { stdout, success } = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", "--config", "deno.json", entry],
    stderr: "null",
  }).output();
  await Deno.remove(entry);
  assert(success, "deno info failed");
  const { modules } = JSON.parse(new TextDecoder().decode(stdout)) as Graph;
  const imports = modules.map(({ specifier, dependencies = [] }): [string, string[]] => {
    return [
      specifier,
      dependencies.flatMap(({ code, type }) => [code, type]).flatMap((to) => to?.specifier ?? []),
    ];
  });
  return new Map(imports.filter(([specifier]) => addresses.includes(specifier)));
}

Deno.test("modules of lib/ and tasks/ have no import cycles, not even of types", async () => {
  const imports = await importsOfSources();
  assert(imports.size > 300, `only ${imports.size} modules were found`);
  const state = new Map<string, "open" | "done">();
  const visit = (specifier: string, path: string[]) => {
    if (state.get(specifier) === "done") return;
    assert(state.get(specifier) !== "open", `import cycle: ${[...path, specifier].join(" -> ")}`);
    state.set(specifier, "open");
    for (const next of imports.get(specifier) ?? []) visit(next, [...path, specifier]);
    state.set(specifier, "done");
  };
  for (const specifier of imports.keys()) visit(specifier, []);
});

/** The text of each source file, by path. */
function textsOf(folders: readonly string[]): Map<string, string> {
  return new Map(
    [...folders.flatMap(sourcesIn), "mod.ts"].map((path) => [path, Deno.readTextFileSync(path)]),
  );
}

Deno.test("every entry of the import map is there and imported", () => {
  const { imports } = JSON.parse(Deno.readTextFileSync("deno.json")) as { imports: Record<string, string> };
  const sources = [...textsOf(["lib", "tasks", "tests"]).values()];
  for (const [name, target] of Object.entries(imports)) {
    if (target.startsWith(".")) assert(Deno.statSync(target).isFile, `${name} is mapped to ${target}`);
    const imported = new RegExp(`(?:from |import\\()"${name}["/]`);
    assert(sources.some((text) => imported.test(text)), `nothing imports ${name}`);
  }
});

Deno.test("every value that a file of lib/ exports is used by another file", () => {
  const texts = textsOf(["lib", "tasks", "tests"]);
  const numFiles = new Map<string, number>();
  for (const text of texts.values()) {
    for (const word of new Set(text.match(/\w+/g))) numFiles.set(word, (numFiles.get(word) ?? 0) + 1);
  }
  const unused = [...texts].filter(([path]) => path.startsWith("lib/")).flatMap(([path, text]) => {
    const values = text.matchAll(/^export (?:abstract |async )*(?:function\*?|class|const|let) (\w+)/gm);
    return [...values].filter(([, name]) => numFiles.get(name) === 1).map(([, name]) => `${path}: ${name}`);
  });
  assertEquals(unused, []);
});
