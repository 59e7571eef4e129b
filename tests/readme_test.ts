import { assert, assertEquals } from "@std/assert";

const ROOT = new URL("../", import.meta.url);
const readme = Deno.readTextFileSync(new URL("README.md", ROOT));
const config = JSON.parse(Deno.readTextFileSync(new URL("deno.json", ROOT)));

Deno.test("README.md names only tasks that deno.json has, and all stages", () => {
  const named = new Set([...readme.matchAll(/deno task ([a-z-]+(?::[a-z]+)?)/g)].map((match) => match[1]));
  for (const task of named) {
    assert(task in config.tasks, `deno task ${task} is in README.md but not in deno.json`);
  }
  for (const task of Object.keys(config.tasks)) {
    assert(readme.includes(`\`${task}`) || named.has(task), `task ${task} is not in README.md`);
  }
});

Deno.test("README.md names only paths that exist", () => {
  const paths = [
    ...readme.matchAll(/`((?:lib|tasks|tests|kernels|configs|\.ci)\/[\w./-]*|[\w.]+\.(?:sh|ts)|LICENSE)`/g),
  ]
    .map((match) => match[1]);
  assert(paths.length >= 8, `only ${paths.length} paths were found`);
  for (const path of paths) assert(Deno.statSync(new URL(path, ROOT)), path);
});

Deno.test("README.md gives a reason for every dependency", () => {
  for (const target of Object.values(config.imports as Record<string, string>)) {
    const name = /^npm:((?:@[^/]+\/)?[^@/]+)/.exec(target)?.[1];
    if (name) assert(readme.includes(`\`${name}\``), `${name} has no reason in README.md`);
  }
});

Deno.test("README.md's presets are those of configs/", () => {
  const presets = [...Deno.readDirSync(new URL("configs", ROOT))].map(({ name }) =>
    name.replace(/\.json$/, "")
  ).sort();
  const line = /preset of `configs\/` \(([^)]*)\)/.exec(readme)?.[1] ?? "";
  assertEquals([...line.matchAll(/`([^`]+)`/g)].map((match) => match[1]).sort(), presets);
});
