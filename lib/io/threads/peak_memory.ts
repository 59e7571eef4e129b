/**
 * The peak resident memory of this process. The kernel's high-water mark (VmHWM of /proc/self/status,
 * proc(5)) can only be read with --allow-all, which the compiled binary has. With fewer permissions, the
 * resident memory is sampled.
 *
 * @module
 */

const SAMPLE_MS = 200;

/** Samples the resident set size until disposal. */
export class PeakMemory {
  #peakBytes = Deno.memoryUsage().rss;
  readonly #timer: ReturnType<typeof setInterval>;

  constructor() {
    this.#timer = setInterval(() => this.sample(), SAMPLE_MS);
  }

  /** Takes a sample now; the timer cannot run while the thread is busy. */
  sample(): void {
    this.#peakBytes = Math.max(this.#peakBytes, Deno.memoryUsage().rss);
  }

  get peakBytes(): number {
    this.sample();
    return Math.max(this.#peakBytes, highWaterMarkBytes() ?? 0);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}

function highWaterMarkBytes(): number | undefined {
  const path = "/proc/self/status";
  // Checked first, because a read without permission would prompt on a terminal.
  const isAllowed = Deno.permissions.querySync({ name: "read", path }).state === "granted";
  if (Deno.build.os !== "linux" || !isAllowed) return undefined;
  try {
    const kilobytes = /^VmHWM:\s+(\d+) kB$/m.exec(Deno.readTextFileSync(path))?.[1];
    return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
  } catch {
    return undefined;
  }
}
