/**
 * Cuts sorted measurements into probe rows: a new row begins with each group, and when the record would exceed the
 * size limit.
 *
 * An upper bound of the size is computed from the widths of the columns and the texts of the dictionaries, so a row is
 * encoded once and never exceeds the limit.
 *
 * @module
 */
import { ensure } from "../errors.ts";
import { type ProbeRow, probeRowSrcId } from "../probe_rows/probe_row.ts";
import { IdNumbers, KeyTable, KeyTranslation } from "../external_sort/key_table.ts";
import type { Group, ProbeColumns } from "../external_sort/probe_columns.ts";
import type { RowSink } from "../external_sort/sorted_rows.ts";
import { KeyKind, wordsToAddress } from "../external_sort/source_key.ts";

/** event_time 8, two dictionary indexes 4 + 4, ip_version 1, rtt 4. */
const BYTES_PER_MEASUREMENT = 21;
/** An offset per dictionary entry. */
const BYTES_PER_ENTRY = 4;
/**
 * Bytes of a record besides measurements and dictionaries: two schemas, five messages, padding of each buffer;
 * measured 2,100 to 2,190 with apache-arrow 21.2 (tests/preprocess/row_cutter_test.ts).
 */
export const RECORD_OVERHEAD_BYTES = 4096;
/** The number of address texts kept from row to row. */
const MAX_TEXTS = 1 << 18;

/** The growing dictionary of a row: texts, and the index of each address among them. */
class RowDictionary {
  texts: string[] = [];
  /** By address id: the index in `texts`. */
  readonly indexes = new IdNumbers();

  clear(): void {
    this.texts = [];
    this.indexes.clear();
  }

  add(id: number, text: string): number {
    return this.indexes.set(id, this.texts.push(text) - 1);
  }
}

/** Receives rows in order and emits probe rows. */
export class RowCutter implements RowSink {
  readonly #maxRecordBytes: number;
  readonly #emit: (row: ProbeRow) => void;
  readonly #maxMeasurements: number;
  readonly #addresses = new KeyTable();
  readonly #translation = new KeyTranslation(this.#addresses);
  readonly #texts: string[] = [];
  readonly #sources = new RowDictionary();
  readonly #destinations = new RowDictionary();
  #group: Group | undefined;
  #numRows = 0;
  #sizeBytes = RECORD_OVERHEAD_BYTES;
  #timeUs = new Float64Array(1024);
  #srcIndex = new Int32Array(1024);
  #dstIndex = new Int32Array(1024);
  #version = new Int8Array(1024);
  #rttMs = new Float32Array(1024);

  /**
   * @param maxRecordBytes The largest size of a record; at least twice {@link RECORD_OVERHEAD_BYTES}.
   * @param emit Receives each finished row; its arrays are views that change after the call.
   */
  constructor(maxRecordBytes: number, emit: (row: ProbeRow) => void) {
    ensure(maxRecordBytes >= 2 * RECORD_OVERHEAD_BYTES, "the size limit of a probe row is too small");
    this.#maxRecordBytes = maxRecordBytes;
    this.#maxMeasurements = Math.ceil(maxRecordBytes / BYTES_PER_MEASUREMENT);
    this.#emit = emit;
  }

  /** Begins a new source. */
  beginGroup(group: Group): void {
    this.flush();
    this.#group = group;
  }

  /** Adds the group's next measurement. */
  push(columns: ProbeColumns, row: number): void {
    const { keys } = columns;
    const src = this.#translation.idOf(keys, columns.src[row]);
    const dst = this.#translation.idOf(keys, columns.dst[row]);
    const added = BYTES_PER_MEASUREMENT + this.#entryBytes(this.#sources, src) +
      this.#entryBytes(this.#destinations, dst);
    if (this.#sizeBytes + added > this.#maxRecordBytes && this.#numRows > 0) {
      this.flush();
      return this.push(columns, row);
    }
    this.#sizeBytes += added;
    const at = this.#numRows++;
    if (at === this.#timeUs.length) this.#grow();
    this.#timeUs[at] = columns.timeUs[row];
    this.#srcIndex[at] = this.#indexIn(this.#sources, src);
    this.#dstIndex[at] = this.#indexIn(this.#destinations, dst);
    this.#version[at] = this.#addresses.kinds[dst];
    this.#rttMs[at] = columns.rttMs[row];
  }

  /** Emits the remaining measurements. */
  flush(): void {
    const n = this.#numRows;
    if (n === 0) return;
    ensure(this.#group, "rows came before their group");
    this.#emit({
      srcId: srcIdOf(this.#group, this.#sources.texts[0]),
      eventTimeUs: this.#timeUs.subarray(0, n),
      srcAddrs: this.#sources.texts,
      srcIndex: this.#srcIndex.subarray(0, n),
      dstAddrs: this.#destinations.texts,
      dstIndex: this.#dstIndex.subarray(0, n),
      ipVersion: this.#version.subarray(0, n),
      rttMs: this.#rttMs.subarray(0, n),
    });
    this.#numRows = 0;
    this.#sizeBytes = RECORD_OVERHEAD_BYTES;
    this.#sources.clear();
    this.#destinations.clear();
    if (this.#addresses.size > MAX_TEXTS) {
      this.#addresses.clear();
      this.#texts.length = 0;
    }
  }

  #entryBytes(dictionary: RowDictionary, id: number): number {
    return dictionary.indexes.get(id) >= 0 ? 0 : this.#textOf(id).length + BYTES_PER_ENTRY;
  }

  #indexIn(dictionary: RowDictionary, id: number): number {
    const index = dictionary.indexes.get(id);
    return index >= 0 ? index : dictionary.add(id, this.#textOf(id));
  }

  #textOf(id: number): string {
    const { words, kinds } = this.#addresses;
    return this.#texts[id] ??= wordsToAddress(words, 4 * id, kinds[id]);
  }

  #grow(): void {
    const length = Math.min(2 * this.#timeUs.length, this.#maxMeasurements);
    this.#timeUs = new Float64Array(this.#timeUs.buffer.transfer(8 * length));
    this.#srcIndex = new Int32Array(this.#srcIndex.buffer.transfer(4 * length));
    this.#dstIndex = new Int32Array(this.#dstIndex.buffer.transfer(4 * length));
    this.#version = new Int8Array(this.#version.buffer.transfer(length));
    this.#rttMs = new Float32Array(this.#rttMs.buffer.transfer(4 * length));
  }
}

/** The record's src_id: of the address's text, or the probe id itself. @param text The first source address. */
function srcIdOf({ words, kind }: Group, text: string): bigint {
  if (kind === KeyKind.PROBE) return (BigInt(words[2]) << 32n) | BigInt(words[3]);
  return probeRowSrcId(text);
}
