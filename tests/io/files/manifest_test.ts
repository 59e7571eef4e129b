import { assertEquals, assertThrows } from "@std/assert";
import { join } from "@std/path";
import { FormatError } from "../../../lib/base/errors.ts";
import {
  describeOutput,
  hashOfEnds,
  manifestPathBeside,
  newManifest,
  readManifest,
  writeManifest,
} from "../../../lib/io/files/manifest.ts";

function start(rows: number) {
  return newManifest({
    stage: "shard",
    inputs: [{ path: "a.parquet", sizeBytes: 3, mtimeMs: 1 }],
    options: { rows },
  });
}

Deno.test("readManifest() returns what writeManifest() wrote and refuses other JSON", () => {
  const path = join(Deno.makeTempDirSync(), "manifest.json");
  assertEquals(readManifest(path), undefined);
  writeManifest(path, start(1));
  assertEquals(readManifest(path), start(1));
  Deno.writeTextFileSync(path, "{}");
  assertThrows(() => readManifest(path), FormatError, "not a manifest");
});

Deno.test("describeOutput() hashes the ends as hashOfEnds() does, whatever the size", async () => {
  const folder = Deno.makeTempDirSync();
  const path = join(folder, "a");
  const [first, last] = [1 << 16, 1 << 17];
  for (
    const size of [0, 1, first - 1, first, first + 1, first + last - 1, first + last, first + last + 1, 5e5]
  ) {
    Deno.writeFileSync(path, Uint8Array.from({ length: size }, (_, i) => i % 251));
    const { sizeBytes, endsSha256 } = await describeOutput(folder, "a");
    assertEquals([sizeBytes, endsSha256], [size, hashOfEnds(path)]);
  }
});

Deno.test("describeOutput() gives size and SHA-256", async () => {
  const folder = Deno.makeTempDirSync();
  Deno.writeTextFileSync(join(folder, "abc"), "abc");
  assertEquals(await describeOutput(folder, "abc", { rows: 1 }), {
    path: "abc",
    sizeBytes: 3,
    sha256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    endsSha256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    counts: { rows: 1 },
  });
  assertEquals(manifestPathBeside("x/data.parquet"), "x/data.parquet.manifest.json");
});
