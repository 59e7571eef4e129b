/**
 * Waits until something holds. A machine may be slow, so the time limit is long.
 *
 * @param what For the error after the time limit.
 */
export async function until(
  what: string,
  holds: () => boolean | Promise<boolean>,
  seconds = 90,
): Promise<void> {
  for (const endMs = performance.now() + 1000 * seconds; !(await holds());) {
    if (performance.now() > endMs) throw new Error(`${what}: not after ${seconds} s`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

/**
 * Waits until something holds while a process is at work.
 *
 * @param child The process.
 * @param what For the error.
 * @throws If the process ends before.
 */
export async function untilAtWork(
  child: Pick<Deno.ChildProcess, "status">,
  what: string,
  holds: () => boolean,
): Promise<void> {
  let isOver = false;
  void child.status.then(() => isOver = true);
  while (!holds()) {
    if (isOver) throw new Error(`the process ended before ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}
