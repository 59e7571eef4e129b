import { assert, assertEquals, assertThrows } from "@std/assert";
import { UsageError, UserError } from "../../lib/errors.ts";
import type { ArrayTask } from "../../lib/files/array_task.ts";
import { newManifest, writeManifest } from "../../lib/files/manifest.ts";
import { manifestName, openTaskFolder, requireFinished } from "../../lib/files/task_manifests.ts";
import { TemporaryFolder } from "./temporary_folder.ts";

function start(seed = 0) {
  return newManifest({ stage: "shard", inputs: [], options: { seed } });
}

function open(folder: string, task: ArrayTask, seed = 0) {
  return openTaskFolder(folder, start(seed), { task, overwrite: false });
}

function finish(folder: string, task: ArrayTask, changes: { seed?: number; complete?: boolean } = {}) {
  const { seed = 0, complete = true } = changes;
  writeManifest(`${folder}/${manifestName(task)}`, { ...start(seed), complete });
}

Deno.test("openTaskFolder() lets every task of a run in and finds its own manifest again", () => {
  using folder = new TemporaryFolder();
  const path = folder.at("out");
  for (const index of [3, 1, 2]) assertEquals(open(path, { index, count: 3 }), undefined);
  assert(open(path, { index: 2, count: 3 }));
});

Deno.test("openTaskFolder() passes what another task is about to put there", () => {
  using folder = new TemporaryFolder();
  const path = folder.at("out");
  Deno.mkdirSync(path);
  Deno.writeTextFileSync(`${path}/manifest-00002-of-00002.json.71.tmp`, "{");
  open(path, { index: 1, count: 2 });
});

Deno.test("openTaskFolder() refuses other options, another number of tasks, other files and --overwrite", () => {
  using folder = new TemporaryFolder();
  const path = folder.at("out");
  open(path, { index: 1, count: 3 });
  assertThrows(() => open(path, { index: 1, count: 3 }, 1), UserError, "other inputs or options");
  assertThrows(() => open(path, { index: 2, count: 3 }, 1), UserError, "delete the folder");
  assertThrows(() => open(path, { index: 2, count: 4 }), UserError, "go on with --task I/3");
  Deno.mkdirSync(folder.at("whole"));
  finish(folder.at("whole"), { index: 1, count: 1 });
  assertThrows(() => open(folder.at("whole"), { index: 1, count: 2 }), UserError, "leave out --task");
  Deno.mkdirSync(folder.at("foreign"));
  Deno.writeTextFileSync(folder.at("foreign/thesis.tex"), "years of work");
  assertThrows(() => open(folder.at("foreign"), { index: 1, count: 2 }), UserError, "it holds other files");
  const task = { index: 1, count: 2 };
  assertThrows(() => openTaskFolder(path, start(), { task, overwrite: true }), UsageError, "--overwrite");
  assertEquals([...Deno.readDirSync(path)].map(({ name }) => name), ["manifest-00001-of-00003.json"]);
});

Deno.test("requireFinished() names the task that is missing, unfinished or of another run", () => {
  using folder = new TemporaryFolder();
  assertEquals(requireFinished(folder.at("nowhere")), []);
  assertEquals(requireFinished(folder.path), []);
  const tasks = [1, 2, 3, 4].map((index): ArrayTask => ({ index, count: 4 }));
  finish(folder.path, tasks[0]);
  assertThrows(() => requireFinished(folder.path), UserError, "task 2/4 of shard is missing (and 2 more)");
  finish(folder.path, tasks[1], { complete: false });
  finish(folder.path, tasks[3]);
  assertThrows(() => requireFinished(folder.path), UserError, "run `shard --task 3/4` with the options");
  finish(folder.path, tasks[2]);
  assertThrows(() => requireFinished(folder.path), UserError, "task 2/4 of shard did not finish");
  finish(folder.path, tasks[1], { seed: 9 });
  assertThrows(
    () => requireFinished(folder.path),
    UserError,
    "manifest-00002-of-00004.json is not of the same",
  );
  finish(folder.path, tasks[1]);
  assertEquals(requireFinished(folder.path).length, 4);
  finish(folder.path, { index: 1, count: 1 });
  assertThrows(() => requireFinished(folder.path), UserError, "not of the same run");
});
