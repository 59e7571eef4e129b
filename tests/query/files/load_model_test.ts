import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { fromFileUrl, join } from "@std/path";
import { loadModel } from "../../../lib/query/files/load_model.ts";
import { checkpointDirectory } from "../../../lib/train/checkpoint.ts";
import { runDeno } from "../../cli/process.ts";
import { TemporaryFolder } from "../../io/files/temporary_folder.ts";
import { withRowCheckpoint } from "../adapt/row_checkpoint.ts";

Deno.test("loadModel() reports that it uses an earlier checkpoint if the latest is damaged", () =>
  withRowCheckpoint(async (at) => {
    const earlier = checkpointDirectory(at("run"));
    const latest = join(earlier, "..", "step-00000004");
    Deno.mkdirSync(latest);
    for (const { name } of Deno.readDirSync(earlier)) {
      Deno.copyFileSync(join(earlier, name), join(latest, name));
    }
    Deno.writeTextFileSync(join(latest, "..", "latest"), "step-00000004\n");
    const lines: string[] = [];
    const load = async () => (await loadModel(at("run"), { onLog: (line) => lines.push(line) })).close();
    await load();
    assertEquals(lines, []);
    Deno.truncateSync(join(latest, "model.safetensors"), 1000);
    await load();
    assertEquals(lines.length, 1);
    assertMatch(
      lines[0],
      /^Cannot read \S+step-00000004\/model\.safetensors: .*; using \S+step-00000003 instead$/,
    );
  }));

Deno.test("a one-line error names the permission that a program lacks", async () => {
  using folder = new TemporaryFolder();
  const library = JSON.stringify(import.meta.resolve("../../../mod.ts"));
  const config = fromFileUrl(import.meta.resolve("../../../deno.json"));
  const cases = [
    ["--allow-read", 'await loadModel("runs/demo/train")'],
    ["--allow-write", 'MeasurementParquetWriter.create("a.parquet")', "--allow-read"],
  ];
  for (const [missing, call, ...flags] of cases) {
    const program = folder.at("program.ts");
    Deno.writeTextFileSync(
      program,
      `import { loadModel, MeasurementParquetWriter } from ${library};
      try { ${call}; } catch (error) { console.log(error.message); }`,
    );
    const { stdout, stderr } = await runDeno(["--config", config, ...flags, program]);
    assertMatch(stdout, /^Cannot [^\n]*: Deno does not permit it, [^\n]*; run again with it\n$/, stderr);
    assertStringIncludes(stdout, `expected ${missing};`);
  }
});
