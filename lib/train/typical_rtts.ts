/**
 * The typical RTT of each pair of nodes in the training data; coordinates are fitted to it.
 *
 * @module
 */
import { NO_ROW } from "../model/row_table.ts";

/** The most pairs, some 0.2 kB each; further ones are left out. */
const MAX_PAIRS = 2 ** 22;
/** The typical RTT is the median of at most so many of a pair's RTTs, spread evenly over all of them. */
const NUM_KEPT = 15;

/** Some RTTs of a pair. */
interface KeptRtts {
  /** The first `count` are in use, ms. */
  readonly rttsMs: Float32Array;
  count: number;
  /** One of so many measurements is kept. */
  stride: number;
  numSeen: number;
}

/** Gathers the typical RTTs of pairs of nodes. */
export class TypicalRtts {
  /** By the pair, the lower node first. */
  readonly #kept = new Map<number, KeptRtts>();

  /** Adds a measurement between two nodes, `NO_ROW` for none. */
  add(a: number, b: number, rttMs: number): void {
    if (a === NO_ROW || b === NO_ROW || a === b) return;
    const key = Math.min(a, b) * 2 ** 24 + Math.max(a, b);
    let kept = this.#kept.get(key);
    if (!kept) {
      if (this.#kept.size === MAX_PAIRS) return;
      kept = { rttsMs: new Float32Array(NUM_KEPT), count: 0, stride: 1, numSeen: 0 };
      this.#kept.set(key, kept);
    }
    if (kept.numSeen++ % kept.stride !== 0) return;
    if (kept.count === NUM_KEPT) thin(kept);
    kept.rttsMs[kept.count++] = rttMs;
  }

  /** How many pairs have an RTT. */
  get numPairs(): number {
    return this.#kept.size;
  }

  /** The pairs, the lower node first, and the median of what was kept of each, ms. */
  pairs(): { a: Uint32Array; b: Uint32Array; rttMs: Float64Array } {
    const keys = [...this.#kept.keys()];
    return {
      a: Uint32Array.from(keys, (key) => Math.floor(key / 2 ** 24)),
      b: Uint32Array.from(keys, (key) => key % 2 ** 24),
      rttMs: Float64Array.from(
        this.#kept.values(),
        ({ rttsMs, count }) => rttsMs.slice(0, count).sort()[(count - 1) >> 1],
      ),
    };
  }
}

/** Keeps every second RTT. */
function thin(kept: KeptRtts): void {
  for (let i = 0; i < kept.count; i += 2) kept.rttsMs[i / 2] = kept.rttsMs[i];
  kept.count = Math.ceil(kept.count / 2);
  kept.stride *= 2;
}
