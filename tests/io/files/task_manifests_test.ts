import { assertEquals, assertThrows } from "@std/assert";
import { UsageError, UserError } from "../../../lib/base/errors.ts";
import type { ArrayTask } from "../../../lib/io/files/array_task.ts";
import { newManifest, writeManifest } from "../../../lib/io/files/manifest.ts";
import { StagedOutput } from "../../../lib/io/files/staged_output.ts";
import { manifestName, requireFinished } from "../../../lib/io/files/task_manifests.ts";
import { TemporaryFolder } from "./temporary_folder.ts";

function start(seed = 0) {
  return newManifest({ stage: "shard", inputs: [], options: { seed } });
}

/** Opens the folder for a task and leaves it as a kill would: begun. */
function begin(folder: string, task: ArrayTask, seed = 0) {
  const start = { stage: "shard", inputs: [], options: { seed }, overwrite: false };
  using output = StagedOutput.openFolder(folder, start, task);
  Deno.writeTextFileSync(`${output.folder}/half`, "");
  return output.manifest;
}

function finish(folder: string, task: ArrayTask, changes: { seed?: number; complete?: boolean } = {}) {
  const { seed = 0, complete = true } = changes;
  writeManifest(`${folder}/${manifestName(task)}`, { ...start(seed), complete });
}

Deno.test("StagedOutput.openFolder() lets every task of a run in, and goes on with what one of them began", () => {
  using folder = new TemporaryFolder();
  const path = folder.at("out");
  for (const index of [3, 1, 2, 2]) assertEquals(begin(path, { index, count: 3 }).complete, false);
});

Deno.test("StagedOutput.openFolder() refuses a task of other options or number, other files and --overwrite", () => {
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
  assertThrows(() => begin(folder.at("foreign"), { index: 1, count: 2 }), UserError, "it holds other files");
  const task = { index: 1, count: 2 };
  const start = { stage: "shard", inputs: [], options: {}, overwrite: true };
  assertThrows(() => StagedOutput.openFolder(path, start, task), UsageError, "--overwrite");
  assertEquals([...Deno.readDirSync(path)].map(({ name }) => name), [".work-00001-of-00003"]);
});

Deno.test("requireFinished() names the task that is missing, unfinished or of another run", () => {
  using folder = new TemporaryFolder();
  assertEquals(requireFinished(folder.at("nowhere")), []);
  assertEquals(requireFinished(folder.path), []);
  begin(folder.at("whole"), { index: 1, count: 1 });
  assertThrows(() => requireFinished(folder.at("whole")), UserError, "the run that writes it did not finish");
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
    "manifest-00002-of-00004.json is not of the same",
  );
  finish(folder.path, tasks[1]);
  assertEquals(requireFinished(folder.path).length, 4);
  finish(folder.path, { index: 1, count: 1 });
  assertThrows(() => requireFinished(folder.path), UserError, "not of the same run");
});
