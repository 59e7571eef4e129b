/**
 * Reads pieces of JSON as columns of results, in worker threads and in this one.
 *
 * The calling thread cuts pieces out of a stream (`lib/io/text/json_stream.ts`) and takes their results in text
 * order. It reads a piece itself while the workers are starting or busy. Records of a table are read here and in
 * order, since they depend on those before. Memory holds a few pieces per worker. Pieces are parsed by
 * `JSON.parse`: a streaming parser (`@streamparser/json` 0.0.22) took 14 times as long.
 *
 * @module
 */
import { FormatError, shortened } from "../../base/errors.ts";
import { MAX_NAME_LENGTH } from "../addresses/address_names.ts";
import { WorkerPool } from "../../io/threads/worker_pool.ts";
import type { Finding, ReadingOptions, Rejection } from "../formats/format.ts";
import type { Reading } from "../formats/reading.ts";
import { resultsIn } from "../formats/registry.ts";
import { decompressWhole } from "../../io/compression/decompress.ts";
import { ToUtf8 } from "../../io/text/utf8.ts";
import { type JsonMark, JsonObjectScanner, type JsonPiece, parsePiece } from "../../io/text/json_stream.ts";

const WORKER = new URL("./piece_worker.ts", import.meta.url);
const PIECES_PER_WORKER = 8;

export const FOUND = {
  ping: 0,
  /** A ping without a key, which cannot repeat an earlier one. */
  record: 1,
  rejected: 2,
  skipped: 3,
  invalid: 4,
  /** The beginning of an object with an id and several results. */
  measurement: 5,
  nothing: 6,
} as const;

/** Indexes in {@link PieceResults.pings} of a ping's numbers. An unknown msm_id, prb_id or size is NaN. */
export const PING = {
  msmId: 0,
  prbId: 1,
  eventTimeUs: 2,
  sizeBytes: 3,
  ipVersion: 4,
  /** Index into `addresses`, as is `dst`. */
  src: 5,
  dst: 6,
  numRows: 7,
} as const;
export const PING_NUMBERS = 8;

/** The results in a piece, in order, as plain data that can be sent to another thread. */
export interface PieceResults {
  /** Number of results up to the end of each object. */
  ends: Uint32Array<ArrayBuffer>;
  /** A value of {@link FOUND} per result. */
  kinds: Uint8Array<ArrayBuffer>;
  /** The numbers of {@link PING} per ping. */
  pings: Float64Array<ArrayBuffer>;
  /** RTT in milliseconds and lost packets per row. */
  rows: Float64Array<ArrayBuffer>;
  addresses: string[];
  /** The first name of each address that has one, with the address's index. */
  names: [address: number, name: string][];
  /** Includes invalid JSON. */
  rejections: Rejection[];
  skipped: string[];
  /** Objects with an id. `numResults` results follow the beginning of each. */
  measurements: { id: string; numResults: number }[];
  /** How the results are read; the same object may repeat in other pieces. */
  readings: Reading[];
  /** Whether they depend on the results before the piece. */
  isInOrder: boolean;
}

/** Options with the readings of a piece, and with the state of the records before it. */
export interface PieceOptions extends ReadingOptions {
  readonly readings: Set<Reading>;
}

export function pieceOptions(options: ReadingOptions): PieceOptions {
  const readings = new Set<Reading>();
  return { ...options, readings, onReading: (reading) => void readings.add(reading) };
}

function readPiece(piece: JsonPiece, options: PieceOptions): PieceResults {
  options.readings.clear();
  let isInOrder = false;
  const kinds: number[] = [];
  const pings: number[] = [];
  const rows: number[] = [];
  const rejections: Rejection[] = [];
  const skipped: string[] = [];
  const measurements: PieceResults["measurements"] = [];
  const indexOf = new Map<string, number>();
  const names = new Map<number, string>();
  const indexOfAddress = (address: string, name: string | undefined): number => {
    let index = indexOf.get(address);
    if (index === undefined) indexOf.set(address, index = indexOf.size);
    if (name !== undefined && !names.has(index)) names.set(index, shortened(name, MAX_NAME_LENGTH));
    return index;
  };
  const reject = (kind: number, rejection: Rejection) => {
    kinds.push(kind);
    rejections.push(rejection);
  };
  const add = (finding: Finding, kind: number): void => {
    if ("reason" in finding) return reject(FOUND.rejected, finding);
    if ("skipped" in finding) {
      kinds.push(FOUND.skipped);
      skipped.push(finding.skipped);
      return;
    }
    kinds.push(kind);
    const { msmId, prbId, eventTimeUs, sizeBytes, ipVersion, rttsMs, numLost } = finding;
    const src = indexOfAddress(finding.srcAddr, finding.srcName);
    const dst = indexOfAddress(finding.dstAddr, finding.dstName);
    pings.push(msmId, prbId, eventTimeUs, sizeBytes, ipVersion, src, dst, rttsMs.length);
    for (let i = 0; i < rttsMs.length; i++) rows.push(rttsMs[i], numLost[i]);
  };
  const ends = new Uint32Array(piece.bounds.length / 2);
  parsePiece(piece, (object, index, offsetBytes) => {
    const numBefore = kinds.length;
    if (!object) reject(FOUND.invalid, { reason: "invalidJson", found: `at byte ${offsetBytes}` });
    for (const [result, format] of object ? resultsIn(object, options) : []) {
      const kind = format.hasKeys ? FOUND.ping : FOUND.record;
      isInOrder ||= format.end !== undefined;
      if (format.idOf) {
        const found = [...format.findings(result, options)];
        kinds.push(FOUND.measurement);
        measurements.push({ id: format.idOf(result), numResults: found.length });
        for (const finding of found) add(finding, kind);
      } else for (const finding of format.findings(result, options)) add(finding, kind);
    }
    if (kinds.length === numBefore) kinds.push(FOUND.nothing);
    ends[index] = kinds.length;
  });
  return {
    ends,
    kinds: new Uint8Array(kinds),
    pings: new Float64Array(pings),
    rows: new Float64Array(rows),
    addresses: [...indexOf.keys()],
    names: [...names],
    rejections,
    skipped,
    measurements,
    readings: [...options.readings],
    isInOrder,
  };
}

/** Size of the longest (decompressed) file that is read as one piece. Most files of results are shorter. */
const MAX_WHOLE_BYTES = 1 << 23;

/** A piece of JSON, or a whole file as it is on disk. */
export type Job = JsonPiece | { whole: Uint8Array<ArrayBuffer> };

/** Undefined for a file that has to be read as a stream. A piece that depends on those before comes back. */
export type JobResults = { results: PieceResults; marks: JsonMark[]; piece?: JsonPiece } | undefined;

export function readJob(job: Job, options: PieceOptions): JobResults {
  if (!("whole" in job)) {
    const results = readPiece(job, options);
    return { results, marks: job.marks, ...(results.isInOrder ? { piece: job } : {}) };
  }
  const bytes = decompressWhole(job.whole, MAX_WHOLE_BYTES);
  if (!bytes) return undefined;
  const scanner = new JsonObjectScanner("");
  try {
    const piece = scanner.push(new ToUtf8().push(bytes));
    scanner.end();
    return { results: readPiece(piece, options), marks: piece.marks };
  } catch (error) {
    if (error instanceof FormatError) return undefined;
    throw error;
  }
}

export interface ReadPiece {
  /** The same object for all pieces of a file. */
  file: { path: string };
  /** Number of (compressed) bytes of all files up to the end of this piece. */
  numBytes: number;
  /** Undefined for a whole file that has to be read as a stream. */
  found: JobResults;
}

/** A piece that waits for its worker or for earlier pieces. */
interface ComingPiece extends ReadPiece {
  /** Settles when a worker has read the piece; undefined afterwards. */
  asked: Promise<void> | undefined;
  /** Whether the piece was read after all those before it. */
  isInOrder: boolean;
  /** Until it is read in order. */
  job?: Job;
}

/** Reads pieces and returns their results in the same order. */
export class PieceReader implements Disposable {
  readonly #numWorkers: number;
  /** Started by the first piece. */
  #pool: WorkerPool<Job, JobResults> | undefined;
  readonly #coming: ComingPiece[] = [];
  #numPending = 0;
  #isReady = false;
  #numAsked = 0;
  /** Files whose results depend on those before. */
  readonly #inOrder = new WeakSet<object>();

  /**
   * @param options Hold the state of what was read in order.
   * @param threads `numThreads`: this thread and workers; 1 for this thread only. `onFile`: called with the file
   *   of each piece that is read in order, before it is read.
   */
  constructor(
    readonly options: PieceOptions,
    readonly threads: {
      numThreads: number;
      onFile: (file: { path: string }) => void;
      signal?: AbortSignal | undefined;
    },
  ) {
    this.#numWorkers = threads.numThreads - 1;
  }

  #start(): void {
    if (this.#pool || this.#numWorkers < 1) return;
    this.#pool = new WorkerPool({ ...this.options, onReading: undefined }, {
      name: "import",
      module: WORKER,
      numWorkers: this.#numWorkers,
      signal: this.threads.signal,
      transferOf: (job: Job) => "whole" in job ? [job.whole.buffer] : [job.bytes.buffer, job.bounds.buffer],
    });
    this.#pool.ready.then(() => this.#isReady = true, () => this.#isReady = true);
  }

  /** Adds a piece. @returns The pieces that are ready to be taken. */
  async *read(file: { path: string }, numBytes: number, job: Job): AsyncGenerator<ReadPiece> {
    this.#start();
    const isInOrder = this.#coming.length === 0;
    const coming: ComingPiece = { file, numBytes, found: undefined, asked: undefined, isInOrder };
    this.#coming.push(coming);
    const isFree = this.#isReady && this.#numPending < PIECES_PER_WORKER * this.#numWorkers;
    if (this.#inOrder.has(file) && !isInOrder) coming.job = job;
    else if (this.#pool && isFree && !this.#inOrder.has(file)) {
      coming.isInOrder = false;
      this.#numPending++;
      coming.asked = this.#pool.ask(this.#numAsked++ % this.#numWorkers, job).then((found) => {
        coming.found = found;
        coming.asked = undefined;
        this.#numPending--;
      });
      coming.asked.catch(() => {}); // thrown when the piece is taken
    } else coming.found = isInOrder ? this.#read(coming, job) : readJob(job, pieceOptions(this.options));
    yield* this.#take(2 * PIECES_PER_WORKER * this.#numWorkers);
  }

  rest(): AsyncGenerator<ReadPiece> {
    return this.#take(0);
  }

  /** Takes pieces in order until `numLeft` remain, then further ones that have already been read. */
  async *#take(numLeft: number): AsyncGenerator<ReadPiece> {
    for (let next = this.#coming[0]; next; next = this.#coming[0]) {
      if (next.asked && this.#coming.length <= numLeft) return;
      await next.asked;
      this.#coming.shift();
      this.#readInOrder(next);
      yield next;
    }
  }

  #readInOrder(next: ComingPiece): void {
    const { job, file, found, isInOrder } = next;
    if (found?.results.isInOrder) this.#inOrder.add(file);
    else if (!job) return;
    const piece = job ?? found?.piece;
    if (!isInOrder) next.found = piece && this.#read(next, piece);
  }

  #read({ file }: ComingPiece, job: Job): JobResults {
    this.threads.onFile(file);
    return readJob(job, this.options);
  }

  [Symbol.dispose](): void {
    this.#pool?.[Symbol.dispose]();
  }
}
