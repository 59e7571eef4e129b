/**
 * The threads that share a stage's work.
 *
 * A stage runs in a thread itself (lib/cli/stage_thread.ts), and what such a thread starts waits half a second before
 * it begins: 519 ms for an empty module, 20 ms from the program's first thread (Deno 2.9.6, two cores). So a stage has
 * the first thread start its threads, with the stage's permissions, and is connected with each by a port.
 *
 * @module
 */

/** A thread, from the side of whoever started it: what is used of a Worker. */
export interface Thread {
  /** Called with what the thread says. */
  onmessage: ((event: MessageEvent) => void) | null;
  /** Called when it dies. */
  onerror: ((event: Pick<ErrorEvent, "message" | "preventDefault">) => void) | null;
  /** Says something to it. */
  postMessage(message: unknown, transfer?: Transferable[]): void;
  /** Ends it, whatever it is at. */
  terminate(): void;
}

/** To a thread that was started for another one: the port to that one. */
export interface Introduction {
  threadPort: MessagePort;
}

let start = (module: URL): Thread => new Worker(module, { type: "module" }) as Thread;

/** Starts a thread, whose module calls {@link serveThread}. */
export function startThread(module: URL): Thread {
  return start(module);
}

/** Has threads started in another way from now on. */
export function startThreadsWith(starter: (module: URL) => Thread): void {
  start = starter;
}

/**
 * Takes what the thread that wanted this one says.
 *
 * @param take Called with each message.
 * @returns Answers.
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
