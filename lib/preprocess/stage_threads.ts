/**
 * The threads of a stage: this one, which works too, and workers. With one thread there are no workers.
 *
 * A failure anywhere stops all threads, and the failure is reported only when every thread has put its files
 * away, so nothing is written afterwards.
 *
 * @module
 */
import type { ManifestOutput } from "../files/manifest.ts";
import { startThread, type Thread } from "../threads/thread.ts";
import type { ShareResult } from "./partition_share.ts";
import type { StageHooks } from "../threads/stage_hooks.ts";
import { fromPlainError, type StageReply, type StageRequest, type StageWork } from "./stage_messages.ts";

/** A thread has its own runtime, caches and buffers: 270 MB measured with 10 M rows and a limit of 2 GB. */
const THREAD_BYTES = 270e6;
/** Records that a thread's memory must hold beside what it is made of: its columns, bytes, compressed bytes. */
const RECORDS_PER_THREAD = 8;
const WORKER = new URL("./stage_worker.ts", import.meta.url);

/**
 * How many threads fit in memory.
 *
 * @param wanted Threads at most.
 * @param memoryLimitBytes For all threads together.
 * @param largestRecordBytes The largest record that a thread makes.
 * @returns At least 1.
 */
export function threadsWithin(wanted: number, memoryLimitBytes: number, largestRecordBytes = 0): number {
  const each = Math.max(THREAD_BYTES, RECORDS_PER_THREAD * largestRecordBytes);
  return Math.max(1, Math.min(wanted, Math.floor(memoryLimitBytes / each)));
}

/** What all threads do at a time. */
export interface StageRound<T> {
  /** This thread's work. */
  own(hooks: StageHooks): Promise<T>;
  /** The workers' work, at most one piece each. */
  requests: StageWork[];
  /** Called with the shards that workers finished. */
  onShard?(output: ManifestOutput): void;
  /** For progress. */
  phase: string;
  /** Rows in all. */
  total: number;
}

/** Runs rounds of work; to be disposed of. */
export class StageThreads {
  readonly #workers: Thread[];

  /**
   * @param numThreads This thread included.
   * @param stage What workers make their definition of the stage from.
   * @param module The workers' module.
   */
  constructor(
    readonly numThreads: number,
    stage: Omit<StageRequest & { kind: "begin" }, "kind">,
    module: URL = WORKER,
  ) {
    this.#workers = Array.from({ length: numThreads - 1 }, () => {
      const worker = startThread(module);
      post(worker, { kind: "begin", ...stage });
      return worker;
    });
  }

  /**
   * Does a round of work.
   *
   * @returns The results, this thread's first.
   * @throws What the first thread to fail threw.
   */
  async run<T>(round: StageRound<T>, hooks: StageHooks): Promise<[T, ...ShareResult[]]> {
    const failed = new AbortController();
    const rowsOf = new Float64Array(this.numThreads);
    const report = (thread: number, rows: number) => {
      rowsOf[thread] = rows;
      hooks.onProgress?.(round.phase, rowsOf.reduce((sum, value) => sum + value, 0), round.total);
    };
    const stop = (error: unknown) => {
      failed.abort(error);
      this.#workers.forEach((worker) => post(worker, { kind: "stop" }));
    };
    const signal = hooks.signal ? AbortSignal.any([hooks.signal, failed.signal]) : failed.signal;
    const guard = <R>(work: Promise<R>) =>
      work.catch((error) => {
        if (!failed.signal.aborted) stop(error);
        throw error;
      });
    const others = round.requests.map((work, i) =>
      guard(ask(this.#workers[i], work, {
        onRows: (rows) => report(i + 1, rows),
        onShard: (output) => round.onShard?.(output),
      }))
    );
    const own = guard(round.own({ signal, onProgress: (_phase, rows) => report(0, rows) }));
    await Promise.allSettled([own, ...others]);
    if (failed.signal.aborted) throw failed.signal.reason;
    const results = await Promise.all(others);
    return [await own, ...results.filter((result) => result !== undefined)];
  }

  [Symbol.dispose](): void {
    for (const worker of this.#workers) worker.terminate();
  }
}

function post(worker: Thread, request: StageRequest): void {
  worker.postMessage(request);
}

/** Gives a worker a piece of work and waits for its end. */
function ask(
  worker: Thread,
  work: StageWork,
  listener: { onRows(rows: number): void; onShard(output: ManifestOutput): void },
): Promise<ShareResult | undefined> {
  return new Promise((resolve, reject) => {
    worker.onerror = (event) => {
      event.preventDefault();
      reject(new Error(`a worker thread died: ${event.message}`));
    };
    worker.onmessage = ({ data }: MessageEvent<StageReply>) => {
      if (data.kind === "progress") listener.onRows(data.rows);
      else if (data.kind === "shard") listener.onShard(data.output);
      else if (data.kind === "done") resolve(data.result);
      else reject(fromPlainError(data.error));
    };
    post(worker, work);
  });
}
