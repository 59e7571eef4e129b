/**
 * The coordinates of addresses, which estimate RTTs of unmeasured pairs; see lib/model/coordinates/README.md.
 *
 * @module
 */
import {
  Coordinates,
  coordinateShapes,
  fitCoordinates,
  type LocatedNode,
  type SavedCoordinates,
} from "./coordinates/coordinates.ts";
import type { Fit, LocateOptions } from "./coordinates/factorisation.ts";
import type { KnownPairs } from "./coordinates/known_pairs.ts";
import { type TensorArray, tensorOf, type Tensors } from "../base/safetensors_header.ts";
import { EmbeddingTable, NO_ROW } from "./embedding_table.ts";
import type { RttEstimate } from "./selected_rows.ts";

/** The key `model.coordinates` of the configuration. */
export interface CoordinatesConfig {
  /** Number of addresses with coordinates, 16 to 16,777,216; further ones get none. */
  nodes: number;
  /** Length of an address's vectors, 1 to 64. */
  rank: number;
  /** Number of folds of the pairs, each with coordinates fitted without it: an even number from 4 to 30. */
  folds: number;
  /** Share of pairs, 0 to 0.95, with one endpoint hidden in training; each context hides different ones. */
  dropShare: number;
}

export const COORDINATE_KEYS = "coordinates.keys";
export function nameOfCoordinates(part: string): string {
  return `coordinates.${part}`;
}

/** The entries of coordinates in a checkpoint; see lib/model/EXACT.md. */
export function coordinateEntries(config: CoordinatesConfig): Map<string, number[]> {
  const entries = Object.entries(coordinateShapes(config)).map(
    ([part, shape]): [string, number[]] => {
      const columns = shape[shape.length - 1];
      return [nameOfCoordinates(part), [shape.reduce((a, b) => a * b) / columns, columns]];
    },
  );
  return new Map([[COORDINATE_KEYS, [config.nodes, 1]], ...entries]);
}

export class NodeCoordinates {
  readonly #nodes: EmbeddingTable;
  #coordinates: Coordinates | undefined;

  constructor(readonly config: CoordinatesConfig) {
    this.#nodes = new EmbeddingTable(0, config.nodes);
  }

  /** Reads the entries of {@link save}; zeros mean no coordinates. */
  load(weights: Tensors): void {
    this.#nodes.load(tensorOf(weights, COORDINATE_KEYS, "U32"));
    const parts = Object.keys(coordinateShapes(this.config));
    const saved = Object.fromEntries(
      parts.map((part) => [part, tensorOf(weights, nameOfCoordinates(part), "F32")]),
    );
    const { fits } = saved;
    this.#coordinates = fits.every((value) => value === 0)
      ? undefined
      : Coordinates.load(this.config, saved as unknown as SavedCoordinates);
  }

  save(weights: Map<string, TensorArray>): void {
    const keys = new Uint32Array(this.config.nodes);
    this.#nodes.save(keys);
    weights.set(COORDINATE_KEYS, keys);
    for (const [part, values] of Object.entries(this.#coordinates?.save() ?? {})) {
      weights.set(nameOfCoordinates(part), values);
    }
  }

  get numNodes(): number {
    return this.#nodes.numOwned;
  }

  /** The node of an address, by its hashes, or `NO_ROW`. @param claims See `EmbeddingTable.row`. */
  node(hash1: number, hash2: number, claims = false): number {
    return this.#nodes.row(hash1, hash2, claims);
  }

  fit(pairs: Omit<KnownPairs, "numNodes">): void {
    const { nodes, rank, folds } = this.config;
    this.#coordinates = fitCoordinates({ numNodes: nodes, ...pairs }, { rank, numFolds: folds });
  }

  /** The factorisation of all pairs, and its errors; undefined without coordinates. */
  get fitted(): Fit | undefined {
    return this.#coordinates?.fits[this.config.folds];
  }

  /** Whether training fitted coordinates to the node's own RTTs; false for nodes located afterwards. */
  isFitted(node: number): boolean {
    return node !== NO_ROW && (this.fitted?.factorisation.isFitted(node) ?? false);
  }

  /** Whether the RTTs of a node can be estimated. */
  hasCoordinates(node: number): boolean {
    return node !== NO_ROW && (this.#coordinates?.hasCoordinates(node) ?? false);
  }

  /**
   * Estimates the coordinates of another address from its RTTs to nodes.
   *
   * @param known Nodes, or `NO_ROW`, and their RTTs to the address in ms.
   * @param options `without`: nodes to ignore; others: see `Factorisation.locate`.
   * @returns Undefined if none of the nodes has coordinates.
   */
  locate(
    known: readonly { node: number; rttMs: number }[],
    options: LocateOptions = {},
  ): LocatedNode | undefined {
    const usable = known.filter(({ node }) => this.hasCoordinates(node) && !options.without?.has(node));
    return usable.length === 0 ? undefined : this.#coordinates?.locate(usable, options);
  }

  /** Sets nodes to coordinates found by {@link locate}. The loaded weights do not change. */
  put(places: ReadonlyMap<number, LocatedNode>): void {
    if (!this.#coordinates || places.size === 0) return;
    this.#coordinates = Coordinates.load(this.#coordinates.size, this.#coordinates.save());
    for (const [node, place] of places) this.#coordinates.put(node, place);
  }

  /**
   * Estimates the RTT of a pair of nodes. A node without coordinates, or `NO_ROW`, counts as a typical node.
   *
   * @param options `isTraining`: whether the estimate must exclude the pair's own RTT; `hidden`: whether each
   *   node counts as a typical node even if it has coordinates.
   * @returns Undefined without coordinates.
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
      const isKnown = node !== NO_ROW && !hidden[i] && coordinates.hasCoordinates(node, fold);
      return isKnown ? node : coordinates.typical;
    });
    const estimate = coordinates.estimate(placeA, placeB, fold);
    return estimate && { ...estimate, isOfBoth: typeof placeA === "number" && typeof placeB === "number" };
  }
}
