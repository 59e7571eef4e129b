import { assert, assertEquals, assertNotEquals, assertThrows } from "@std/assert";
import { join } from "@std/path";
import { UserError } from "../../lib/errors.ts";
import { exists } from "../../lib/files/inputs.ts";
import { newManifest, readManifest, writeManifest } from "../../lib/files/manifest.ts";
import { dataFingerprint } from "../../lib/train/data_fingerprint.ts";
import { RunFolder } from "../../lib/train/run_folder.ts";
import { inFolder } from "../files/temporary_folder.ts";

Deno.test("RunFolder.open() makes a folder, keeps an earlier run and clears it when fresh", () => {
  inFolder((folder) => {
    const path = join(folder, "deep", "run");
    for (const fresh of [false, false, true]) {
      using run = RunFolder.open(path, { fresh });
      const isFirst = !exists(run.manifestPath);
      assertEquals(exists(run.metricsPath), !isFirst && !fresh);
      run.begin({ inputs: [], options: {} });
      Deno.writeTextFileSync(run.metricsPath, '{"step":1}\n');
      Deno.mkdirSync(run.checkpointsDir, { recursive: true });
    }
  });
});

Deno.test("RunFolder.open() takes an empty folder and what a kill left before the manifest", () => {
  inFolder((folder) => {
    Deno.writeTextFileSync(join(folder, "train.lock"), "");
    Deno.writeTextFileSync(join(folder, "manifest.json.77.tmp"), "{");
    RunFolder.open(folder, { fresh: false })[Symbol.dispose]();
    assertEquals([...Deno.readDirSync(folder)].map(({ name }) => name), ["train.lock"]);
  });
});

Deno.test("RunFolder.open() refuses a folder of other files, also when fresh", () => {
  inFolder((folder) => {
    const path = join(folder, "notes.txt");
    Deno.writeTextFileSync(path, "mine");
    for (const fresh of [false, true]) {
      assertThrows(() => RunFolder.open(folder, { fresh }), UserError, "it holds other files");
    }
    assert(exists(path));
    writeManifest(join(folder, "manifest.json"), newManifest({ stage: "shard", inputs: [], options: {} }));
    assertThrows(() => RunFolder.open(folder, { fresh: true }), UserError, "it holds other files");
  });
});

Deno.test("RunFolder.open() refuses a folder that is being trained in", () => {
  inFolder((folder) => {
    using _first = RunFolder.open(folder, { fresh: false });
    assertThrows(() => RunFolder.open(folder, { fresh: false }), UserError, "another process is training");
  });
});

Deno.test("RunFolder.finish() marks the manifest complete", () => {
  inFolder((folder) => {
    using run = RunFolder.open(folder, { fresh: false });
    const manifest = run.begin({ inputs: [], options: { seed: 1 } });
    assertEquals(readManifest(run.manifestPath)?.complete, false);
    run.finish(manifest, { counts: { steps: 3 }, outputs: [] });
    assertEquals(readManifest(run.manifestPath)?.complete, true);
    assertEquals(readManifest(run.manifestPath)?.options, { seed: 1 });
  });
});

Deno.test("dataFingerprint() is of names, sizes and checksums, not of times or places", () => {
  const print = (content: string, options: { name?: string; sha256?: string } = {}) => {
    const { name = "train-00000-of-00001.arrayrecord", sha256 } = options;
    let result = "";
    inFolder((folder) => {
      Deno.mkdirSync(join(folder, "train"));
      Deno.writeTextFileSync(join(folder, "train", name), content);
      if (sha256) {
        const manifest = newManifest({ stage: "probe-rows", inputs: [], options: {} });
        manifest.outputs.push({ path: `train/${name}`, sizeBytes: content.length, sha256 });
        writeManifest(join(folder, "manifest.json"), manifest);
      }
      result = dataFingerprint(folder);
    });
    return result;
  };
  assertEquals(print("abc"), print("abc"));
  assertNotEquals(print("abc"), print("abcd"));
  assertNotEquals(print("abc"), print("abc", { name: "train-00001-of-00002.arrayrecord" }));
  assertEquals(print("abc", { sha256: "1" }), print("abc", { sha256: "1" }));
  assertNotEquals(print("abc", { sha256: "1" }), print("abc", { sha256: "2" }));
});
