import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { join } from "@std/path";
import { FormatError } from "../../../lib/base/errors.ts";
import {
  BLOCK_SIZE_BYTES,
  CHUNK_TYPES,
  chunkEnd,
  encodeChunkHeader,
  encodeFooter,
  encodePostscript,
  encodeSimpleChunk,
  layOutChunk,
  loadRiegeliHash,
  remainingInBlock,
} from "../../../lib/io/array_record/format.ts";
import { ArrayRecordReader } from "../../../lib/io/array_record/reader.ts";
import { TemporaryFolder } from "../files/temporary_folder.ts";
import { writeRecords } from "./write_records.ts";

const SIZES = [10, 0, 70_000, 300, 1];
const records = SIZES.map((size, i) => Uint8Array.from({ length: size }, (_, k) => (k * k >> 3) + i));

async function withFile(
  options: { compression: "none" | "zstd"; groupSize?: number },
  run: (path: string, original: Uint8Array) => Promise<void>,
) {
  using temporary = new TemporaryFolder();
  const folder = temporary.path;
  const path = join(folder, "a.arrayrecord");
  await writeRecords(path, records, options);
  await run(path, Deno.readFileSync(path));
}

async function readAll(path: string, onCorrupt: "error" | "skip" = "error") {
  using reader = await ArrayRecordReader.open(path, { onCorrupt });
  const found = [...reader];
  return { found, numCorruptChunks: reader.numCorruptChunks };
}

/** Runs with one byte of the file changed in place, then restores it. */
async function withFlippedByte(path: string, original: Uint8Array, at: number, run: () => Promise<void>) {
  using file = Deno.openSync(path, { write: true });
  const put = (byte: number) => {
    file.seekSync(at, Deno.SeekMode.Start);
    file.writeSync(Uint8Array.of(byte));
  };
  put(original[at] ^ 1 << at % 8);
  await run();
  put(original[at]);
}

for (const compression of ["none", "zstd"] as const) {
  Deno.test(`ArrayRecordReader detects a flipped bit anywhere, padding included (${compression})`, async () => {
    await withFile({ compression }, async (path, original) => {
      // Every byte near chunk and block starts, and one in 97 elsewhere: no byte of a file lacks a checksum.
      const isBusy = (at: number) => at < 256 || at % 65536 < 200 || at % 97 === 0;
      for (let at = 0; at < original.length; at++) {
        if (!isBusy(at)) continue;
        await withFlippedByte(path, original, at, async () => {
          const error = await assertRejects(() => readAll(path), FormatError, "Cannot read", `byte ${at}`);
          assert(error.path === path && error.offsetBytes !== undefined && !error.message.includes("\n"));
        });
      }
      assertEquals((await readAll(path)).found, records);
    });
  });
}

Deno.test("ArrayRecordReader rejects a file truncated at any length", async () => {
  await withFile({ compression: "none" }, async (path, original) => {
    const lengths = [...Array(130).keys(), 1000, 65535, 65536, 65537, 65600, 100_000, 131_072, 140_000];
    for (const length of [...lengths, original.length - 65536, original.length - 1]) {
      Deno.writeFileSync(path, original.subarray(0, length));
      const error = await assertRejects(() => readAll(path), FormatError, "Cannot read", `length ${length}`);
      assert(/recreate it|check the path/.test(error.message), error.message);
    }
    Deno.writeFileSync(path, original);
    Deno.writeFileSync(path, new Uint8Array(65536), { append: true });
    await assertRejects(() => readAll(path), FormatError, "postscript");
  });
});

Deno.test("ArrayRecordReader rejects files of other kinds and advises what to do", async () => {
  await withFile({ compression: "none" }, async (path) => {
    for (const content of ["", "PAR1", "hello\n".repeat(50_000), "\0".repeat(131_072)]) {
      Deno.writeTextFileSync(path, content);
      await assertRejects(
        () => readAll(path),
        FormatError,
        content === "" ? "it is empty" : "does not start",
      );
    }
  });
});

Deno.test("ArrayRecordReader skips and counts a damaged chunk on request", async () => {
  await withFile({ compression: "none" }, async (path, original) => {
    await withFlippedByte(path, original, 66_000, async () => {
      const { found, numCorruptChunks } = await readAll(path, "skip");
      assertEquals(found, [records[0], records[1], records[3], records[4]]);
      assertEquals(numCorruptChunks, 1);
      using reader = await ArrayRecordReader.open(path, { onCorrupt: "skip" });
      assertEquals(reader.readOrSkip(2), undefined);
      assertEquals(reader.readOrSkip(2), undefined);
      assertEquals(reader.readOrSkip(4), records[4]);
      assertEquals(reader.numCorruptChunks, 1);
      assertThrows(() => reader.read(2), FormatError, "--on-corrupt skip");
      assertEquals(reader.read(3), records[3]);
    });
  });
  await withFile({ compression: "zstd", groupSize: 2 }, async (path, original) => {
    await withFlippedByte(path, original, 64 + 45, async () => {
      assertEquals((await readAll(path, "skip")).found, records.slice(2));
    });
  });
});

Deno.test("ArrayRecordReader does not skip a damaged index", async () => {
  await withFile({ compression: "none" }, async (path, original) => {
    for (const at of [3, original.length - 65536 + 70]) {
      await withFlippedByte(path, original, at, async () => {
        await assertRejects(
          () => readAll(path, "skip"),
          FormatError,
          "recreate it|check".split("|")[at > 3 ? 0 : 1],
        );
      });
    }
  });
});

interface Forged {
  type: number;
  data: Uint8Array;
  n: number;
  size: number;
  /** Its offset; by default right after the previous chunk. */
  at?: number;
}

/** Writes chunks with correct checksums, whatever their content, and holes between. Padding fills blocks. */
async function forge(path: string, chunks: readonly Forged[]): Promise<void> {
  const hash = await loadRiegeliHash();
  using file = Deno.openSync(path, { write: true, create: true, truncate: true });
  const signature: Forged = { type: CHUNK_TYPES.signature, data: new Uint8Array(0), n: 0, size: 0 };
  let end = 0;
  for (const { at = end, type, data, n, size } of [signature, ...chunks]) {
    const content = type === CHUNK_TYPES.padding ? new Uint8Array(remainingInBlock(at) - 40) : data;
    end = chunkEnd(at, content.length, n);
    const header = encodeChunkHeader(hash, content, { type, numRecords: n, decodedSizeBytes: size });
    const bytes = layOutChunk(hash, at, end, [header, content]);
    file.seekSync(at, Deno.SeekMode.Start);
    for (let done = 0; done < bytes.length;) done += file.writeSync(bytes.subarray(done));
  }
}

const simple = (list: readonly Uint8Array[]): Forged => ({
  type: CHUNK_TYPES.simple,
  data: encodeSimpleChunk(list, "none"),
  n: list.length,
  size: list.reduce((sum, record) => sum + record.length, 0),
});
const pad: Forged = { type: CHUNK_TYPES.padding, data: new Uint8Array(0), n: 0, size: 0 };

Deno.test("ArrayRecordReader rejects files with valid checksums and invalid content", async () => {
  await withFile({ compression: "none" }, async (path) => {
    const one = Uint8Array.of(1, 2, 3);
    const chunk = { offsetBytes: 64, decodedSizeBytes: 3, numRecords: 1 };
    const at = 64 + 40 + 6;
    const footer = (numRecords: number, ...chunks: typeof chunk[]) =>
      simple(encodeFooter({ numRecords, writerOptions: "", chunks }));
    const end = simple(encodePostscript(at));
    await forge(path, [simple([one]), footer(1, chunk), pad, end, pad]);
    assertEquals((await readAll(path)).found, [one]);

    const cases: [string, Parameters<typeof forge>[1]][] = [
      ["2 records are stated but 1 listed", [simple([one]), footer(2, chunk), pad, end, pad]],
      ["an offset is wrong", [simple([one]), footer(1, { ...chunk, offsetBytes: 2 ** 50 }), pad, end, pad]],
      ["an offset is wrong", [simple([one]), footer(2, chunk, chunk), pad, end, pad]],
      ["wrong checksum", [simple([one]), footer(1, { ...chunk, offsetBytes: 65 }), pad, end, pad]],
      ["a chunk's sizes differ from the index", [
        simple([one]),
        footer(1, { ...chunk, decodedSizeBytes: 2 ** 40 }),
        pad,
        end,
        pad,
      ]],
      ["layout version", [simple([one]), simple([Uint8Array.of(10, 2, 8, 9)]), pad, end, pad]],
      ["cannot be used", [simple([one]), simple([Uint8Array.of(10, 200, 1)]), pad, end, pad]],
      ["no ArrayRecord postscript", [simple([one]), footer(1, chunk), pad, simple([one]), pad]],
      ["postscript", [simple([one]), footer(1, chunk), pad, simple(encodePostscript(2 ** 52)), pad]],
      ["expected a padding chunk", [simple([one]), footer(1, chunk), simple([one]), pad, end, pad]],
      ["transposed", [{ ...simple([one]), type: CHUNK_TYPES.transposed }, footer(1, chunk), pad, end, pad]],
      ["chunk of type 115", [
        { ...simple([one]), type: CHUNK_TYPES.signature },
        footer(1, chunk),
        pad,
        end,
        pad,
      ]],
      ["do not add up|extend past the end", [
        { ...simple([one]), data: Uint8Array.of(0, 1, 4, 1, 2, 3) },
        footer(1, chunk),
        pad,
        end,
        pad,
      ]],
    ];
    for (const [message, chunks] of cases) {
      await forge(path, chunks);
      const error = await assertRejects(() => readAll(path), FormatError);
      assert(new RegExp(message).test(error.message), `${error.message} has no "${message}"`);
    }
  });
});

Deno.test("ArrayRecordReader rejects a chunk at an impossible position or with nonzero padding", async () => {
  await withFile({ compression: "none" }, async (path) => {
    const long = new Uint8Array(70_000);
    const entry = { offsetBytes: 65_546, decodedSizeBytes: 70_000, numRecords: 1 };
    const at = chunkEnd(64, long.length + 5, 1);
    const footer = simple(encodeFooter({ numRecords: 1, writerOptions: "", chunks: [entry] }));
    await forge(path, [simple([long]), footer, pad, simple(encodePostscript(at)), pad]);
    await assertRejects(() => readAll(path), FormatError, "no chunk can begin here");

    // 100 records take 100 bytes of the file, whatever their data.
    const empty = { ...simple([]), n: 100 };
    const chunk = { offsetBytes: 64, decodedSizeBytes: 0, numRecords: 100 };
    const index = simple(encodeFooter({ numRecords: 100, writerOptions: "", chunks: [chunk] }));
    await forge(path, [empty, index, pad, simple(encodePostscript(164)), pad]);
    await assertRejects(() => readAll(path), FormatError, "a size is truncated");
    const bytes = Deno.readFileSync(path);
    bytes[160] = 1;
    Deno.writeFileSync(path, bytes);
    await assertRejects(() => readAll(path), FormatError, "the padding of a chunk is not zero");
  });
});

const GIB = 2 ** 30;
const SIGNATURE_BYTES = 64;

/** Whether the temporary folder supports sparse files, for files above 4 GiB; prints so if not. */
function hasSparseFiles(): boolean {
  using folder = new TemporaryFolder();
  const path = folder.at("sparse");
  Deno.writeFileSync(path, new Uint8Array(0));
  Deno.truncateSync(path, 5 * GIB);
  const { blocks } = Deno.statSync(path);
  if (blocks !== null && blocks * 512 < 2 ** 20) return true;
  console.log(
    "left out: files above 4 GiB, since the file system of the temporary folder keeps no sparse files",
  );
  return false;
}

const ignore = !hasSparseFiles();

function recordOf(index: number, length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, i) => (i * i >> 4) + 31 * index);
}

/** Writes data chunks at given offsets, then the index. @returns The index's offset. */
async function writeSparse(
  path: string,
  chunks: readonly { offsetBytes: number; records: Uint8Array[] }[],
): Promise<number> {
  const forged = chunks.map(({ offsetBytes, records }) => ({ ...simple(records), at: offsetBytes }));
  const last = forged[forged.length - 1];
  const footerOffsetBytes = chunkEnd(last.at, last.data.length, last.n);
  const footer = encodeFooter({
    numRecords: forged.reduce((sum, { n }) => sum + n, 0),
    writerOptions: "sparse",
    chunks: forged.map(({ at, n, size }) => ({ offsetBytes: at, numRecords: n, decodedSizeBytes: size })),
  });
  await forge(path, [...forged, simple(footer), pad, simple(encodePostscript(footerOffsetBytes)), pad]);
  return footerOffsetBytes;
}

Deno.test("ArrayRecordReader reads any record of a 13 GiB file", { ignore }, async () => {
  using folder = new TemporaryFolder();
  const path = folder.at("large.arrayrecord");
  // Before, across and after 4 GiB, across 2^33, and where 32-bit offsets would equal the first chunk's.
  const offsets = [SIGNATURE_BYTES, 2 ** 31 + 500, 2 ** 32 - 1000, 2 ** 32 + 70_000, 2 ** 33 - 40, 13 * GIB];
  const chunks = offsets.map((offsetBytes, i) => ({
    offsetBytes: offsetBytes === 13 * GIB ? offsetBytes + SIGNATURE_BYTES : offsetBytes,
    records: i % 2 === 0 ? [recordOf(i, 3000 + i)] : [recordOf(i, 90_000), recordOf(i + 100, 7)],
  }));
  assert(await writeSparse(path, chunks) > 13 * GIB);
  const { size, blocks } = Deno.statSync(path);
  assert((blocks ?? 0) * 512 < 2 ** 22, "the file takes room on the disk");

  const wanted = chunks.flatMap(({ records }) => records);
  using reader = await ArrayRecordReader.open(path);
  assertEquals([reader.numRecords, reader.numChunks, reader.sizeBytes], [wanted.length, 6, size]);
  assertEquals([...reader], wanted);
  // From last to first: seeks backwards across 4 GiB.
  for (let i = wanted.length - 1; i >= 0; i--) assertEquals(reader.read(i), wanted[i]);
});

Deno.test(
  "ArrayRecordReader reports the position of damage above 4 GiB, and can skip it",
  { ignore },
  async () => {
    using folder = new TemporaryFolder();
    const path = folder.at("large.arrayrecord");
    const at = 2 ** 32 + 4096;
    const records = [recordOf(0, 100), recordOf(1, 5000), recordOf(2, 100)];
    await writeSparse(path, [
      { offsetBytes: SIGNATURE_BYTES, records: [records[0]] },
      { offsetBytes: at, records: [records[1]] },
      { offsetBytes: 2 * at, records: [records[2]] },
    ]);
    {
      using file = Deno.openSync(path, { write: true });
      file.seekSync(at + 600, Deno.SeekMode.Start);
      file.writeSync(Uint8Array.of(records[1][0] ^ 0x5a, 1, 2, 3));
    }
    using strict = await ArrayRecordReader.open(path);
    assertEquals(strict.read(2), records[2]);
    const error = assertThrows(() => strict.read(1), FormatError, "wrong checksum");
    assertEquals(error.offsetBytes, at);
    using lenient = await ArrayRecordReader.open(path, { onCorrupt: "skip" });
    assertEquals([...lenient], [records[0], records[2]]);
    assertEquals(lenient.numCorruptChunks, 1);
    Deno.truncateSync(path, 2 ** 32);
    await assertRejects(
      () => ArrayRecordReader.open(path),
      FormatError,
      `byte ${2 ** 32 - BLOCK_SIZE_BYTES}`,
    );
  },
);
