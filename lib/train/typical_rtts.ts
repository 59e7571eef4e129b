/**
 * What RTT is typical of each pair of nodes in the training data, which coordinates are fitted to.
 *
 * @module
 */
import { NO_ROW } from "../model/row_table.ts";

/** Pairs whose RTTs coordinates are fitted to at most, some 0.2 kB each; further ones are left out. */
const MAX_PAIRS = 2 ** 22;
/** Of so many of a pair's RTTs at most, evenly spread over all, the median is its typical one. */
const NUM_KEPT = 15;

/** Some RTTs of a pair. */
interface KeptRtts {
  /** The first `count` of them are there, ms. */
  readonly rttsMs: Float32Array;
  count: number;
  /** Of so many measurements one is kept. */
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

/** Leaves every second one. */
function thin(kept: KeptRtts): void {
  for (let i = 0; i < kept.count; i += 2) kept.rttsMs[i / 2] = kept.rttsMs[i];
  kept.count = Math.ceil(kept.count / 2);
  kept.stride *= 2;
}
