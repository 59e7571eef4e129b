/**
 * The forecasts of the pool and their weights. A new forecast is a file in `forecasts/` and an entry in this
 * list.
 *
 * @module
 */
import { getOrMake } from "../../base/collections.ts";
import { FormatError } from "../../base/errors.ts";
import type { Tensors } from "../../base/safetensors_header.ts";
import { SHARE, type Tensor } from "../possible_numbers.ts";
import type { Forecast, KnownOfQuestion, Memory } from "./forecast.ts";
import { averages } from "./forecasts/averages.ts";
import { coordinates } from "./forecasts/coordinates.ts";
import { factors } from "./forecasts/factors.ts";
import { forest } from "./forecasts/forest.ts";
import { kriging } from "./forecasts/kriging.ts";
import { pairMemory } from "./forecasts/pair_memory.ts";
import { usualRtts } from "./forecasts/usual_rtts.ts";
import type { Kernel } from "./kernel_mixture.ts";
import { MEASURED_PAIRS } from "./measured_pairs.ts";
import { NEIGHBOUR_WEIGHTS, NUM_NEIGHBOUR_CELLS } from "./pair_neighbours.ts";
import { NUM_KINDS } from "./question_kinds.ts";

/** All forecasts, in the order in which their kernels are summed. New ones go last. */
const FORECASTS: readonly Forecast[] = [
  pairMemory,
  coordinates,
  usualRtts,
  forest,
  kriging,
  factors,
  averages,
];

/** The memories of all forecasts, without duplicates. */
export const MEMORIES: ReadonlySet<Memory<unknown>> = new Set([
  ...FORECASTS.flatMap(({ memory }) => memory ?? []),
  MEASURED_PAIRS,
]);

const WEIGHTS = "pool.weights";
/** The columns of the weights: the model, the forecasts, and the even distribution. */
const PARTS: readonly Pick<Forecast, "name" | "numWeights" | "needsPair">[] = [
  // The network knows less of a measured pair than its measurements, and depends on the second of the time.
  { name: "model", numWeights: 1, needsPair: false },
  ...FORECASTS,
  { name: "even", numWeights: 1 },
];

export const EVEN: number = FORECASTS.reduce((sum, { numWeights }) => sum + numWeights, 1);
/** The number of components, including the model, which is number 0. */
export const NUM_COMPONENTS: number = EVEN + 1;

/** The tensors of the weights, and the index of each number among all weights (kinds, components). */
const PLACES = placesOf(PARTS);

function placesOf(parts: typeof PARTS): ReadonlyMap<string, Uint32Array> {
  let end = 0;
  return new Map(parts.map(({ name, numWeights }) => {
    const first = end;
    end += numWeights;
    const place = (i: number) => Math.floor(i / numWeights) * NUM_COMPONENTS + first + i % numWeights;
    return [`${WEIGHTS}.${name}`, Uint32Array.from({ length: NUM_KINDS * numWeights }, (_, i) => place(i))];
  }));
}

/** The parts that depend on the network, the network itself first. */
export const NETWORK_PARTS: readonly string[] = [PARTS[0].name, averages.name];
/** Whether each component depends on the network. */
export const USES_NETWORK: readonly boolean[] = PARTS.flatMap(({ name, numWeights }) =>
  Array(numWeights).fill(NETWORK_PARTS.includes(name))
);

/** @param shares By the name of a part: the weights of its components, or one that they share evenly. */
export function weightsOfParts(
  shares: Readonly<Record<string, number | readonly number[]>>,
): Float64Array {
  return Float64Array.from(PARTS.flatMap(({ name, numWeights }) => {
    const share = shares[name] ?? 0;
    return typeof share === "number" ? Array(numWeights).fill(share / numWeights) : share;
  }));
}

/** The component of the narrowest kernels around the pair's measurements, and the one after the widest. */
export const FIRST_OF_MEMORY = 1;
export const END_OF_MEMORY: number = FIRST_OF_MEMORY + pairMemory.numWeights;

export const WEIGHT_TENSORS: readonly Tensor[] = [
  ...[...PLACES].map(([name, { length }]): Tensor => [name, Array(length / NUM_KINDS).fill(SHARE)]),
  NEIGHBOUR_WEIGHTS,
];
const NUM_WEIGHTS: ReadonlyMap<string, number> = new Map([
  ...[...PLACES].map(([name, { length }]) => [name, length] as const),
  [NEIGHBOUR_WEIGHTS[0], NUM_NEIGHBOUR_CELLS * NEIGHBOUR_WEIGHTS[1].length],
]);

/** Describes why the weights do not fit this version's forecasts; undefined if they do. */
export function faultOfWeights(tensors: Tensors): string | undefined {
  for (const name of tensors.keys()) {
    if (!name.startsWith(WEIGHTS) || NUM_WEIGHTS.has(name)) continue;
    return `${name} contains weights of a forecast unknown to this version`;
  }
  for (const [name, expected] of NUM_WEIGHTS) {
    const length = tensors.get(name)?.length;
    if (length !== expected) return `${name} has ${length ?? "no"} weights, expected ${expected}`;
  }
  return undefined;
}

/** Reads the weights (kinds, components). @throws {FormatError} If they belong to other forecasts. */
export function weightsOf(tensors: Tensors): Float64Array {
  const fault = faultOfWeights(tensors);
  if (fault !== undefined) {
    const remedy = "delete pool.safetensors and run train again with the same options to fit a new one";
    throw new FormatError(`${fault}; update ping-llm, or ${remedy}`, { path: "pool.safetensors" });
  }
  const all = new Float64Array(NUM_KINDS * NUM_COMPONENTS);
  PLACES.forEach((places, name) => tensors.get(name)?.forEach((weight, i) => all[places[i]] = weight));
  return all;
}

/** The weights of the components by kind, (kinds, components), and of the neighbours by cell, (cells, widths). */
export interface PoolWeights {
  readonly ofKinds: Float64Array;
  readonly ofNeighbours: Float64Array;
}

export function namedWeights({ ofKinds, ofNeighbours }: PoolWeights): Map<string, Float32Array> {
  return new Map([
    ...[...PLACES].map(([name, places]) => [name, Float32Array.from(places, (at) => ofKinds[at])] as const),
    [NEIGHBOUR_WEIGHTS[0], Float32Array.from(ofNeighbours)],
  ]);
}

/** Computes the kernels of a question's forecasts; each is asked once, if one of its weights is above 0. */
export function kernelsOf(known: KnownOfQuestion): (weights: Float64Array) => Kernel[] {
  const hasPair = known.pair !== undefined;
  const asked = new Map<Forecast, ReturnType<Forecast["ask"]>>();
  return (weights) => {
    let end = 1;
    return FORECASTS.flatMap((forecast) => {
      const first = end;
      end += forecast.numWeights;
      const own = [...weights.subarray(first, end)];
      if ((forecast.needsPair ?? hasPair) !== hasPair || own.every((weight) => weight === 0)) return [];
      return getOrMake(asked, forecast, () => forecast.ask(known))(own).filter(({ mass }) => mass > 0);
    });
  };
}
