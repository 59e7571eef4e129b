/**
 * kill -9 of real processes at many moments: the rerun ends with the bytes of an undisturbed run, nothing
 * half-written carries a final name, finished shards are not written again.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path";
import { exists } from "../../../lib/io/files/inputs.ts";
import { runStageProcess, spawnStage, succeeded } from "../../cli/process.ts";
import { TemporaryFolder } from "../../io/files/temporary_folder.ts";
import { folderHashes, unfinishedHashes } from "./folder_hashes.ts";
import { sampleBatch, writeParquet } from "./sample_parquet.ts";

/** The files that have their final names. */
function finalOf(hashes: Record<string, string>): Record<string, string> {
  const isFinal = (name: string) => /^(train|val|test)\//.test(name) && !name.endsWith(".tmp");
  return Object.fromEntries(Object.entries(hashes).filter(([name]) => isFinal(name)));
}

/** The outputs of a run that is not done. */
const nextOf = (folder: string) => join(folder, ".work", "next");

function countFinal(folder: string): number {
  let count = 0;
  for (const split of ["train", "val", "test"]) {
    const path = join(nextOf(folder), split);
    if (!exists(path)) continue;
    for (const { name } of Deno.readDirSync(path)) if (!name.endsWith(".tmp")) count++;
  }
  return count;
}

/** The inode of each output that the manifest says is finished. */
function recordedInodes(folder: string): Map<string, number | null> {
  const path = join(folder, ".work", "manifest.json");
  if (!exists(path)) return new Map();
  const { outputs } = JSON.parse(Deno.readTextFileSync(path));
  const inodeOf = (name: string) => Deno.statSync(join(nextOf(folder), name)).ino;
  return new Map(outputs.map((output: { path: string }) => [output.path, inodeOf(output.path)]));
}

async function killAtEach(
  name: "shard" | "probe-rows",
  args: string[],
  output: string,
  moments: { [description: string]: () => boolean },
): Promise<string[]> {
  const reached: string[] = [];
  for (const [description, isReached] of Object.entries(moments)) {
    const child = spawnStage([name, ...args, "--output", output]);
    let isOver = false;
    const status = child.status.then(() => isOver = true);
    while (!isOver && !isReached()) await new Promise((resolve) => setTimeout(resolve, 0));
    if (!isOver) {
      child.kill("SIGKILL");
      reached.push(description);
    }
    await status;
    await Promise.all([child.stdout.cancel(), child.stderr.cancel()]);
  }
  return reached;
}

async function assertSurvives(name: "shard" | "probe-rows", args: string[], numFiles: number): Promise<void> {
  using folder = new TemporaryFolder();
  const input = folder.at("in.parquet");
  // Bad rows, so that rejects.jsonl has to survive too.
  writeParquet(input, sampleBatch({ numRows: 30_000, numBad: 50 }));
  const whole = folder.at("whole");
  const allArgs = ["--input", input, ...args];
  await succeeded(runStageProcess([name, ...allArgs, "--output", whole]));
  const wanted = folderHashes(whole);
  assertEquals(Object.keys(finalOf(wanted)).length, numFiles);

  const output = folder.at("killed");
  const startMs = performance.now();
  const moments = {
    "after 100 ms": () => performance.now() - startMs > 100,
    "manifest begun": () => exists(join(output, ".work", "manifest.json")),
    "spill file begun": () => exists(join(output, ".work", "spill", "rows-0.bin")),
    "spill file whole": () => exists(join(output, ".work", "spill", "index.json")),
    "first shard": () => countFinal(output) >= 1,
    "half of the shards": () => countFinal(output) >= numFiles / 2,
    "all but two shards": () => countFinal(output) >= numFiles - 2,
  };
  const inodes = new Map<string, number | null>();
  const reached: string[] = [];
  for (const [description, isReached] of Object.entries(moments)) {
    reached.push(...await killAtEach(name, allArgs, output, { [description]: isReached }));
    if (!exists(output)) continue;
    assertEquals(
      finalOf(folderHashes(output)),
      {},
      `there is a part of the result after a kill at: ${description}`,
    );
    for (const [file, hash] of Object.entries(finalOf(unfinishedHashes(output)))) {
      assertEquals(hash, wanted[file], `${file} is half-written after a kill at: ${description}`);
    }
    for (const [file, inode] of recordedInodes(output)) {
      assertEquals(inodes.get(file) ?? inode, inode, `${file} was written again`);
      inodes.set(file, inode);
    }
  }
  assert(reached.length >= 6, `the process was killed only at: ${reached.join(", ")}`);
  assert(inodes.size > 0, "no kill found a finished shard");
  await succeeded(runStageProcess([name, ...allArgs, "--output", output, "--json"]));
  assertEquals(folderHashes(output), wanted);
  for (const [file, inode] of inodes) assertEquals(Deno.statSync(join(output, file)).ino, inode);
}

Deno.test("shard ends with the same files when it was killed on the way", async () => {
  await assertSurvives("shard", ["--train-shards", "30", "--val-shards", "4", "--test-shards", "4"], 38);
});

Deno.test("probe-rows ends with the same files when it was killed on the way", async () => {
  await assertSurvives("probe-rows", ["--shards", "24", "--max-row-size-mb", "0.02"], 30);
});
