/** Inputs of another stage are refused with what to do. @module */
import { assertRejects } from "@std/assert";
import { UserError } from "../../lib/base/errors.ts";
import { evalStage } from "../../tasks/eval.ts";
import { pretokenizeStage } from "../../tasks/pretokenize.ts";
import { shardStage } from "../../tasks/shard.ts";
import { trainStage } from "../../tasks/train.ts";
import type { Stage, StageContext } from "../../lib/cli/stage.ts";
import { TemporaryFolder } from "../io/files/temporary_folder.ts";
import { Progress } from "../../lib/cli/progress.ts";

const CONTEXT: StageContext = {
  signal: new AbortController().signal,
  progress: (label, options) => new Progress(label, { ...options, quiet: true }),
  log() {},
};

Deno.test("stages refuse the input of another stage with one line that says what to do", async () => {
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
