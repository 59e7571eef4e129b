/** The components of a network: nodes that chains of known pairs connect. @module */
import type { FoldSet, Neighbours } from "./known_pairs.ts";

/** The component of a node without known pairs. */
export const UNKNOWN = -1;

/**
 * Finds the components of a network.
 *
 * @param without Folds whose pairs are ignored.
 * @returns The number of each node's component; {@link UNKNOWN} without known pairs.
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
