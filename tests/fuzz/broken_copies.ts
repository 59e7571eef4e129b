/**
 * Folders of shards and probe rows that were copied badly: the stage that reads them ends with one line, or gives what
 * it gives for the good copy.
 *
 * @module
 */
import { assertEquals, assertMatch } from "@std/assert";
import { dirname, join } from "@std/path";
import { RandomStream } from "../../lib/base/random.ts";
import { runStageProcess } from "../cli/process.ts";
import { copyFolder } from "../io/files/copy_folder.ts";
import { folderHashes } from "../data/probe_rows/folder_hashes.ts";
import { runToEnd } from "./trial_stages.ts";

/** Faults of a copy. `files` are those of the copy, in random order. */
const FAULTS: Record<string, (files: readonly string[], random: RandomStream) => void> = {
  "missing": ([file]) => Deno.removeSync(file),
  "replaced by another": ([file, other]) => Deno.copyFileSync(other, file),
  "cut": ([file], random) => Deno.truncateSync(file, random.below(Deno.statSync(file).size)),
  "longer": ([file]) => Deno.writeFileSync(file, new Uint8Array(1 << 16), { append: true }),
  "a byte changed": ([file], random) => {
    const bytes = Deno.readFileSync(file);
    bytes[random.below(bytes.length)] ^= 1 << random.below(8);
    Deno.writeFileSync(file, bytes);
  },
  "a stranger": ([file]) => Deno.copyFileSync(file, file.replace(/(\.\w+)$/, "-copy$1")),
  "renamed": ([file]) => Deno.renameSync(file, file.replace(/(\.\w+)$/, "-old$1")),
  "swapped": ([file, other]) => {
    Deno.renameSync(file, `${file}.swap`);
    Deno.renameSync(other, file);
    Deno.renameSync(`${file}.swap`, other);
  },
  "a split missing": ([file]) => Deno.removeSync(dirname(file), { recursive: true }),
};

/** Readers of the copies: their names, what they read, and the rest of their command. */
const READERS: Record<
  string,
  { source: "shards" | "rows"; args: (folder: string, copy: string) => string[] }
> = {
  "probe-rows": { source: "shards", args: (_, copy) => ["probe-rows", "--input", copy, "--shards", "4"] },
  "shard": { source: "shards", args: (_, copy) => ["shard", "--input", copy, "--train-shards", "4"] },
  "pretokenize": { source: "rows", args: (_, copy) => ["pretokenize", "--input", copy] },
  "eval": {
    source: "rows",
    args: (folder, copy) => [
      ...["eval", "--checkpoint", join(folder, "run"), "--data", copy, "--history", "all"],
      ...["--max-measurements", "5", "--contexts", "0", "--baselines", "none"],
    ],
  },
};

/** How the trials went: how many of each fault were refused, and how many did no harm. */
export type BrokenCopySummary = Record<string, { refused: number; harmless: number }>;

/**
 * Breaks copies and has them read, `count` times.
 *
 * @param folder Where the inputs of the trials are.
 * @throws {AssertionError} If a broken copy gives another result, or more than a line.
 */
export async function readBrokenCopies(
  options: { folder: string; count: number; seed: number; onTrial?: (done: number) => void },
): Promise<BrokenCopySummary> {
  const { folder, count, seed } = options;
  const good = { shards: join(folder, "good-shards"), rows: join(folder, "good-rows") };
  const input = ["--input", join(folder, "few.parquet")];
  const shards = ["--train-shards", "4", "--val-shards", "2", "--test-shards", "2"];
  await runToEnd(["shard", ...input, "--output", good.shards, "--split-by", "row", ...shards]);
  await runToEnd(["probe-rows", ...input, "--output", good.rows, "--split-by", "row", "--shards", "4"]);
  const wanted = new Map<string, Record<string, string>>();
  for (const [name, { source, args }] of Object.entries(READERS)) {
    const output = join(folder, `good-${name}`);
    await runToEnd([...args(folder, good[source]), "--output", output]);
    wanted.set(name, contentOf(output));
  }
  const summary: BrokenCopySummary = {};
  for (let trial = 0; trial < count; trial++) {
    const random = new RandomStream(seed, "tests/fuzz/broken_copies", trial);
    const fault = Object.keys(FAULTS)[trial % Object.keys(FAULTS).length];
    // Evaluations take longer, so fewer are made.
    const names = Object.keys(READERS).slice(0, random.below(6) === 0 ? undefined : -1);
    const name = names[random.below(names.length)];
    const { source, args } = READERS[name];
    const [copy, output] = [join(folder, "copy"), join(folder, "copy-out")];
    copyFolder(good[source], copy);
    const files = Object.keys(folderHashes(copy)).filter((path) => /\.(parquet|arrayrecord)$/.test(path));
    const order = files.map((path) => ({ path, key: random.float64() })).sort((a, b) => a.key - b.key);
    FAULTS[fault](order.map(({ path }) => join(copy, path)), random);
    const { code, stderr } = await runStageProcess([...args(folder, copy), "--output", output]);
    const what = `${name} of a copy with a file ${fault}, trial ${trial}`;
    const kind = summary[fault] ??= { refused: 0, harmless: 0 };
    if (code === 0) {
      assertEquals(contentOf(output), wanted.get(name), `${what} ended well with another result`);
      kind.harmless++;
    } else {
      assertMatch(stderr, /(^|\n)error: Cannot [^\n]+\n$/, what);
      assertEquals(code, 1, what);
      kind.refused++;
    }
    for (const path of [copy, output]) removeFolder(path);
    options.onTrial?.(trial + 1);
  }
  return summary;
}

/** All but manifests and reports, which name the place and the time. */
function contentOf(folder: string): Record<string, string> {
  const isContent = ([path]: [string, string]) => !/manifest\.json$|report\.\w+$/.test(path);
  return Object.fromEntries(Object.entries(folderHashes(folder)).filter(isContent));
}

function removeFolder(path: string): void {
  try {
    Deno.removeSync(path, { recursive: true });
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}
