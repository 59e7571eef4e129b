/**
 * Signs of work, by which the program's main thread distinguishes a working stage from a stuck one. They are
 * counted in memory shared by both threads, because a busy or blocked thread neither sends nor receives
 * messages.
 *
 * @module
 */

const COUNT = 0;
const NUM_FLUSHING = 1;

/** The signs of this thread; undefined if no other thread reads them. */
let signs: Int32Array<SharedArrayBuffer> | undefined;

export function newSigns(): Int32Array<SharedArrayBuffer> {
  return new Int32Array(new SharedArrayBuffer(8));
}

/** Counts the signs of this thread, from now on, in memory that another thread watches. */
export function countSignsIn(memory: Int32Array<SharedArrayBuffer>): void {
  signs = memory;
}

/** Signals that a piece of work is done. Cheap enough to call often. */
export function signOfWork(): void {
  if (signs) Atomics.add(signs, COUNT, 1);
}

/** Waits until a disk has stored what was written. A slow disk may take long without any sign of work. */
export function whileFlushing(flush: () => void): void {
  if (signs) Atomics.add(signs, NUM_FLUSHING, 1);
  try {
    flush();
  } finally {
    if (signs) Atomics.sub(signs, NUM_FLUSHING, 1);
  }
}

/** Checks a thread's signs repeatedly. */
export class SignObserver {
  #lastCount: number;

  /** @param signs Where the thread counts its signs. */
  constructor(readonly signs: Int32Array<SharedArrayBuffer>) {
    this.#lastCount = Atomics.load(signs, COUNT);
  }

  /** Whether the thread has worked since the last call or is waiting for a disk. */
  hasWorked(): boolean {
    const count = Atomics.load(this.signs, COUNT);
    const hasCounted = count !== this.#lastCount;
    this.#lastCount = count;
    return hasCounted || Atomics.load(this.signs, NUM_FLUSHING) > 0;
  }
}
