/**
 * Signs of work, by which the program's first thread distinguishes a stage that works from one that is stuck. They are counted
 * in memory that both threads see: a thread that is busy or blocked sends and receives nothing.
 *
 * @module
 */

const COUNT = 0;
const NUM_FLUSHING = 1;

/** The signs of this thread; undefined if no other thread reads them. */
let signs: Int32Array<SharedArrayBuffer> | undefined;

/** Makes memory for signs of work. */
export function newSigns(): Int32Array<SharedArrayBuffer> {
  return new Int32Array(new SharedArrayBuffer(8));
}

/** Counts the signs of this thread in memory that another one looks at from now on. */
export function countSignsIn(memory: Int32Array<SharedArrayBuffer>): void {
  signs = memory;
}

/** Counts a sign of work: a piece of work is done. Cheap enough to call often. */
export function signOfWork(): void {
  if (signs) Atomics.add(signs, COUNT, 1);
}

/** Waits for a disk to take what was written: a slow one may take long, and shows no sign. */
export function whileFlushing(flush: () => void): void {
  if (signs) Atomics.add(signs, NUM_FLUSHING, 1);
  try {
    flush();
  } finally {
    if (signs) Atomics.sub(signs, NUM_FLUSHING, 1);
  }
}

/** Looks at the signs of a thread again and again. */
export class SignObserver {
  #lastCount: number;

  /** @param signs Where the thread counts them. */
  constructor(readonly signs: Int32Array<SharedArrayBuffer>) {
    this.#lastCount = Atomics.load(signs, COUNT);
  }

  /** Whether the thread has worked since the last call, or waits for a disk. */
  hasWorked(): boolean {
    const count = Atomics.load(this.signs, COUNT);
    const hasCounted = count !== this.#lastCount;
    this.#lastCount = count;
    return hasCounted || Atomics.load(this.signs, NUM_FLUSHING) > 0;
  }
}
