/**
 * Sorts the rows to score by source and time on disk: they are read once, sorted within a memory limit, and
 * written as one file of blocks.
 *
 * @module
 */
import type { OptionalColumn } from "../../data/measurement_files/parquet_writer.ts";
import type { RejectLog } from "../../data/measurement_files/rejects.ts";
import { KeyTable, wordsToAddress } from "../../data/probe_rows/external_sort/keys.ts";
import { readKeyed, type SourcedKeyedBatch } from "../../data/probe_rows/keyed_reader.ts";
import {
  type GroupKey,
  nameColumns,
  type ProbeColumns,
} from "../../data/probe_rows/external_sort/probe_columns.ts";
import { PartitionSorter, type RowSink } from "../../data/probe_rows/external_sort/sorted_rows.ts";
import {
  type ColumnData,
  makeColumn,
  type SpillColumn,
  type SpillIndex,
  SpillReader,
  SpillWriter,
} from "../../data/probe_rows/external_sort/spill.ts";
import { EventLoopPacer, type StageHooks } from "../../io/threads/stage_hooks.ts";
import { tokenMeasurement } from "../query_tokens.ts";
import { addressBytes } from "../../data/addresses/ip.ts";
import type { TokenMeasurement } from "../../data/tokens/vocab_v2.ts";

const SCHEMA: readonly SpillColumn[] = [
  { name: "timeUs", type: "f64" },
  { name: "rttMs", type: "f64" },
  { name: "src", type: "key" },
  { name: "dst", type: "key" },
  { name: "group", type: "key" },
  { name: "number", type: "f64" },
];
/** Marks rows that are only history. */
const HISTORY = -1;
const BLOCK_ROWS = 4096;
/** Share of the memory limit for sorting; the rest is left for the program and the reader. */
const SORT_MEMORY_SHARE = 1 / 4;
const BUFFER_MEMORY_SHARE = 1 / 16;
/** Seed of the hash that orders sources. Any order will do. */
const HASH_SEED = 0;

interface OrderedRowsInput {
  inputs: readonly string[];
  /** Parquet files whose rows are only history. */
  history: readonly string[];
  groupBy: GroupKey;
}

interface OrderOptions {
  folder: string;
  memoryLimitBytes: number;
  rejects: RejectLog;
  /** Total number of rows in all files, for progress. */
  numRows: number;
  hooks: StageHooks;
}

interface OrderedRow {
  /** Index among the usable rows of the inputs; undefined if it is only history. */
  readonly number: number | undefined;
  readonly isFirstOfSource: boolean;
  readonly timeUs: number;
  readonly pair: string;
  readonly measurement: TokenMeasurement;
}

/** Reads rows with their keys. @param columns Optional columns to read too. */
export function readRows(
  paths: readonly string[],
  { groupBy, columns = [] }: { groupBy: GroupKey; columns?: readonly OptionalColumn[] },
  rejects: RejectLog,
): AsyncGenerator<SourcedKeyedBatch> {
  return readKeyed(paths, { groupBy, columns, seed: HASH_SEED, splitMode: undefined, rejects });
}

/** Writes the rows in order. @returns The input of {@link readOrdered}, and the number of rows to score. */
export async function orderRows(
  input: OrderedRowsInput,
  options: OrderOptions,
): Promise<{ index: SpillIndex; numRows: number; numRowsRead: number }> {
  const { folder, memoryLimitBytes, hooks } = options;
  const pacer = new EventLoopPacer(hooks);
  const spilled = await spillRows(input, options);
  const unsortedPath = `${folder}/unsorted.bin`;
  const numAll = spilled.index.numRows[0];
  using unsorted = new SpillReader([{ path: unsortedPath, index: spilled.index }], SCHEMA);
  using sorted = new SpillWriter(`${folder}/ordered.bin`, SCHEMA, {
    numPartitions: 1,
    bufferBytes: memoryLimitBytes * BUFFER_MEMORY_SHARE,
  });
  const sorter = new PartitionSorter(unsorted, {
    seed: HASH_SEED,
    memoryBytes: memoryLimitBytes * SORT_MEMORY_SHARE,
    runsPath: `${folder}/runs.bin`,
  });
  const sink = new OrderedSink(sorted, (done) => hooks.onProgress?.("sorting", done, numAll));
  await sorter.sort(0, sink, () => pacer.yieldToEventLoop());
  sink.flush();
  const index = sorted.finish();
  Deno.removeSync(unsortedPath);
  return { index, numRows: spilled.numRows, numRowsRead: spilled.numRowsRead };
}

async function spillRows(
  input: OrderedRowsInput,
  { folder, memoryLimitBytes, rejects, numRows: numAll, hooks }: OrderOptions,
): Promise<{ index: SpillIndex; numRows: number; numRowsRead: number }> {
  const pacer = new EventLoopPacer(hooks);
  using spill = new SpillWriter(`${folder}/unsorted.bin`, SCHEMA, {
    numPartitions: 1,
    bufferBytes: memoryLimitBytes * BUFFER_MEMORY_SHARE,
  });
  let numRows = 0;
  let numRowsRead = 0;
  for (const paths of [input.inputs, input.history]) {
    for await (const keyed of readRows(paths, input, rejects)) {
      const { batch } = keyed;
      const first = paths === input.inputs ? numRows : undefined;
      const columns = columnsOf(keyed, first);
      spill.append({ numRows: batch.numRows, columns, keys: keyed.keys }, new Uint32Array(batch.numRows));
      if (first !== undefined) numRows += batch.numRows;
      numRowsRead += batch.numRowsRead;
      hooks.onProgress?.("reading", numRowsRead, numAll);
      await pacer.yieldToEventLoop();
    }
    // The history has a separate key table.
    spill.flush(0);
  }
  return { index: spill.finish(), numRows, numRowsRead };
}

function columnsOf(
  { batch, srcId, dstId, groupId }: SourcedKeyedBatch,
  firstNumber: number | undefined,
): ColumnData[] {
  const numbers = Float64Array.from(
    { length: batch.numRows },
    (_, row) => firstNumber === undefined ? HISTORY : firstNumber + row,
  );
  return [batch.eventTimeUs, batch.rttMs, srcId, dstId, groupId, numbers];
}

/** Copies rows to a file with a new key table. */
class OrderedSink implements RowSink {
  readonly #columns = SCHEMA.map((column) => makeColumn(column, BLOCK_ROWS));
  readonly #keys = new KeyTable();
  readonly #order = Uint32Array.from({ length: BLOCK_ROWS }, (_, row) => row);
  #numRows = 0;
  #done = 0;

  constructor(readonly writer: SpillWriter, readonly onProgress: (done: number) => void) {}

  beginGroup(): void {}

  push({ timeUs, rttMs, src, dst, group, keys, further }: ProbeColumns, row: number): void {
    const at = this.#numRows++;
    const idOf = (id: number) => this.#keys.idIn(keys, id);
    const values = [
      timeUs[row],
      rttMs[row],
      idOf(src[row]),
      idOf(dst[row]),
      idOf(group[row]),
      further[0][row],
    ];
    this.#columns.forEach((column, c) => column[at] = values[c]);
    if (this.#numRows === BLOCK_ROWS) this.flush();
  }

  flush(): void {
    this.writer.appendTo(
      0,
      { columns: this.#columns, keys: this.#keys },
      this.#order.subarray(0, this.#numRows),
    );
    // The next rows have other keys.
    this.writer.flush(0);
    this.#keys.clear();
    this.onProgress(this.#done += this.#numRows);
    this.#numRows = 0;
  }
}

/** Reads the output of {@link orderRows}. @throws {UserError} If the file is incomplete. */
export function* readOrdered(folder: string, index: SpillIndex): Generator<OrderedRow> {
  using reader = new SpillReader([{ path: `${folder}/ordered.bin`, index }], SCHEMA);
  const keys = new KeyTable();
  let source = "";
  for (const block of reader.blocks(0)) {
    keys.clear();
    const into = SCHEMA.map((column) => makeColumn(column, block.numRows));
    block.read({ into, at: 0, keys });
    const columns = nameColumns(SCHEMA, into, keys);
    const addresses = new BlockAddresses(keys);
    for (let row = 0; row < block.numRows; row++) {
      const groupId = columns.group[row];
      const nextSource = `${keys.words.subarray(4 * groupId, 4 * groupId + 4)} ${keys.kinds[groupId]}`;
      yield { ...rowOf(columns, row, addresses), isFirstOfSource: nextSource !== source };
      source = nextSource;
    }
  }
}

function rowOf(
  columns: ProbeColumns,
  row: number,
  addresses: BlockAddresses,
): Omit<OrderedRow, "isFirstOfSource"> {
  const source = addresses.of(columns.src[row]);
  const destination = addresses.of(columns.dst[row]);
  const timeUs = columns.timeUs[row];
  const number = columns.further[0][row];
  return {
    number: number === HISTORY ? undefined : number,
    timeUs,
    pair: `${source.text} ${destination.text}`,
    measurement: tokenMeasurement({
      source: source.bytes,
      destination: destination.bytes,
      rttMs: columns.rttMs[row],
      eventTimeUs: timeUs,
    }),
  };
}

/** The addresses of a block by id, each decoded once. */
class BlockAddresses {
  readonly #known: { text: string; bytes: Uint8Array }[] = [];

  constructor(readonly keys: KeyTable) {}

  of(id: number): { text: string; bytes: Uint8Array } {
    if (!this.#known[id]) {
      const text = wordsToAddress(this.keys.words, 4 * id, this.keys.kinds[id]);
      this.#known[id] = { text, bytes: addressBytes(text) };
    }
    return this.#known[id];
  }
}
