import { assert, assertEquals, assertThrows } from "@std/assert";
import { dirname, relative } from "@std/path";
import { UserError } from "../../../lib/base/errors.ts";
import { listInputs } from "../../../lib/io/files/inputs.ts";
import { inFolder, TemporaryFolder } from "./temporary_folder.ts";
import { openRegularFile } from "../../../lib/io/files/byte_file.ts";

const WANTED = { extensions: [".parquet"], wanted: "a Parquet file" };

function tree(): TemporaryFolder {
  const folder = new TemporaryFolder();
  Deno.mkdirSync(folder.at("b/empty"), { recursive: true });
  for (const name of ["a.parquet", "b/c.parquet", "b/note.txt", "b/.hidden.parquet"]) {
    Deno.writeTextFileSync(folder.at(name), "abc");
  }
  return folder;
}

Deno.test("listInputs() expands files, directories and globs, sorted and without repeats", () => {
  using folder = tree();
  const list = (...paths: string[]) =>
    listInputs(paths.map((path) => folder.at(path)), WANTED).map((path) => relative(folder.path, path));
  assertEquals(list("."), ["a.parquet", "b/c.parquet"]);
  assertEquals(list("b/c.parquet", ".", "a.parquet"), ["a.parquet", "b/c.parquet"]);
  assertEquals(list("**/*.parquet"), ["a.parquet", "b/c.parquet"]);
  assertEquals(list("*.parquet"), ["a.parquet"]);
  assertEquals(list("b/note.txt"), ["b/note.txt"]);
});

Deno.test("listInputs() follows links to folders and files, each target once, and reports it", () => {
  using folder = new TemporaryFolder();
  const { path } = folder;
  for (const name of ["in/own/a.parquet", "store/b.parquet", "store/deep/c.parquet", "d.parquet"]) {
    Deno.mkdirSync(dirname(folder.at(name)), { recursive: true });
    Deno.writeTextFileSync(folder.at(name), "abc");
  }
  const link = (target: string, name: string) => Deno.symlinkSync(folder.at(target), folder.at(name));
  link("store", "in/linked");
  link("store/deep", "in/again");
  link("in", "store/back");
  link("in/own", "in/alias");
  link("d.parquet", "in/d.parquet");
  link("d.parquet", "in/e.parquet");
  link("store", "in/.hidden");
  const lines: string[] = [];
  const list = (name: string) =>
    listInputs([folder.at(name)], {
      ...WANTED,
      onLink: (line) => lines.push(line.replaceAll(`${path}/`, "")),
    }).map((file) => relative(path, file));
  assertEquals(list("in"), [
    "in/again/c.parquet",
    "in/d.parquet",
    "in/linked/b.parquet",
    "in/own/a.parquet",
  ]);
  assertEquals(lines, [
    "following in/again -> store/deep",
    "leaving out in/alias -> in/own, which was already read",
    "leaving out in/e.parquet -> d.parquet, which was already read",
    "following in/linked -> store",
    "leaving out in/linked/back -> in, which was already read",
    "following in/d.parquet -> d.parquet",
  ]);
  lines.length = 0;
  assertEquals(list("in/*/b.parquet"), ["in/linked/b.parquet"]);
  assertEquals(lines.at(-1), "following in/linked -> store");
  lines.length = 0;
  assertEquals(list("in/**/c.parquet"), ["in/again/c.parquet"]);
  assertEquals(list("in/d*.parquet"), ["in/d.parquet"]);
  assertEquals(listInputs([folder.at("in/linked"), folder.at("store")], WANTED).length, 4);
});

Deno.test("listInputs() rejects dangling links, pipes and devices immediately", async () => {
  using folder = new TemporaryFolder();
  const refused = (path: string, message: string) =>
    assertThrows(() => listInputs([path], WANTED), UserError, message);
  Deno.symlinkSync("/nowhere/data", folder.at("away"));
  refused(
    folder.path,
    `Cannot read ${folder.at("away")}: it is a link to /nowhere/data, which does not exist`,
  );
  Deno.removeSync(folder.at("away"));
  Deno.symlinkSync("round", folder.at("round"));
  refused(folder.path, `Cannot read ${folder.at("round")}: it is a link to round, which does not exist`);
  Deno.removeSync(folder.at("round"));
  const { success } = await new Deno.Command("mkfifo", { args: [folder.at("pipe.parquet")] }).output();
  assert(success);
  for (const path of [folder.path, folder.at("pipe.parquet"), folder.at("*.parquet")]) {
    refused(path, `Cannot read ${folder.at("pipe.parquet")}: it is a named pipe, expected a file`);
  }
  refused("/dev/zero", "it is a device, expected a file");
});

Deno.test("openRegularFile() opens a file, and rejects anything else with a one-line error and without waiting", () =>
  inFolder((folder) => {
    const path = `${folder}/f`;
    Deno.writeTextFileSync(path, "x");
    {
      using file = openRegularFile(path);
      assertEquals(file.statSync().size, 1);
    }
    const cases: [string, string][] = [
      [`${folder}/none`, "no such file or directory; check the path"],
      [folder, "it is a directory, expected a file; name a file"],
    ];
    if (Deno.build.os !== "windows") {
      const pipe = `${folder}/pipe`;
      assert(new Deno.Command("mkfifo", { args: [pipe] }).outputSync().success);
      cases.push([pipe, "it is a named pipe, expected a file; name a regular file"]);
      cases.push(["/dev/null", "it is a device, expected a file; name a regular file"]);
    }
    for (const [found, message] of cases) {
      const error = assertThrows(() => openRegularFile(found), UserError);
      assertEquals(error.message, `Cannot read ${found}: ${message}`);
    }
  }));
