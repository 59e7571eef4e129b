import { assert, assertEquals, assertThrows } from "@std/assert";
import { join } from "@std/path";
import { UserError } from "../../../lib/base/errors.ts";
import { exists } from "../../../lib/io/files/inputs.ts";
import { Output } from "../../../lib/io/files/output.ts";
import { contentOf, TemporaryFolder } from "./temporary_folder.ts";

interface Changes {
  stage?: string;
  rows?: number;
  overwrite?: boolean;
}

function startOf({ stage = "shard", rows = 1, overwrite = false }: Changes = {}) {
  return { stage, inputs: [], options: { rows }, overwrite };
}

function openFile(file: string, changes: Changes = {}): Output {
  return Output.openFile(file, { ...startOf(changes), besides: [`${file}.rejects`] });
}

/** Writes outputs with one text each, and publishes them. */
async function finish(output: Output, files: Record<string, string>): Promise<void> {
  await write(output, files);
  output.publish();
  output[Symbol.dispose]();
}

async function write(output: Output, files: Record<string, string>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    Deno.mkdirSync(join(output.folder, name, ".."), { recursive: true });
    Deno.writeTextFileSync(join(output.folder, name), text);
    await output.record(name);
  }
  output.save();
}

/** All files of a folder with their texts; for manifests the names of the listed outputs. */
function filesIn(folder: string): Record<string, string> {
  const files = Object.entries(contentOf(folder)).filter(([path]) =>
    Deno.statSync(join(folder, path)).isFile
  );
  return Object.fromEntries(files.map(([path, text]) => [
    path,
    path.endsWith("manifest.json")
      ? JSON.parse(text).outputs.map((output: { path: string }) => output.path).sort().join()
      : text,
  ]));
}

const OLD = { "train/a": "old a", "train/b": "old b", "val/c": "old c" };
const NEW = { "train/a": "new a", "d": "new d" };

Deno.test("Output publishes outputs when all are complete, and recognises its own run", async () => {
  using folder = new TemporaryFolder();
  const path = folder.at("out");
  {
    using output = Output.openFolder(path, startOf());
    await write(output, OLD);
    assertEquals([...Deno.readDirSync(path)].map(({ name }) => name), [".work"]);
  }
  {
    using output = Output.openFolder(path, startOf());
    assertEquals([output.isComplete, output.manifest.outputs.length], [false, 3]);
    output.publish();
  }
  assertEquals(filesIn(path), { ...OLD, "manifest.json": "train/a,train/b,val/c" });
  using again = Output.openFolder(path, startOf());
  assert(again.isComplete);
});

Deno.test("Output replaces only what the manifest of the same stage lists", async () => {
  using folder = new TemporaryFolder();
  const path = folder.at("out");
  await finish(Output.openFolder(path, startOf()), OLD);
  Deno.writeTextFileSync(join(path, "notes.txt"), "mine");
  Deno.writeTextFileSync(join(path, "train", "notes.txt"), "mine too");
  const mine = { "notes.txt": "mine", "train/notes.txt": "mine too" };
  assertThrows(() => Output.openFolder(path, startOf({ rows: 2 })), UserError, "--overwrite");
  const other = startOf({ stage: "train", overwrite: true });
  assertThrows(() => Output.openFolder(path, other), UserError, "shard wrote to it");
  {
    using output = Output.openFolder(path, startOf({ rows: 2, overwrite: true }));
    await write(output, NEW);
  }
  const { "d": _unfinished, ...before } = filesIn(path);
  assertEquals(
    Object.keys(before).filter((name) => !name.startsWith(".work")).length,
    6,
    "an error changes nothing",
  );
  await finish(Output.openFolder(path, startOf({ rows: 2, overwrite: true })), NEW);
  assertEquals(filesIn(path), { ...NEW, ...mine, "manifest.json": "d,train/a" });
  assert(!exists(join(path, "val")));
});

Deno.test("Output never touches a foreign folder, or a foreign file where an output would go", async () => {
  using folder = new TemporaryFolder();
  Deno.writeTextFileSync(folder.at("precious"), "");
  for (const overwrite of [false, true]) {
    const open = () => Output.openFolder(folder.path, startOf({ overwrite }));
    assertThrows(open, UserError, "it contains other files");
  }
  assertEquals(filesIn(folder.path), { "precious": "" });
  const path = folder.at("out");
  await finish(Output.openFolder(path, startOf()), OLD);
  Deno.writeTextFileSync(join(path, "d"), "mine");
  using output = Output.openFolder(path, startOf({ rows: 2, overwrite: true }));
  await write(output, NEW);
  assertThrows(() => output.publish(), UserError, "shard did not write exists already");
  assertEquals(Deno.readTextFileSync(join(path, "d")), "mine");
  assertEquals(Deno.readTextFileSync(join(path, "train/a")), "old a");
});

Deno.test("Output recreates missing outputs and keeps the others", async () => {
  using folder = new TemporaryFolder();
  const path = folder.at("out");
  await finish(Output.openFolder(path, startOf()), OLD);
  Deno.removeSync(join(path, "train/b"));
  Deno.writeTextFileSync(join(path, "val/c"), "cut");
  const output = Output.openFolder(path, startOf());
  assertEquals(output.isComplete, false);
  assertEquals(output.manifest.outputs.map(({ path }) => path), ["train/a"]);
  await finish(output, { "train/b": "old b", "val/c": "old c" });
  assertEquals(filesIn(path), { ...OLD, "manifest.json": "train/a,train/b,val/c" });
});

Deno.test("Output deletes unrecorded files in its work folder, and the folder if nothing is worth keeping", async () => {
  using folder = new TemporaryFolder();
  const path = folder.at("out");
  Output.openFolder(path, startOf())[Symbol.dispose]();
  assertEquals(filesIn(path), {});
  {
    using output = Output.openFolder(path, startOf());
    await write(output, { "train/a": "a" });
    Deno.writeTextFileSync(join(output.folder, "train/b.tmp"), "half");
  }
  assertThrows(() => Output.openFolder(path, startOf({ rows: 2 })), UserError, "did not finish");
  using output = Output.openFolder(path, startOf());
  assertEquals([...Deno.readDirSync(join(output.folder, "train"))].map(({ name }) => name), ["a"]);
});

Deno.test("Output.openFile() replaces all files of its stage, and no others", async () => {
  using folder = new TemporaryFolder();
  const file = folder.at("a.parquet");
  await finish(openFile(file), { "a.parquet": "old", "a.parquet.rejects": "bad rows" });
  assertThrows(() => openFile(file, { rows: 2 }), UserError, "add --overwrite");
  assertThrows(() => openFile(file, { stage: "score", overwrite: true }), UserError, "shard wrote it");
  await finish(openFile(file, { rows: 2, overwrite: true }), { "a.parquet": "new" });
  assertEquals(filesIn(folder.path), { "a.parquet": "new", "a.parquet.manifest.json": "a.parquet" });
  // A name that only differs in its extension has its own manifest.
  await finish(openFile(folder.at("a.pq")), { "a.pq": "other" });
  assertEquals(Object.keys(filesIn(folder.path)).length, 4);
});

Deno.test("Output.openFile() keeps what another stage wrote beside a file that is gone", async () => {
  using folder = new TemporaryFolder();
  const file = folder.at("a.parquet");
  await finish(openFile(file, { stage: "score" }), { "a.parquet": "old", "a.scores": "scores" });
  Deno.removeSync(file);
  await finish(openFile(file, { overwrite: true }), { "a.parquet": "new" });
  assertEquals(filesIn(folder.path), {
    "a.parquet": "new",
    "a.parquet.manifest.json": "a.parquet",
    "a.scores": "scores",
  });
});

Deno.test("Output.openFile() refuses files that no manifest lists, and anything but regular files", () => {
  using folder = new TemporaryFolder();
  Deno.writeTextFileSync(folder.at("raw.json"), "years of measurements");
  Deno.writeTextFileSync(folder.at("b.rejects"), "mine");
  Deno.mkdirSync(folder.at("folder"));
  for (const overwrite of [false, true]) {
    assertThrows(
      () => openFile(folder.at("raw.json"), { overwrite }),
      UserError,
      "no manifest says which stage wrote it",
    );
    assertThrows(() => openFile(folder.at("b"), { overwrite }), UserError, "b.rejects: it exists already");
    assertThrows(() => openFile(folder.at("folder"), { overwrite }), UserError, "expected a file");
  }
  assertThrows(() => openFile("/dev/null"), UserError, "expected a file");
  assertEquals(filesIn(folder.path), { "raw.json": "years of measurements", "b.rejects": "mine" });
});
