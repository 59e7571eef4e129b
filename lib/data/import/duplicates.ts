/**
 * Finds duplicate results (same measurement, probe and time), exactly and in bounded memory.
 *
 * A set stores the keys and is cleared when it is full. The duplicates that it then misses are found in the
 * file of rows ({@link moveUniqueRows}). Its key columns are read several times, each time for as many keys
 * as fit in memory. With 2 GB, 100 M rows are read five times, taking about 10 s each.
 *
 * @module
 */
import { dirname } from "@std/path";
import { ensure } from "../../base/errors.ts";
import { syncDirectory } from "../../io/files/atomic.ts";
import { explained } from "../../io/files/file_errors.ts";
import { NumberCursor } from "../../io/parquet/column.ts";
import type { NumberKind } from "../../io/parquet/encodings.ts";
import { ParquetFile } from "../../io/parquet/file.ts";
import type { MeasurementBatch } from "../formats/batch.ts";
import type { PingRow } from "../formats/format.ts";
import { readMeasurements } from "../measurement_files/parquet_reader.ts";
import { MeasurementParquetWriter, type OptionalColumn } from "../measurement_files/parquet_writer.ts";
import { RejectLog } from "../measurement_files/rejects.ts";
import { type MeasurementRow, type RowCounts, RowSink } from "./row_sink.ts";

/** Numbers of a key: measurement, probe, time. */
const KEY_NUMBERS = 3;
/** Slots per key, so that most lookups end at the first slot. */
const KEY_SLOTS = 2;
const KEY_BYTES = KEY_NUMBERS * Float64Array.BYTES_PER_ELEMENT + KEY_SLOTS * Uint32Array.BYTES_PER_ELEMENT;
const FIRST_CAPACITY = 64;
/** Maximum number of pairs of a measurement and a probe whose latest time is kept: at most 20 MB. */
const MAX_PAIRS = 1 << 16;

/** Results with equal keys are duplicates. */
export type ResultKey = Pick<PingRow, "msmId" | "prbId" | "eventTimeUs">;

export function isSameResult(a: ResultKey, b: ResultKey): boolean {
  return a.msmId === b.msmId && a.prbId === b.prbId && a.eventTimeUs === b.eventTimeUs;
}

/**
 * The keys of results in order, and a hash table of their indexes. A result that is later than all others of
 * its measurement and probe is new. Its key is put into the table only when another key has to be looked up,
 * because random access to a large table takes most of the time.
 */
export class DuplicateSet {
  /** How often the set was cleared. If 0, {@link add} has found all duplicates. */
  numForgets = 0;
  readonly #maxBytes: number;
  #capacity = FIRST_CAPACITY;
  #keys = new Float64Array(KEY_NUMBERS * FIRST_CAPACITY);
  #size = 0;
  /** A table with open addressing: the index of a key plus 1, or 0. */
  #slots = new Uint32Array(KEY_SLOTS * FIRST_CAPACITY);
  /** How many keys, counted from the first one, are in the table. */
  #numPlaced = 0;
  /** Time of the latest result by measurement and probe, for at most {@link MAX_PAIRS} pairs. */
  readonly #latestUs = new Map<number, Map<number, number>>();
  #numPairs = 0;
  #last: ResultKey | undefined;

  /** @param options `maxBytes`: memory of the set, which has room for at least 64 keys. */
  constructor({ maxBytes }: { maxBytes: number }) {
    this.#maxBytes = maxBytes;
  }

  /**
   * Adds the key of a result.
   *
   * @returns Whether it is new since the set was last cleared and differs from the last key.
   */
  add(key: ResultKey): boolean {
    const { msmId, prbId, eventTimeUs } = key;
    if (this.#size === this.#capacity) {
      if (canGrow(this.#capacity, this.#maxBytes)) this.#grow();
      else this.#forget();
    }
    this.#last = key;
    const keys = this.#keys;
    if (!this.#isLatest(key)) {
      while (this.#numPlaced < this.#size) {
        const at = KEY_NUMBERS * this.#numPlaced;
        this.#slots[this.#slotOf(keys[at], keys[at + 1], keys[at + 2])] = ++this.#numPlaced;
      }
      if (this.#slots[this.#slotOf(msmId, prbId, eventTimeUs)] !== 0) return false;
    }
    const at = KEY_NUMBERS * this.#size++;
    keys[at] = msmId;
    keys[at + 1] = prbId;
    keys[at + 2] = eventTimeUs;
    return true;
  }

  /** Whether a result is certainly later than all others of its measurement and probe. */
  #isLatest({ msmId, prbId, eventTimeUs }: ResultKey): boolean {
    let latestUs = this.#latestUs.get(msmId);
    const latest = latestUs?.get(prbId);
    if (latest !== undefined ? eventTimeUs <= latest : this.#numPairs === MAX_PAIRS) return false;
    if (!latestUs) this.#latestUs.set(msmId, latestUs = new Map());
    if (latest === undefined) this.#numPairs++;
    latestUs.set(prbId, eventTimeUs);
    return true;
  }

  /** The slot of a key in the table, or the free slot where it belongs. */
  #slotOf(msmId: number, prbId: number, eventTimeUs: number): number {
    const keys = this.#keys;
    const slots = this.#slots;
    const mask = slots.length - 1;
    let slot = hashKey(msmId, prbId, eventTimeUs) & mask;
    for (; slots[slot] !== 0; slot = slot + 1 & mask) {
      const at = KEY_NUMBERS * (slots[slot] - 1);
      if (keys[at + 2] === eventTimeUs && keys[at] === msmId && keys[at + 1] === prbId) break;
    }
    return slot;
  }

  #grow(): void {
    const keys = this.#keys;
    this.#capacity *= 2;
    this.#keys = new Float64Array(KEY_NUMBERS * this.#capacity);
    this.#keys.set(keys);
    this.#slots = new Uint32Array(KEY_SLOTS * this.#capacity);
    this.#numPlaced = 0;
  }

  /** Removes all keys except the last, because rows of two results with one key must not be adjacent. */
  #forget(): void {
    const last = this.#last;
    this.#slots.fill(0);
    this.#latestUs.clear();
    this.#size = this.#numPlaced = this.#numPairs = 0;
    this.numForgets++;
    if (last) this.add(last);
  }
}

/** Number of keys that fit into a set with this much memory. */
function maxKeys(maxBytes: number): number {
  let capacity = FIRST_CAPACITY;
  while (canGrow(capacity, maxBytes)) capacity *= 2;
  return capacity;
}

/** Whether the keys fit in memory together with a copy of twice the capacity. */
function canGrow(capacity: number, maxBytes: number): boolean {
  return 3 * capacity * KEY_BYTES <= maxBytes;
}

function hashKey(msmId: number, prbId: number, eventTimeUs: number): number {
  let hash = mix(0, msmId);
  hash = mix(hash, prbId);
  hash = mix(hash, eventTimeUs);
  hash = mix(hash, eventTimeUs / 2 ** 32);
  return mix(hash, hash >>> 16) >>> 0;
}

/** Fibonacci hashing of the low 32 bits of a number (Knuth, The Art of Computer Programming 3, 6.4). */
function mix(hash: number, value: number): number {
  const mixed = Math.imul(hash ^ value, 0x9e3779b1);
  return mixed ^ mixed >>> 15;
}

const MARKS_SHARE = 0.25; // of memory, for one bit per row
const MAX_MARKS = 2 ** 32;
/** Allows for parts of the keys that are larger than average. */
const ROOM_FOR_UNEVEN_PARTS = 1.25;

interface UniqueRows {
  numLeftOut: number;
  /** Absent if none were left out. */
  counts?: RowCounts;
}

/**
 * Moves rows to another file, without duplicate results.
 *
 * @param fromPath A file with all optional columns; it is deleted.
 * @param options `isUnique`: there are no duplicates. `maxBytes`: memory for keys.
 * @throws {UserError} If the disk is full.
 */
export async function moveUniqueRows(
  fromPath: string,
  toPath: string,
  options: { isUnique: boolean; maxBytes: number; optionalColumns: readonly OptionalColumn[] },
): Promise<UniqueRows> {
  if (!options.isUnique) {
    const marks = await RepeatedRows.find(fromPath, 0, options.maxBytes);
    if (marks.count > 0 || !marks.isLast) {
      return await copyUniqueRows(fromPath, toPath, { ...options, marks });
    }
  }
  explained(`write ${toPath}`, () => Deno.renameSync(fromPath, toPath));
  syncDirectory(dirname(toPath));
  return { numLeftOut: 0 };
}

async function copyUniqueRows(
  fromPath: string,
  toPath: string,
  options: { marks: RepeatedRows; maxBytes: number; optionalColumns: readonly OptionalColumn[] },
): Promise<UniqueRows> {
  const { optionalColumns, maxBytes } = options;
  using writer = MeasurementParquetWriter.create(toPath, { optionalColumns });
  const sink = new RowSink(writer);
  const rejects = new RejectLog();
  let { marks } = options;
  let leftOut: ResultKey | undefined;
  let numLeftOut = 0;
  let at = 0;
  for await (const batch of readMeasurements([fromPath], { rejects, required: optionalColumns })) {
    for (const row of rowsOf(batch)) {
      if (at >= marks.end) marks = await RepeatedRows.find(fromPath, at, maxBytes);
      if (marks.has(at)) {
        numLeftOut++;
        leftOut = row;
      } else if (leftOut && !isSameResult(leftOut, row)) leftOut = undefined;
      if (!leftOut) sink.add(row, row.rttMs, row.packetErrorCount);
      at++;
    }
  }
  ensure(rejects.total === 0, "written rows were rejected");
  const counts = sink.finish();
  writer.close();
  Deno.removeSync(fromPath);
  return { numLeftOut, counts };
}

/** Marks the first row of each repeated result, in as many rows as memory has bits for. */
class RepeatedRows {
  count = 0;
  readonly #bits: Uint8Array;

  private constructor(readonly from: number, readonly end: number, readonly isLast: boolean) {
    this.#bits = new Uint8Array(Math.ceil((end - from) / 8));
  }

  /** Finds repeated results from a given row on. */
  static async find(path: string, from: number, maxBytes: number): Promise<RepeatedRows> {
    using file = await ParquetFile.open(path);
    const { numRows } = file;
    const end = Math.min(numRows, from + Math.min(MAX_MARKS, Math.ceil(8 * MARKS_SHARE * maxBytes)));
    const marks = new RepeatedRows(from, end, end === numRows);
    const numParts = Math.ceil(ROOM_FOR_UNEVEN_PARTS * numRows / maxKeys((1 - MARKS_SHARE) * maxBytes));
    for (let part = 0; part < numParts; part++) {
      const keys = new DuplicateSet({ maxBytes: Infinity });
      for (const { row, key } of resultsOf(file)) {
        if (row >= end) break;
        const hash = hashKey(key.msmId, key.prbId, key.eventTimeUs);
        const isInPart = Math.floor(hash / 2 ** 32 * numParts) === part;
        if (isInPart && !keys.add(key) && row >= from) marks.#mark(row);
      }
    }
    return marks;
  }

  has(row: number): boolean {
    const index = row - this.from;
    return (this.#bits[Math.floor(index / 8)] >> index % 8 & 1) === 1;
  }

  #mark(row: number): void {
    const index = row - this.from;
    this.#bits[Math.floor(index / 8)] |= 1 << index % 8;
    this.count++;
  }
}

/** The key and first row of each result that has a key. */
function* resultsOf(file: ParquetFile): Generator<{ row: number; key: ResultKey }> {
  let last: ResultKey = { msmId: NaN, prbId: NaN, eventTimeUs: NaN };
  for (const group of file.rowGroups) {
    const { numRows, firstRow } = group;
    const read = (name: string, kind: NumberKind) =>
      new NumberCursor(file.source, file.chunk(name, group), kind).read(numRows).values;
    const msmIds = read("msm_id", "number");
    const prbIds = read("prb_id", "number");
    const timesUs = read("event_time", "micros");
    for (let i = 0; i < numRows; i++) {
      const key = { msmId: msmIds[i], prbId: prbIds[i], eventTimeUs: timesUs[i] };
      const isFirst = !isSameResult(key, last);
      last = key;
      const hasKey = !Number.isNaN(key.msmId) && !Number.isNaN(key.prbId);
      if (isFirst && hasKey) yield { row: firstRow + i, key };
    }
  }
}

export function* rowsOf(batch: MeasurementBatch): Generator<MeasurementRow> {
  for (let i = 0; i < batch.numRows; i++) {
    yield {
      eventTimeUs: batch.eventTimeUs[i],
      srcAddr: batch.srcAddr[i],
      dstAddr: batch.dstAddr[i],
      ipVersion: batch.ipVersion[i],
      rttMs: batch.rttMs[i],
      msmId: batch.msmId?.[i] ?? NaN,
      prbId: batch.prbId?.[i] ?? NaN,
      sizeBytes: batch.sizeBytes?.[i] ?? NaN,
      packetErrorCount: batch.packetErrorCount?.[i] ?? NaN,
    };
  }
}
