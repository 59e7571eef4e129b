/** The RTTs of pairs of nodes, indexed by node for a factorisation. @module */
import { ensure } from "../../base/errors.ts";
import { mix } from "../../base/random.ts";
import { logOfRtt } from "./rtt_scale.ts";

/** Pairs of nodes whose RTT is known. Each pair occurs once, in either order. */
export interface KnownPairs {
  /** Node indexes are below `numNodes`. */
  readonly numNodes: number;
  /** The two nodes of each pair are in `a` and `b`. */
  readonly a: Uint32Array;
  readonly b: Uint32Array;
  /** The typical RTT of each pair, such as the median of its measurements. */
  readonly rttMs: Float64Array;
}

/** Assigns a pair, regardless of direction, to a fold from 0 to `numFolds - 1`. */
export function foldOfPair(a: number, b: number, numFolds: number): number {
  const [low, high] = a < b ? [a, b] : [b, a];
  return mix(mix(low + 1) ^ Math.imul(high + 1, 0x9e3779b9)) % numFolds;
}

/** The neighbours of each node: the other nodes of its pairs. Two entries per pair, 9 bytes each. */
export class Neighbours {
  /** Node i has the entries from `start[i]` to `start[i + 1] - 1`. */
  readonly start: Float64Array;
  readonly others: Uint32Array;
  /** Natural logarithms of RTTs in ms. */
  readonly logs: Float32Array;
  /** See {@link foldOfPair}. */
  readonly folds: Uint8Array;

  /** @param pairs Pairs of a node with itself are ignored. */
  constructor(readonly pairs: KnownPairs, readonly numFolds: number) {
    const { numNodes, a, b, rttMs } = pairs;
    ensure(
      b.length === a.length && rttMs.length === a.length,
      `${a.length}, ${b.length}, ${rttMs.length} pairs`,
    );
    this.start = new Float64Array(numNodes + 1);
    for (let i = 0; i < a.length; i++) {
      ensure(a[i] < numNodes && b[i] < numNodes, `a pair of nodes ${a[i]} and ${b[i]} of ${numNodes}`);
      if (a[i] === b[i]) continue;
      this.start[a[i] + 1]++;
      this.start[b[i] + 1]++;
    }
    for (let node = 0; node < numNodes; node++) this.start[node + 1] += this.start[node];
    const numEntries = this.start[numNodes];
    this.others = new Uint32Array(numEntries);
    this.logs = new Float32Array(numEntries);
    this.folds = new Uint8Array(numEntries);
    const next = this.start.slice();
    const add = (node: number, other: number, i: number) => {
      const entry = next[node]++;
      this.others[entry] = other;
      this.logs[entry] = logOfRtt(rttMs[i]);
      this.folds[entry] = foldOfPair(node, other, numFolds);
    };
    for (let i = 0; i < a.length; i++) {
      if (a[i] === b[i]) continue;
      add(a[i], b[i], i);
      add(b[i], a[i], i);
    }
  }

  get numNodes(): number {
    return this.pairs.numNodes;
  }
}

/** Folds that a fit ignores, one bit each. */
export type FoldSet = number;

/** The component of a node without known pairs. */
export const UNKNOWN = -1;

/**
 * Finds the connected components of a network.
 *
 * @param without Folds whose pairs are ignored.
 * @returns The component number of each node; {@link UNKNOWN} if the node has no known pairs.
 */
export function componentsOf(neighbours: Neighbours, without: FoldSet): Float32Array {
  const { start, others, folds, numNodes } = neighbours;
  const components = new Float32Array(numNodes).fill(UNKNOWN);
  const waiting = new Uint32Array(numNodes);
  for (let first = 0; first < numNodes; first++) {
    let numWaiting = 0;
    if (components[first] === UNKNOWN) waiting[numWaiting++] = first;
    while (numWaiting > 0) {
      const node = waiting[--numWaiting];
      for (let entry = start[node]; entry < start[node + 1]; entry++) {
        if (without >> folds[entry] & 1) continue;
        components[node] = first;
        if (components[others[entry]] !== UNKNOWN) continue;
        components[others[entry]] = first;
        waiting[numWaiting++] = others[entry];
      }
    }
  }
  return components;
}
