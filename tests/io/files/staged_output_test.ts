import { assert, assertEquals, assertThrows } from "@std/assert";
import { join } from "@std/path";
import { UserError } from "../../../lib/base/errors.ts";
import { exists } from "../../../lib/io/files/inputs.ts";
import { readManifest } from "../../../lib/io/files/manifest.ts";
import { StagedOutput } from "../../../lib/io/files/staged_output.ts";
import { TemporaryFolder } from "./temporary_folder.ts";

interface Changes {
  stage?: string;
  rows?: number;
  overwrite?: boolean;
}

function startOf({ stage = "shard", rows = 1, overwrite = false }: Changes = {}) {
  return { stage, inputs: [], options: { rows }, overwrite };
}

function openFile(file: string, changes: Changes = {}): StagedOutput {
  return StagedOutput.openFile(file, { ...startOf(changes), besides: [`${file}.rejects`] });
}

/** Writes outputs of a text each, and puts them in their places. */
async function finish(output: StagedOutput, files: Record<string, string>): Promise<void> {
  await write(output, files);
  output.publish();
  output[Symbol.dispose]();
}

async function write(output: StagedOutput, files: Record<string, string>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    Deno.mkdirSync(join(output.folder, name, ".."), { recursive: true });
    Deno.writeTextFileSync(join(output.folder, name), text);
    await output.record(name);
  }
  output.save();
}

/** All files of a folder with their texts, manifests as the names of what they list. */
function contentOf(folder: string, within = ""): Record<string, string> {
  return Object.assign(
    {},
    ...[...Deno.readDirSync(join(folder, within))].map(({ name, isDirectory }) => {
      const path = join(within, name);
      if (isDirectory) return contentOf(folder, path);
      if (!name.endsWith("manifest.json")) return { [path]: Deno.readTextFileSync(join(folder, path)) };
      return { [path]: readManifest(join(folder, path))?.outputs.map((output) => output.path).sort().join() };
    }),
  );
}

const OLD = { "train/a": "old a", "train/b": "old b", "val/c": "old c" };
const NEW = { "train/a": "new a", "d": "new d" };

Deno.test("StagedOutput puts outputs in their places when all are whole, and finds its own run again", async () => {
  using folder = new TemporaryFolder();
  const path = folder.at("out");
  {
    using output = StagedOutput.openFolder(path, startOf());
    await write(output, OLD);
    assertEquals([...Deno.readDirSync(path)].map(({ name }) => name), [".work"]);
  }
  {
    using output = StagedOutput.openFolder(path, startOf());
    assertEquals([output.isComplete, output.manifest.outputs.length], [false, 3]);
    output.publish();
  }
  assertEquals(contentOf(path), { ...OLD, "manifest.json": "train/a,train/b,val/c" });
  using again = StagedOutput.openFolder(path, startOf());
  assert(again.isComplete);
});

Deno.test("StagedOutput replaces what the manifest of the same stage lists, and nothing else", async () => {
  using folder = new TemporaryFolder();
  const path = folder.at("out");
  await finish(StagedOutput.openFolder(path, startOf()), OLD);
  Deno.writeTextFileSync(join(path, "notes.txt"), "mine");
  Deno.writeTextFileSync(join(path, "train", "notes.txt"), "mine too");
  const mine = { "notes.txt": "mine", "train/notes.txt": "mine too" };
  assertThrows(() => StagedOutput.openFolder(path, startOf({ rows: 2 })), UserError, "--overwrite");
  const other = startOf({ stage: "train", overwrite: true });
  assertThrows(() => StagedOutput.openFolder(path, other), UserError, "shard wrote to it");
  {
    using output = StagedOutput.openFolder(path, startOf({ rows: 2, overwrite: true }));
    await write(output, NEW);
  }
  const { "d": _unfinished, ...before } = contentOf(path);
  assertEquals(
    Object.keys(before).filter((name) => !name.startsWith(".work")).length,
    6,
    "an error changes nothing",
  );
  await finish(StagedOutput.openFolder(path, startOf({ rows: 2, overwrite: true })), NEW);
  assertEquals(contentOf(path), { ...NEW, ...mine, "manifest.json": "d,train/a" });
  assert(!exists(join(path, "val")));
});

Deno.test("StagedOutput never touches a folder that is not its own, nor a file where an output would go", async () => {
  using folder = new TemporaryFolder();
  Deno.writeTextFileSync(folder.at("precious"), "");
  for (const overwrite of [false, true]) {
    const open = () => StagedOutput.openFolder(folder.path, startOf({ overwrite }));
    assertThrows(open, UserError, "it holds other files");
  }
  assertEquals(contentOf(folder.path), { "precious": "" });
  const path = folder.at("out");
  await finish(StagedOutput.openFolder(path, startOf()), OLD);
  Deno.writeTextFileSync(join(path, "d"), "mine");
  using output = StagedOutput.openFolder(path, startOf({ rows: 2, overwrite: true }));
  await write(output, NEW);
  assertThrows(() => output.publish(), UserError, "shard did not write exists already");
  assertEquals(Deno.readTextFileSync(join(path, "d")), "mine");
  assertEquals(Deno.readTextFileSync(join(path, "train/a")), "old a");
});

Deno.test("StagedOutput goes on moving outputs where a kill ended it, at every step", async () => {
  using folder = new TemporaryFolder();
  for (let numMoved = 0; numMoved <= 3; numMoved++) {
    const path = folder.at(`out-${numMoved}`);
    await finish(StagedOutput.openFolder(path, startOf()), OLD);
    {
      using output = StagedOutput.openFolder(path, startOf({ rows: 2, overwrite: true }));
      await write(output, NEW);
      output.manifest.complete = true;
      output.save();
      // The next step of publish(), cut off.
      if (numMoved > 0) Deno.removeSync(join(path, "train/b"));
      if (numMoved > 1) Deno.renameSync(join(output.folder, "d"), join(path, "d"));
      if (numMoved > 2) Deno.renameSync(join(output.folder, "train/a"), join(path, "train/a"));
    }
    // Whoever comes next, even with other options, finds the finished work in its place.
    assertThrows(() => StagedOutput.openFolder(path, startOf({ rows: 3 })), UserError, "--overwrite");
    assertEquals(contentOf(path), { ...NEW, "manifest.json": "d,train/a" });
    using again = StagedOutput.openFolder(path, startOf({ rows: 2 }));
    assert(again.isComplete);
  }
});

Deno.test("StagedOutput makes missing outputs anew and keeps the others", async () => {
  using folder = new TemporaryFolder();
  const path = folder.at("out");
  await finish(StagedOutput.openFolder(path, startOf()), OLD);
  Deno.removeSync(join(path, "train/b"));
  Deno.writeTextFileSync(join(path, "val/c"), "cut");
  const output = StagedOutput.openFolder(path, startOf());
  assertEquals(output.isComplete, false);
  assertEquals(output.manifest.outputs.map(({ path }) => path), ["train/a"]);
  await finish(output, { "train/b": "old b", "val/c": "old c" });
  assertEquals(contentOf(path), { ...OLD, "manifest.json": "train/a,train/b,val/c" });
});

Deno.test("StagedOutput deletes in its work folder what was not recorded, and the folder if nothing is worth keeping", async () => {
  using folder = new TemporaryFolder();
  const path = folder.at("out");
  StagedOutput.openFolder(path, startOf())[Symbol.dispose]();
  assertEquals(contentOf(path), {});
  {
    using output = StagedOutput.openFolder(path, startOf());
    await write(output, { "train/a": "a" });
    Deno.writeTextFileSync(join(output.folder, "train/b.tmp"), "half");
  }
  assertThrows(() => StagedOutput.openFolder(path, startOf({ rows: 2 })), UserError, "did not finish");
  using output = StagedOutput.openFolder(path, startOf());
  assertEquals([...Deno.readDirSync(join(output.folder, "train"))].map(({ name }) => name), ["a"]);
});

Deno.test("StagedOutput.openFile() replaces its stage's files only, and all of them", async () => {
  using folder = new TemporaryFolder();
  const file = folder.at("a.parquet");
  await finish(openFile(file), { "a.parquet": "old", "a.parquet.rejects": "bad rows" });
  assertThrows(() => openFile(file, { rows: 2 }), UserError, "add --overwrite");
  assertThrows(() => openFile(file, { stage: "score", overwrite: true }), UserError, "shard wrote it");
  await finish(openFile(file, { rows: 2, overwrite: true }), { "a.parquet": "new" });
  assertEquals(contentOf(folder.path), { "a.parquet": "new", "a.parquet.manifest.json": "a.parquet" });
  // The same name but for its end has a manifest of its own.
  await finish(openFile(folder.at("a.pq")), { "a.pq": "other" });
  assertEquals(Object.keys(contentOf(folder.path)).length, 4);
});

Deno.test("StagedOutput.openFile() refuses files that nobody knows and what is no regular file", () => {
  using folder = new TemporaryFolder();
  Deno.writeTextFileSync(folder.at("raw.json"), "years of measurements");
  Deno.writeTextFileSync(folder.at("b.rejects"), "mine");
  Deno.mkdirSync(folder.at("folder"));
  for (const overwrite of [false, true]) {
    assertThrows(
      () => openFile(folder.at("raw.json"), { overwrite }),
      UserError,
      "no manifest says who wrote it",
    );
    assertThrows(() => openFile(folder.at("b"), { overwrite }), UserError, "b.rejects: it exists already");
    assertThrows(() => openFile(folder.at("folder"), { overwrite }), UserError, "expected a file");
  }
  assertThrows(() => openFile("/dev/null"), UserError, "expected a file");
  assertEquals(contentOf(folder.path), { "raw.json": "years of measurements", "b.rejects": "mine" });
});
