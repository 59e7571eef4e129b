/**
 * Waits for a GPU to become idle.
 *
 * @module
 */

/**
 * Waits until all submitted commands are done.
 *
 * On Deno's WebGPU the call itself blocks until then, and its promise settles 11 ms later or more. Elsewhere (Dawn,
 * browsers) the call returns at once, and the promise settles when the queue is idle.
 *
 * @param startMs The start time, of `performance.now()`.
 * @returns The seconds until the queue was idle.
 */
export async function secondsUntilIdle(queue: GPUQueue, startMs: number): Promise<number> {
  const done = queue.onSubmittedWorkDone();
  const calledMs = performance.now();
  await done;
  const isOfDeno = Symbol.for("Deno.privateCustomInspect") in queue;
  return ((isOfDeno ? calledMs : performance.now()) - startMs) / 1000;
}
