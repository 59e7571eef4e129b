import { assertEquals, assertThrows } from "@std/assert";
import { join } from "@std/path";
import {
  AtomicFile,
  removeStaleTemporaries,
  writeFileAtomic,
  writeJsonAtomic,
} from "../../../lib/io/files/atomic.ts";
import { UserError } from "../../../lib/base/errors.ts";

function names(folder: string): string[] {
  return [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
}

Deno.test("AtomicFile shows its name only after commit()", () => {
  const folder = Deno.makeTempDirSync();
  const path = join(folder, "deep", "a.bin");
  {
    using file = AtomicFile.create(path);
    file.writeSync(new Uint8Array([1, 2]));
    file.writeSync(new Uint8Array([3]));
    assertEquals(file.offsetBytes, 3);
    assertEquals(names(join(folder, "deep")).includes("a.bin"), false);
    file.commit();
  }
  assertEquals(names(join(folder, "deep")), ["a.bin"]);
  assertEquals(Deno.readFileSync(path), new Uint8Array([1, 2, 3]));
  Deno.removeSync(folder, { recursive: true });
});

Deno.test("AtomicFile leaves nothing behind when it is not committed, and keeps the earlier file", () => {
  const folder = Deno.makeTempDirSync();
  const path = join(folder, "a.txt");
  writeFileAtomic(path, "first");
  {
    using file = AtomicFile.create(path);
    file.writeSync(new Uint8Array(1000));
  }
  assertEquals(names(folder), ["a.txt"]);
  assertEquals(Deno.readTextFileSync(path), "first");
  writeJsonAtomic(path, { a: 1 });
  assertEquals(JSON.parse(Deno.readTextFileSync(path)), { a: 1 });
  Deno.removeSync(folder, { recursive: true });
});

Deno.test("removeStaleTemporaries() deletes what AtomicFile leaves after a kill, and no file of a user", () => {
  const folder = Deno.makeTempDirSync();
  for (const name of ["a.parquet.123.tmp", "a.parquet", "notes.tmp"]) {
    Deno.writeTextFileSync(join(folder, name), "");
  }
  // Never committed nor aborted.
  AtomicFile.create(join(folder, "a.parquet")).writeSync(new Uint8Array(1));
  assertEquals(names(folder).length, 4);
  removeStaleTemporaries(folder);
  assertEquals(names(folder), ["a.parquet", "a.parquet.123.tmp", "notes.tmp"]);
  removeStaleTemporaries(join(folder, "absent"));
  Deno.removeSync(folder, { recursive: true });
});

Deno.test("AtomicFile.create() says in one line why a file cannot be written", () => {
  const folder = Deno.makeTempDirSync();
  writeFileAtomic(join(folder, "file"), "");
  assertThrows(() => AtomicFile.create(join(folder, "file", "a")), UserError, "Cannot write");
  Deno.removeSync(folder, { recursive: true });
});
