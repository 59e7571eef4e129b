import { assert, assertEquals, assertNotEquals, assertThrows } from "@std/assert";
import { join } from "@std/path";
import { UserError } from "../../lib/base/errors.ts";
import { temporaryName } from "../../lib/io/files/atomic.ts";
import { exists } from "../../lib/io/files/inputs.ts";
import { newManifest, readManifest, writeManifest } from "../../lib/io/files/manifest.ts";
import { stepName } from "../../lib/io/files/checkpoint_folder.ts";
import type { ProbeRow } from "../../lib/data/probe_rows/probe_row.ts";
import { dataFingerprint } from "../../lib/train/run_data.ts";
import { EVENT_FILE } from "../../lib/train/event_log.ts";
import { RunFolder } from "../../lib/train/run_folder.ts";
import { inFolder, TemporaryFolder } from "../io/files/temporary_folder.ts";
import { syntheticRows, writeProbeRows } from "../data/loader/synthetic_rows.ts";

/** Writes what a run writes, and a note of the user's. */
function fill(run: RunFolder, text: string, { hasCheckpoint = true } = {}): void {
  run.begin({ inputs: [], options: { text } });
  Deno.writeTextFileSync(run.at("metrics"), text);
  Deno.mkdirSync(run.at("tensorboard"), { recursive: true });
  Deno.writeTextFileSync(join(run.at("tensorboard"), EVENT_FILE), text);
  if (!hasCheckpoint) return;
  Deno.mkdirSync(join(run.checkpointsDir, stepName(1)), { recursive: true });
  Deno.writeTextFileSync(join(run.checkpointsDir, stepName(1), "state.json"), text);
}

/** The content of a run's folder; of the manifest only its option. */
function contentOf(folder: string, within = ""): Record<string, unknown> {
  return Object.assign(
    {},
    ...[...Deno.readDirSync(join(folder, within))].map(({ name, isDirectory }) => {
      const path = join(within, name);
      if (isDirectory) return contentOf(folder, path);
      const text = Deno.readTextFileSync(join(folder, path));
      return { [path]: name === "manifest.json" ? JSON.parse(text).options.text : text };
    }),
  );
}

const RUN_FILES = ["manifest.json", "metrics.jsonl", `tensorboard/${EVENT_FILE}`];
const CHECKPOINT_FILE = `checkpoints/${stepName(1)}/state.json`;

for (const how of ["moved", "deleted", "replaced by a link"]) {
  Deno.test(`a run that is ${how} while open accepts no more files, and no other run changes`, () => {
    inFolder((folder) => {
      const [path, other] = [join(folder, "run"), join(folder, "other")];
      {
        using run = RunFolder.open(other);
        fill(run, "other");
      }
      const before = contentOf(other);
      const run = RunFolder.open(path);
      fill(run, "new");
      const manifest = run.begin({ inputs: [], options: {} });
      if (how === "deleted") Deno.removeSync(path, { recursive: true });
      else Deno.renameSync(path, join(folder, "moved"));
      if (how === "replaced by a link") Deno.symlinkSync(other, path);
      const work = [
        () => run.checkpointsDir,
        () => run.at("report"),
        () => run.finish(manifest, { counts: {}, outputs: [] }),
        () => run.startOver(),
        () => run[Symbol.dispose](),
      ];
      for (const each of work) assertThrows(each, UserError, "moved, deleted or replaced");
      assertEquals(contentOf(other), before);
      assertEquals(exists(path), how === "replaced by a link");
    });
  });
}

Deno.test("RunFolder.startOver() keeps the previous run until the new one has a checkpoint, and a user's files for good", () => {
  inFolder((folder) => {
    const [notes, lines] = ["notes.txt", "checkpoints/notes.txt"].map((name) => join(folder, name));
    {
      using run = RunFolder.open(folder);
      fill(run, "old");
    }
    for (const path of [notes, lines]) Deno.writeTextFileSync(path, "mine");
    const old = contentOf(folder);
    assertEquals(Object.keys(old).length, 6);
    {
      using run = RunFolder.open(folder);
      run.startOver();
      fill(run, "new", { hasCheckpoint: false });
      const { [".work/lock"]: _, ...files } = contentOf(folder);
      const isOld = ([name]: [string, unknown]) => !name.startsWith(".work");
      assertEquals(Object.fromEntries(Object.entries(files).filter(isOld)), old, "it stays readable");
    }
    assertEquals(contentOf(folder), old, "a run without a checkpoint leaves the one before as it was");
    {
      using run = RunFolder.open(folder);
      run.startOver();
      fill(run, "new");
      run.takePlace();
    }
    const isRuns = (name: string) => RUN_FILES.includes(name) || name === CHECKPOINT_FILE;
    const wanted = Object.entries(old).map(([name, text]) => [name, isRuns(name) ? "new" : text]);
    assertEquals(contentOf(folder), Object.fromEntries(wanted));
  });
});

Deno.test("RunFolder.open() deletes only files of a run, whatever the manifest says", () => {
  inFolder((folder) => {
    {
      using run = RunFolder.open(folder);
      fill(run, "old");
    }
    Deno.writeTextFileSync(join(folder, "notes.txt"), "mine");
    const path = join(folder, "manifest.json");
    const manifest = readManifest(path);
    assert(manifest);
    writeManifest(path, { ...manifest, replaces: ["notes.txt", "metrics.jsonl"] });
    RunFolder.open(folder)[Symbol.dispose]();
    assertEquals(Object.keys(contentOf(folder)).filter((name) => /notes|metrics/.test(name)), ["notes.txt"]);
    assertEquals(readManifest(path), manifest);
  });
});

Deno.test("RunFolder.open() accepts and removes what a kill left before the manifest", () => {
  inFolder((folder) => {
    Deno.mkdirSync(join(folder, ".work"));
    Deno.writeTextFileSync(join(folder, ".work", "lock"), "");
    Deno.writeTextFileSync(temporaryName(join(folder, "manifest.json")), "{");
    RunFolder.open(folder)[Symbol.dispose]();
    assertEquals([...Deno.readDirSync(folder)], []);
  });
});

Deno.test("RunFolder.open() refuses a folder with other files and keeps a user's temporary files", () => {
  inFolder((folder) => {
    const path = join(folder, "notes.txt");
    Deno.writeTextFileSync(path, "mine");
    assertThrows(() => RunFolder.open(folder), UserError, "it contains other files");
    assert(exists(path));
    writeManifest(join(folder, "manifest.json"), newManifest({ stage: "shard", inputs: [], options: {} }));
    assertThrows(() => RunFolder.open(folder), UserError, "it contains other files");
    writeManifest(join(folder, "manifest.json"), newManifest({ stage: "train", inputs: [], options: {} }));
    Deno.writeTextFileSync(join(folder, "thesis.001.tmp"), "mine");
    RunFolder.open(folder)[Symbol.dispose]();
    assert(exists(join(folder, "thesis.001.tmp")));
  });
});

Deno.test("RunFolder.open() refuses a folder that is being trained in", () => {
  inFolder((folder) => {
    using _first = RunFolder.open(folder);
    assertThrows(() => RunFolder.open(folder), UserError, "another process is writing to it (train, process");
  });
});

const FILE = "train/train-00000-of-00001.arrayrecord";

Deno.test("dataFingerprint() depends on names, sizes and manifest checksums, not on times or paths", async () => {
  const print = async (content: string, { name = FILE, sha256 = "1" } = {}) => {
    using folder = new TemporaryFolder();
    Deno.mkdirSync(folder.at("train"));
    Deno.writeTextFileSync(folder.at(name), content);
    const manifest = newManifest({ stage: "probe-rows", inputs: [], options: {} });
    manifest.outputs.push({ path: name, sizeBytes: content.length, sha256, endsSha256: "" });
    writeManifest(folder.at("manifest.json"), manifest);
    return await dataFingerprint(folder.path);
  };
  // SHA-256 of the JSON of name, size and checksum; it must not change, or earlier runs could not resume.
  assertEquals(await print("abc"), "af0c83019462d3e2");
  assertNotEquals(await print("abc"), await print("abcd"));
  assertNotEquals(await print("abc"), await print("abc", { name: FILE.replaceAll("1", "2") }));
  assertNotEquals(await print("abc"), await print("abc", { sha256: "2" }));
});

Deno.test("dataFingerprint() distinguishes data without a manifest by any measurement, at equal file sizes", async () => {
  const print = async (rows: ProbeRow[]) => {
    using folder = new TemporaryFolder();
    await writeProbeRows(folder.at(FILE), rows);
    return {
      fingerprint: await dataFingerprint(folder.path),
      sizeBytes: Deno.statSync(folder.at(FILE)).size,
    };
  };
  const rows = () => syntheticRows(1, 30, 20);
  const { fingerprint, sizeBytes } = await print(rows());
  assertEquals((await print(rows())).fingerprint, fingerprint);
  for (const index of [0, 17, 29]) {
    const changed = rows();
    changed[index].rttMs[3] += 1;
    const other = await print(changed);
    assertEquals(other.sizeBytes, sizeBytes);
    assertNotEquals(other.fingerprint, fingerprint, `row ${index}`);
  }
  const swapped = rows();
  [swapped[4], swapped[5]] = [swapped[5], swapped[4]];
  assertNotEquals((await print(swapped)).fingerprint, fingerprint);
});
