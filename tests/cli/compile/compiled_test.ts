import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path";
import { compileArguments } from "../../../lib/cli/compile/compiled.ts";
import { LAUNCH_VARIABLES } from "../../../lib/train/mpi/launch.ts";
import { codeFiles, threadModules } from "../../../lib/cli/compile/program.ts";
import { PROGRAM } from "../../../tasks/compile.ts";
import { STAGES } from "../../../tasks/stages.ts";

Deno.test("threadModules() finds every module that serves a thread", () => {
  const serving = codeFiles(PROGRAM).filter((name) =>
    name.endsWith(".ts") && /\bserveJobs[<(]/.test(Deno.readTextFileSync(join(PROGRAM.root, name)))
  );
  assertEquals(threadModules(PROGRAM), serving.filter((name) => name !== "lib/io/threads/worker_pool.ts"));
  assert(serving.length > 2);
});

Deno.test("the one file starts every stage with the flags that it has in deno.json", () => {
  const { flags } = PROGRAM;
  assertEquals([...flags.keys()].sort(), Object.keys(STAGES).sort());
  assertEquals(flags.get("import"), ["--no-prompt", "--allow-read", "--allow-write"]);
});

Deno.test("compileArguments() gives one process what its stages may do, and all that they load", () => {
  const args = compileArguments("out", PROGRAM);
  assertEquals(args.filter((word) => word.startsWith("--allow-")).sort(), [
    // Deno adds them up.
    `--allow-env=${LAUNCH_VARIABLES.join(",")}`,
    "--allow-env=PING_LLM_WEBHOOK_KEY",
    "--allow-env=RIPE_ATLAS_KEY",
    "--allow-env=RIPE_ATLAS_KEY,GLOBALPING_TOKEN",
    "--allow-ffi",
    "--allow-net",
    "--allow-read",
    "--allow-run",
    "--allow-sys=systemMemoryInfo",
    "--allow-write",
  ]);
  const included = args.filter((_, index) => args[index - 1] === "--include");
  assertEquals(included, [
    ...PROGRAM.stages,
    ...threadModules(PROGRAM),
    "lib/serve/page/bundle",
    ...PROGRAM.data,
  ]);
  assertEquals(args.slice(-3), ["--output", "out", "tasks/main.ts"]);
});
