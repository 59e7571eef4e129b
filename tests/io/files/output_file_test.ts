import { assertEquals, assertThrows } from "@std/assert";
import { UserError } from "../../../lib/base/errors.ts";
import { OutputFile, writeOutputFile } from "../../../lib/io/files/output_file.ts";
import { TemporaryFolder } from "./temporary_folder.ts";

const OPTIONS = { stage: "query", inputs: [] };

function names(folder: TemporaryFolder): string[] {
  return [...Deno.readDirSync(folder.path)].map(({ name }) => name).sort();
}

Deno.test("OutputFile replaces a regular file when it is whole, keeps it otherwise, and leaves nothing else", () => {
  using folder = new TemporaryFolder();
  writeOutputFile(folder.at("a.jsonl"), "first", OPTIONS);
  {
    using file = new OutputFile(folder.at("a.jsonl"), OPTIONS);
    file.writeSync(new Uint8Array(10));
    assertThrows(() => writeOutputFile(folder.at("a.jsonl"), "", OPTIONS), UserError, "another process");
  }
  assertEquals([names(folder), Deno.readTextFileSync(folder.at("a.jsonl"))], [["a.jsonl"], "first"]);
  writeOutputFile(folder.at("a.jsonl"), "second", OPTIONS);
  assertEquals([names(folder), Deno.readTextFileSync(folder.at("a.jsonl"))], [["a.jsonl"], "second"]);
});

Deno.test("OutputFile writes through a link, to a target that is there or not", () => {
  using folder = new TemporaryFolder();
  for (const target of ["there", "new"]) {
    if (target === "there") Deno.writeTextFileSync(folder.at(target), "old");
    Deno.symlinkSync(target, folder.at(`to-${target}`));
    writeOutputFile(folder.at(`to-${target}`), "text", OPTIONS);
    assertEquals(Deno.readLinkSync(folder.at(`to-${target}`)), target);
    assertEquals(Deno.readTextFileSync(folder.at(target)), "text");
  }
});

Deno.test("OutputFile writes to a pipe and to /dev/null as they are", async () => {
  using folder = new TemporaryFolder();
  const pipe = folder.at("pipe");
  assertEquals((await new Deno.Command("mkfifo", { args: [pipe] }).output()).code, 0);
  const reader = new Deno.Command("cat", { args: [pipe], stdout: "piped" }).spawn();
  writeOutputFile(pipe, "through the pipe", OPTIONS);
  assertEquals(new TextDecoder().decode((await reader.output()).stdout), "through the pipe");
  assertEquals(Deno.statSync(pipe).isFifo, true);
  writeOutputFile("/dev/null", "nothing", OPTIONS);
  assertEquals(Deno.statSync("/dev/null").isCharDevice, true);
  assertEquals(names(folder), ["pipe"]);
});

Deno.test("OutputFile refuses a folder, and a file that is read", () => {
  using folder = new TemporaryFolder();
  Deno.writeTextFileSync(folder.at("q.csv"), "src,dst");
  assertThrows(() => writeOutputFile(folder.path, "", OPTIONS), UserError, "it is a directory");
  const reading = { stage: "query", inputs: [folder.at("q.csv")] };
  assertThrows(() => writeOutputFile(folder.at("q.csv"), "", reading), UserError, "it is read too");
  assertEquals(Deno.readTextFileSync(folder.at("q.csv")), "src,dst");
});
