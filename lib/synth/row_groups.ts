/**
 * Row groups of a campaign, encoded for the Parquet file. This thread or, with several threads, workers make them, in
 * the order of the file and with the same bytes for any number of threads.
 *
 * @module
 */
import { FAILED_RTT_MS } from "../measurement/batch.ts";
import { NULL_INDEX } from "../parquet/column_dictionary.ts";
import type { EncodedRowGroup } from "../parquet/output.ts";
import { encodeRowGroup, type OptionalColumn, ROW_GROUP_ROWS } from "../measurement/parquet_writer.ts";
import type { Campaign } from "./campaign.ts";
import { WorkerPool } from "../threads/worker_pool.ts";
import { RowGenerator, type SynthRows } from "./rows.ts";

const WORKER = new URL("./row_group_worker.ts", import.meta.url);
const PACKET_BYTES = 64;
/** An upper bound of IP versions and of packets per measurement. */
const SMALL_INTEGERS_END = 8;
/** The optional columns of the file. */
export const SYNTH_COLUMNS: readonly OptionalColumn[] = ["msmId", "prbId", "sizeBytes", "packetErrorCount"];

/** A row group, and its number of rows without a reply. */
export interface MadeRowGroup {
  group: EncodedRowGroup;
  numFailed: number;
}

/** Makes row groups of a campaign. */
export class RowGroupMaker {
  readonly #campaign: Campaign;
  readonly #generator: RowGenerator;
  readonly #src: IntegerDictionary;
  readonly #dst: IntegerDictionary;
  readonly #ipVersion = new IntegerDictionary(SMALL_INTEGERS_END);
  readonly #packetErrorCount = new IntegerDictionary(SMALL_INTEGERS_END);
  readonly #sizeBytes = { values: [PACKET_BYTES], indexes: new Int32Array(ROW_GROUP_ROWS) };

  constructor(campaign: Campaign) {
    this.#campaign = campaign;
    this.#generator = new RowGenerator(campaign, ROW_GROUP_ROWS);
    this.#src = new IntegerDictionary(campaign.addresses.length);
    this.#dst = new IntegerDictionary(campaign.addresses.length);
  }

  /** Makes a row group by its index in the file. */
  make(index: number): MadeRowGroup {
    const from = index * ROW_GROUP_ROWS;
    const rows = this.#generator.rows(from, Math.min(from + ROW_GROUP_ROWS, this.#campaign.numRows));
    let numFailed = 0;
    for (let i = 0; i < rows.numRows; i++) if (rows.rttMs[i] === FAILED_RTT_MS) numFailed++;
    return { group: this.#encode(rows), numFailed };
  }

  #encode(rows: SynthRows): EncodedRowGroup {
    const { numRows, eventTimeUs, rttMs } = rows;
    const { addresses, hosts } = this.#campaign;
    // Addresses and ids number the same hosts, so both columns have the same indexes.
    const src = this.#src.index(rows.src, numRows);
    const dst = this.#dst.index(rows.dst, numRows);
    return encodeRowGroup({
      numRows,
      eventTimeUs,
      srcAddr: { values: src.values.map((host) => addresses[host]), indexes: src.indexes },
      dstAddr: { values: dst.values.map((host) => addresses[host]), indexes: dst.indexes },
      ipVersion: this.#ipVersion.index(rows.ipVersion, numRows),
      rttMs,
      msmId: { values: dst.values.map((host) => hosts.id[host]), indexes: dst.indexes },
      prbId: { values: src.values.map((host) => hosts.id[host]), indexes: src.indexes },
      sizeBytes: this.#sizeBytes,
      packetErrorCount: this.#packetErrorCount.index(rows.packetErrorCount, numRows),
    }, SYNTH_COLUMNS);
  }
}

/**
 * Makes all row groups of a campaign. Memory holds two groups per worker, some 3 MB each.
 *
 * @param options `numThreads`: 1 for this thread; more are workers, and this thread only takes their results.
 *   `signal`: ends the work when it is aborted.
 * @throws {Error} If a worker dies.
 */
export async function* makeRowGroups(
  campaign: Campaign,
  { numThreads, signal }: { numThreads: number; signal?: AbortSignal | undefined },
): AsyncGenerator<MadeRowGroup> {
  const numGroups = Math.ceil(campaign.numRows / ROW_GROUP_ROWS);
  const places = Array.from({ length: numGroups }, (_, index) => index);
  const numWorkers = Math.min(numThreads, numGroups);
  if (numWorkers > 1) {
    const options = { name: "synth", module: WORKER, numWorkers, signal };
    using pool = new WorkerPool<number, MadeRowGroup>(campaign, options);
    return yield* pool.inOrder(places);
  }
  const maker = new RowGroupMaker(campaign);
  for (const index of places) {
    await new Promise((resolve) => setTimeout(resolve, 0)); // so that signals are handled
    signal?.throwIfAborted();
    yield maker.make(index);
  }
}

/** Numbers the distinct values of a column of small integers in the order of appearance. */
class IntegerDictionary {
  readonly #indexOf: Int32Array;
  readonly #indexes = new Int32Array(ROW_GROUP_ROWS);

  /** @param end All values are from 0 to `end - 1`. */
  constructor(end: number) {
    this.#indexOf = new Int32Array(end);
  }

  /** The dictionary of the first `numRows` values; its indexes are overwritten by the next call. */
  index(column: Int32Array, numRows: number): { values: number[]; indexes: Int32Array } {
    const indexOf = this.#indexOf.fill(NULL_INDEX);
    const indexes = this.#indexes;
    const values: number[] = [];
    for (let row = 0; row < numRows; row++) {
      const value = column[row];
      if (indexOf[value] === NULL_INDEX) indexOf[value] = values.push(value) - 1;
      indexes[row] = indexOf[value];
    }
    return { values, indexes };
  }
}
