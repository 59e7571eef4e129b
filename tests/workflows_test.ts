/** The workflows of `.github/` run README's commands, tasks of deno.json and stages as they are. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { parse } from "npm:deno-std@1.4.0/yaml/mod.js";
import config from "../deno.json" with { type: "json" };
import { type Command, parseArguments } from "../lib/cli/command.ts";
import { VERSION } from "../lib/base/version.ts";
import { commandOf } from "./cli/stage_in_process.ts";
import { outputOf, type ProcessResult } from "./cli/process.ts";
import { STAGES } from "../tasks/stages.ts";
import { TemporaryFolder } from "./io/files/temporary_folder.ts";

interface Step {
  name?: string;
  run?: string;
}

interface Job {
  steps?: Step[];
  permissions?: Record<string, string>;
}

interface Workflow {
  permissions: Record<string, string>;
  jobs: Record<string, Job>;
}

const ROOT = fromFileUrl(new URL("../", import.meta.url));
const read = (path: string) => Deno.readTextFileSync(`${ROOT}${path}`);
const [test, release] = ["test", "release"].map((name) =>
  parse(read(`.github/workflows/${name}.yml`)) as Workflow
);
const jobs = [...Object.entries(test.jobs), ...Object.entries(release.jobs)];
const steps = jobs.flatMap(([, { steps = [] }]) => steps);
/** Lines of all shell steps and of the Containerfile. */
const lines = [...steps.map(({ run = "" }) => run), read(".github/Containerfile")].join("\n")
  .replaceAll(/\\\n\s*/g, " ").split("\n");

/** The words after each use of a command, without quotation marks; variables stay as they are. */
function wordsAfter(command: RegExp): string[][] {
  const found = lines.flatMap((line) => [...line.matchAll(new RegExp(`${command.source} ([^&|;>]*)`, "g"))]);
  return found.map(([, rest]) => rest.trim().replaceAll('"', "").split(/ +/));
}

Deno.test("test.yml runs the quick start commands of README.md verbatim", () => {
  const [, quickStart] = /^## Quick start$[^]*?```sh\n([^]*?)```/m.exec(read("README.md")) ?? [];
  const run = test.jobs.commands.steps?.filter(({ name }) => name === undefined).flatMap(({ run }) =>
    run ?? []
  );
  assertEquals(run, quickStart?.trim().split("\n"));
});

Deno.test("the workflows and the Containerfile use only existing tasks and options", () => {
  const tasks = wordsAfter(/deno task/);
  assert(tasks.length >= 7, `only ${tasks.length} tasks were found`);
  for (const [task] of tasks) assert(task in config.tasks, task);
  const stages = [...tasks.filter(([task]) => task in STAGES), ...wordsAfter(/"\$program"/)];
  for (const words of stages) {
    if (words[0] === "--version") continue;
    const { command, rest } = commandOf(words);
    parseArguments(command as Command, rest);
  }
  const known = [...read("setup.sh").matchAll(/^ {4}(--[a-z]+)\) /gm)].map(([, option]) => option);
  for (const options of wordsAfter(/sh setup\.sh/)) {
    for (const option of options.filter((word) => word.startsWith("-"))) {
      assert(known.includes(option), option);
    }
  }
});

Deno.test("the workflows use GitHub's actions by commit, named with its version, with minimal permissions", () => {
  const uses = ["test", "release"].flatMap((name) =>
    [...read(`.github/workflows/${name}.yml`).matchAll(/\buses: (.*)/g)].map(([, use]) => use)
  );
  const pinned = /^actions\/[a-z-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$|^\.\/\.github\/workflows\/test\.yml$/;
  for (const use of uses) assertMatch(use, pinned);
  assertEquals([...new Set(uses)].length, 6, "each action in one version");
  assertEquals([test.permissions, release.permissions], [{ contents: "read" }, {}]);
  const writing = jobs.flatMap(([name, { permissions = {} }]) =>
    Object.entries(permissions).filter(([, access]) => access === "write").map(([of]) => `${name}: ${of}`)
  );
  assertEquals(writing.sort(), [
    "jsr: id-token",
    "npm: id-token",
    "release: attestations",
    "release: contents",
    "release: id-token",
  ]);
});

/** Runs a named step of release.yml in a folder, as GitHub does. */
function runStep(name: string, folder: string, env: Record<string, string>): Promise<ProcessResult> {
  const step = steps.find((each) => each.name === name);
  assert(step?.run, `there is no step ${name}`);
  const args = ["--noprofile", "--norc", "-eo", "pipefail", "-c", step.run];
  return outputOf(
    new Deno.Command("bash", { args, cwd: folder, env, stdout: "piped", stderr: "piped" }).spawn(),
  );
}

Deno.test("release.yml reads this version's notes from the change log, and rejects other tags", async () => {
  const name = "Compare the tag with deno.json, and take the notes from the list of changes";
  using folder = new TemporaryFolder();
  Deno.mkdirSync(folder.at(".github"));
  for (const path of ["deno.json", ".github/CHANGELOG.md"]) {
    Deno.copyFileSync(`${ROOT}${path}`, folder.at(path));
  }
  const result = await runStep(name, folder.path, { GITHUB_REF_NAME: `v${VERSION}` });
  assertEquals([result.code, result.stdout, result.stderr], [0, "", ""]);
  assertMatch(Deno.readTextFileSync(folder.at("notes.md")), /^\n- /);
  const other = await runStep(name, folder.path, { GITHUB_REF_NAME: "v9.9.9" });
  assertEquals([other.code, other.stdout], [1, `found the tag v9.9.9, expected v${VERSION}\n`]);
  Deno.writeTextFileSync(
    folder.at(".github/CHANGELOG.md"),
    `# Changes\n\n## ${VERSION}\n\n## 0.0.1\n\n- old\n`,
  );
  const empty = await runStep(name, folder.path, { GITHUB_REF_NAME: `v${VERSION}` });
  assertEquals([empty.code, Deno.readTextFileSync(folder.at("notes.md")).trim()], [1, ""]);
});

Deno.test("release.yml writes the commit into deno.json, and checksums that sha256sum accepts", async () => {
  using folder = new TemporaryFolder();
  Deno.copyFileSync(`${ROOT}deno.json`, folder.at("deno.json"));
  const commit = "0123456789abcdef0123456789abcdef01234567";
  const stamp = await runStep("Write the commit into deno.json, for --version", folder.path, {
    GITHUB_SHA: commit,
  });
  assertEquals(stamp.code, 0, stamp.stderr);
  assertEquals(JSON.parse(Deno.readTextFileSync(folder.at("deno.json"))), { ...config, commit });
  for (const name of ["linux-x64", "macos-arm64"]) {
    Deno.writeTextFileSync(folder.at(`ping-llm-${name}`), name);
  }
  assertEquals((await runStep("Write checksums", folder.path, {})).code, 0);
  const check = new Deno.Command("sha256sum", { args: ["-c", "SHA256SUMS"], cwd: folder.path }).outputSync();
  assertEquals(
    new TextDecoder().decode(check.stdout),
    "ping-llm-linux-x64: OK\nping-llm-macos-arm64: OK\n",
  );
});

Deno.test("the program accepts release.yml's first run of an executable", async () => {
  using folder = new TemporaryFolder();
  Deno.mkdirSync(folder.at("dist"));
  const program = `#!/bin/sh\nexec '${Deno.execPath()}' run --no-prompt -A '${ROOT}tasks/main.ts' "$@"\n`;
  Deno.writeTextFileSync(folder.at("dist/ping-llm-linux-x64"), program, { mode: 0o755 });
  const env = { SYSTEM: "linux-x64", TMPDIR: folder.path };
  const { code, stderr } = await runStep("Run it in an empty folder", folder.path, env);
  assertEquals(code, 0, stderr);
});
