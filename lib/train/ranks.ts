/**
 * How ranks that train together agree on the run, its start and when to stop.
 *
 * Rank 0 opens and writes the run, and reports errors for all.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { InterruptedError, UserError } from "../base/errors.ts";
import type { Tensors } from "../base/safetensors_header.ts";
import type { Batch } from "../data/loader/batches.ts";
import type { Share } from "../model/batch_rows.ts";
import type { Communicator } from "./mpi/communicator.ts";
import { VERSION } from "../base/version.ts";
import { flattenConfig, type RunIdentity } from "./run_config.ts";

export interface RankSums {
  readonly share: Share;
  /** Sums of all ranks' values, in float64. */
  sum(values: readonly number[]): Promise<readonly number[]>;
}

export const SINGLE_PROCESS: RankSums = {
  share: { rank: 0, size: 1 },
  sum: (values) => Promise.resolve(values),
};

/** An error on all ranks, reported by one of them. The others have its exit code and an empty message. */
export class AgreedError extends UserError {
  override name = "AgreedError";

  constructor(message: string, override readonly exitCode: number) {
    super(message);
  }
}

/** Turns an error that all ranks have in the same place into one that only rank 0 reports. */
export function agreedError({ share: { rank, size } }: RankSums, error: UserError): UserError {
  return size === 1 ? error : new AgreedError(rank === 0 ? error.message : "", error.exitCode);
}

/**
 * Computes something on rank 0 and sends it to all.
 *
 * @param find Called on rank 0 only; its result must be JSON.
 * @throws {AgreedError} On all ranks, if `find` throws a UserError.
 */
export async function fromFirst<T>(ranks: Communicator, find: () => T): Promise<T> {
  let error: UserError | undefined;
  const found = await ranks.fromFirst((): { value: T } | { exitCode: number } => {
    try {
      return { value: find() };
    } catch (thrown) {
      if (!(thrown instanceof UserError)) throw thrown;
      error = thrown;
      return { exitCode: thrown.exitCode };
    }
  });
  if (!("exitCode" in found)) return found.value;
  throw new AgreedError(error?.message ?? "", found.exitCode);
}

/**
 * Rejects ranks that would train something different from rank 0.
 *
 * @throws {AgreedError} On all ranks; the first rank that differs reports the difference.
 */
export async function checkSameRun(ranks: Communicator, own: RunIdentity): Promise<void> {
  const wanted = await ranks.fromFirst(() => ({ version: VERSION, ...own }));
  const fault = differenceOf({ version: VERSION, ...own }, wanted);
  const flags = new Array<number>(ranks.size).fill(0);
  flags[ranks.rank] = fault ? 1 : 0;
  const differing = (await ranks.sumOf(...flags)).indexOf(1);
  if (differing < 0) return;
  const speaks = ranks.rank === differing;
  throw new AgreedError(speaks ? `Cannot train together: rank ${ranks.rank} has ${fault}` : "", 1);
}

type Identity = RunIdentity & { version: string };

function differenceOf(own: Identity, wanted: Identity): string | undefined {
  const advice = "start all ranks with the same program, options and data";
  const names = { version: "version", seed: "seed", data: "data with the fingerprint", teacher: "teacher" };
  for (const key of ["version", "seed", "data", "teacher"] as const) {
    if (own[key] === wanted[key]) continue;
    return `${names[key]} ${own[key] ?? "none"}, the first rank ${wanted[key] ?? "none"}; ${advice}`;
  }
  const [ownKeys, wantedKeys] = [own, wanted].map(({ config }) => flattenConfig(config));
  const key = [...ownKeys.keys(), ...wantedKeys.keys()].find((key) =>
    ownKeys.get(key) !== wantedKeys.get(key)
  );
  return key && `${key} ${ownKeys.get(key)}, the first rank ${wantedKeys.get(key)}; ${advice}`;
}

/** What a rank, or all ranks together, want before a step. */
export interface StepWishes<E extends UserError> {
  /** The error to stop with; undefined to continue. */
  stop: E | undefined;
  isOutOfTime: boolean;
  /** Whether it is time to read the steps' numbers from the device. */
  isDue: boolean;
}

/** Computes the steps of a run. All ranks make the same calls in the same order. */
export interface StepWork extends RankSums {
  /**
   * Starts the forward and backward pass of a micro-batch; returns before they are done.
   *
   * @param batch The micro-batch of all ranks together.
   * @param step The step it belongs to.
   */
  add(batch: Batch, step: { numTargets: number; isLastBatch: boolean }): void;
  /** Updates the weights with the gradients of all ranks. @param stepIndex From 0. */
  finish(stepIndex: number): Promise<void>;
  /** Combines the wishes of all ranks. */
  agree(own: StepWishes<InterruptedError>): Promise<StepWishes<UserError>>;
  /** Steps since the ranks last had equal weights, if they are equal after `step` steps; else 0. */
  numShared(step: number): number;
  /** State between steps, by its names in checkpoints (lib/train/CHECKPOINTS.md). */
  readonly state: ReadonlyMap<string, Float32Array>;
  /** @throws {UserError} If the ranks do not have equal weights. */
  checkWeights(weights: Tensors, step: number): Promise<void>;
  /** Saves each rank's private state. @param checkpoint What rank 0 has just written; ignored elsewhere. */
  saveOwn(checkpoint: string | null): Promise<void>;
}

/** Combines the wishes of all ranks: if one of them wants something, all do it. */
export async function allAgree(
  ranks: RankSums,
  { stop, isOutOfTime, isDue }: StepWishes<InterruptedError>,
): Promise<StepWishes<UserError>> {
  const stops = (isInterrupt: boolean) => stop !== undefined && (stop.signal === "SIGINT") === isInterrupt;
  const wishes = [stops(true), stops(false), isOutOfTime, isDue].map(Number);
  const [interrupts, ends, late, due] = await ranks.sum(wishes);
  const signal = interrupts > 0 ? "SIGINT" : ends > 0 ? "SIGTERM" : undefined;
  return {
    stop: signal && agreedError(ranks, new InterruptedError(signal)),
    isOutOfTime: late > 0,
    isDue: due > 0,
  };
}

/** Checks that all ranks still have equal weights. @throws {AgreedError} If not. */
export async function checkSameWeights(
  ranks: Communicator,
  weights: Tensors,
  step: number,
): Promise<void> {
  const hash = createHash("sha1");
  for (const values of weights.values()) {
    hash.update(new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
  }
  const own = hash.digest("hex");
  const isOther = own !== await ranks.fromFirst(() => own);
  const [numOthers] = await ranks.sumOf(Number(isOther));
  if (numOthers === 0) return;
  const message =
    `Cannot continue training: after step ${step} the weights of ${numOthers} of ${ranks.size} ranks differ from ` +
    "those of the first; earlier checkpoints are kept; train on GPUs of one kind with one driver";
  throw new AgreedError(ranks.rank === 0 ? message : "", 1);
}
