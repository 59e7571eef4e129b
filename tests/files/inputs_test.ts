import { assertEquals, assertThrows } from "@std/assert";
import { join, relative } from "@std/path";
import { UserError } from "../../lib/errors.ts";
import { fingerprint, listInputs } from "../../lib/files/inputs.ts";

const WANTED = { extensions: [".parquet"], wanted: "a Parquet file" };

function tree(): string {
  const folder = Deno.makeTempDirSync();
  Deno.mkdirSync(join(folder, "b", "empty"), { recursive: true });
  for (const name of ["a.parquet", "b/c.parquet", "b/note.txt", "b/.hidden.parquet"]) {
    Deno.writeTextFileSync(join(folder, name), "abc");
  }
  return folder;
}

Deno.test("listInputs() expands files, directories and globs, sorted, each once", () => {
  const folder = tree();
  const list = (...paths: string[]) =>
    listInputs(paths.map((path) => join(folder, path)), WANTED).map((path) => relative(folder, path));
  assertEquals(list("."), ["a.parquet", "b/c.parquet"]);
  assertEquals(list("b/c.parquet", ".", "a.parquet"), ["a.parquet", "b/c.parquet"]);
  assertEquals(list("**/*.parquet"), ["a.parquet", "b/c.parquet"]);
  assertEquals(list("*.parquet"), ["a.parquet"]);
  assertEquals(list("b/note.txt"), ["b/note.txt"]);
  Deno.removeSync(folder, { recursive: true });
});

Deno.test("listInputs() names the path that holds nothing", () => {
  const folder = tree();
  assertThrows(() => listInputs([join(folder, "absent.parquet")], WANTED), UserError, "no such file");
  assertThrows(() => listInputs([join(folder, "b", "empty")], WANTED), UserError, "no .parquet file in it");
  assertThrows(() => listInputs([join(folder, "z*.parquet")], WANTED), UserError, "no .parquet file in it");
  Deno.removeSync(folder, { recursive: true });
});

Deno.test("fingerprint() gives size and time of change", () => {
  const folder = tree();
  const { sizeBytes, mtimeMs } = fingerprint(join(folder, "a.parquet"));
  assertEquals(sizeBytes, 3);
  assertEquals(Math.abs(mtimeMs - Date.now()) < 60_000, true);
  Deno.removeSync(folder, { recursive: true });
});
