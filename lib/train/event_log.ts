/**
 * The TensorBoard event file of a run, with the scalars of `metrics.jsonl`.
 *
 * The whole run has a single file with a fixed name. A run that resumes from the checkpoint of step n cuts
 * off everything written after n, and a truncated last record. Rewritten records have the same lengths, so a
 * TensorBoard that is reading continues at the right position.
 *
 * Messages: `tensorflow/core/util/event.proto` (Event), `tensorflow/core/framework/summary.proto` (Summary),
 * in TFRecord frames; https://github.com/tensorflow/tensorboard.
 *
 * @module
 */
import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { explainFileError } from "../io/files/file_errors.ts";
import { ByteFile } from "../io/files/byte_file.ts";
import { type MetricsRecord, type ScalarLog, scalarLog } from "./metrics.ts";

/** TensorBoard reads files with `tfevents` in their name. Other writers append a time and a host. */
export const EVENT_FILE = "events.out.tfevents.0.ping-llm";
/** The version that event.proto requires in the first event. */
const FILE_VERSION = "brain.Event:2";

/** Field numbers of Event. */
const WALL_TIME = 1;
const STEP = 2;
const VERSION = 3;
const SUMMARY = 5;

/**
 * Opens an event file, creating it and its folder if needed, and cuts it off after a step.
 *
 * @param lastStep The step that the run resumes after; 0 empties the file.
 * @param nowS Current Unix time in seconds.
 * @throws {UserError} If it cannot be written.
 */
export function openEvents(path: string, lastStep: number, nowS = () => Date.now() / 1000): ScalarLog {
  const file = ByteFile.write(path, "append");
  try {
    const keptBytes = lastStep === 0 ? 0 : endOfStep(Deno.readFileSync(path), lastStep);
    file.truncate(keptBytes);
    if (keptBytes === 0) file.write(encodeTfRecord(encodeVersion(nowS())));
  } catch (error) {
    file[Symbol.dispose]();
    throw explainFileError(error, `write ${path}`);
  }
  return scalarLog(file, (record) => encodeTfRecord(encodeScalars(record, nowS())));
}

/** Finds the end of the last complete event whose step is at most `lastStep`. */
function endOfStep(bytes: Uint8Array, lastStep: number): number {
  let end = 0;
  for (const { data, endBytes } of decodeTfRecords(bytes)) {
    if (stepOf(data) > lastStep) break;
    end = endBytes;
  }
  return end;
}

function stepOf(event: Uint8Array): number {
  const reader = new BinaryReader(event);
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    if (field === STEP) return Number(reader.int64());
    reader.skip(wireType);
  }
  return 0;
}

function encodeVersion(timeS: number): Uint8Array {
  return new BinaryWriter()
    .tag(WALL_TIME, WireType.Bit64).double(timeS)
    .tag(VERSION, WireType.LengthDelimited).string(FILE_VERSION)
    .finish();
}

/** An event with one Summary.Value {tag = 1, simple_value = 2} per scalar. */
function encodeScalars({ step, ...scalars }: MetricsRecord, timeS: number): Uint8Array {
  const writer = new BinaryWriter()
    .tag(WALL_TIME, WireType.Bit64).double(timeS)
    .tag(STEP, WireType.Varint).int64(step)
    .tag(SUMMARY, WireType.LengthDelimited).fork();
  for (const [name, value] of Object.entries(scalars)) {
    writer.tag(1, WireType.LengthDelimited).fork()
      .tag(1, WireType.LengthDelimited).string(name)
      .tag(2, WireType.Bit32).float(value ?? NaN)
      .join();
  }
  return writer.join().finish();
}

// TFRecord framing: u64 length, its masked CRC-32C, the data, the data's masked CRC-32C, little-endian.
// https://www.tensorflow.org/tutorials/load_data/tfrecord#tfrecords_format_details

/** The polynomial of CRC-32C (Castagnoli), bits reversed: RFC 3720, appendix B.4. */
const POLYNOMIAL = 0x82f63b78;
/** Added to a rotated checksum, so that checksums within the data do not weaken it: tsl/lib/hash/crc32c.h. */
const MASK_DELTA = 0xa282ead8;
const HEADER_BYTES = 12;
const FOOTER_BYTES = 4;

interface TfRecord {
  data: Uint8Array;
  /** Position of the record's end in the file. */
  endBytes: number;
}

function encodeTfRecord(data: Uint8Array): Uint8Array<ArrayBuffer> {
  const record = new Uint8Array(HEADER_BYTES + data.length + FOOTER_BYTES);
  const view = new DataView(record.buffer);
  view.setBigUint64(0, BigInt(data.length), true);
  view.setUint32(8, maskedCrc32c(record.subarray(0, 8)), true);
  record.set(data, HEADER_BYTES);
  view.setUint32(HEADER_BYTES + data.length, maskedCrc32c(data), true);
  return record;
}

/** Yields the records of a file up to the first truncated or damaged one. */
export function* decodeTfRecords(bytes: Uint8Array): Generator<TfRecord> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at + HEADER_BYTES + FOOTER_BYTES <= bytes.length;) {
    if (view.getUint32(at + 8, true) !== maskedCrc32c(bytes.subarray(at, at + 8))) return;
    const dataEnd = at + HEADER_BYTES + Number(view.getBigUint64(at, true));
    if (dataEnd + FOOTER_BYTES > bytes.length) return;
    const data = bytes.subarray(at + HEADER_BYTES, dataEnd);
    if (view.getUint32(dataEnd, true) !== maskedCrc32c(data)) return;
    at = dataEnd + FOOTER_BYTES;
    yield { data, endBytes: at };
  }
}

/** CRC-32C rotated by 15 bits and offset, as TFRecord stores it. */
function maskedCrc32c(bytes: Uint8Array): number {
  const crc = crc32c(bytes);
  return (((crc >>> 15) | (crc << 17)) + MASK_DELTA) >>> 0;
}

/** CRC-32C: RFC 3720, appendix B.4. */
function crc32c(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = TABLE[(crc ^ byte) & 255] ^ (crc >>> 8);
  return ~crc >>> 0;
}

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ POLYNOMIAL : crc >>> 1;
  return crc;
});
