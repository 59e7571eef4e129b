// The machine's own timers, also where a test replaces them.
const { setTimeout } = globalThis;
const now = performance.now.bind(performance);

const LONGEST_PAUSE_MS = 200;

/**
 * Waits until something holds. A machine may be slow, so the time limit is long.
 *
 * @param what For the error after the time limit.
 */
export async function until(
  what: string | (() => string),
  holds: () => boolean | Promise<boolean>,
  seconds = 300,
): Promise<void> {
  const endMs = now() + 1000 * seconds;
  for (let pauseMs = 1; !(await holds()); pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    if (now() > endMs) {
      throw new Error(`${typeof what === "string" ? what : what()}: not after ${seconds} s`);
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
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
