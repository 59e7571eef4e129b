import { assert, assertEquals, assertNotEquals, assertThrows } from "@std/assert";
import { join } from "@std/path";
import { UserError } from "../../lib/errors.ts";
import { exists } from "../../lib/files/inputs.ts";
import { newManifest, readManifest, writeManifest } from "../../lib/files/manifest.ts";
import { ArrayRecordWriter } from "../../lib/records/array_record_writer.ts";
import { encodeProbeRow, type ProbeRow } from "../../lib/records/probe_row.ts";
import { dataFingerprint } from "../../lib/train/data_fingerprint.ts";
import { RunFolder } from "../../lib/train/run_folder.ts";
import { inFolder, TemporaryFolder } from "../files/temporary_folder.ts";
import { syntheticRows } from "../loader/synthetic_rows.ts";

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

const FILE = "train/train-00000-of-00001.arrayrecord";

Deno.test("dataFingerprint() is of names, sizes and the checksums of manifests, not of times or places", async () => {
  const print = async (content: string, { name = FILE, sha256 = "1" } = {}) => {
    using folder = new TemporaryFolder();
    Deno.mkdirSync(folder.at("train"));
    Deno.writeTextFileSync(folder.at(name), content);
    const manifest = newManifest({ stage: "probe-rows", inputs: [], options: {} });
    manifest.outputs.push({ path: name, sizeBytes: content.length, sha256 });
    writeManifest(folder.at("manifest.json"), manifest);
    return await dataFingerprint(folder.path);
  };
  // SHA-256 of the JSON of name, size and checksum: runs of earlier versions go on.
  assertEquals(await print("abc"), "af0c83019462d3e2");
  assertNotEquals(await print("abc"), await print("abcd"));
  assertNotEquals(await print("abc"), await print("abc", { name: FILE.replaceAll("1", "2") }));
  assertNotEquals(await print("abc"), await print("abc", { sha256: "2" }));
});

Deno.test("dataFingerprint() tells data without a manifest apart by any measurement, in files of one size", async () => {
  const print = async (rows: ProbeRow[]) => {
    using folder = new TemporaryFolder();
    const writer = await ArrayRecordWriter.create(folder.at(FILE));
    for (const row of rows) writer.write(encodeProbeRow(row));
    writer.close();
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
