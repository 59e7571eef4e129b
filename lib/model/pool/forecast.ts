/**
 * A simple forecast of an RTT without a network: a mixture of Laplace kernels derived from what is known
 * about the question. Each file in `forecasts/` is one forecast; `forecasts.ts` lists them.
 *
 * @module
 */
import { getOrMake } from "../../base/collections.ts";
import type { Tensors } from "../../base/safetensors_header.ts";
import type { LocatedPlace } from "../../data/addresses/place_table.ts";
import type { Hashes } from "../embedding_table.ts";
import type { Tensor } from "../possible_numbers.ts";
import type { RttEstimate } from "../selected_rows.ts";
import type { AskedPair } from "./asked_pair.ts";
import { type Kernel, kernelsOfWidth } from "./kernel_mixture.ts";

/** Returns the place of an address given as text; undefined if it is not known. */
export type PlaceOf = (address: string) => LocatedPlace | undefined;

/** The names of a pair's endpoints, any text. */
export interface PairEnds {
  source: string;
  destination: string;
}

/** A forecast of several kernel mixtures, each of which has a weight per kind of question. */
export interface Forecast {
  /** The name of the weights in checkpoints, so it must never change. */
  readonly name: string;
  readonly numWeights: number;
  /** True: used only if an RTT of the pair is known; false: only if none is; undefined: always. */
  readonly needsPair?: boolean;
  /** What else the forecast needs from the training data. */
  readonly memory?: Memory<unknown>;
  /** Predicts once per question. The returned function makes the kernels for any weights of the mixtures. */
  ask(known: KnownOfQuestion): (weights: readonly number[]) => Kernel[];
}

/** Known RTTs that are relevant to the question. All logarithms are of ms. */
export interface KnownOfQuestion {
  readonly ends: PairEnds;
  readonly hashes: readonly [Hashes, Hashes];
  /** The pair's measurements. */
  readonly measured: AskedPair | undefined;
  /** The same, if one of them has an RTT. */
  readonly pair: AskedPair | undefined;
  /** If there is none: the pairs with all addresses of the source's probe, and of the destination's, together. */
  readonly ofHosts: readonly (AskedPair | undefined)[];
  /** Estimated by coordinates; undefined without coordinates. */
  readonly estimate: RttEstimate | undefined;
  /** Usual RTTs from the source to its destinations, and to the destination; empty for unknown addresses. */
  readonly ofSource: readonly number[];
  readonly ofDestination: readonly number[];
  /** Whether training measured the source and the destination: they have usual RTTs or fitted coordinates. */
  readonly knowsSource: boolean;
  readonly knowsDestination: boolean;
  /** Whether each endpoint is known that way or has a known place. */
  readonly knowsPlaces: boolean;
  /** RTTs in the context from the source to other destinations. */
  readonly inContext: readonly number[];
  readonly ofAll: readonly number[];
  /** Quantiles of the network's distribution at {@link FORECAST_LEVELS}, if it was asked. */
  readonly ofNetwork?: readonly number[] | undefined;
  readonly recall: Recall;
}

/** The levels of the quantiles that represent a distribution. */
export const FORECAST_LEVELS: readonly number[] = Array.from({ length: 16 }, (_, i) => (i + 0.5) / 16);

/** What a forecast needs of a pool's tensors. It is opened once. */
export interface Recalled<T> {
  open(tensors: Tensors, known: { placeOf: PlaceOf; recall: Recall }): T;
}
export type Recall = <T>(memory: Recalled<T>) => T;

/** Opens each memory of a pool on first use. @param tensors A pool's tensors. */
export function recallFrom(tensors: Tensors, placeOf: PlaceOf): Recall {
  const opened = new Map<unknown, unknown>();
  const recall: Recall = <T>(memory: Recalled<T>) =>
    getOrMake(opened, memory, () => memory.open(tensors, { placeOf, recall })) as T;
  return recall;
}

/** Tensors of a checkpoint that are learned from pairs, for one or more forecasts. */
export interface Memory<T> extends Recalled<T> {
  readonly tensors: Readonly<Record<string, Tensor>>;
  learn(pairs: readonly TrainingPair[], options: LearnOptions): Tensors;
  /** Describes broken rules that involve several numbers. Tensors without numbers break no rule. */
  faults?(tensors: Tensors): Iterable<string>;
}

export interface LearnOptions {
  readonly placeOf: PlaceOf;
  readonly seed: number;
  readonly onProgress?: ((done: number, total: number) => void) | undefined;
}

/** A pair of the training data in one direction. */
export interface TrainingPair extends PairEnds {
  readonly hashes: readonly [Hashes, Hashes];
  /** Some of its RTTs in both directions, at least one. */
  readonly rttsMs: readonly number[];
}

export const USUAL_WIDTH: number = 2 ** -3.5;

/** Kernels around each logarithm, or those of all pairs if there are none, with a weight per width. */
export function evenKernels(
  { ofAll }: KnownOfQuestion,
  logs: readonly number[],
  widths: readonly number[],
): (weights: readonly number[]) => Kernel[] {
  const used = logs.length > 0 ? logs : ofAll;
  return (weights) =>
    weights.flatMap((weight, w) =>
      used.flatMap((log) => kernelsOfWidth({ log, width: widths[w], mass: weight / used.length }))
    );
}
