/**
 * Reads measurements in threads: whatever a body contains, the server's own thread goes on answering.
 *
 * Threads are started when all others are busy. Bodies share them, so a client that sends slowly occupies
 * none. A thread that needs longer than a request may take for one part of a body is ended, with all requests
 * whose bodies it was reading.
 *
 * @module
 */
import { UserError } from "../base/errors.ts";
import { WorkerPool } from "../io/threads/worker_pool.ts";
import { type Line, type MeasurementLinesOptions, together } from "../query/questions/lines.ts";
import { stoppingError } from "./answers.ts";
import { ApiError } from "./api/api_error.ts";
import type { ReadingJob, ReadLine, ReadPart } from "./reading_worker.ts";

const MODULE = new URL("./reading_worker.ts", import.meta.url);
const MAX_THREADS = 4;
/** Maximum lines per message to a thread. */
const MAX_PART_LINES = 256;

export class ReadingThreads implements Disposable {
  readonly #threads = new Set<ReadingThread>();
  #numBodies = 0;

  /** @param maxPartS Maximum time for one part of a body, s. */
  constructor(readonly maxPartS: number) {}

  /**
   * Reads the measurements in a body.
   *
   * @throws {UserError} If the body cannot be read.
   * @throws {ApiError} 503 if the thread takes too long; the reason of an aborted signal is thrown unchanged.
   */
  async *read(
    texts: AsyncIterable<string>,
    { onReading, ...options }: MeasurementLinesOptions,
    signal?: AbortSignal,
  ): AsyncGenerator<Line> {
    const body = this.#numBodies++;
    const aborted = Promise.withResolvers<never>();
    aborted.promise.catch(() => {});
    const abort = () => aborted.reject(signal?.reason);
    signal?.addEventListener("abort", abort);
    const thread = this.#freest();
    thread.numBodies++;
    const part = async function* (texts?: readonly string[]): AsyncGenerator<Line> {
      const asked = thread.ask({ body, options, ...(texts && { texts }) });
      const { lines, readings, fault } = await Promise.race([asked, aborted.promise]);
      for (const reading of readings) onReading?.(reading);
      for (const line of lines) yield { line: line.line, read: () => valueOf(line) };
      if (fault !== undefined) throw new UserError(fault);
    };
    try {
      for await (const group of together(texts, MAX_PART_LINES)) yield* part(group);
      yield* part();
    } finally {
      signal?.removeEventListener("abort", abort);
      thread.numBodies--;
      thread.ask({ body }).catch(() => {});
    }
  }

  /** Ends the threads. */
  [Symbol.dispose](): void {
    for (const thread of this.#threads) thread[Symbol.dispose]();
  }

  #freest(): ReadingThread {
    const [freest] = [...this.#threads].sort((a, b) => a.numAsked - b.numAsked || a.numBodies - b.numBodies);
    if (freest && (freest.numAsked === 0 || this.#threads.size === MAX_THREADS)) return freest;
    const thread = new ReadingThread(this.maxPartS, () => this.#threads.delete(thread));
    this.#threads.add(thread);
    return thread;
  }
}

class ReadingThread implements Disposable {
  readonly #ended = new AbortController();
  readonly #pool = new WorkerPool<ReadingJob, ReadPart>(null, {
    name: "reading",
    module: MODULE,
    numWorkers: 1,
    signal: this.#ended.signal,
  });
  numBodies = 0;
  /** Parts that are not read yet. */
  numAsked = 0;

  /** @param onEnd Called when the thread has ended. */
  constructor(readonly maxPartS: number, readonly onEnd: () => void) {}

  async ask(job: ReadingJob): Promise<ReadPart> {
    this.numAsked++;
    let timer: ReturnType<typeof setTimeout> | undefined;
    try {
      await this.#pool.ready;
      timer = setTimeout(() => this.#end(this.#tooLong()), 1000 * this.maxPartS);
      return await this.#pool.ask(0, job);
    } catch (error) {
      this.#end(error);
      throw error;
    } finally {
      clearTimeout(timer);
      this.numAsked--;
    }
  }

  [Symbol.dispose](): void {
    this.#end(stoppingError());
  }

  #tooLong(): ApiError {
    const found = `the measurements took more than ${this.maxPartS} s to read`;
    return new ApiError(503, `Cannot answer: ${found}; send fewer at once`);
  }

  #end(reason: unknown): void {
    if (this.#ended.signal.aborted) return;
    this.#ended.abort(reason);
    this.#pool[Symbol.dispose]();
    this.onEnd();
  }
}

function valueOf({ value, error }: ReadLine): unknown {
  if (error === undefined) return value;
  throw new UserError(error);
}
