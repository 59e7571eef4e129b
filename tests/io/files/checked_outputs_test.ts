import { createHash } from "node:crypto";
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { dirname } from "@std/path";
import { UserError } from "../../../lib/base/errors.ts";
import { checkOutputs, type OutputCheck } from "../../../lib/io/files/checked_outputs.ts";
import {
  hashOfEnds,
  type Manifest,
  manifestPathBeside,
  newManifest,
  writeManifest,
} from "../../../lib/io/files/manifest.ts";
import { TemporaryFolder } from "./temporary_folder.ts";

const NAMES = ["train/a.parquet", "train/b.parquet", "val/c.parquet", "test/d.parquet"];

/** Writes files and the manifest of the stage that made them. */
function write(
  folder: TemporaryFolder,
  name: string,
  files: Record<string, string>,
  changes: Partial<Manifest> & { manifestName?: string } = {},
): void {
  const { manifestName = "manifest.json", ...changed } = changes;
  Deno.mkdirSync(folder.at(name), { recursive: true });
  const outputs = Object.entries(files).map(([path, content]) => {
    Deno.mkdirSync(dirname(folder.at(`${name}/${path}`)), { recursive: true });
    Deno.writeTextFileSync(folder.at(`${name}/${path}`), content);
    const sha256 = createHash("sha256").update(content).digest("hex");
    return {
      path,
      sizeBytes: content.length,
      sha256,
      endsSha256: sha256,
      counts: { records: content.length },
    };
  });
  const manifest = newManifest({ stage: "shard", inputs: [], options: {} });
  writeManifest(folder.at(`${name}/${manifestName}`), { ...manifest, outputs, complete: true, ...changed });
}

/** A folder `out` with the files {@link NAMES}, with different content and equal sizes. */
function writeSplits(folder: TemporaryFolder): void {
  write(folder, "out", Object.fromEntries(NAMES.map((name) => [name, `content of ${name.slice(-9)}`])));
}

/** The error message, with `@` for the temporary folder. */
async function refusal(folder: TemporaryFolder, paths: string[], check: OutputCheck = {}): Promise<string> {
  const error = await assertRejects(
    () => checkOutputs(paths.map((path) => folder.at(path)), check),
    UserError,
  );
  assert(!error.message.includes("\n"));
  return error.message.replaceAll(Deno.realPathSync(folder.path), "@").replaceAll(folder.path, "@");
}

const check = (folder: TemporaryFolder, ...paths: string[]) =>
  checkOutputs(paths.map((path) => folder.at(path)));

Deno.test("checkOutputs() accepts complete outputs, other and hidden files beside them, and data without a manifest", async () => {
  using folder = new TemporaryFolder();
  writeSplits(folder);
  for (
    const name of ["notes.txt", "train/notes.txt", "train/.x.parquet", ".work/train/y.parquet", "z.parquet"]
  ) {
    Deno.mkdirSync(dirname(folder.at(`out/${name}`)), { recursive: true });
    Deno.writeTextFileSync(folder.at(`out/${name}`), "other");
  }
  await check(folder, "out");
  await check(folder, ".", "out/train", "out/*/*.parquet", "out/val/c.parquet");
  Deno.removeSync(folder.at("out/manifest.json"));
  Deno.removeSync(folder.at("out/val/c.parquet"));
  await check(folder, "out");
  Deno.writeTextFileSync(folder.at("out/manifest.json"), '{ "name": "a program of others" }');
  Deno.writeTextFileSync(folder.at("manifest.json"), "[]");
  await check(folder, "out", ".");
});

Deno.test("checkOutputs() names a missing file, by whatever path the folder is named", async () => {
  using folder = new TemporaryFolder();
  writeSplits(folder);
  Deno.removeSync(folder.at("out/train/b.parquet"));
  const message =
    "Cannot read @/out: train/b.parquet is missing, expected all files that manifest.json lists; " +
    "copy it again, run shard again with the same options, which makes missing files again, or delete the " +
    "manifest to use the existing files";
  assertEquals(await refusal(folder, ["out"]), message);
  assertEquals(await refusal(folder, ["out/train"]), message);
  assertEquals(await refusal(folder, ["."]), message);
  Deno.symlinkSync(folder.at("out"), folder.at("link"));
  assertMatch(await refusal(folder, ["link"]), /^Cannot read @\/(link|out): train\/b.parquet is missing,/);
  await check(folder, "out/val", "out/train/a.parquet", "out/train/*.parquet");
  Deno.removeSync(folder.at("out/val"), { recursive: true });
  Deno.removeSync(folder.at("out/train"), { recursive: true });
  assertMatch(await refusal(folder, ["link"]), /: train\/a.parquet is missing \(and 2 more\)/);
  await check(folder, "out/test");
});

Deno.test("checkOutputs() names a file with another size, content or number of records", async () => {
  using folder = new TemporaryFolder();
  writeSplits(folder);
  const path = folder.at("out/train/b.parquet");
  const checked = await check(folder, "out/train");
  checked.requireRecords(path, 20);
  checked.requireRecords(folder.at("unknown.parquet"), 1);
  const error = await assertRejects(
    () => Promise.try(() => checked.requireRecords(path, 19)),
    UserError,
  );
  assertMatch(error.message, /train\/b.parquet has 19 records, expected 20 as manifest.json says/);
  Deno.copyFileSync(folder.at("out/train/a.parquet"), path);
  const changed =
    /^Cannot read @\/out: train\/b.parquet has a different SHA-256, .* delete it and run shard again/;
  for (const paths of [["out"], ["out/train"], ["out/train/b.parquet"], ["."]]) {
    assertMatch(await refusal(folder, paths), changed);
  }
  await check(folder, "out/train/a.parquet", "out/val");
  await checkOutputs([folder.at("out")], { onCorrupt: "skip" });
  assertMatch(await refusal(folder, ["out"], { onCorrupt: "skip", verify: true }), changed);
  Deno.writeTextFileSync(path, "short");
  assertMatch(
    await refusal(folder, ["out"]),
    /train\/b.parquet has 5 bytes, expected 20 as manifest.json/,
  );
});

Deno.test("checkOutputs() names a data file among the outputs that no manifest lists", async () => {
  using folder = new TemporaryFolder();
  writeSplits(folder);
  Deno.mkdirSync(folder.at("out/train/old"));
  Deno.writeTextFileSync(folder.at("out/train/old/stale.arrayrecord"), "stale");
  const message =
    "Cannot read @/out: no manifest lists @/out/train/old/stale.arrayrecord, expected only files of " +
    "shard; move it to another folder or delete it";
  assertEquals(await refusal(folder, ["out"]), message);
  assertEquals(await refusal(folder, ["out/train"]), message);
  await check(folder, "out/val", "out/train/old/stale.arrayrecord");
  // If data are in the folder itself, any file in it counts.
  write(folder, "tokens", { "tokens-0.parquet": "0" });
  Deno.writeTextFileSync(folder.at("tokens/tokens-1.parquet"), "1");
  assertMatch(await refusal(folder, ["tokens"]), /no manifest lists @\/tokens\/tokens-1.parquet/);
});

Deno.test("checkOutputs() checks single files by the manifests beside them", async () => {
  using folder = new TemporaryFolder();
  const manifestName = manifestPathBeside("a.parquet");
  write(folder, "in", { "a.parquet": "abc", "a.rejects.jsonl": "{}" }, { manifestName, stage: "import" });
  await check(folder, "in");
  Deno.removeSync(folder.at("in/a.rejects.jsonl"));
  await check(folder, "in/a.parquet");
  assertMatch(
    await refusal(folder, ["in"]),
    /a.rejects.jsonl is missing, expected all files that a.*manifest.json lists/,
  );
  Deno.writeTextFileSync(folder.at("in/a.parquet"), "xyz");
  assertMatch(
    await refusal(folder, ["in/a.parquet"]),
    /^Cannot read @\/in\/a.parquet: it has a different SHA-256, .*delete the manifest if the change was intended$/,
  );
  write(folder, "in", {}, { manifestName, stage: "import", complete: false });
  assertMatch(await refusal(folder, ["in/a.parquet"]), /import did not finish it/);
});

Deno.test("checkOutputs() compares large data only on request, and stops at a signal", async () => {
  using folder = new TemporaryFolder();
  const sizeBytes = 3e8;
  const hash = createHash("sha256");
  for (let done = 0; done < sizeBytes; done += 1e6) hash.update(new Uint8Array(1e6));
  const path = folder.at("big/train/a.parquet");
  Deno.mkdirSync(dirname(path), { recursive: true });
  using file = Deno.openSync(path, { write: true, create: true });
  file.truncateSync(sizeBytes);
  const [sha256, endsSha256] = [hash.digest("hex"), hashOfEnds(path)];
  write(folder, "big", {}, { outputs: [{ path: "train/a.parquet", sizeBytes, sha256, endsSha256 }] });
  await checkOutputs([folder.at("big")], { verify: true });
  file.seekSync(sizeBytes / 2, Deno.SeekMode.Start);
  file.writeSync(Uint8Array.of(1));
  await check(folder, "big");
  assertMatch(await refusal(folder, ["big"], { verify: true }), /a different SHA-256/);
  const stopped = AbortSignal.abort(new UserError("stopped"));
  assertEquals(await refusal(folder, ["big"], { verify: true, signal: stopped }), "stopped");
});

Deno.test("checkOutputs() always compares the ends of large files", async () => {
  using folder = new TemporaryFolder();
  const sizeBytes = 1e8;
  const [name, path] = ["train/a.parquet", folder.at("big/train/a.parquet")];
  Deno.mkdirSync(folder.at("big/train"), { recursive: true });
  using file = Deno.openSync(path, { write: true, create: true });
  file.truncateSync(sizeBytes);
  const output = { path: name, sizeBytes, sha256: "of all", endsSha256: hashOfEnds(path) };
  write(folder, "big", {}, { outputs: [output] });
  const put = (offsetBytes: number, value: number) => {
    file.seekSync(offsetBytes, Deno.SeekMode.Start);
    file.writeSync(Uint8Array.of(value));
  };
  const isCompared: [offsetBytes: number, isCompared: boolean][] = [[0, true], [0xffff, true], [
    1 << 16,
    false,
  ]];
  isCompared.push([sizeBytes - (1 << 17) - 1, false], [sizeBytes - (1 << 17), true], [sizeBytes - 1, true]);
  for (const [offsetBytes, isRefused] of isCompared) {
    put(offsetBytes, 1);
    if (isRefused) {
      const message = await refusal(folder, ["big"]);
      assertMatch(
        message,
        /^Cannot read @\/big: train\/a.parquet has different first or last bytes, expected the same/,
      );
    } else await check(folder, "big");
    await checkOutputs([folder.at("big")], { onCorrupt: "skip" });
    put(offsetBytes, 0);
  }
  await check(folder, "big");
});
