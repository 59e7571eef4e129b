/**
 * The address embeddings and coordinates that differ between an adapted model and its base.
 *
 * @module
 */
import { numbersOfNode } from "./coordinates/coordinates.ts";
import { ensure, named } from "../base/errors.ts";
import type { TensorArray, Tensors } from "../base/safetensors_header.ts";
import { EMBEDDING_KEYS, type ModelConfig, modelShapes, PAIR_HISTORY } from "./model_config.ts";
import { COORDINATE_KEYS, nameOfCoordinates } from "./node_coordinates.ts";
import { HISTORY_LENGTH } from "./pair_history.ts";

export const EMBEDDING_VALUES = "address_embed.weight";

/** @internal Some address embeddings of a model with their keys and values, and some nodes of its coordinates. */
export interface EmbeddingUpdate {
  /** Indexes, ascending. */
  readonly rows: Uint32Array;
  /** (rows): see `AddressEmbeddings.save`. */
  readonly keys: Uint32Array;
  /** (rows, C). */
  readonly values: Float32Array;
  /** (rows, K): newest RTTs of pairs (`PairHistory.save`); zeros for prefixes. K is 0 without histories. */
  readonly history: Uint32Array;
  /** Changed nodes of the coordinates. */
  readonly coordinates: NodeUpdate;
}

/** Some nodes of a model's coordinates, with their keys and values. */
interface NodeUpdate {
  /** Indexes, ascending. */
  readonly nodes: Uint32Array;
  /** (nodes): see `EmbeddingTable.save`. */
  readonly keys: Uint32Array;
  /** (nodes, {@link numbersPerNode}), in the order of `numbersOfNode`. */
  readonly values: Float32Array;
}

export const NO_NODES: NodeUpdate = {
  nodes: new Uint32Array(),
  keys: new Uint32Array(),
  values: new Float32Array(),
};

/** Numbers per node in a {@link NodeUpdate}; 0 without coordinates. */
export function numbersPerNode({ coordinates }: ModelConfig): number {
  if (!coordinates) return 0;
  return numbersOfNode(coordinates, 0).reduce((sum, { length }) => sum + length, 0);
}

/** The first pair's row, and K of {@link EmbeddingUpdate}. */
export function historyShape(
  { prefixVectors, pairVectors }: ModelConfig,
): { firstPair: number; length: number } {
  return { firstPair: prefixVectors?.rows ?? 0, length: pairVectors?.history ? HISTORY_LENGTH : 0 };
}

/**
 * Replaces some rows and coordinates; everything else is shared with the given weights.
 *
 * @param weights The weights of a model with address embeddings.
 */
export function withEmbeddingUpdate(
  config: ModelConfig,
  weights: Tensors,
  update: EmbeddingUpdate,
): Map<string, TensorArray> {
  const copies = new Map<string, TensorArray>();
  eachPiece(config, update, ({ name, start, length, values, at }) => {
    const copy = copies.get(name) ?? named(weights, name).slice();
    copies.set(name, copy);
    copy.set(values.subarray(at, at + length), start);
  });
  return new Map([...weights, ...copies]);
}

/** Extracts some rows and coordinates from weights. @param rows Ascending. @param nodes Ascending. */
export function embeddingUpdateOf(
  config: ModelConfig,
  weights: Tensors,
  rows: Uint32Array,
  nodes: Uint32Array = NO_NODES.nodes,
): EmbeddingUpdate {
  const update: EmbeddingUpdate = {
    rows,
    keys: new Uint32Array(rows.length),
    values: new Float32Array(config.width * rows.length),
    history: new Uint32Array(historyShape(config).length * rows.length),
    coordinates: {
      nodes,
      keys: new Uint32Array(nodes.length),
      values: new Float32Array(numbersPerNode(config) * nodes.length),
    },
  };
  eachPiece(config, update, ({ name, start, length, values, at }) => {
    values.set(named(weights, name).subarray(start, start + length), at);
  });
  return update;
}

/** Some numbers of a row or node: their positions in the weights and in the update. */
interface Piece {
  readonly name: string;
  readonly start: number;
  readonly length: number;
  readonly values: TensorArray;
  readonly at: number;
}

function eachPiece(config: ModelConfig, update: EmbeddingUpdate, visit: (piece: Piece) => void): void {
  const { rows, keys, values, history, coordinates: { nodes, ...ofNodes } } = update;
  const { width, coordinates } = config;
  const { firstPair, length } = historyShape(config);
  const { numAddressEmbeddings } = modelShapes(config);
  ensure(rows.every((row) => row < numAddressEmbeddings), "rows of another model");
  rows.forEach((row, i) => {
    visit({ name: EMBEDDING_KEYS, start: row, length: 1, values: keys, at: i });
    visit({ name: EMBEDDING_VALUES, start: width * row, length: width, values, at: width * i });
    if (row < firstPair || length === 0) return;
    visit({ name: PAIR_HISTORY, start: length * (row - firstPair), length, values: history, at: length * i });
  });
  ensure(nodes.every((node) => node < (coordinates?.nodes ?? 0)), "coordinates of another model");
  if (!coordinates) return;
  let at = 0;
  nodes.forEach((node, i) => {
    visit({ name: COORDINATE_KEYS, start: node, length: 1, values: ofNodes.keys, at: i });
    for (const { part, start, length } of numbersOfNode(coordinates, node)) {
      visit({ name: nameOfCoordinates(part), start, length, values: ofNodes.values, at });
      at += length;
    }
  });
}
