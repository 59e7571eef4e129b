/**
 * The learned rows and coordinates that differ between an adapted model and its base.
 *
 * @module
 */
import { ensure, named } from "../errors.ts";
import { type ModelConfig, numAddressRows, PAIR_HISTORY, ROW_KEYS } from "./model_config.ts";
import { NO_NODES, type NodeDelta, nodeDeltaOf, withNodeDelta } from "./node_delta.ts";
import { HISTORY_LENGTH } from "./pair_history.ts";

/** The name of the learned rows among weights. */
export const ROW_VALUES = "wpe.weight";

/** Some learned rows of a model with their keys and values, and some nodes of its coordinates. */
export interface RowDelta {
  /** Their numbers, ascending. */
  readonly rows: Uint32Array;
  /** (rows, 2): see `AddressRows.save`. */
  readonly keys: Float32Array;
  /** (rows, C). */
  readonly values: Float32Array;
  /** (rows, K): the newest RTTs of pairs, see `PairHistory.save`; zeros for prefixes. K is 0 without histories. */
  readonly history: Float32Array;
  /** The changed coordinates. */
  readonly coordinates: NodeDelta;
}

/**
 * The weights with some rows and coordinates replaced; all else is shared with those given.
 *
 * @param weights Of a model with learned rows.
 */
export function withRowDelta(
  config: ModelConfig,
  weights: ReadonlyMap<string, Float32Array>,
  { rows, keys, values, history, coordinates }: RowDelta,
): Map<string, Float32Array> {
  const { width } = config;
  const { firstPair, length } = historyShape(config);
  const [allKeys, allValues] = [ROW_KEYS, ROW_VALUES].map((name) => named(weights, name).slice());
  ensure(rows.every((row) => row < numAddressRows(config)), "rows of another model");
  const allHistories = weights.get(PAIR_HISTORY)?.slice();
  rows.forEach((row, i) => {
    if (row >= firstPair) {
      allHistories?.set(history.subarray(length * i, length * (i + 1)), length * (row - firstPair));
    }
    allKeys.set(keys.subarray(2 * i, 2 * i + 2), 2 * row);
    allValues.set(values.subarray(width * i, width * (i + 1)), width * row);
  });
  const changed = withNodeDelta(config, weights, coordinates).set(ROW_KEYS, allKeys).set(
    ROW_VALUES,
    allValues,
  );
  return allHistories ? changed.set(PAIR_HISTORY, allHistories) : changed;
}

/** The first pair's row, and K of {@link RowDelta}. */
export function historyShape(
  { prefixVectors, pairVectors }: ModelConfig,
): { firstPair: number; length: number } {
  return { firstPair: prefixVectors?.rows ?? 0, length: pairVectors?.history ? HISTORY_LENGTH : 0 };
}

/** Some rows and coordinates of weights, as a delta. @param rows Their numbers, ascending. @param nodes Likewise. */
export function rowDeltaOf(
  config: ModelConfig,
  weights: ReadonlyMap<string, Float32Array>,
  rows: Uint32Array,
  nodes: Uint32Array = NO_NODES.nodes,
): RowDelta {
  const pick = (name: string, width: number) => {
    const values = named(weights, name);
    const picked = new Float32Array(rows.length * width);
    rows.forEach((row, i) => picked.set(values.subarray(width * row, width * (row + 1)), width * i));
    return picked;
  };
  const { firstPair, length } = historyShape(config);
  const history = new Float32Array(rows.length * length);
  const all = weights.get(PAIR_HISTORY);
  rows.forEach((row, i) => {
    const first = length * (row - firstPair);
    if (all && row >= firstPair) history.set(all.subarray(first, first + length), length * i);
  });
  return {
    rows,
    keys: pick(ROW_KEYS, 2),
    values: pick(ROW_VALUES, config.width),
    history,
    coordinates: nodeDeltaOf(config, weights, nodes),
  };
}
