/**
 * A simple forecast of an RTT, without a network: a mixture of Laplace kernels by what is known of the question. A file of
 * `forecasts/` is one forecast; `forecasts.ts` lists them.
 *
 * @module
 */
import type { Tensors } from "../../base/safetensors_header.ts";
import type { Hashes } from "../embedding_table.ts";
import type { Tensor } from "../possible_numbers.ts";
import type { RttEstimate } from "../selected_rows.ts";
import type { Kernel } from "./kernel_mixture.ts";
import type { PairEnds, PlaceOf } from "./placed_pairs.ts";

/** A forecast with mixtures of kernels, each of which has a weight by kind of question. */
export interface Forecast {
  /** The name of its weights in checkpoints, so it never changes. */
  readonly name: string;
  readonly numWeights: number;
  /** True: it is asked only if an RTT of the pair is known; false: only if none is; undefined: always. */
  readonly needsPair?: boolean;
  /** What else it needs of the training data. */
  readonly memory?: Memory<unknown>;
  /** Predicts once for a question; the result gives the kernels for any weights of the mixtures. */
  ask(known: KnownOfQuestion): (weights: readonly number[]) => Kernel[];
}

/** Known RTTs that bear on the one to predict. All logarithms are of ms. */
export interface KnownOfQuestion {
  readonly ends: PairEnds;
  readonly hashes: readonly [Hashes, Hashes];
  /** RTTs of the pair, at most {@link MAX_PAIR_RTTS}, the nearest in time first. */
  readonly ofPair: readonly PairRtt[];
  /** Where no time is asked about: the share of the time that each RTT of the pair stands for. They add to 1. */
  readonly spans: readonly number[] | undefined;
  /** By coordinates; undefined without them. */
  readonly estimate: RttEstimate | undefined;
  /** Usual RTTs from the source to its destinations, and to the destination; empty if it is unknown. */
  readonly ofSource: readonly number[];
  readonly ofDestination: readonly number[];
  /** Whether the source and the destination have such RTTs or coordinates. */
  readonly knowsSource: boolean;
  readonly knowsDestination: boolean;
  /** Whether each end is known so, or by its place. */
  readonly knowsPlaces: boolean;
  /** RTTs from the source in the context, to other destinations. */
  readonly inContext: readonly number[];
  readonly ofAll: readonly number[];
  readonly recall: <T>(memory: Memory<T>) => T;
}

export interface PairRtt {
  /** ln ms. */
  readonly log: number;
  /** Unix seconds; null if unknown. */
  readonly timeS: number | null;
  /** Seconds between it and the asked time; null if either is unknown. */
  readonly gapS: number | null;
}

/** RTTs of a pair that count. */
export const MAX_PAIR_RTTS = 24;

/** Tensors of a checkpoint that are learned from pairs, for one or more forecasts. */
export interface Memory<T> {
  readonly tensors: Readonly<Record<string, Tensor>>;
  /** Whether it answers about unknown addresses: the fit hides an address by learning it without. */
  readonly knowsUnknown: boolean;
  /** @param options `earlier`: the tensors that were learned before any address was hidden. */
  learn(
    pairs: readonly TrainingPair[],
    options: { placeOf: PlaceOf; seed: number; earlier: Tensors | undefined },
  ): Tensors;
  open(tensors: Tensors, placeOf: PlaceOf): T;
  /** The broken rules between several numbers, for people; no numbers break none. */
  faults?(tensors: Tensors): Iterable<string>;
}

/** A pair of the training data in one direction. */
export interface TrainingPair extends PairEnds {
  readonly hashes: readonly [Hashes, Hashes];
  /** Some of its RTTs in both directions, at least one. */
  readonly rttsMs: readonly number[];
}

export const USUAL_WIDTH: number = 2 ** -3.5;

/** Kernels around each logarithm with equal shares, by the weight of each width; around those of all pairs if there are none. */
export function evenKernels(
  { ofAll }: KnownOfQuestion,
  logs: readonly number[],
  widths: readonly number[],
): (weights: readonly number[]) => Kernel[] {
  const used = logs.length > 0 ? logs : ofAll;
  return (weights) =>
    weights.flatMap((weight, w) =>
      used.map((log) => ({ log, width: widths[w], mass: weight / used.length }))
    );
}
