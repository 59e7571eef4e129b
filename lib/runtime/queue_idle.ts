/**
 * When a GPU becomes idle.
 *
 * @module
 */

/**
 * Waits until all submitted commands are done.
 *
 * The call itself blocks until then on Deno's WebGPU; its promise settles 11 ms later or more.
 *
 * @param startMs When the time began, of `performance.now()`.
 * @returns The seconds until the queue was idle.
 */
export async function secondsUntilIdle(queue: GPUQueue, startMs: number): Promise<number> {
  const done = queue.onSubmittedWorkDone();
  const seconds = (performance.now() - startMs) / 1000;
  await done;
  return seconds;
}
