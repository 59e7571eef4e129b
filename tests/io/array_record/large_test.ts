import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { FormatError } from "../../../lib/base/errors.ts";
import {
  BLOCK_SIZE_BYTES,
  CHUNK_TYPES,
  chunkEnd,
  type ChunkEntry,
  encodeChunkHeader,
  encodeFooter,
  encodePostscript,
  encodeSimpleChunk,
  isPossibleChunkBoundary,
  layOutChunk,
  loadRiegeliHash,
  remainingInBlock,
} from "../../../lib/io/array_record/format.ts";
import { ArrayRecordReader } from "../../../lib/io/array_record/reader.ts";
import { TemporaryFolder } from "../files/temporary_folder.ts";

/** ArrayRecord files above 4 GiB, as sparse files: holes of zeros that take no room on the disk. */

const GIB = 2 ** 30;
const SIGNATURE_BYTES = 64;

/** Whether the file system of the temporary folder keeps files with holes; says so if not. */
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

/** Writes data chunks at chosen offsets, with holes between, and the index behind the last. */
async function writeSparse(path: string, chunks: { offsetBytes: number; records: Uint8Array[] }[]) {
  const hash = await loadRiegeliHash();
  using file = Deno.openSync(path, { write: true, create: true });
  const put = (begin: number, type: number, data: Uint8Array, records: readonly Uint8Array[]) => {
    const decodedSizeBytes = records.reduce((sum, { length }) => sum + length, 0);
    const header = encodeChunkHeader(hash, data, { type, numRecords: records.length, decodedSizeBytes });
    const end = chunkEnd(begin, data.length, records.length);
    const bytes = layOutChunk(hash, begin, end, [header, data]);
    file.seekSync(begin, Deno.SeekMode.Start);
    for (let done = 0; done < bytes.length;) done += file.writeSync(bytes.subarray(done));
    return end;
  };
  const putRecords = (begin: number, records: Uint8Array[]) =>
    put(begin, CHUNK_TYPES.simple, encodeSimpleChunk(records, "none"), records);
  const pad = (begin: number) =>
    put(begin, CHUNK_TYPES.padding, new Uint8Array(remainingInBlock(begin) - 40), []);
  let end = put(0, CHUNK_TYPES.signature, new Uint8Array(0), []);
  const entries: ChunkEntry[] = [];
  for (const { offsetBytes, records } of chunks) {
    assert(isPossibleChunkBoundary(offsetBytes) && offsetBytes >= end);
    end = putRecords(offsetBytes, records);
    const decodedSizeBytes = records.reduce((sum, { length }) => sum + length, 0);
    entries.push({ offsetBytes, decodedSizeBytes, numRecords: records.length });
  }
  const numRecords = entries.reduce((sum, entry) => sum + entry.numRecords, 0);
  const footerOffsetBytes = end;
  end = pad(putRecords(end, encodeFooter({ numRecords, writerOptions: "sparse", chunks: entries })));
  end = pad(putRecords(end, encodePostscript(footerOffsetBytes)));
  assertEquals(end % BLOCK_SIZE_BYTES, 0);
  return { sizeBytes: end, footerOffsetBytes };
}

Deno.test("ArrayRecordReader reads any record of a file of 13 GiB", { ignore }, async () => {
  using folder = new TemporaryFolder();
  const path = folder.at("large.arrayrecord");
  // Before, across and behind 4 GiB, across 2^33, and where 32-bit offsets would meet the first chunk.
  const offsets = [SIGNATURE_BYTES, 2 ** 31 + 500, 2 ** 32 - 1000, 2 ** 32 + 70_000, 2 ** 33 - 40, 13 * GIB];
  const chunks = offsets.map((offsetBytes, i) => ({
    offsetBytes: offsetBytes === 13 * GIB ? offsetBytes + SIGNATURE_BYTES : offsetBytes,
    records: i % 2 === 0 ? [recordOf(i, 3000 + i)] : [recordOf(i, 90_000), recordOf(i + 100, 7)],
  }));
  const { sizeBytes, footerOffsetBytes } = await writeSparse(path, chunks);
  assert(sizeBytes > 13 * GIB && footerOffsetBytes > 13 * GIB);
  const { size, blocks } = Deno.statSync(path);
  assertEquals(size, sizeBytes);
  assert((blocks ?? 0) * 512 < 2 ** 22, "the file takes room on the disk");

  const wanted = chunks.flatMap(({ records }) => records);
  using reader = await ArrayRecordReader.open(path);
  assertEquals([reader.numRecords, reader.numChunks, reader.sizeBytes], [wanted.length, 6, sizeBytes]);
  assertEquals([...reader], wanted);
  // From the last to the first: seeks back over 4 GiB.
  for (let i = wanted.length - 1; i >= 0; i--) assertEquals(reader.read(i), wanted[i]);
});

Deno.test(
  "ArrayRecordReader names the place of damage above 4 GiB, and can skip it",
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
