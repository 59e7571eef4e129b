import { assertEquals } from "@std/assert";
import { findTruthFile } from "../../lib/eval/eval_rows.ts";
import { newManifest, writeManifest } from "../../lib/io/files/manifest.ts";
import { TemporaryFolder } from "../io/files/temporary_folder.ts";

function writeFolder(folder: TemporaryFolder, name: string, inputs: string[]): void {
  Deno.mkdirSync(folder.at(name), { recursive: true });
  const described = inputs.map((path) => ({ path: folder.at(path), sizeBytes: 0, mtimeMs: 0 }));
  const manifest = newManifest({ stage: name, inputs: described, options: {} });
  writeManifest(folder.at(`${name}/manifest.json`), { ...manifest, complete: true });
}

Deno.test("findTruthFile() finds the truth beside the measurements, also by way of shards", () => {
  using folder = new TemporaryFolder();
  Deno.writeTextFileSync(folder.at("a.truth.json"), "{}");
  writeFolder(folder, "shards", ["a.parquet"]);
  writeFolder(folder, "rows", ["shards/train/shard-00000.parquet", "shards/test/shard-00000.parquet"]);
  writeFolder(folder, "direct", ["a.parquet"]);
  assertEquals(findTruthFile(folder.at("rows")), folder.at("a.truth.json"));
  assertEquals(findTruthFile(folder.at("direct")), folder.at("a.truth.json"));
});

Deno.test("findTruthFile() finds none where there is none, or one of several", () => {
  using folder = new TemporaryFolder();
  writeFolder(folder, "rows", ["a.parquet", "b.parquet"]);
  assertEquals(findTruthFile(folder.at("rows")), undefined);
  assertEquals(findTruthFile(folder.at("nowhere")), undefined);
  for (const name of ["a", "b"]) Deno.writeTextFileSync(folder.at(`${name}.truth.json`), "{}");
  assertEquals(findTruthFile(folder.at("rows")), undefined);
});
