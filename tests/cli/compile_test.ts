import { assert, assertEquals, assertRejects } from "@std/assert";
import { dirname, join } from "@std/path";
import { UserError } from "../../lib/base/errors.ts";
import { codeFiles, compileArguments, lateModules } from "../../lib/cli/compile/program.ts";
import { programCommit, splitEmbedded } from "../../lib/cli/version.ts";
import { LAUNCH_VARIABLES } from "../../lib/train/mpi/launch.ts";
import { PROGRAM } from "../../tasks/compile.ts";
import { STAGES } from "../../tasks/stages.ts";
import { type LauncherParts, tarOf, writeLauncher } from "../../lib/cli/compile/launcher.ts";
import { TemporaryFolder } from "../io/files/temporary_folder.ts";

Deno.test("lateModules() finds every module that is loaded by a URL", () => {
  const loaded = codeFiles(PROGRAM).filter((name) => name.endsWith(".ts")).flatMap((name) => {
    const code = Deno.readTextFileSync(join(PROGRAM.root, name));
    const urls = code.matchAll(/new URL\("\.\/(\w+\.ts)", import\.meta\.url\)/g);
    return [...urls].map(([, file]) => join(dirname(name), file));
  });
  assertEquals(lateModules(PROGRAM), loaded.sort());
  assert(loaded.length > 2);
});

Deno.test("the compiled file starts every stage with its flags from deno.json", () => {
  const { flags } = PROGRAM;
  assertEquals([...flags.keys()].sort(), Object.keys(STAGES).sort());
  assertEquals(flags.get("import"), ["--no-prompt", "-R", "-W"]);
});

Deno.test("compileArguments() contains every stage's permissions and all modules and data", () => {
  const args = compileArguments("out", PROGRAM);
  assertEquals(args.filter((word) => /^(?:--allow-|-[A-Z])/.test(word)).sort(), [
    "--allow-ffi",
    "--allow-run",
    // Deno accumulates them.
    `-E=${LAUNCH_VARIABLES.join(",")}`,
    "-E=PING_LLM_WEBHOOK_KEY",
    "-E=RIPE_ATLAS_KEY",
    "-E=RIPE_ATLAS_KEY,GLOBALPING_TOKEN,PROMETHEUS_TOKEN",
    "-N",
    "-R",
    "-S=systemMemoryInfo",
    "-W",
  ]);
  const included = args.filter((_, index) => args[index - 1] === "--include");
  assertEquals(included, [
    ...PROGRAM.stages,
    ...lateModules(PROGRAM),
    ...PROGRAM.data,
  ]);
  const [output, out, main, ...embedded] = args.slice(args.indexOf("--output"));
  assertEquals([output, out, main], ["--output", "out", "tasks/main.ts"]);
  const commit = programCommit();
  assertEquals(splitEmbedded([...embedded, "train", "--help"]), {
    ...(commit && { commit }),
    words: ["train", "--help"],
  });
});

const quiet = { onProgress: () => {}, signal: new AbortController().signal };

function partsIn(folder: TemporaryFolder, content: string): LauncherParts {
  Deno.writeTextFileSync(folder.at("file"), content);
  const entries = [{ name: "program/file", path: folder.at("file") }];
  return { entries, flags: new Map([["train", ["--allow-read"]]]), version: "1.2.3", system: "Linux x86_64" };
}

Deno.test("writeLauncher() writes the same bytes for the same files, and another hash for others", async () => {
  using folder = new TemporaryFolder();
  const first = await writeLauncher(folder.at("a"), partsIn(folder, "one"), quiet);
  const again = await writeLauncher(folder.at("b"), partsIn(folder, "one"), quiet);
  const other = await writeLauncher(folder.at("c"), partsIn(folder, "two"), quiet);
  assertEquals(again, first);
  assertEquals(Deno.readFileSync(folder.at("a")), Deno.readFileSync(folder.at("b")));
  assert(other.hash !== first.hash);
  assertEquals(first.sizeBytes, Deno.statSync(folder.at("a")).size);
});

Deno.test("tarOf() fails in one line if a file is missing or changes while it is read", async () => {
  using folder = new TemporaryFolder();
  const missing = tarOf([{ name: "a", path: folder.at("missing") }]);
  await assertRejects(() => new Response(missing).bytes(), UserError, "no such file");
  // More than the stream reads in advance.
  const path = folder.at("large");
  Deno.writeFileSync(path, new Uint8Array(20_000_000));
  const chunks = tarOf([{ name: "a", path }])[Symbol.asyncIterator]();
  await chunks.next();
  Deno.truncateSync(path);
  await assertRejects(() => Array.fromAsync(chunks), UserError, "it changed from 20000000 to ");
});
