/**
 * Checks that stages reject a broken copy, as users run them.
 *
 * @module
 */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { refused, runStageProcess, succeed } from "../../cli/process.ts";
import { TemporaryFolder } from "../../io/files/temporary_folder.ts";
import { withCheckpoint } from "../../query/tiny_checkpoint.ts";

/** A folder with `synth.parquet`, `shards` made from it, and `rows` made from the shards. */
async function makeChain(folder: TemporaryFolder): Promise<void> {
  const [synth, shards, rows] = ["synth.parquet", "shards", "rows"].map((name) => folder.at(name));
  const few = ["--train-shards", "3", "--val-shards", "1", "--test-shards", "1"];
  await succeed("synth", "--output", synth, "--rows", "4000", "--probes", "40");
  await succeed("shard", "--input", synth, "--output", shards, ...few);
  await succeed("probe-rows", "--input", shards, "--output", rows, "--shards", "3");
}

/** Runs the stages one after the other. Each must exit with 1 and print one line that matches. */
async function assertRefused(stages: readonly string[][], message: RegExp): Promise<void> {
  for (const args of stages) {
    assertMatch(await refused(runStageProcess(args), 1), message, args.join(" "));
  }
}

/** Breaks a file of a folder and restores it afterwards. */
async function whileBroken(path: string, breaking: () => void, work: () => Promise<void>): Promise<void> {
  const bytes = Deno.readFileSync(path);
  breaking();
  await work();
  Deno.writeFileSync(path, bytes);
}

Deno.test("every stage with inputs refuses a folder with a missing, replaced or extra file", () =>
  withCheckpoint(async (scratch, checkpoint) => {
    using folder = new TemporaryFolder();
    await makeChain(folder);
    const output = ["--output", join(scratch, "out")];
    const [shards, rows] = [folder.at("shards"), folder.at("rows")];
    const model = ["--checkpoint", checkpoint];
    const ofShards = [
      ["probe-rows", "--input", shards, ...output],
      ["shard", "--input", shards, ...output],
      ["pretokenize", "--vocab", "v1", "--input", shards, ...output],
      ["score", ...model, "--input", shards, "--output", join(scratch, "out.parquet")],
      ["query", "likelihood", ...model, "--input", shards],
      ["inspect", shards],
    ];
    const ofRows = [
      ["train", "--data", rows, "--run", join(scratch, "run")],
      ["eval", ...model, "--data", rows, ...output],
      ["pretokenize", "--input", rows, ...output],
      ["inspect", rows],
    ];
    const cases: [stages: string[][], first: string, other: string][] = [
      [ofShards, join(shards, "train/shard-00001.parquet"), join(shards, "train/shard-00002.parquet")],
      [
        ofRows,
        join(rows, "test/test-00000-of-00001.arrayrecord"),
        join(rows, "val/val-00000-of-00001.arrayrecord"),
      ],
    ];
    for (const [stages, path, other] of cases) {
      await whileBroken(
        path,
        () => Deno.removeSync(path),
        () => assertRefused(stages, /is missing, expected all files that/),
      );
      const replaced = / has (\d+ bytes, expected \d+|a different SHA-256)/;
      await whileBroken(path, () => Deno.copyFileSync(other, path), () => assertRefused(stages, replaced));
      const stale = path.replace(/00001|00000/, "99999");
      Deno.copyFileSync(other, stale);
      await assertRefused(stages, /no manifest lists .*99999/);
      Deno.removeSync(stale);
    }
    assertEquals([...Deno.readDirSync(scratch)].filter(({ name }) => name.startsWith("out")), []);
  }));

Deno.test("stages read a complete folder, and report the links they follow", async () => {
  using folder = new TemporaryFolder();
  await makeChain(folder);
  const [shards, elsewhere] = [folder.at("shards"), folder.at("elsewhere")];
  Deno.renameSync(join(shards, "train"), elsewhere);
  Deno.symlinkSync(elsewhere, join(shards, "train"));
  const args = ["probe-rows", "--input", shards, "--shards", "3", "--verify"];
  const { stderr: lines } = await succeed(...args, "--output", folder.at("again"));
  assertStringIncludes(lines, `following ${shards}/train -> ${Deno.realPathSync(elsewhere)}\n`);
  for (const split of ["train", "val", "test"]) {
    for (const { name } of Deno.readDirSync(folder.at(`rows/${split}`))) {
      const [old, made] = ["rows", "again"].map((root) =>
        Deno.readFileSync(folder.at(`${root}/${split}/${name}`))
      );
      assertEquals(made, old);
    }
  }
  await succeed("inspect", folder.at("again"), "--verify");
});
