import { assert, assertEquals } from "@std/assert";

const ROOT = new URL("../", import.meta.url);
const readme = Deno.readTextFileSync(new URL("README.md", ROOT));
const config = JSON.parse(Deno.readTextFileSync(new URL("deno.json", ROOT)));

Deno.test("README.md names only existing tasks, and all of them", () => {
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

Deno.test("README.md is at most 200 lines long", () => assert(readme.trimEnd().split("\n").length <= 200));

Deno.test("README.md mentions every npm dependency", () => {
  for (const target of Object.values(config.imports as Record<string, string>)) {
    const name = /^npm:((?:@[^/]+\/)?[^@/]+)/.exec(target)?.[1];
    if (name) assert(readme.includes(`\`${name}\``), `${name} has no reason in README.md`);
  }
});

Deno.test("README.md lists exactly the presets of configs/", () => {
  const presets = [...Deno.readDirSync(new URL("configs", ROOT))].map(({ name }) =>
    name.replace(/\.json$/, "")
  ).sort();
  const line = /preset of `configs\/` \(([^)]*)\)/.exec(readme)?.[1] ?? "";
  assertEquals([...line.matchAll(/`([^`]+)`/g)].map((match) => match[1]).sort(), presets);
});

const NAMES: Record<string, string> = {
  probe: "probes never seen",
  destination: "destinations never seen",
  pair: "pairs never measured",
  time: "known pairs, the last days",
};
const SURE: Record<string, string> = { better: "yes", worse: "yes, worse", none: "no" };
const msOf = (ms: number) => String(Number(ms.toPrecision(3)));

Deno.test("README.md quotes the demo's figures and answer correctly", () => {
  const golden = new URL("golden/demo/", import.meta.url);
  const { splits, outages } = JSON.parse(Deno.readTextFileSync(new URL("figures.json", golden)));
  const text = readme.replace(/\s+/g, " ");
  for (const { mode, answers } of splits) {
    const both = (of: (answer: Record<string, string & number>) => string) => answers.map(of).join(" / ");
    const cells = [
      `demo: ${NAMES[mode]}`,
      both(({ model }) => msOf(model)),
      both(({ best, bestMethod }) => `${msOf(best)} ${bestMethod}`),
      both(({ verdict }) => SURE[verdict]),
    ];
    assert(text.includes(`| ${cells.join(" | ")} |`), `README.md does not say: | ${cells.join(" | ")} |`);
  }
  const found = `${outages.outages} outages of ${outages.pairs} pairs`;
  assert(text.includes(found), `README.md does not say: ${found}`);
  const answer = Deno.readTextFileSync(new URL("query_rtt.txt", golden));
  const [, src, dst] = /^RTT (\S+) -> (\S+)$/m.exec(answer) ?? [];
  const question = `$ deno task query rtt --checkpoint runs/demo/train --src ${src} --dst ${dst}`;
  assert(readme.includes(`${question}\n${answer}`), "README.md shows another answer of query rtt");
});
