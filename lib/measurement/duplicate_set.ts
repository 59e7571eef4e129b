/**
 * Finds results that were there before (same measurement, probe and time), exactly and in bounded memory.
 *
 * Keys are kept in hash tables. When these are full they are written to a temporary file and emptied, so a result that
 * was there before such a spill is found only at the end: the file's keys are then compared partition by partition,
 * spill by spill, which tells the rows that are to be left out. Whatever the memory, the first result of a key stays.
 *
 * @module
 */
import { ensure, explainFileError } from "../errors.ts";
import { AtomicFile } from "../files/atomic.ts";
import {
  BYTES_PER_KEY,
  hashSlot,
  ResultKeyTable,
  ROW_WORD,
  SLOT_WORDS,
  writeSlot,
} from "./result_key_table.ts";

/** Keys of a spill are divided by their hash, so that those of one partition can be compared in memory. */
const NUM_PARTITIONS = 256;
const MAX_ROWS_PER_SPILL = 2 ** 32;
const MARKS_SHARE = 0.25; // of the memory, for a bit per row while keys are compared

/** What tells a result from others. */
export interface ResultKey {
  /** A non-negative safe integer, as is {@link prbId}. */
  msmId: number;
  prbId: number;
  /** Microseconds since 1970; in 1990..2100. */
  eventTimeUs: number;
}

/** Keys that were written to the file at one time. */
interface Spill {
  /** The rows of its keys count from this one. */
  firstRow: number;
  /** Keys of each partition; they stand in this order. */
  numKeys: Uint32Array;
  offsetBytes: number;
}

/** The set of the keys of all results. */
export class DuplicateSet {
  readonly #maxBytes: number;
  readonly #filePath: string;
  readonly #slot = new Uint32Array(SLOT_WORDS);
  readonly #spills: Spill[] = [];
  readonly #tables = Array.from({ length: NUM_PARTITIONS }, () => new ResultKeyTable());
  #numKeys = 0;
  #firstRow = 0;
  #file: AtomicFile | undefined;

  /**
   * @param filePath Keys are written to a temporary file of this name where memory does not suffice.
   * @param options `maxBytes`: how much memory the set may take.
   */
  constructor(filePath: string, options: { maxBytes: number }) {
    this.#filePath = filePath;
    this.#maxBytes = options.maxBytes;
  }

  /** How often keys were written to the file; where it is 0, {@link add} has found all there is to find. */
  get numSpills(): number {
    return this.#spills.length;
  }

  /**
   * Adds the key of a result.
   *
   * @param row The row that it makes if it is new, its first one if it makes several; never less than before.
   * @returns Whether it is new since the last spill.
   * @throws {UserError} If the disk is full.
   */
  add(key: ResultKey, row: number): boolean {
    const isFull = this.#numKeys > 0 && (this.#numKeys + 1) * BYTES_PER_KEY > this.#maxBytes;
    if (isFull || row - this.#firstRow >= MAX_ROWS_PER_SPILL) this.#spill(row);
    const slot = this.#slot;
    writeSlot(slot, key, row - this.#firstRow);
    const hash = hashSlot(slot, 0);
    const isNew = this.#tables[hash % NUM_PARTITIONS].add(slot, 0, hash);
    if (isNew) this.#numKeys++;
    return isNew;
  }

  /**
   * The rows that {@link add} took for new although their key had been there before the last spill.
   *
   * @param numRows Number of all rows.
   * @returns Rows and which of them are repeated, in stretches that memory has room for, those without left out.
   */
  *repeatedRows(numRows: number): Generator<MarkedRows> {
    if (this.#spills.length === 0) return;
    this.#spill(numRows);
    const stretch = Math.floor(8 * MARKS_SHARE * this.#maxBytes);
    for (let from = 0; from < numRows; from += stretch) {
      const marked = new MarkedRows(from, Math.min(numRows, from + stretch));
      this.#mark(marked);
      if (marked.count > 0) yield marked;
    }
  }

  /** Deletes the temporary file. */
  [Symbol.dispose](): void {
    this.#file?.abort();
  }

  /** @param nextRow The rows of later keys count from here. */
  #spill(nextRow: number): void {
    this.#file ??= AtomicFile.create(this.#filePath);
    const spill: Spill = {
      firstRow: this.#firstRow,
      numKeys: Uint32Array.from(this.#tables, ({ size }) => size),
      offsetBytes: this.#file.offsetBytes,
    };
    for (const table of this.#tables) {
      this.#file.writeSync(table.filledSlots());
      table.clear();
    }
    this.#spills.push(spill);
    this.#numKeys = 0;
    this.#firstRow = nextRow;
  }

  #mark(marked: MarkedRows): void {
    ensure(this.#file, "keys were spilled");
    const { temporaryPath } = this.#file;
    try {
      using file = Deno.openSync(temporaryPath);
      for (let partition = 0; partition < NUM_PARTITIONS; partition++) {
        const numKeys = this.#spills.reduce((sum, spill) => sum + spill.numKeys[partition], 0);
        const numPasses = Math.ceil(numKeys * BYTES_PER_KEY / ((1 - MARKS_SHARE) * this.#maxBytes));
        for (let pass = 0; pass < numPasses; pass++) {
          this.#markPartition(file, partition, { marked, pass, numPasses });
        }
      }
    } catch (error) {
      throw explainFileError(error, `read ${temporaryPath}`);
    }
  }

  /** Compares those keys of a partition that belong to a pass, in the order of the spills. */
  #markPartition(
    file: Deno.FsFile,
    partition: number,
    { marked, pass, numPasses }: { marked: MarkedRows; pass: number; numPasses: number },
  ): void {
    const table = new ResultKeyTable();
    for (const { firstRow, numKeys, offsetBytes } of this.#spills) {
      if (numKeys[partition] === 0) continue;
      const numBefore = numKeys.subarray(0, partition).reduce((sum, count) => sum + count, 0);
      const slots = new Uint32Array(SLOT_WORDS * numKeys[partition]);
      readAt(file, new Uint8Array(slots.buffer), offsetBytes + 4 * SLOT_WORDS * numBefore);
      for (let at = 0; at < slots.length; at += SLOT_WORDS) {
        const hash = hashSlot(slots, at);
        if (Math.floor(hash / NUM_PARTITIONS) % numPasses !== pass) continue;
        if (!table.add(slots, at, hash)) marked.mark(firstRow + slots[at + ROW_WORD]);
      }
    }
  }
}

/** Some of the rows from {@link from} to {@link end} - 1, a bit per row. */
export class MarkedRows {
  readonly #bits: Uint8Array;
  #count = 0;

  /** Marks none. */
  constructor(readonly from: number, readonly end: number) {
    this.#bits = new Uint8Array(Math.ceil((end - from) / 8));
  }

  /** How many are marked. */
  get count(): number {
    return this.#count;
  }

  /** Marks a row; those of other stretches are left alone. */
  mark(row: number): void {
    if (row < this.from || row >= this.end) return;
    const index = row - this.from;
    this.#bits[Math.floor(index / 8)] |= 1 << index % 8;
    this.#count++;
  }

  /** Whether the row is marked. */
  has(row: number): boolean {
    if (row < this.from || row >= this.end) return false;
    const index = row - this.from;
    return (this.#bits[Math.floor(index / 8)] >> index % 8 & 1) === 1;
  }
}

function readAt(file: Deno.FsFile, bytes: Uint8Array, offsetBytes: number): void {
  file.seekSync(offsetBytes, Deno.SeekMode.Start);
  for (let done = 0; done < bytes.length;) {
    const numBytes = file.readSync(bytes.subarray(done));
    ensure(numBytes, "the temporary file of keys is shorter than what was written");
    done += numBytes;
  }
}
