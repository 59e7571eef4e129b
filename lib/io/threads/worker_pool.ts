/**
 * Worker threads that share a stage's work, and the messages between them and their pool.
 *
 * A worker first receives a setup for all its jobs, then jobs, which it does one after another and answers in
 * order. A job's error is thrown where its result is awaited: a user's mistake as a UserError, any other
 * error as a bug, with its stack trace.
 *
 * A stage itself runs in a thread (lib/cli/stage_thread.ts), and a thread started from such a thread needs
 * half a second: 519 ms for an empty module, compared with 20 ms from the main thread (Deno 2.9.6, two
 * cores). So the main thread starts the stage's threads, with the stage's permissions, and connects each to
 * the stage by a port.
 *
 * @module
 */
import { UserError } from "../../base/errors.ts";

/** The part of Worker in use: a thread as seen by its starter. */
export interface Thread {
  onmessage: ((event: MessageEvent) => void) | null;
  onerror: ((event: Pick<ErrorEvent, "message" | "preventDefault">) => void) | null;
  postMessage(message: unknown, transfer?: Transferable[]): void;
  /** Ends the thread immediately. */
  terminate(): void;
}

/** The message that gives a thread the port to the thread it works for. */
export interface Introduction {
  threadPort: MessagePort;
}

let start = (module: URL): Thread => new Worker(module, { type: "module" }) as Thread;

/** @param module Calls {@link serveThread}. */
export function startThread(module: URL): Thread {
  return start(module);
}

/** Replaces how threads are started from now on. */
export function startThreadsWith(starter: (module: URL) => Thread): void {
  start = starter;
}

/** Receives the messages of the thread that requested this one. @returns A function that sends an answer. */
export function serveThread<T>(
  take: (message: T) => void,
): (message: unknown, transfer?: Transferable[]) => void {
  const own = globalThis as unknown as Pick<MessagePort, "onmessage" | "postMessage">;
  let parent = own;
  own.onmessage = ({ data }: MessageEvent<T | Introduction>) => {
    if (typeof data !== "object" || data === null || !("threadPort" in data)) return take(data);
    parent = data.threadPort;
    parent.onmessage = (event: MessageEvent<T>) => take(event.data);
  };
  return (message, transfer = []) => parent.postMessage(message, transfer);
}

/** One running and one waiting: a worker is only idle while all its results wait to be taken. */
const JOBS_PER_WORKER = 2;

/** A message to a worker. `open` comes first. `open` and `job` are each answered once. */
type Request = { kind: "open"; setup: unknown } | { kind: "job"; job: unknown } | { kind: "stop" };

/** A message from a worker; `event` may come before the answer. */
type Reply =
  | { kind: "event"; event: unknown }
  | { kind: "done"; result: unknown }
  | { kind: "failed"; message: string; isUsers: boolean };

export interface JobContext<Event> {
  /** Aborted when the pool wants its workers to stop. */
  signal: AbortSignal;
  /** Sends an event to the pool while the job runs. */
  report(event: Event): void;
}

type JobHandler<Job, Result, Event> = (
  job: Job,
  context: JobContext<Event>,
) => Result | Promise<Result>;

/**
 * Does the jobs of a pool in this thread. A worker's module calls it once.
 *
 * @param open Makes the function that does the jobs from the pool's `setup`.
 * @param transferOf The parts of a result to transfer instead of copying.
 */
export function serveJobs<Setup, Job, Result, Event = never>(
  open: (setup: Setup) => JobHandler<Job, Result, Event> | Promise<JobHandler<Job, Result, Event>>,
  transferOf: (result: Result) => Transferable[] = () => [],
): void {
  const stopped = new AbortController();
  let handler: Promise<JobHandler<Job, Result, Event>> | undefined;
  const context: JobContext<Event> = {
    signal: stopped.signal,
    report: (event) => answer({ kind: "event", event } satisfies Reply),
  };
  const serve = async (request: Exclude<Request, { kind: "stop" }>): Promise<void> => {
    try {
      if (request.kind === "open") {
        handler = (async () => await open(request.setup as Setup))();
        await handler;
        return answer({ kind: "done", result: undefined } satisfies Reply);
      }
      const result = await (await handler)?.(request.job as Job, context) as Result;
      answer({ kind: "done", result } satisfies Reply, transferOf(result));
    } catch (error) {
      answer(failureOf(error));
    }
  };
  let served = Promise.resolve();
  const answer = serveThread((request: Request) => {
    if (request.kind === "stop") return stopped.abort(new Error("stopped"));
    served = served.then(() => serve(request));
  });
}

function failureOf(error: unknown): Reply {
  const isUsers = error instanceof UserError;
  const text = error instanceof Error ? error.stack ?? error.message : String(error);
  return { kind: "failed", message: isUsers ? error.message : text, isUsers };
}

interface PoolOptions<Job> {
  /** The workers' name in errors, such as `loader`. */
  name: string;
  /** The workers' module, which calls {@link serveJobs}. */
  module: URL;
  numWorkers: number;
  /** Makes all jobs fail when aborted. */
  signal?: AbortSignal | undefined;
  /** The parts of a job to transfer instead of copying; none by default. */
  transferOf?: ((job: Job) => Transferable[]) | undefined;
}

/** Workers of one module, which end when the pool is disposed of. */
export class WorkerPool<Job, Result, Event = never> implements Disposable {
  /** Resolves when all workers have taken the setup; rejects if one cannot. */
  readonly ready: Promise<void>;
  readonly #workers: PoolWorker[];
  readonly #started = new DisposableStack();
  readonly #transferOf: PoolOptions<Job>["transferOf"];

  /** @param setup Shared by all jobs. */
  constructor(setup: unknown, { name, module, numWorkers, signal, transferOf }: PoolOptions<Job>) {
    this.#transferOf = transferOf;
    this.#workers = Array.from(
      { length: numWorkers },
      (_, i) => this.#started.use(new PoolWorker(module, `${name} worker ${i + 1} of ${numWorkers}`)),
    );
    const fail = () => this.#workers.forEach((worker) => worker.fail(signal?.reason));
    signal?.addEventListener("abort", fail);
    this.#started.defer(() => signal?.removeEventListener("abort", fail));
    this.ready = Promise.all(this.#workers.map((worker) => worker.ask({ kind: "open", setup }))).then(
      () => {},
    );
    this.ready.catch(() => {}); // the jobs fail for the same reason
  }

  /**
   * Gives a job to a worker.
   *
   * @param onEvent Called with the events of the job.
   * @throws {UserError} If the job throws one.
   */
  ask(worker: number, job: Job, onEvent?: (event: Event) => void): Promise<Result> {
    const heard = onEvent as (event: unknown) => void;
    return this.#workers[worker].ask({ kind: "job", job }, heard, this.#transferOf?.(job)) as Promise<Result>;
  }

  /**
   * Gives jobs to the workers in turn, starting now, with two jobs per worker ahead of the results taken.
   *
   * @returns The results in job order, whatever the number of workers.
   */
  inOrder(jobs: Iterable<Job>): AsyncGenerator<Result, void> {
    const left = jobs[Symbol.iterator]();
    const coming: Promise<Result>[] = [];
    let numAsked = 0;
    const askAhead = () => {
      while (coming.length < JOBS_PER_WORKER * this.#workers.length) {
        const { value, done } = left.next();
        if (done) return;
        coming.push(this.ask(numAsked++ % this.#workers.length, value));
      }
    };
    askAhead();
    return (async function* () {
      while (coming.length > 0) {
        const result = await coming[0];
        coming.shift();
        askAhead();
        yield result;
      }
    })();
  }

  /** Aborts the signal of the running jobs. */
  stop(): void {
    for (const worker of this.#workers) worker.post({ kind: "stop" });
  }

  /** Ends the workers immediately. */
  [Symbol.dispose](): void {
    this.#started.dispose();
  }
}

class PoolWorker implements Disposable {
  readonly #thread: Thread;
  readonly #asked: (PromiseWithResolvers<unknown> & { onEvent: ((event: unknown) => void) | undefined })[] =
    [];
  #failure: Error | undefined;

  constructor(module: URL, readonly name: string) {
    this.#thread = startThread(module);
    this.#thread.onmessage = ({ data }: MessageEvent<Reply>) => this.#take(data);
    this.#thread.onerror = (event) => {
      event.preventDefault();
      this.fail(this.#bug(event.message));
    };
  }

  post(request: Request, transfer?: Transferable[]): void {
    this.#thread.postMessage(request, transfer);
  }

  ask(
    request: Request,
    onEvent?: (event: unknown) => void,
    transfer?: Transferable[],
  ): Promise<unknown> {
    if (this.#failure) return Promise.reject(this.#failure);
    const asked = { ...Promise.withResolvers<unknown>(), onEvent };
    asked.promise.catch(() => {}); // the awaiting caller sees the failure; after another failure nobody awaits it
    this.#asked.push(asked);
    this.post(request, transfer);
    return asked.promise;
  }

  fail(failure: Error): void {
    this.#failure = failure;
    for (const { reject } of this.#asked.splice(0)) reject(failure);
  }

  [Symbol.dispose](): void {
    this.#thread.terminate();
  }

  #take(reply: Reply): void {
    if (reply.kind === "event") return this.#asked[0]?.onEvent?.(reply.event);
    const asked = this.#asked.shift();
    if (reply.kind === "done") asked?.resolve(reply.result);
    else asked?.reject(reply.isUsers ? new UserError(reply.message) : this.#bug(reply.message));
  }

  #bug(message: string): Error {
    return new Error(`Internal error: ${this.name} failed: ${message}`);
  }
}
