/** The licences in the page and in the program. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { fromFileUrl, join } from "@std/path";
import { ensure } from "../../../lib/base/errors.ts";
import { programLicenses, readPage } from "../../../lib/serve/page_files.ts";
import { codeFiles } from "../../../lib/cli/compile/program.ts";
import { PROGRAM } from "../../../tasks/compile.ts";
import { requirePage, runStageProcess, succeeded } from "../../cli/process.ts";

const ROOT = fromFileUrl(new URL("../../../", import.meta.url));
const read = (path: string) => Deno.readTextFileSync(join(ROOT, path));

/** The names of the packages that the program's modules import, directly or indirectly, by the lock file. */
function importedPackages(): string[] {
  const lock = JSON.parse(read("deno.lock")) as { npm: Record<string, { dependencies?: string[] }> };
  const keys = Object.keys(lock.npm);
  const modules = codeFiles(PROGRAM).filter((path) => /\.tsx?$/.test(path)).map(read).join("\n");
  const imported = [...modules.matchAll(/\b(?:from|import)[ (]"([^".][^"]*)"/g)].map(([, specifier]) =>
    specifier
  );
  const found = new Set(imported.flatMap((specifier) => {
    const name = /^(?:npm:)?((?:@[^/]+\/)?[^/@]+)/.exec(specifier)?.[1];
    return name !== undefined && keys.some((key) => key.startsWith(`${name}@`)) ? [name] : [];
  }));
  for (const name of found) {
    const key = keys.find((key) => key === name || key.startsWith(`${name}@`));
    ensure(key, `${name} is locked`);
    for (const next of lock.npm[key].dependencies ?? []) found.add(next);
  }
  return [...found];
}

/** The licences in a text, by the names and versions that they apply to. */
function licensesIn(text: string): Map<string, string> {
  const parts = text.split(/^=+\n/m).slice(1).map((part) => /^(.*)\n\n([^]*)$/.exec(part) ?? []);
  return new Map(parts.flatMap(([, names, license]) => names.split(", ").map((name) => [name, license])));
}

requirePage();

Deno.test("--licenses prints the licence of each package that the program imports", async () => {
  const { stdout } = await succeeded(runStageProcess(["--licenses"]));
  assertEquals(stdout, `${await programLicenses()}\n`);
  const licenses = licensesIn(stdout);
  for (const [name, text] of licenses) {
    assertMatch(
      text,
      /permission to use|permission is hereby granted|Apache License|License: \(?(?:MIT|Apache)|Redistribution|public domain/i,
      name,
    );
  }
  const named = new Set(
    [...licenses.keys()].flatMap((name) => [name, name.replace(/ .*$/, ""), name.replace(" ", "@")]),
  );
  assertEquals(importedPackages().filter((name) => !named.has(name)), []);
  for (const part of ["ping-llm", "vega", "preact", "world-atlas", "deno-std"]) assert(named.has(part), part);
  for (const part of ["fast-check", "playwright-core"]) assert(!named.has(part), part);
});

Deno.test("licenses.txt of the page has the licence of each package in its scripts, and no others", async () => {
  const page = await readPage("test");
  const licenses = licensesIn(new TextDecoder().decode(page.get("licenses.txt")));
  const named = [...licenses.keys()].map((name) => name.replace(/ .*$/, ""));
  assertEquals(
    named.sort().join(" "),
    "@noble/hashes deno-std get-east-asian-width ping-llm preact uplot world-atlas zod",
  );
});
