/**
 * Sorts the rows of a partition by group and time: in memory if they fit, else by an external merge sort
 * (Knuth, TAOCP 3, 5.4) with sorted runs on disk.
 *
 * Both give the same order, (group hash, group kind, time, order in the input), so the output does not depend
 * on the memory limit. The merge keeps one block of every run in memory. With R rows per run and 64 rows per
 * block it can sort R^2 / 64 rows (for the default limit, 6 M rows per run, more than 10^11 rows in one
 * partition).
 *
 * @module
 */
import { BinaryHeap } from "@std/data-structures/binary-heap";
import { KeyTable } from "./keys.ts";
import { compareGroups, type Group, makeGroup, nameColumns, type ProbeColumns } from "./probe_columns.ts";
import {
  bucketRows,
  type ColumnData,
  makeColumn,
  rowBytes,
  SpillReader,
  SpillWriter,
  type StoredBlock,
} from "./spill.ts";
import { TimeSorter } from "./time_sorter.ts";

/** Bytes per row in addition to its columns: row order, slots of its keys, and scratch of the time sort. */
const SORT_BYTES_PER_ROW = 4 + 4 + 4 + 8 + 8 + 4;

export interface RowSink {
  /** Starts the group of the rows that follow. No group is started twice. */
  beginGroup(group: Group): void;
  /** Receives a row. The columns may change after the call. */
  push(columns: ProbeColumns, row: number): void;
}

/** Number of rows of the schema that can be sorted at once within a memory budget. */
export function rowsWithin(memoryBytes: number, rowSizeBytes: number): number {
  return Math.max(1024, Math.floor(memoryBytes / (rowSizeBytes + SORT_BYTES_PER_ROW)));
}

interface SortOptions {
  seed: number;
  memoryBytes: number;
  /** The file for sorted runs of a partition that does not fit in memory; removed after use. */
  runsPath: string;
}

/** Sorts the partitions of a spill file one after another, reusing its arrays. */
export class PartitionSorter {
  readonly #spill: SpillReader;
  readonly #options: SortOptions;
  readonly #maxRows: number;
  readonly #keys = new KeyTable();
  readonly #timeSorter = new TimeSorter();
  #columns: ColumnData[] = [];
  #capacity = 0;

  constructor(spill: SpillReader, options: SortOptions) {
    this.#spill = spill;
    this.#options = options;
    this.#maxRows = rowsWithin(options.memoryBytes, rowBytes(spill.schema));
  }

  async sort(partition: number, sink: RowSink, onStep: () => Promise<void>): Promise<void> {
    const numRows = this.#spill.numRows[partition];
    if (numRows === 0) return;
    if (numRows > this.#maxRows) return await this.#sortOnDisk(partition, sink, onStep);
    const columns = this.#read(this.#spill.blocks(partition));
    for (const { group, rows } of this.#sortInMemory(columns, numRows)) {
      sink.beginGroup(group);
      for (let i = 0; i < rows.length; i++) sink.push(columns, rows[i]);
    }
    await onStep();
  }

  /** Reads the rows of blocks, with a new key table. */
  #read(blocks: readonly StoredBlock[]): ProbeColumns {
    const numRows = sumRows(blocks);
    if (numRows > this.#capacity) {
      this.#capacity = Math.max(numRows, Math.min(this.#maxRows, Math.ceil(numRows * 1.25)));
      this.#columns = this.#spill.schema.map((column) => makeColumn(column, this.#capacity));
    }
    this.#keys.clear();
    let at = 0;
    for (const block of blocks) {
      block.read({ into: this.#columns, at, keys: this.#keys });
      at += block.numRows;
    }
    return nameColumns(this.#spill.schema, this.#columns, this.#keys);
  }

  *#sortInMemory(columns: ProbeColumns, numRows: number): Generator<{ group: Group; rows: Uint32Array }> {
    const { keys } = columns;
    const { starts, order } = bucketRows(columns.group, numRows, keys.size);
    const groups: { id: number; group: Group }[] = [];
    for (let id = 0; id < keys.size; id++) {
      if (starts[id] < starts[id + 1]) groups.push({ id, group: makeGroup(keys, id, this.#options.seed) });
    }
    groups.sort((a, b) => compareGroups(a.group, b.group));
    for (const { id, group } of groups) {
      const rows = order.subarray(starts[id], starts[id + 1]);
      this.#timeSorter.sort(rows, columns.timeUs);
      yield { group, rows };
    }
  }

  async #sortOnDisk(partition: number, sink: RowSink, onStep: () => Promise<void>): Promise<void> {
    try {
      await this.#mergeRuns(await this.#writeRuns(partition, onStep), sink, onStep);
    } finally {
      Deno.removeSync(this.#options.runsPath);
    }
  }

  async #writeRuns(partition: number, onStep: () => Promise<void>): Promise<SpillReader> {
    const planned = divideBlocks(this.#spill.blocks(partition), this.#maxRows);
    using runs = new SpillWriter(this.#options.runsPath, this.#spill.schema, {
      numPartitions: planned.length,
      bufferBytes: this.#options.memoryBytes / 4,
    });
    for (const [run, blocks] of planned.entries()) {
      const columns = this.#read(blocks);
      for (const { rows } of this.#sortInMemory(columns, sumRows(blocks))) {
        runs.appendTo(run, { columns: this.#columns, keys: columns.keys }, rows);
      }
      // The next run has other keys.
      runs.flush(run);
      await onStep();
    }
    return new SpillReader([{ path: this.#options.runsPath, index: runs.finish() }], this.#spill.schema);
  }

  async #mergeRuns(runs: SpillReader, sink: RowSink, onStep: () => Promise<void>): Promise<void> {
    using _closed = runs;
    const heap = new BinaryHeap<RunCursor>((a, b) => a.compare(b));
    for (let run = 0; run < runs.numRows.length; run++) {
      const cursor = new RunCursor(run, runs, this.#options.seed);
      if (cursor.next()) heap.push(cursor);
    }
    let current: Group | undefined;
    let taken = 0;
    for (let next; (next = heap.pop());) {
      // Rows in sequence often come from one run, without the heap.
      const other = heap.peek();
      let hasRow = true;
      while (hasRow && (!other || next.compare(other) < 0)) {
        if (!current || (current !== next.group && compareGroups(current, next.group) !== 0)) {
          sink.beginGroup(current = next.group);
        }
        sink.push(next.columns, next.row);
        hasRow = next.next();
        if (++taken % 65_536 === 0) await onStep();
      }
      if (hasRow) heap.push(next);
    }
  }
}

/** Divides blocks into runs of at most `maxRows` rows, or of a single larger block. */
function divideBlocks(blocks: readonly StoredBlock[], maxRows: number): StoredBlock[][] {
  const runs: StoredBlock[][] = [];
  let numRows = Infinity;
  for (const block of blocks) {
    if (numRows + block.numRows > maxRows) {
      runs.push([]);
      numRows = 0;
    }
    runs[runs.length - 1].push(block);
    numRows += block.numRows;
  }
  return runs;
}

function sumRows(blocks: readonly StoredBlock[]): number {
  return blocks.reduce((sum, { numRows }) => sum + numRows, 0);
}

class RunCursor {
  columns: ProbeColumns;
  row = -1;
  group: Group;
  timeUs = 0;
  readonly #keys = new KeyTable();
  readonly #blocks: StoredBlock[];
  #groupId = -1;
  #numRows = 0;

  constructor(readonly run: number, readonly runs: SpillReader, readonly seed: number) {
    // In reverse: the first block is last.
    this.#blocks = runs.blocks(run).reverse();
    this.columns = nameColumns(runs.schema, runs.schema.map((column) => makeColumn(column, 0)), this.#keys);
    this.group = { words: [0, 0, 0, 0], kind: -1, hash: new Uint32Array(4) };
  }

  /** Moves to the next row. @returns Whether there is one. */
  next(): boolean {
    if (++this.row === this.#numRows && !this.#readNext()) return false;
    const { columns, row } = this;
    const groupId = columns.group[row];
    if (groupId !== this.#groupId) this.group = makeGroup(this.#keys, groupId, this.seed);
    this.#groupId = groupId;
    this.timeUs = columns.timeUs[row];
    return true;
  }

  #readNext(): boolean {
    const block = this.#blocks.pop();
    if (!block) return false;
    const into = this.runs.schema.map((column) => makeColumn(column, block.numRows));
    this.#keys.clear();
    block.read({ into, at: 0, keys: this.#keys });
    this.columns = nameColumns(this.runs.schema, into, this.#keys);
    this.#numRows = block.numRows;
    this.#groupId = -1;
    this.row = 0;
    return true;
  }

  /** Runs are consecutive parts of the input, so among equals the lower run comes first. */
  compare(other: RunCursor): number {
    return compareGroups(this.group, other.group) || this.timeUs - other.timeUs || this.run - other.run;
  }
}
