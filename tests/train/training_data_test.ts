import { assertEquals } from "@std/assert";
import { manifestPathBeside, newManifest, writeManifest } from "../../lib/io/files/manifest.ts";
import { originOf } from "../../lib/train/training_data.ts";
import { TemporaryFolder } from "../io/files/temporary_folder.ts";

Deno.test("originOf() names the files of all imports, and of a folder that a stage wrote", () => {
  using folder = new TemporaryFolder();
  const write = (path: string, stage: string, files: readonly string[]) => {
    const inputs = files.map((name) => ({ path: folder.at(name), sizeBytes: 1, mtimeMs: 1 }));
    writeManifest(path, newManifest({ stage, inputs, options: {} }));
  };
  for (const name of ["a", "b", "c", "d"]) {
    write(manifestPathBeside(folder.at(`${name}.parquet`)), "import", [`${name}.log`]);
  }
  Deno.mkdirSync(folder.at("rows"));
  const rowsOf = (...files: string[]) => write(folder.at("rows/manifest.json"), "probe-rows", files);
  rowsOf("a.parquet", "b.parquet", "c.parquet", "d.parquet");
  assertEquals(originOf(folder.at("rows")), { origin: "a.log, b.log, c.log and 1 more", isSynthetic: false });
  Deno.mkdirSync(folder.at("shards"));
  write(folder.at("shards/manifest.json"), "shard", ["a.parquet", "b.parquet"]);
  rowsOf("shards/1.parquet", "shards/2.parquet");
  assertEquals(originOf(folder.at("rows")), { origin: "a.log, b.log", isSynthetic: false });
});
