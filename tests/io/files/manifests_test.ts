import { createHash } from "node:crypto";
import fc from "fast-check";
import { assertEquals, assertThrows } from "@std/assert";
import { UsageError, UserError } from "../../../lib/base/errors.ts";
import { describeOutput, hashOfEnds, newManifest, writeManifest } from "../../../lib/io/files/manifest.ts";
import { type ArrayTask, parseArrayTask, shareOf } from "../../../lib/io/files/array_task.ts";
import { Output } from "../../../lib/io/files/output.ts";
import { manifestName, requireFinished } from "../../../lib/io/files/task_manifests.ts";
import { TemporaryFolder } from "./temporary_folder.ts";

Deno.test("describeOutput() returns the size, the SHA-256 of all bytes and the hash of the ends from hashOfEnds()", async () => {
  using folder = new TemporaryFolder();
  const path = folder.at("a");
  const [first, last] = [1 << 16, 1 << 17];
  const sizes = [0, 1, first - 1, first, first + 1, first + last - 1, first + last, first + last + 1, 5e5];
  for (const size of sizes) {
    const bytes = Uint8Array.from({ length: size }, (_, i) => i % 251);
    Deno.writeFileSync(path, bytes);
    assertEquals(await describeOutput(folder.path, "a", { rows: 1 }), {
      path: "a",
      sizeBytes: size,
      sha256: createHash("sha256").update(bytes).digest("hex"),
      endsSha256: hashOfEnds(path),
      counts: { rows: 1 },
    });
  }
});

function start(seed = 0) {
  return newManifest({ stage: "shard", inputs: [], options: { seed } });
}

/** Opens the folder for a task and leaves it as a killed process would, with the work begun. */
function begin(folder: string, task: ArrayTask, seed = 0) {
  const start = { stage: "shard", inputs: [], options: { seed }, overwrite: false };
  using output = Output.openFolder(folder, start, task);
  Deno.writeTextFileSync(`${output.folder}/half`, "");
  return output.manifest;
}

function finish(folder: string, task: ArrayTask, changes: { seed?: number; complete?: boolean } = {}) {
  const { seed = 0, complete = true } = changes;
  writeManifest(`${folder}/${manifestName(task)}`, { ...start(seed), complete });
}

Deno.test("Output.openFolder() refuses a task with other options or another count, other files and --overwrite", () => {
  using folder = new TemporaryFolder();
  const path = folder.at("out");
  begin(path, { index: 1, count: 3 });
  assertThrows(() => begin(path, { index: 1, count: 3 }, 1), UserError, "other inputs or options");
  assertThrows(() => begin(path, { index: 2, count: 3 }, 1), UserError, "delete the folder");
  assertThrows(() => begin(path, { index: 2, count: 4 }), UserError, "continue with --task I/3");
  begin(folder.at("whole"), { index: 1, count: 1 });
  assertThrows(() => begin(folder.at("whole"), { index: 1, count: 2 }), UserError, "leave out --task");
  Deno.mkdirSync(folder.at("foreign"));
  Deno.writeTextFileSync(folder.at("foreign/thesis.tex"), "years of work");
  assertThrows(
    () => begin(folder.at("foreign"), { index: 1, count: 2 }),
    UserError,
    "it contains other files",
  );
  const task = { index: 1, count: 2 };
  const start = { stage: "shard", inputs: [], options: {}, overwrite: true };
  assertThrows(() => Output.openFolder(path, start, task), UsageError, "--overwrite");
  assertEquals([...Deno.readDirSync(path)].map(({ name }) => name), [".work-00001-of-00003"]);
});

Deno.test("requireFinished() names the task that is missing, unfinished or of another run", () => {
  using folder = new TemporaryFolder();
  assertEquals(requireFinished(folder.at("nowhere")), []);
  assertEquals(requireFinished(folder.path), []);
  begin(folder.at("whole"), { index: 1, count: 1 });
  assertThrows(() => requireFinished(folder.at("whole")), UserError, "the run that writes it did not finish");
  writeManifest(folder.at("whole/manifest.json"), { ...start(), replaces: ["old"] });
  assertThrows(
    () => requireFinished(folder.at("whole")),
    UserError,
    "did not finish moving its files there, expected those of one run; run `shard` again with the same options",
  );
  Deno.removeSync(folder.at("whole"), { recursive: true });
  const tasks = [1, 2, 3, 4].map((index): ArrayTask => ({ index, count: 4 }));
  finish(folder.path, tasks[0]);
  assertThrows(() => requireFinished(folder.path), UserError, "task 2/4 of shard is missing (and 2 more)");
  begin(folder.path, tasks[1]);
  finish(folder.path, tasks[3]);
  assertThrows(
    () => requireFinished(folder.path),
    UserError,
    "task 2/4 of shard did not finish (and 1 more)",
  );
  finish(folder.path, tasks[2]);
  assertThrows(() => requireFinished(folder.path), UserError, "run `shard --task 2/4` with the options");
  finish(folder.path, tasks[1], { seed: 9 });
  assertThrows(
    () => requireFinished(folder.path),
    UserError,
    "manifest-00002-of-00004.json is not from the same",
  );
  finish(folder.path, tasks[1]);
  assertEquals(requireFinished(folder.path).length, 4);
  finish(folder.path, { index: 1, count: 1 });
  assertThrows(() => requireFinished(folder.path), UserError, "not from the same run");
});

Deno.test("parseArrayTask() accepts I/N with I from 1 to N and nothing else", () => {
  assertEquals(parseArrayTask("1/1"), { index: 1, count: 1 });
  assertEquals(parseArrayTask("17/99999"), { index: 17, count: 99_999 });
  for (
    const text of ["0/4", "5/4", "a/b", "", "2", "1/", "/4", "1/4/2", "-1/4", "1.5/4", "1/100000", " 1/4"]
  ) {
    assertThrows(() => parseArrayTask(text), UsageError, `Cannot use --task ${text}: expected I/N`);
  }
});

Deno.test("shareOf() assigns every item to one task, in order and in equal shares", () => {
  fc.assert(fc.property(fc.integer({ min: 1, max: 50 }), fc.nat(3e9), (count, total) => {
    let next = 0;
    for (let index = 1; index <= count; index++) {
      const [first, end] = shareOf({ index, count }, total);
      assertEquals(first, next);
      assertEquals(Math.abs(end - first - total / count) < 1, true);
      next = end;
    }
    assertEquals(next, total);
  }));
});
