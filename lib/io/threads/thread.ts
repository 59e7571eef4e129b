/**
 * Threads that share a stage's work.
 *
 * A stage runs in a thread itself (lib/cli/stage_thread.ts), and a thread started from such a thread needs half a
 * second: 519 ms for an empty module, 20 ms from the program's first thread (Deno 2.9.6, two cores). So the first
 * thread starts the stage's threads, with the stage's permissions, and connects each with the stage by a port.
 *
 * @module
 */

/** A thread as its starter sees it: the part of Worker in use. */
export interface Thread {
  /** Called with each message of the thread. */
  onmessage: ((event: MessageEvent) => void) | null;
  /** Called when it dies. */
  onerror: ((event: Pick<ErrorEvent, "message" | "preventDefault">) => void) | null;
  /** Sends it a message. */
  postMessage(message: unknown, transfer?: Transferable[]): void;
  /** Ends it at once, whatever it is doing. */
  terminate(): void;
}

/** The message that gives a thread the port to the thread it works for. */
export interface Introduction {
  threadPort: MessagePort;
}

let start = (module: URL): Thread => new Worker(module, { type: "module" }) as Thread;

/** Starts a thread, whose module calls {@link serveThread}. */
export function startThread(module: URL): Thread {
  return start(module);
}

/** Replaces the way in which threads are started from now on. */
export function startThreadsWith(starter: (module: URL) => Thread): void {
  start = starter;
}

/**
 * Receives the messages of the thread that asked for this one.
 *
 * @param take Called with each message.
 * @returns Sends an answer.
 */
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
