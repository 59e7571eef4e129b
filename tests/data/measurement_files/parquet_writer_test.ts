import { assert, assertEquals } from "@std/assert";
import { asyncBufferFromFile, parquetMetadata, parquetReadObjects } from "hyparquet";
import { compressors } from "hyparquet-compressors";
import type { MeasurementBatch } from "../../../lib/data/formats/batch.ts";
import {
  encodeRowGroup,
  MeasurementParquetWriter,
  ROW_GROUP_ROWS,
} from "../../../lib/data/measurement_files/parquet_writer.ts";
import { makeBatch, writeParquet } from "./batches.ts";
import { withFolder } from "../../io/files/temporary_folder.ts";

type Row = Record<string, unknown>;

/** Reads rows with hyparquet, which is independent of our writer. */
async function readWithHyparquet(
  path: string,
  rows: { rowStart?: number } = {},
): Promise<Row[]> {
  return await parquetReadObjects({ file: await asyncBufferFromFile(path), compressors, ...rows }) as Row[];
}

/** The rows of a batch in the form that hyparquet returns. */
function wantedRows(batch: Required<MeasurementBatch>): Row[] {
  const integer = (value: number) => Number.isNaN(value) ? null : BigInt(value);
  return Array.from({ length: batch.numRows }, (_, row) => ({
    msm_id: integer(batch.msmId[row]),
    event_time: new Date(batch.eventTimeUs[row] / 1000),
    src_addr: batch.srcAddr[row],
    dst_addr: batch.dstAddr[row],
    ip_version: BigInt(batch.ipVersion[row]),
    rtt: batch.rttMs[row],
    size: integer(batch.sizeBytes[row]),
    packet_error_count: integer(batch.packetErrorCount[row]),
    prb_id: integer(batch.prbId[row]),
  }));
}

function chunksOf(path: string) {
  const bytes = Deno.readFileSync(path);
  const { row_groups, num_rows } = parquetMetadata(bytes.buffer);
  const chunks = row_groups.map(({ columns }) =>
    Object.fromEntries(columns.map(({ meta_data }) => [meta_data?.path_in_schema[0], meta_data]))
  );
  return { chunks, row_groups, num_rows };
}

Deno.test("MeasurementParquetWriter writes what another reader reads, over several row groups", () =>
  withFolder(async (folder) => {
    const path = `${folder}/f.parquet`;
    writeParquet(path, makeBatch(ROW_GROUP_ROWS + 77));
    assertEquals(chunksOf(path).num_rows, BigInt(ROW_GROUP_ROWS + 77));
    const rowStart = ROW_GROUP_ROWS - 300;
    assertEquals(await readWithHyparquet(path, { rowStart }), wantedRows(makeBatch(377, rowStart)));
  }));

Deno.test("MeasurementParquetWriter dictionary-encodes columns with few distinct values only", () =>
  withFolder(async (folder) => {
    const path = `${folder}/f.parquet`;
    const batch = makeBatch(5000);
    batch.srcAddr = batch.srcAddr.map((_, row) => `10.1.${row >> 8}.${row & 255}`); // all different
    batch.msmId = Float64Array.from(batch.msmId, (_, row) => row % 3 === 0 ? NaN : 2 ** 40 + row);
    writeParquet(path, batch);
    const { chunks: [chunks] } = chunksOf(path);
    assertEquals(chunks.src_addr?.encodings, ["PLAIN"]);
    assertEquals(chunks.msm_id?.encodings, ["PLAIN"]);
    assertEquals(chunks.dst_addr?.encodings, ["PLAIN", "RLE_DICTIONARY"]);
    assertEquals(chunks.prb_id?.encodings, ["PLAIN", "RLE_DICTIONARY"]);
    assertEquals(await readWithHyparquet(path), wantedRows(batch));
  }));

Deno.test("MeasurementParquetWriter keeps nulls of optional columns, also where a batch lacks the column", () =>
  withFolder(async (folder) => {
    const path = `${folder}/f.parquet`;
    const [first, second, third] = [makeBatch(300), makeBatch(20, 300), makeBatch(400, 320)];
    const { msmId: _msmId, packetErrorCount: _lost, ...lacking } = second;
    const writer = MeasurementParquetWriter.create(path, {
      optionalColumns: ["msmId", "prbId", "sizeBytes", "packetErrorCount"],
    });
    first.sizeBytes.fill(NaN);
    third.sizeBytes.fill(NaN);
    lacking.sizeBytes.fill(NaN); // no value anywhere
    for (const batch of [first, lacking, third]) writer.append(batch);
    writer.close();
    second.msmId.fill(NaN);
    second.packetErrorCount.fill(NaN);
    assertEquals(await readWithHyparquet(path), [first, second, third].flatMap(wantedRows));
    const { chunks: [chunks] } = chunksOf(path);
    assertEquals(chunks.size?.statistics?.null_count, 720n);
    assertEquals(chunks.size?.statistics?.min_value, undefined);
    const numNulls = [first, second, third].flatMap(({ msmId }) => [...msmId]).filter(Number.isNaN).length;
    assertEquals(chunks.msm_id?.statistics?.null_count, BigInt(numNulls));
  }));

Deno.test("MeasurementParquetWriter writes the range of each column to the footer", () =>
  withFolder((folder) => {
    const path = `${folder}/f.parquet`;
    const batch = makeBatch(1000);
    // The order of UTF-8 counts, in which the first is larger; in UTF-16 the second is.
    [batch.srcAddr[3], batch.srcAddr[5]] = ["\u{1f600}", "\uffee"];
    writeParquet(path, batch);
    const { chunks: [chunks], row_groups, num_rows } = chunksOf(path);
    const range = (
      name: string,
    ) => [chunks[name]?.statistics?.min_value, chunks[name]?.statistics?.max_value];
    assertEquals(range("rtt"), [-1, Math.max(...batch.rttMs)]);
    assertEquals(range("prb_id"), [0n, 12n]);
    assertEquals(range("src_addr"), [batch.srcAddr.toSorted()[0], "\u{1f600}"]);
    assertEquals(range("event_time"), [
      new Date(batch.eventTimeUs[0] / 1000),
      new Date(batch.eventTimeUs[999] / 1000),
    ]);
    assertEquals(num_rows, 1000n);
    // The chunks fill the row group without gaps.
    const sizes = row_groups[0].columns.map(({ meta_data }) => Number(meta_data?.total_compressed_size));
    let offset = 4;
    for (const [i, { file_offset, meta_data }] of row_groups[0].columns.entries()) {
      assertEquals(Number(file_offset), offset);
      assertEquals(Number(meta_data?.dictionary_page_offset ?? meta_data?.data_page_offset), offset);
      offset += sizes[i];
    }
    assertEquals(Number(row_groups[0].total_compressed_size), offset - 4);
    assert(Deno.statSync(path).size > offset);
  }));

Deno.test("encodeRowGroup() keeps only the smallest and largest text of a dictionary for the footer", () => {
  const numRows = 1000;
  const texts = Array.from({ length: numRows }, (_, row) => `10.0.${row >> 8}.${row & 255}`);
  const addresses = { values: texts, indexes: Int32Array.from(texts, (_, row) => row) };
  const { chunks } = encodeRowGroup({
    numRows,
    eventTimeUs: new Float64Array(numRows),
    rttMs: new Float64Array(numRows),
    srcAddr: addresses,
    dstAddr: addresses,
    ipVersion: { values: [4], indexes: new Int32Array(numRows) },
  }, []);
  const [least] = chunks.flatMap(({ meta_data }) => meta_data?.statistics?.min_value ?? [])
    .filter((value) => value instanceof Uint8Array);
  assertEquals(new TextDecoder().decode(least), "10.0.0.0");
  assertEquals(least.buffer.byteLength, "10.0.0.0".length);
});
