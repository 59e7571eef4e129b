/**
 * The coordinates of addresses that differ between an adapted model and its base.
 *
 * @module
 */
import { numbersOfNode } from "../coordinates/coordinates.ts";
import { ensure, named } from "../errors.ts";
import type { ModelConfig } from "./model_config.ts";
import { COORDINATE_KEYS, nameOfCoordinates, sizeOfCoordinates } from "./node_coordinates.ts";

/** Some nodes of a model's coordinates, with their keys and values. */
export interface NodeDelta {
  /** Their numbers, ascending. */
  readonly nodes: Uint32Array;
  /** (nodes, 2): see `RowTable.save`. */
  readonly keys: Float32Array;
  /** (nodes, K), in the order of `numbersOfNode`. */
  readonly values: Float32Array;
}

/** A delta without nodes. */
export const NO_NODES: NodeDelta = {
  nodes: new Uint32Array(),
  keys: new Float32Array(),
  values: new Float32Array(),
};

/** K of {@link NodeDelta}; 0 without coordinates. */
export function numbersPerNode({ coordinates }: ModelConfig): number {
  if (!coordinates) return 0;
  return numbersOfNode(sizeOfCoordinates(coordinates), 0).reduce((sum, { length }) => sum + length, 0);
}

/** The weights with the coordinates of some nodes replaced; all other entries are shared. */
export function withNodeDelta(
  config: ModelConfig,
  weights: ReadonlyMap<string, Float32Array>,
  { nodes, keys, values }: NodeDelta,
): Map<string, Float32Array> {
  const changed = new Map(weights);
  if (nodes.length === 0) return changed;
  const copies = new Map<string, Float32Array>();
  eachPart(config, nodes, ({ name, start, length, at, ofKeys }) => {
    const copy = copies.get(name) ?? named(weights, name).slice();
    copies.set(name, copy);
    copy.set((ofKeys ? keys : values).subarray(at, at + length), start);
  });
  for (const [name, copy] of copies) changed.set(name, copy);
  return changed;
}

/** The coordinates of some nodes, as a delta. @param nodes Their numbers, ascending. */
export function nodeDeltaOf(
  config: ModelConfig,
  weights: ReadonlyMap<string, Float32Array>,
  nodes: Uint32Array,
): NodeDelta {
  const keys = new Float32Array(2 * nodes.length);
  const values = new Float32Array(numbersPerNode(config) * nodes.length);
  eachPart(config, nodes, ({ name, start, length, at, ofKeys }) => {
    (ofKeys ? keys : values).set(named(weights, name).subarray(start, start + length), at);
  });
  return { nodes, keys, values };
}

/** Where a part of a node's values lies in a checkpoint's entry, and in the delta's keys or values. */
interface Part {
  readonly name: string;
  readonly start: number;
  readonly length: number;
  readonly at: number;
  readonly ofKeys: boolean;
}

function eachPart({ coordinates }: ModelConfig, nodes: Uint32Array, visit: (part: Part) => void): void {
  ensure(nodes.every((node) => node < (coordinates?.nodes ?? 0)), "coordinates of another model");
  if (!coordinates) return;
  const size = sizeOfCoordinates(coordinates);
  let next = 0;
  nodes.forEach((node, i) => {
    visit({ name: COORDINATE_KEYS, start: 2 * node, length: 2, at: 2 * i, ofKeys: true });
    for (const { part, start, length } of numbersOfNode(size, node)) {
      visit({ name: nameOfCoordinates(part), start, length, at: next, ofKeys: false });
      next += length;
    }
  });
}
