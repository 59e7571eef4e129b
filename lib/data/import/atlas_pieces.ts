/**
 * Reads pieces of JSON as columns of ping results, in worker threads and in this one.
 *
 * The calling thread cuts pieces out of a stream (json_stream.ts) and takes their results in the order of the text; it
 * reads a piece itself while the workers start or have enough to do. Memory holds a few pieces per worker, so what is
 * read depends neither on the number of workers nor on their speed.
 *
 * @module
 */
import { ensure, shortened } from "../../base/errors.ts";
import { MAX_NAME_LENGTH } from "../addresses/address_names.ts";
import { WorkerPool } from "../../io/threads/worker_pool.ts";
import {
  type AtlasObject,
  convertPing,
  type PingRow,
  type Rejection,
  resultType,
  type RttChoice,
  type SourceChoice,
} from "../measurement/atlas_result.ts";
import { globalpingRows, isGlobalping, NETWORK_SOURCE } from "./globalping.ts";
import { type JsonMark, type JsonPiece, parsePiece } from "../measurement/json_stream.ts";

/** Names of types are cut to this length. */
const MAX_TYPE_LENGTH = 80;
/** The type of a measurement of Globalping. */
const GLOBALPING = "globalping";
const WORKER = new URL("./piece_worker.ts", import.meta.url);
const PIECES_PER_WORKER = 8;

/** The choices of source address and RTT. */
export interface ReadingOptions {
  /** The choice of the source address: {@link NETWORK_SOURCE} for results that have no source address, `auto` for the others then. */
  source: SourceChoice | "network";
  /** The choice of one RTT from a result's replies. */
  rtt: RttChoice;
}

/**
 * The finding in an object: a ping result, one to reject, one of another type, JSON that is invalid, the beginning of
 * a measurement of Globalping, which has several results, or none of these.
 */
export const FOUND = { ping: 0, rejected: 1, other: 2, invalid: 3, measurement: 4, nothing: 5 } as const;

/** The numbers of a ping in {@link PieceResults.pings}; NaN stands for an unknown one of msm_id, prb_id and size. */
export const PING = {
  msmId: 0,
  prbId: 1,
  eventTimeUs: 2,
  sizeBytes: 3,
  ipVersion: 4,
  /** Index into `addresses`, like `dst`. */
  src: 5,
  dst: 6,
  numRows: 7,
} as const;
/** How many these are. */
export const PING_NUMBERS = 8;

/** The results in the objects of a piece, in order. Plain data, to send to another thread. */
export interface PieceResults {
  /** Per object: the number of results up to its end. */
  ends: Uint32Array<ArrayBuffer>;
  /** Per result: a value of {@link FOUND}. */
  kinds: Uint8Array<ArrayBuffer>;
  /** Per ping: the numbers of {@link PING}. */
  pings: Float64Array<ArrayBuffer>;
  /** Per row: RTT in milliseconds, lost packets. */
  rows: Float64Array<ArrayBuffer>;
  addresses: string[];
  /** The first name of each address that has one, by its index. */
  names: [address: number, name: string][];
  /** The results that are rejected, those of invalid JSON included. */
  rejections: Rejection[];
  /** The types of the other results. */
  types: string[];
  /** The measurements of Globalping: `numResults` follow the beginning of each. */
  measurements: { id: string; numResults: number }[];
}

/** Reads the results in the objects of a piece. */
export function readPiece(piece: JsonPiece, options: ReadingOptions): PieceResults {
  const kinds: number[] = [];
  const pings: number[] = [];
  const rows: number[] = [];
  const rejections: Rejection[] = [];
  const types: string[] = [];
  const measurements: PieceResults["measurements"] = [];
  const { source: asked, rtt } = options;
  const source = asked === NETWORK_SOURCE ? "auto" : asked;
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
  const skip = (type: string) => {
    kinds.push(FOUND.other);
    types.push(shortened(type, MAX_TYPE_LENGTH));
  };
  const addRow = (row: PingRow | Rejection): void => {
    if ("reason" in row) return reject(FOUND.rejected, row);
    kinds.push(FOUND.ping);
    const { msmId, prbId, eventTimeUs, sizeBytes, ipVersion, rttsMs, numLost } = row;
    const src = indexOfAddress(row.srcAddr, row.srcName);
    const dst = indexOfAddress(row.dstAddr, row.dstName);
    pings.push(msmId, prbId, eventTimeUs, sizeBytes, ipVersion, src, dst, rttsMs.length);
    for (let i = 0; i < rttsMs.length; i++) rows.push(rttsMs[i], numLost[i]);
  };
  const add = (result: AtlasObject, type: string): void => {
    if (type === "ping") addRow(convertPing(result, { source, rtt }));
    else if (type === GLOBALPING) {
      const found = [...globalpingRows(result, { rtt, withNetworks: asked === NETWORK_SOURCE })];
      if (found.length === 0) return;
      kinds.push(FOUND.measurement);
      measurements.push({ id: String(result.id), numResults: found.length });
      for (const row of found) {
        if ("skipped" in row) skip(row.skipped);
        else addRow(row);
      }
    } else skip(type);
  };
  const ends = new Uint32Array(piece.bounds.length / 2);
  parsePiece(piece, (object, index, offsetBytes) => {
    const numBefore = kinds.length;
    if (object) addResults(object, add);
    else reject(FOUND.invalid, { reason: "invalidJson", detail: `at byte ${offsetBytes}` });
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
    types,
    measurements,
  };
}

/** Adds the results in an object, in order: itself, or those anywhere inside it. */
function addResults(whole: AtlasObject, add: (result: AtlasObject, type: string) => void): void {
  const pending: unknown[] = [whole];
  while (pending.length > 0) {
    const value = pending.pop();
    if (typeof value !== "object" || value === null) continue;
    const object = value as AtlasObject;
    const type = Array.isArray(value)
      ? undefined
      : resultType(object) ?? (isGlobalping(object) ? GLOBALPING : undefined);
    if (type === undefined) { for (const inner of Object.values(value).reverse()) pending.push(inner); }
    else add(object, type);
  }
}

/** A piece that was read. */
export interface ReadPiece {
  /** Its file; the same object for all its pieces. */
  file: { path: string };
  /** The (compressed) bytes of all files up to its end. */
  numBytes: number;
  marks: readonly JsonMark[];
  results: PieceResults;
}

/** A piece that a worker has yet to read, or whose results wait for those before. */
interface ComingPiece extends Omit<ReadPiece, "results"> {
  results: PieceResults | undefined;
  asked?: Promise<void>;
}

/** Reads pieces in the order in which they are given. */
export class PieceReader implements Disposable {
  readonly #options: ReadingOptions;
  readonly #numWorkers: number;
  readonly #pool: WorkerPool<JsonPiece, PieceResults> | undefined;
  readonly #coming: ComingPiece[] = [];
  #numPending = 0;
  #isReady = false;
  #numAsked = 0;

  /** @param options `numThreads`: this one and workers; 1 for this thread only. */
  constructor(
    { source, rtt, numThreads, signal }: ReadingOptions & { numThreads: number; signal?: AbortSignal },
  ) {
    this.#options = { source, rtt };
    this.#numWorkers = numThreads - 1;
    if (this.#numWorkers < 1) return;
    this.#pool = new WorkerPool(this.#options, {
      name: "import",
      module: WORKER,
      numWorkers: this.#numWorkers,
      signal,
      transferOf: ({ bytes, bounds }: JsonPiece) => [bytes.buffer, bounds.buffer],
    });
    this.#pool.ready.then(() => this.#isReady = true, () => this.#isReady = true);
  }

  /** Takes a piece. @returns The pieces that are to be taken now. */
  async *read(file: { path: string }, numBytes: number, piece: JsonPiece): AsyncGenerator<ReadPiece> {
    const coming: ComingPiece = { file, numBytes, marks: piece.marks, results: undefined };
    this.#coming.push(coming);
    const isFree = this.#isReady && this.#numPending < PIECES_PER_WORKER * this.#numWorkers;
    if (this.#pool && isFree) {
      this.#numPending++;
      const asked = this.#pool.ask(this.#numAsked++ % this.#numWorkers, piece);
      coming.asked = asked.then((results) => {
        coming.results = results;
        this.#numPending--;
      });
      coming.asked.catch(() => {}); // thrown where the piece is taken
    } else coming.results = readPiece(piece, this.#options);
    yield* this.#take(2 * PIECES_PER_WORKER * this.#numWorkers);
  }

  /** The remaining pieces. */
  rest(): AsyncGenerator<ReadPiece> {
    return this.#take(0);
  }

  /** Takes pieces from the first on until so many are left, and those that are read already. */
  async *#take(numLeft: number): AsyncGenerator<ReadPiece> {
    for (let next = this.#coming[0]; next; next = this.#coming[0]) {
      if (!next.results && this.#coming.length <= numLeft) return;
      await next.asked;
      const { file, numBytes, marks, results } = next;
      ensure(results, "a piece was read");
      this.#coming.shift();
      yield { file, numBytes, marks, results };
    }
  }

  [Symbol.dispose](): void {
    this.#pool?.[Symbol.dispose]();
  }
}
