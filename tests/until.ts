// The real timers, even if a test replaces them.
const { setTimeout } = globalThis;
const now = performance.now.bind(performance);

const LONGEST_PAUSE_MS = 200;

/**
 * Waits for a condition. The time limit is long, since a machine may be slow.
 *
 * @param what Describes the condition in the error.
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
 * Waits for a condition while a process is working.
 *
 * @param what Describes the condition in the error.
 * @throws If the process ends first.
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
