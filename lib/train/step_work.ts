/**
 * How a step is worked on: by this process alone, by ranks that sum their gradients, or by ranks that exchange weights.
 *
 * @module
 */
import { ensure, named } from "../base/errors.ts";
import type { Gpu } from "../tensor/device.ts";
import type { Tensor } from "../tensor/tensor.ts";
import type { ModelBatch } from "../model/batch_rows.ts";
import type { Transformer } from "../model/transformer.ts";
import type { Communicator } from "./mpi/communicator.ts";
import { CompressedSum } from "./mpi/compressed_sum.ts";
import type { TrainConfig } from "./schema.ts";
import type { Optimizer } from "./optim/optimizer.ts";
import type { ResumableCheckpoint } from "./checkpoint_files.ts";
import type { RunConfig } from "./run_config.ts";
import { LocalSteps } from "./local_steps.ts";
import { allAgree, checkSameWeights, type RankSums, SINGLE_PROCESS, type StepWork } from "./ranks.ts";

// Sums gradients over the ranks, in buckets that are sent while the backward pass still runs (Li et al., PyTorch
// Distributed, VLDB 2020, section 3.2.3).

/** The least size of a bucket but the last: smaller ones would cost more in messages than they save in waiting. */
const BUCKET_BYTES = 4 * 2 ** 20;

/** Gradients that are sent together, in the order of the backward pass. */
interface Bucket {
  readonly names: string[];
  readonly staging: GPUBuffer;
  readonly sums: Float32Array<ArrayBuffer>;
  readonly compressed: CompressedSum | undefined;
  /** How much of `staging` the present step uses. */
  numBytes: number;
}

/** Sums the gradients of a model over the ranks. */
export class GradientExchange {
  readonly #gpu: Gpu;
  readonly #model: Transformer;
  readonly #ranks: Communicator;
  readonly #format: TrainConfig["exchangeDtype"];
  readonly #buckets: Bucket[] = [];
  #sums: Promise<void> | undefined;

  /** @param format The number format in which gradients are sent. */
  constructor(
    gpu: Gpu,
    model: Transformer,
    { ranks, format }: { ranks: Communicator; format: TrainConfig["exchangeDtype"] },
  ) {
    this.#gpu = gpu;
    this.#model = model;
    this.#ranks = ranks;
    this.#format = format;
  }

  /**
   * Adds the gradients of this rank's share of a batch. With the last batch of a step, sending begins.
   *
   * @param batch The batch of all ranks.
   * @param weight As for `Transformer.accumulate`.
   */
  add(batch: ModelBatch, weight: number, { isLastBatch }: { isLastBatch: boolean }): void {
    const afterPart = isLastBatch ? this.#fillBuckets() : () => {};
    this.#model.accumulateShare(batch, weight, { share: this.#ranks, afterPart });
    if (!isLastBatch) return;
    this.#sums = this.#sumAll();
    // finish(), which is called later, throws what fails.
    this.#sums.catch(() => {});
  }

  /** Waits until the gradients on this device are the sums of all ranks. */
  async finish(): Promise<void> {
    await this.#sums;
  }

  /** Makes a function that puts the gradients that a part of the backward pass completes into buckets. */
  #fillBuckets(): (names: string, encoder: GPUCommandEncoder) => void {
    const left = new Set(this.#model.gradients.keys());
    let waiting: string[] = [];
    let index = 0;
    return (prefix, encoder) => {
      for (const name of left) {
        if (!name.startsWith(prefix)) continue;
        left.delete(name);
        waiting.push(name);
      }
      const sizeBytes = waiting.reduce((sum, name) => sum + this.#usedBytes(name), 0);
      if (waiting.length === 0 || (sizeBytes < BUCKET_BYTES && left.size > 0)) return;
      this.#fill(index++, waiting, encoder);
      waiting = [];
    };
  }

  #usedBytes(name: string): number {
    return 4 * this.#model.usedRows(name) * this.#gradient(name).shape[1];
  }

  #gradient(name: string): Tensor {
    return named(this.#model.gradients, name);
  }

  /** Encodes copies of gradients into a bucket. */
  #fill(index: number, names: string[], encoder: GPUCommandEncoder): void {
    const bucket = this.#buckets[index] ??= this.#makeBucket(names);
    ensure(bucket.names.join() === names.join(), "gradients come in another order than before");
    bucket.numBytes = 0;
    for (const name of names) {
      const { buffer, offsetBytes } = this.#gradient(name);
      const sizeBytes = this.#usedBytes(name);
      encoder.copyBufferToBuffer(buffer, offsetBytes, bucket.staging, bucket.numBytes, sizeBytes);
      bucket.numBytes += sizeBytes;
    }
  }

  #makeBucket(names: string[]): Bucket {
    const length = names.reduce((sum, name) => {
      const [rows, columns] = this.#gradient(name).shape;
      return sum + rows * columns;
    }, 0);
    const staging = this.#gpu.device.createBuffer({
      label: `gradients of ${names[0]}…`,
      size: 4 * length,
      usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST,
    });
    const compressed = this.#format === "f32"
      ? undefined
      : new CompressedSum(this.#ranks, length, { format: this.#format });
    return { names, staging, sums: new Float32Array(length), compressed, numBytes: 0 };
  }

  /** Sums the buckets, each as soon as it is computed, in the same order on all ranks. */
  async #sumAll(): Promise<void> {
    // All are mapped at once, since the runtime polls the device only every 10 ms.
    const mapped = this.#buckets.map(({ staging, numBytes }) =>
      staging.mapAsync(GPUMapMode.READ, 0, numBytes)
    );
    // The first failure is thrown below. Without this the others would be unhandled rejections.
    void Promise.allSettled(mapped);
    const sums: Promise<void>[] = [];
    for (const [i, bucket] of this.#buckets.entries()) {
      await mapped[i];
      sums.push(this.#sum(bucket));
    }
    await Promise.all(sums);
    this.#gpu.check();
  }

  async #sum({ names, staging, sums, compressed, numBytes }: Bucket): Promise<void> {
    const own = new Float32Array(staging.getMappedRange(0, numBytes));
    const all = sums.subarray(0, own.length);
    await (compressed ?? this.#ranks).sum(own, all);
    staging.unmap();
    let start = 0;
    for (const name of names) {
      const end = start + this.#usedBytes(name) / 4;
      this.#gpu.write(this.#gradient(name), all.subarray(start, end));
      start = end;
    }
  }
}

interface StepParts {
  model: Transformer;
  optimizer: Optimizer;
}

/**
 * Chooses how steps are worked on.
 *
 * @param run `ranks`: undefined for one process; `resumed`: the checkpoint that the run continues from.
 */
export async function openWork(
  gpu: Gpu,
  { model, optimizer }: StepParts,
  { config: { train }, ranks, resumed, onLog }: {
    config: RunConfig;
    ranks: Communicator | undefined;
    resumed: ResumableCheckpoint | undefined;
    onLog: (line: string) => void;
  },
): Promise<StepWork> {
  if (!ranks) return workAlone({ model, optimizer });
  if (train.syncEverySteps > 1) {
    return await LocalSteps.open(ranks, { model, optimizer, config: train, resumed, onLog });
  }
  const exchange = new GradientExchange(gpu, model, { ranks, format: train.exchangeDtype });
  return workTogether(ranks, { optimizer, exchange });
}

function workAlone({ model, optimizer }: StepParts): StepWork {
  return {
    ...SINGLE_PROCESS,
    add: (batch, { numTargets }) => model.accumulate(batch, 1 / numTargets),
    finish: (stepIndex) => Promise.resolve(optimizer.step(stepIndex)),
    agree: (own) => Promise.resolve(own),
    numShared: () => 1,
    state: new Map(),
    checkWeights: () => Promise.resolve(),
    saveOwn: () => Promise.resolve(),
  };
}

function workTogether(
  ranks: Communicator,
  { optimizer, exchange }: { optimizer: Optimizer; exchange: GradientExchange },
): StepWork {
  const sums: RankSums = { share: ranks, sum: (values) => ranks.sumOf(...values) };
  return {
    ...sums,
    add: (batch, { numTargets, isLastBatch }) => exchange.add(batch, 1 / numTargets, { isLastBatch }),
    async finish(stepIndex) {
      await exchange.finish();
      optimizer.step(stepIndex);
    },
    agree: (own) => allAgree(sums, own),
    numShared: () => 1,
    state: new Map(),
    checkWeights: (weights, step) => checkSameWeights(ranks, weights, step),
    saveOwn: () => Promise.resolve(),
  };
}
