import { assert, assertEquals, assertThrows } from "@std/assert";
import { join } from "@std/path";
import { FormatError, UserError } from "../../lib/errors.ts";
import {
  describeOutput,
  manifestPathBeside,
  newManifest,
  openOutputFile,
  openOutputFolder,
  readManifest,
  writeManifest,
} from "../../lib/files/manifest.ts";

function start(rows: number) {
  return newManifest({
    stage: "shard",
    inputs: [{ path: "a.parquet", sizeBytes: 3, mtimeMs: 1 }],
    options: { rows },
  });
}

Deno.test("openOutputFolder() makes a fresh folder and finds its own run again", () => {
  const folder = join(Deno.makeTempDirSync(), "out");
  assertEquals(openOutputFolder(folder, start(1), { overwrite: false }), undefined);
  assert(openOutputFolder(folder, start(1), { overwrite: false }));
});

Deno.test("openOutputFolder() refuses another run's folder, and empties it when told to", () => {
  const folder = join(Deno.makeTempDirSync(), "out");
  openOutputFolder(folder, start(1), { overwrite: false });
  Deno.writeTextFileSync(join(folder, "old"), "");
  assertThrows(() => openOutputFolder(folder, start(2), { overwrite: false }), UserError, "--overwrite");
  assertEquals(openOutputFolder(folder, start(2), { overwrite: true }), undefined);
  assertEquals([...Deno.readDirSync(folder)].map(({ name }) => name), ["manifest.json"]);
});

Deno.test("openOutputFolder() never deletes a folder that is not its own", () => {
  const folder = Deno.makeTempDirSync();
  Deno.writeTextFileSync(join(folder, "precious"), "");
  assertThrows(() => openOutputFolder(folder, start(1), { overwrite: false }), UserError, "other files");
  assertThrows(() => openOutputFolder(folder, start(1), { overwrite: true }), UserError, "by hand");
  assert(Deno.statSync(join(folder, "precious")).isFile);
});

Deno.test("openOutputFile() deletes what a killed run left under temporary names, and nothing else", () => {
  const folder = Deno.makeTempDirSync();
  const file = join(folder, "data.parquet");
  const besides = [join(folder, "data.truth.json")];
  const left = ["data.parquet", "data.manifest.json", "data.truth.json"].map((name) => `${name}.77.tmp`);
  const others = ["data.truth.json", "other.truth.json.78.tmp", "more-data.parquet.79.tmp"];
  for (const name of [...left, ...others]) Deno.writeTextFileSync(join(folder, name), "");
  assertEquals(openOutputFile(file, start(1), { overwrite: false, besides }), undefined);
  const names = [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
  assertEquals(names, [...others, "data.manifest.json"].sort());
});

Deno.test("readManifest() returns what writeManifest() wrote and refuses other JSON", () => {
  const path = join(Deno.makeTempDirSync(), "manifest.json");
  assertEquals(readManifest(path), undefined);
  writeManifest(path, start(1));
  assertEquals(readManifest(path), start(1));
  Deno.writeTextFileSync(path, "{}");
  assertThrows(() => readManifest(path), FormatError, "no manifest");
});

Deno.test("describeOutput() gives size and SHA-256", async () => {
  const folder = Deno.makeTempDirSync();
  Deno.writeTextFileSync(join(folder, "abc"), "abc");
  assertEquals(await describeOutput(folder, "abc", { rows: 1 }), {
    path: "abc",
    sizeBytes: 3,
    sha256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    counts: { rows: 1 },
  });
  assertEquals(manifestPathBeside("x/data.parquet"), "x/data.manifest.json");
});
