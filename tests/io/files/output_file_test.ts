import { assert, assertEquals, assertThrows } from "@std/assert";
import { UserError } from "../../../lib/base/errors.ts";
import { OutputFile, writeOutputFile } from "../../../lib/io/files/output_file.ts";
import { TemporaryFolder } from "./temporary_folder.ts";
import { fromFileUrl, join } from "@std/path";
import { AtomicFile, removeStaleTemporaries } from "../../../lib/io/files/atomic.ts";
import { exists } from "../../../lib/io/files/inputs.ts";
import { OutputLock } from "../../../lib/io/files/output_lock.ts";

const OPTIONS = { stage: "query", own: /^text/, overwrite: false };

function names(folder: string): string[] {
  return [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
}

Deno.test("OutputFile replaces a regular file only when complete, and leaves no other files", () => {
  using folder = new TemporaryFolder();
  writeOutputFile(folder.at("a.jsonl"), "text 1", OPTIONS);
  {
    using file = new OutputFile(folder.at("a.jsonl"), OPTIONS);
    file.writeSync(new Uint8Array(10));
    assertThrows(() => writeOutputFile(folder.at("a.jsonl"), "", OPTIONS), UserError, "another process");
  }
  assertEquals([names(folder.path), Deno.readTextFileSync(folder.at("a.jsonl"))], [["a.jsonl"], "text 1"]);
  writeOutputFile(folder.at("a.jsonl"), "text 2", OPTIONS);
  assertEquals([names(folder.path), Deno.readTextFileSync(folder.at("a.jsonl"))], [["a.jsonl"], "text 2"]);
});

Deno.test("OutputFile writes through a link, whether or not its target exists", () => {
  using folder = new TemporaryFolder();
  for (const target of ["there", "new"]) {
    if (target === "there") Deno.writeTextFileSync(folder.at(target), "text before");
    Deno.symlinkSync(target, folder.at(`to-${target}`));
    writeOutputFile(folder.at(`to-${target}`), "text", OPTIONS);
    assertEquals(Deno.readLinkSync(folder.at(`to-${target}`)), target);
    assertEquals(Deno.readTextFileSync(folder.at(target)), "text");
  }
});

Deno.test("OutputFile replaces what its stage wrote or an empty file, and with overwrite any file", () => {
  using folder = new TemporaryFolder();
  const path = folder.at("a.jsonl");
  for (const kept of ["mine", "\ntext", " text"]) {
    Deno.writeTextFileSync(path, kept);
    assertThrows(() => writeOutputFile(path, "text", OPTIONS), UserError, "query did not write");
    assertEquals([names(folder.path), Deno.readTextFileSync(path)], [["a.jsonl"], kept]);
  }
  for (const [replaced, overwrite] of [["mine", true], ["", false], ["text of before", false]] as const) {
    Deno.writeTextFileSync(path, replaced);
    writeOutputFile(path, "text", { ...OPTIONS, overwrite });
    assertEquals(Deno.readTextFileSync(path), "text");
  }
});

Deno.test("OutputFile keeps a file that appears under its name meanwhile, even with overwrite", () => {
  using folder = new TemporaryFolder();
  for (const [before, overwrite] of [[undefined, true], ["text", false], ["mine", true]] as const) {
    const path = folder.at(`${before}.jsonl`);
    if (before !== undefined) Deno.writeTextFileSync(path, before);
    using file = new OutputFile(path, { ...OPTIONS, overwrite });
    Deno.writeTextFileSync(path, "of another program");
    assertThrows(() => file.finish("text"), UserError, "query did not write");
    assertEquals(Deno.readTextFileSync(path), "of another program");
  }
});

Deno.test("OutputFile refuses folders, pipes and devices, even with overwrite", async () => {
  using folder = new TemporaryFolder();
  const pipe = folder.at("pipe");
  assertEquals((await new Deno.Command("mkfifo", { args: [pipe] }).output()).code, 0);
  const refused = [[folder.path, "a directory"], [pipe, "a named pipe"], ["/dev/null", "a device"]];
  for (const [path, found] of refused) {
    assertThrows(
      () => writeOutputFile(path, "", { ...OPTIONS, overwrite: true }),
      UserError,
      `it is ${found}`,
    );
  }
  assertEquals(names(folder.path), ["pipe"]);
});

Deno.test("removeStaleTemporaries() deletes what AtomicFile leaves after a kill, and no files of the user", () => {
  using temporary = new TemporaryFolder();
  const folder = temporary.path;
  for (const name of ["a.parquet.123.tmp", "a.parquet", "notes.tmp"]) {
    Deno.writeTextFileSync(join(folder, name), "");
  }
  // Neither committed nor aborted.
  AtomicFile.create(join(folder, "a.parquet")).writeSync(new Uint8Array(1));
  assertEquals(names(folder).length, 4);
  removeStaleTemporaries(folder);
  assertEquals(names(folder), ["a.parquet", "a.parquet.123.tmp", "notes.tmp"]);
  removeStaleTemporaries(join(folder, "absent"));
});

const HOLDER = { output: "out", stage: "shard" };

Deno.test("OutputLock.acquire() keeps others out until disposed of, and names the holder", () => {
  using folder = new TemporaryFolder();
  const work = folder.at("deep/.work");
  {
    using _lock = OutputLock.acquire(work, HOLDER);
    Deno.symlinkSync(folder.at("deep"), folder.at("link"));
    for (const path of [work, folder.at("link/.work")]) {
      const error = assertThrows(() => OutputLock.acquire(path, HOLDER), UserError);
      assert(error.message.includes(`another process is writing to it (shard, process ${Deno.pid}, since 2`));
    }
  }
  assert(!exists(work), "the lock's folder is gone with it");
  OutputLock.acquire(work, HOLDER)[Symbol.dispose]();
});

Deno.test("OutputLock keeps a folder that contains work, and ignores the lock of a killed process", () => {
  using folder = new TemporaryFolder();
  Deno.writeTextFileSync(folder.at("lock"), "shard, process 1, since 2026-01-01T00:00:00.000Z\n");
  Deno.writeTextFileSync(folder.at("half"), "");
  OutputLock.acquire(folder.path, HOLDER)[Symbol.dispose]();
  assertEquals([...Deno.readDirSync(folder.path)].map(({ name }) => name), ["half"]);
});

Deno.test("OutputLock.acquire() admits one of many processes at a time", async () => {
  using folder = new TemporaryFolder();
  const program = `
    import { OutputLock } from ${JSON.stringify(import.meta.resolve("../../../lib/io/files/output_lock.ts"))};
    const [work, mark] = Deno.args;
    for (let done = 0; done < 40;) {
      try {
        using _lock = OutputLock.acquire(work, { output: "out", stage: "test" });
        Deno.writeTextFileSync(mark, "held", { createNew: true });
        Deno.removeSync(mark);
        done++;
      } catch (error) {
        if (!error.message.includes("another process is writing to it")) throw error;
      }
    }`;
  Deno.writeTextFileSync(folder.at("holder.ts"), program);
  const paths = [folder.at(".work"), folder.at("mark")];
  const config = fromFileUrl(import.meta.resolve("../../../deno.json"));
  const args = [
    "run",
    "--config",
    config,
    "--no-prompt",
    "--allow-read",
    "--allow-write",
    folder.at("holder.ts"),
    ...paths,
  ];
  const runs = await Promise.all(
    [1, 2, 3].map(() => new Deno.Command(Deno.execPath(), { args, stderr: "piped" }).output()),
  );
  for (const { code, stderr } of runs) assertEquals(code, 0, new TextDecoder().decode(stderr));
  assert(!exists(join(folder.path, ".work")));
});
