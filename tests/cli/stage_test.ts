import { assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { versionText } from "../../lib/cli/version.ts";
import { TemporaryFolder } from "../io/files/temporary_folder.ts";
import { requirePage, runDeno, runStageProcess, succeeded } from "./process.ts";
import { UsageError, UserError } from "../../lib/base/errors.ts";
import { serverStage } from "../../tasks/serve.ts";
import { evalStage } from "../../tasks/eval.ts";
import { pretokenizeStage } from "../../tasks/pretokenize.ts";
import { shardStage } from "../../tasks/split_stages.ts";
import { trainStage } from "../../tasks/train.ts";
import type { Stage, StageContext } from "../../lib/cli/stage.ts";
import { Progress } from "../../lib/cli/progress.ts";

const MAIN = fromFileUrl(new URL("../../tasks/main.ts", import.meta.url));

Deno.test("the dispatcher lists the stages, prints its version and rejects an unknown stage", async () => {
  const help = await succeeded(runStageProcess(["--help"]));
  assertStringIncludes(help.stdout, "probe-rows");
  for (const words of [["--version"], ["train", "--version"]]) {
    assertEquals((await succeeded(runStageProcess(words))).stdout, `${versionText()}\n`);
  }
  const unknown = await runStageProcess(["trian"]);
  assertEquals(unknown.code, 2);
  assertEquals(unknown.stderr, "error: Cannot run trian: no such stage; did you mean train?\n");
});

Deno.test("a stage reports as a one-line error that LD_LIBRARY_PATH keeps it from starting programs", async () => {
  using folder = new TemporaryFolder();
  requirePage();
  const args = ["compile", "--output", folder.at("program"), "--form", "launcher"];
  const flags = ["--allow-read", "--allow-write", "--allow-run"];
  const { code, stderr } = await runDeno([...flags, MAIN, ...args], { env: { LD_LIBRARY_PATH: "/opt/lib" } });
  assertEquals(
    stderr,
    "error: Cannot run compile: the environment sets LD_LIBRARY_PATH; " +
      "put `env -u LD_LIBRARY_PATH` before the command\n",
  );
  assertEquals(code, 1);
});

Deno.test("serve rejects invalid ports and hosts with a one-line error", async () => {
  const cases = [["--port", "99999"], ["--port", "8080x"], ["--host", "a b"], ["--host", ""], [
    "--host",
    ".",
  ]];
  for (const words of cases) {
    const { message } = await assertRejects(
      () => serverStage.run(["--checkpoint", "run", ...words]),
      UsageError,
    );
    assertMatch(message, new RegExp(`^Cannot use ${words[0]}[^\\n]*$`), words[1]);
  }
});

const CONTEXT: StageContext = {
  signal: new AbortController().signal,
  progress: (label, options) => new Progress(label, { ...options, quiet: true }),
  log() {},
};

Deno.test("stages reject another stage's input with an error that explains the mismatch", async () => {
  using temporary = new TemporaryFolder();
  const folder = temporary.path;
  const at = (name: string) => `${folder}/${name}`;
  Deno.mkdirSync(at("rows.parquet/train"), { recursive: true });
  Deno.writeTextFileSync(at("rows.parquet/train/a.arrayrecord"), "");
  Deno.writeTextFileSync(at("x.parquet"), "");
  const makeRows = `deno task probe-rows --input ${at("x.parquet")}`;
  const cases: [Stage, string[], string][] = [
    [trainStage, ["--data", at("x.parquet"), "--run", at("run"), "--config", "demo"], makeRows],
    [evalStage, ["--checkpoint", at("run"), "--data", at("x.parquet"), "--output", at("out")], makeRows],
    [
      shardStage,
      ["--input", at("rows.parquet"), "--output", at("out")],
      "found probe rows, expected measurements",
    ],
    [pretokenizeStage, ["--input", at("rows.parquet"), "--output", at("out")], "a.arrayrecord"],
  ];
  for (const [stage, args, message] of cases) {
    await assertRejects(() => stage.run(args, CONTEXT), UserError, message);
  }
});
