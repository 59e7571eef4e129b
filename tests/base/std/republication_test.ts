import { assert, assertEquals } from "@std/assert";
import { dirname, fromFileUrl, join, relative } from "@std/path";
import { exists } from "../../../lib/io/files/inputs.ts";
import { runDeno, succeeded } from "../../cli/process.ts";
import { type Comparison, isSameProgram } from "./originals.ts";

const ROOT = new URL("../../../", import.meta.url);
const COMPARE = fromFileUrl(new URL("./originals.ts", import.meta.url));
const lock = JSON.parse(Deno.readTextFileSync(new URL("deno.lock", ROOT)));

/** The one version of `deno-std` that the modules of lib/base/std/ name. */
function versionInUse(): string {
  const named = [...Deno.readDirSync(new URL("lib/base/std/", ROOT))].flatMap(({ name }) => [
    ...Deno.readTextFileSync(new URL(`lib/base/std/${name}`, ROOT)).matchAll(/npm:deno-std@([\d.]+)/g),
  ]);
  const [version, ...others] = new Set(named.map(([, version]) => version));
  assert(version !== undefined && others.length === 0, `versions ${version} ${others}`);
  return version;
}

/** Where Deno keeps the package. */
async function cachedFolder(): Promise<string> {
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["info", "--json"] }).output();
  const { npmCache } = JSON.parse(new TextDecoder().decode(stdout));
  // Below the host of the registry, which may be a mirror.
  const folders = [...Deno.readDirSync(npmCache)].map(({ name }) => join(npmCache, name, "deno-std"));
  const cached = folders.find((folder) => exists(join(folder, "registry.json")));
  assert(cached !== undefined, `no deno-std in ${npmCache}`);
  return cached;
}

/** The modules that a module needs, itself included. */
function modulesFrom(path: string, found = new Set<string>()): Set<string> {
  if (found.has(path)) return found;
  found.add(path);
  for (
    const [, target] of Deno.readTextFileSync(path).matchAll(/^(?:import|export|\}).*from "(\.[^"]+)"/gm)
  ) {
    modulesFrom(join(dirname(path), target), found);
  }
  return found;
}

Deno.test("deno-std is of one version and one hash, in lib/base/std/, deno.lock and the cache", async () => {
  const version = versionInUse();
  assertEquals(lock.specifiers[`npm:deno-std@${version}`], version);
  const cached = await cachedFolder();
  const registry = JSON.parse(Deno.readTextFileSync(join(cached, "registry.json")));
  assertEquals(registry.versions[version].dist.integrity, lock.npm[`deno-std@${version}`].integrity);
  assertEquals(JSON.parse(Deno.readTextFileSync(join(cached, version, "package.json"))).version, version);
});

Deno.test("isSameProgram() sees through types and layout, and sees every other change", () => {
  const published = `
// A comment.
import { f } from "@std/internal/f";
import type { T } from "./t.ts";
export function g<A extends T>(a: A, b?: number): a is A {
  if (!b) return f(a as A, "// no comment"); // one
  return /[/]/.test(\`\${b}\`);
}`;
  const republished = `import { f } from "../internal/f.js";
/** More words. */
export function g(a, b) {
  if (!b) {
    return f(a, "// no comment");
  }
  return /[/]/.test(\`\${b}\`);
}
`;
  assert(isSameProgram(published, republished));
  for (
    const [from, to] of [["!b", "b"], ["f(a,", "g(a,"], ["no comment", "no"], [
      "  return /",
      "  fetch(a); return /",
    ]]
  ) {
    const changed = republished.replace(from, to);
    assert(changed !== republished && !isSameProgram(published, changed), `${from} -> ${to}`);
  }
});

/** The outcome of the comparison with the originals, see originals.ts. */
async function compared(): Promise<Comparison> {
  const folder = join(await cachedFolder(), versionInUse());
  const modules = new Set(
    ["assert/mod.js", "cli/parse_args.js", "path/mod.js"].flatMap((
      path,
    ) => [...modulesFrom(join(folder, path))]),
  );
  assert(modules.size > 60, `${modules.size} modules`);
  const names = [...modules].map((path) => relative(folder, path));
  const { stdout } = await succeeded(runDeno([
    ...["--allow-net=jsr.io", `--allow-read=${folder}`, COMPARE, folder, ...names],
  ]));
  return JSON.parse(stdout);
}

const { different, unreachable } = await compared();
if (unreachable !== undefined) {
  console.log(`left out: deno-std beside the originals, which cannot be reached: ${unreachable}`);
}

Deno.test("the modules of deno-std in use are those that the Deno authors publish", {
  ignore: unreachable !== undefined,
}, () => assertEquals(different, []));
