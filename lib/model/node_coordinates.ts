/**
 * The coordinates of addresses: what RTT between two of them follows from the RTTs of each to others, see
 * lib/coordinates/coordinates.ts.
 *
 * @module
 */
import {
  Coordinates,
  coordinateShapes,
  type CoordinateSize,
  type NewNode,
  type SavedCoordinates,
} from "../coordinates/coordinates.ts";
import { fitCoordinates } from "../coordinates/fit.ts";
import type { KnownPairs } from "../coordinates/known_pairs.ts";
import { named } from "../errors.ts";
import { NO_ROW, RowTable } from "./row_table.ts";
import type { RttEstimate } from "./selected_rows.ts";

/** Coordinates of the addresses of the training data. */
export interface CoordinatesConfig {
  /** Of so many addresses, 16 to 16,777,216; what more there are have none. */
  nodes: number;
  /** Numbers of an address, 1 to 64. */
  rank: number;
  /** Parts of the pairs, each of which has coordinates that were fitted without it: an even number from 4 to 30. */
  folds: number;
  /** Share of the pairs, 0 to 0.95, that have no estimate in a context of the training, others in each. */
  dropShare: number;
}

/** Where a further address is. */
export type NodePlace = NewNode;

/** The name of the entry of keys in a checkpoint. */
export const COORDINATE_KEYS = "coordinates.keys";
/** That of a part of `SavedCoordinates`. */
export function nameOfCoordinates(part: string): string {
  return `coordinates.${part}`;
}

/** What a checkpoint holds of coordinates: keys of addresses, and see `coordinateShapes`. */
export function coordinateEntries(config: CoordinatesConfig): Map<string, number[]> {
  const entries = Object.entries(coordinateShapes(sizeOfCoordinates(config))).map(
    ([part, shape]): [string, number[]] => {
      const columns = shape[shape.length - 1];
      return [nameOfCoordinates(part), [shape.reduce((a, b) => a * b) / columns, columns]];
    },
  );
  return new Map([[COORDINATE_KEYS, [config.nodes, 2]], ...entries]);
}

/** How large they are. */
export function sizeOfCoordinates({ nodes, folds, rank }: CoordinatesConfig): CoordinateSize {
  return { numNodes: nodes, numFolds: folds, rank };
}

/** The coordinates of the addresses of a model. */
export class NodeCoordinates {
  readonly #nodes: RowTable;
  #coordinates: Coordinates | undefined;

  constructor(readonly config: CoordinatesConfig) {
    this.#nodes = new RowTable(0, config.nodes);
  }

  /** Takes what {@link save} wrote; nothing is known where all is zero. */
  load(weights: ReadonlyMap<string, Float32Array>): void {
    this.#nodes.load(named(weights, COORDINATE_KEYS));
    const parts = Object.keys(coordinateShapes(sizeOfCoordinates(this.config)));
    const saved = Object.fromEntries(parts.map((part) => [part, named(weights, nameOfCoordinates(part))]));
    this.#coordinates = Coordinates.load(
      sizeOfCoordinates(this.config),
      saved as unknown as SavedCoordinates,
    );
  }

  /** Sets the entries of a checkpoint. */
  save(weights: Map<string, Float32Array>): void {
    const keys = new Float32Array(2 * this.config.nodes);
    this.#nodes.save(keys);
    weights.set(COORDINATE_KEYS, keys);
    for (const [part, values] of Object.entries(this.#coordinates?.save() ?? {})) {
      weights.set(nameOfCoordinates(part), values);
    }
  }

  /** How many addresses have a number. */
  get numNodes(): number {
    return this.#nodes.numOwned;
  }

  /** The number of an address by its hashes, or `NO_ROW`. @param claims See `RowTable.row`. */
  node(hash1: number, hash2: number, claims = false): number {
    return this.#nodes.row(hash1, hash2, claims);
  }

  /** Fits the coordinates to the RTTs of pairs of nodes. */
  fit(pairs: Omit<KnownPairs, "numNodes">): void {
    const { nodes, rank, folds } = this.config;
    this.#coordinates = fitCoordinates({ numNodes: nodes, ...pairs }, {
      ...{ rank, numFolds: folds, maxBytes: Infinity },
    });
  }

  /** Whether RTTs of a node can be estimated. */
  hasPlace(node: number): boolean {
    return node !== NO_ROW && (this.#coordinates?.hasPlace(node) ?? false);
  }

  /**
   * Finds the place of a further address by nodes that have one; undefined if none has.
   *
   * @param known Nodes, or `NO_ROW`, and their RTTs to it in ms.
   * @param without Nodes that nothing is taken from.
   */
  locate(
    known: readonly { node: number; rttMs: number }[],
    without: ReadonlySet<number>,
  ): NodePlace | undefined {
    const usable = known.filter(({ node }) => this.hasPlace(node) && !without.has(node));
    return usable.length === 0 ? undefined : this.#coordinates?.locate(usable, without);
  }

  /** Gives nodes places of {@link locate}. What was loaded stays as it is. */
  put(places: ReadonlyMap<number, NodePlace>): void {
    if (!this.#coordinates || places.size === 0) return;
    this.#coordinates = Coordinates.load(this.#coordinates.size, this.#coordinates.save());
    for (const [node, place] of places) this.#coordinates.put(node, place);
  }

  /**
   * The estimate of a pair of nodes, `NO_ROW` for one that has no number; of what has no place as of a typical node.
   *
   * @param options `isTraining`: whether it is to be one that does not know the pair's RTT; `hidden`: which of the two is
   *   to have no place.
   * @returns Undefined where there are no coordinates.
   */
  estimate(
    a: number,
    b: number,
    options: { isTraining?: boolean; hidden?: readonly boolean[] } = {},
  ): RttEstimate | undefined {
    const { isTraining = false, hidden = [] } = options;
    const coordinates = this.#coordinates;
    if (!coordinates || (a === b && a !== NO_ROW)) return undefined;
    const fold = isTraining && a !== NO_ROW && b !== NO_ROW ? coordinates.foldOf(a, b) : this.config.folds;
    const [placeA, placeB] = [a, b].map((node, i) => {
      const isKnown = node !== NO_ROW && !hidden[i] && coordinates.hasPlace(node, fold);
      return isKnown ? node : coordinates.typical;
    });
    const estimate = coordinates.estimate(placeA, placeB, fold);
    return estimate && { ...estimate, isOfBoth: typeof placeA === "number" && typeof placeB === "number" };
  }
}
