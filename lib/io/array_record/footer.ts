/**
 * The index at the end of an ArrayRecord file: the records of its footer chunk and of its postscript, as
 * protocol buffers.
 *
 * Messages: `array_record/cpp/layout.proto` (RiegeliFooterMetadata, ArrayRecordFooter, RiegeliPostscript);
 * https://github.com/google/array_record.
 *
 * @module
 */
import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";

/** The magic number of a postscript, layout.proto. */
const POSTSCRIPT_MAGIC = 0x71930e704fdae05en;
/** Version of the layout that is written and read. */
const LAYOUT_VERSION = 1;
/** The postscript is written three times. */
const POSTSCRIPT_COPIES = 3;

/** The footer's entry for a data chunk. */
export interface ChunkEntry {
  /** The offset of the chunk. */
  offsetBytes: number;
  /** Sum of the lengths of its records. */
  decodedSizeBytes: number;
  numRecords: number;
}

/** The footer of a file. */
export interface ArrayRecordFooter {
  numRecords: number;
  /** The options of the writer as text, such as `group_size:1,…,zstd:3`. */
  writerOptions: string;
  chunks: ChunkEntry[];
}

/** Encodes the records of the footer chunk. */
export function encodeFooter(footer: ArrayRecordFooter): Uint8Array[] {
  const metadata = new BinaryWriter().tag(1, WireType.LengthDelimited).fork()
    .tag(1, WireType.Varint).uint32(LAYOUT_VERSION)
    .tag(2, WireType.Varint).uint64(footer.chunks.length)
    .tag(3, WireType.Varint).uint64(footer.numRecords)
    .tag(4, WireType.LengthDelimited).string(footer.writerOptions)
    .join().finish();
  const entries = footer.chunks.map((chunk) =>
    new BinaryWriter()
      .tag(1, WireType.Varint).uint64(chunk.offsetBytes)
      .tag(2, WireType.Varint).uint64(chunk.decodedSizeBytes)
      .tag(3, WireType.Varint).uint64(chunk.numRecords)
      .finish()
  );
  return [metadata, ...entries];
}

/**
 * Decodes the records of the footer chunk.
 *
 * @throws {Error} If they cannot be decoded, or contradict each other.
 */
export function decodeFooter(records: readonly Uint8Array[]): ArrayRecordFooter {
  const outer = readFields(records[0] ?? new Uint8Array(0));
  const metadata = readFields(bytesField(outer, 1));
  const version = numberField(metadata, 1);
  if (version !== LAYOUT_VERSION) throw new Error(`layout version ${version} is unknown`);
  const chunks = records.slice(1).map((record) => {
    const fields = readFields(record);
    return {
      offsetBytes: numberField(fields, 1),
      decodedSizeBytes: numberField(fields, 2),
      numRecords: numberField(fields, 3),
    };
  });
  const footer = {
    numRecords: numberField(metadata, 3),
    writerOptions: new TextDecoder().decode(bytesField(metadata, 4)),
    chunks,
  };
  const sum = chunks.reduce((total, chunk) => total + chunk.numRecords, 0);
  if (chunks.length !== numberField(metadata, 2) || sum !== footer.numRecords) {
    throw new Error(`${footer.numRecords} records are stated and ${sum} listed`);
  }
  return footer;
}

/** Encodes the records of the postscript. @param footerOffsetBytes The offset of the footer chunk. */
export function encodePostscript(footerOffsetBytes: number): Uint8Array[] {
  const record = new BinaryWriter()
    .tag(1, WireType.Varint).uint64(footerOffsetBytes)
    .tag(2, WireType.Varint).uint64(POSTSCRIPT_MAGIC)
    .finish();
  return new Array(POSTSCRIPT_COPIES).fill(record);
}

/**
 * Decodes the records of the postscript.
 *
 * @returns The offset of the footer chunk.
 * @throws {Error} If they cannot be decoded.
 */
export function decodePostscript(records: readonly Uint8Array[]): number {
  const fields = readFields(records[0] ?? new Uint8Array(0));
  if (fields.get(2) !== POSTSCRIPT_MAGIC) throw new Error("the magic number is missing");
  return numberField(fields, 1);
}

type Fields = Map<number, bigint | Uint8Array>;

function readFields(bytes: Uint8Array): Fields {
  const reader = new BinaryReader(bytes);
  const fields: Fields = new Map();
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag();
    if (wireType === WireType.Varint) fields.set(number, BigInt(reader.uint64()));
    else if (wireType === WireType.LengthDelimited) fields.set(number, reader.bytes());
    else reader.skip(wireType, number);
  }
  return fields;
}

function numberField(fields: Fields, number: number): number {
  const value = fields.get(number) ?? 0n;
  if (typeof value !== "bigint") throw new Error(`field ${number} is not a number`);
  return Number(value);
}

function bytesField(fields: Fields, number: number): Uint8Array {
  const value = fields.get(number) ?? new Uint8Array(0);
  if (typeof value === "bigint") throw new Error(`field ${number} is a number`);
  return value;
}
