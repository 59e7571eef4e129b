/**
 * Row groups of a campaign, encoded for the Parquet file. This thread or, with several threads, workers make them, in
 * the order of the file and with the same bytes for any number of threads.
 *
 * @module
 */
import { RandomStream } from "../../base/random.ts";
import { FAILED_RTT_MS } from "../measurement/batch.ts";
import type { Campaign } from "./campaign.ts";
import { diurnalLoad, type LatencyModel, latencyUnderLoad } from "./latency_model.ts";
import { type EncodedRowGroup, NULL_INDEX } from "../../io/parquet/writer.ts";
import { encodeRowGroup, type OptionalColumn, ROW_GROUP_ROWS } from "../measurement_files/parquet_writer.ts";
import { WorkerPool } from "../../io/threads/worker_pool.ts";

// The measurements of a synthetic Internet, in order of time: like Atlas' built-in measurements, every probe
// measures the same destinations repeatedly.
//
// The rounds of a campaign repeat. Row i depends only on i, so any thread can make any rows.

const PACKETS = 3; // of one measurement, as Atlas sends them

/** Rows, one array per column; only the first `numRows` values are valid. */
export interface SynthRows {
  numRows: number;
  /** Indexes of the hosts. */
  src: Int32Array;
  dst: Int32Array;
  /** 4 or 6. */
  ipVersion: Int32Array;
  /** Microseconds since 1970. */
  eventTimeUs: Float64Array;
  /** Milliseconds, or {@link FAILED_RTT_MS}. */
  rttMs: Float64Array;
  /** Lost packets. */
  packetErrorCount: Int32Array;
}

/** Makes rows of a campaign, at most `maxRows` at a time. */
export class RowGenerator {
  readonly #campaign: Campaign;
  readonly #random: RandomStream;
  readonly #rows: SynthRows;

  constructor(campaign: Campaign, maxRows: number) {
    this.#campaign = campaign;
    this.#random = new RandomStream(campaign.seed, "synth/row");
    this.#rows = {
      numRows: 0,
      src: new Int32Array(maxRows),
      dst: new Int32Array(maxRows),
      ipVersion: new Int32Array(maxRows),
      eventTimeUs: new Float64Array(maxRows),
      rttMs: new Float64Array(maxRows),
      packetErrorCount: new Int32Array(maxRows),
    };
  }

  /** Rows `from` to `end - 1`, sorted by time; they are overwritten by the next call. */
  rows(from: number, end: number): SynthRows {
    const { numRows, startTimeS, endTimeS, pairs, hosts } = this.#campaign;
    const rows = this.#rows;
    const random = this.#random;
    const numPairs = pairs.src.length;
    let pair = from % numPairs;
    for (let row = from; row < end; row++) {
      const at = row - from;
      random.restart(row >>> 0, Math.floor(row / 2 ** 32));
      const timeS = Math.floor(startTimeS + (endTimeS - startTimeS) * (row + random.float64()) / numRows);
      const model = this.#model(pair, timeS);
      const rttMs = model.sample(random);
      const src = pairs.src[pair];
      rows.src[at] = src;
      rows.dst[at] = pairs.dst[pair];
      rows.ipVersion[at] = hosts.ipVersion[src];
      rows.eventTimeUs[at] = timeS * 1e6;
      rows.rttMs[at] = rttMs ?? FAILED_RTT_MS;
      rows.packetErrorCount[at] = rttMs === undefined
        ? PACKETS
        : random.float64() < 2 * model.pFailed
        ? 1
        : 0;
      if (++pair === numPairs) pair = 0;
    }
    rows.numRows = end - from;
    return rows;
  }

  #model(pair: number, timeS: number): LatencyModel {
    const { pairs, hosts: { longitude, diurnalMs } } = this.#campaign;
    const [src, dst] = [pairs.src[pair], pairs.dst[pair]];
    const busySrc = diurnalLoad(timeS, longitude[src]);
    const queueMs = diurnalMs[src] * busySrc + diurnalMs[dst] * diurnalLoad(timeS, longitude[dst]);
    const isChanged = timeS >= pairs.changeTimeS[pair];
    const path = {
      baseMs: isChanged ? pairs.changedBaseMs[pair] : pairs.baseMs[pair],
      jitterMs: isChanged ? pairs.changedJitterMs[pair] : pairs.jitterMs[pair],
      loss: pairs.loss[pair],
    };
    return latencyUnderLoad(path, { busySrc, queueMs });
  }
}

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
