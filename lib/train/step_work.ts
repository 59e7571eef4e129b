/**
 * How a step is computed: by this process alone, by ranks that sum their gradients, or by ranks that exchange
 * weights.
 *
 * @module
 */
import { ensure, FormatError, named } from "../base/errors.ts";
import type { Gpu } from "../tensor/device.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { type ModelBatch, shareOf } from "../model/batch_rows.ts";
import type { Transformer } from "../model/transformer.ts";
import type { Communicator } from "./mpi/communicator.ts";
import { CompressedSum } from "./mpi/compressed_sum.ts";
import type { RunConfig, TrainConfig } from "./run_config.ts";
import type { Optimizer } from "./optim/optimizer.ts";
import type { ResumableCheckpoint } from "./checkpoint_files.ts";
import { allAgree, checkSameWeights, type RankSums, SINGLE_PROCESS, type StepWork } from "./ranks.ts";
import { join } from "@std/path";
import { exists } from "../io/files/inputs.ts";
import { readSafetensors, sha256OfTensors, writeSafetensors } from "../io/safetensors.ts";
import type { Batch } from "../data/loader/batches.ts";
import { checkFormatVersion, FORMAT_METADATA } from "../model/checkpoint_format.ts";
import { floatsOf, tensorOf, type Tensors } from "../base/safetensors_header.ts";
import { EMBEDDING_VALUES } from "../model/embedding_update.ts";
import { faultOfNumbers } from "../model/tensor_bounds.ts";

/** For ranks that have equal weights after every step. */
const SAME_WEIGHTS = {
  numShared: () => 1,
  state: new Map<string, Float32Array>(),
  saveOwn: () => Promise.resolve(),
};

/**
 * Chooses how steps are computed.
 *
 * @param run `ranks`: undefined for one process.
 * @param resumed The checkpoint that the run continues from.
 */
export async function openWork(
  { gpu, model, optimizer }: { gpu: Gpu; model: Transformer; optimizer: Optimizer },
  { config: { train }, ranks, onLog }: {
    readonly config: RunConfig;
    readonly ranks: Communicator | undefined;
    readonly onLog: (line: string) => void;
  },
  resumed: ResumableCheckpoint | undefined,
): Promise<StepWork> {
  if (!ranks) {
    return {
      ...SINGLE_PROCESS,
      ...SAME_WEIGHTS,
      add: (batch, { numTargets }) => model.accumulate(batch, 1 / numTargets),
      finish: (stepIndex) => Promise.resolve(optimizer.step(stepIndex)),
      agree: (own) => Promise.resolve(own),
      checkWeights: () => Promise.resolve(),
    };
  }
  if (train.syncEverySteps > 1) {
    return await LocalSteps.open(ranks, { model, optimizer, config: train, resumed, onLog });
  }
  const exchange = new GradientExchange(gpu, model, { ranks, format: train.exchangeDtype });
  const sums: RankSums = { share: ranks, sum: (values) => ranks.sumOf(...values) };
  return {
    ...sums,
    ...SAME_WEIGHTS,
    add: (batch, { numTargets, isLastBatch }) => exchange.add(batch, 1 / numTargets, { isLastBatch }),
    async finish(stepIndex) {
      await exchange.finish();
      optimizer.step(stepIndex);
    },
    agree: (own) => allAgree(sums, own),
    checkWeights: (weights, step) => checkSameWeights(ranks, weights, step),
  };
}

// Sums gradients over the ranks, in buckets that are sent while the backward pass is still running (Li et
// al., PyTorch Distributed, VLDB 2020, section 3.2.3).

/** Minimum size of all buckets but the last: smaller ones cost more in messages than they save in waiting. */
const BUCKET_BYTES = 4 * 2 ** 20;

/** Gradients that are sent together, in the order of the backward pass. */
interface Bucket {
  readonly names: string[];
  readonly staging: GPUBuffer;
  readonly sums: Float32Array<ArrayBuffer>;
  readonly exchange: ExchangeSum;
  /** How much of `staging` the current step uses. */
  numBytes: number;
}

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
   * Adds the gradients of this rank's share of a batch. The last batch of a step starts the exchange.
   *
   * @param batch The batch of all ranks.
   * @param weight As for `Transformer.accumulate`.
   */
  add(batch: ModelBatch, weight: number, { isLastBatch }: { isLastBatch: boolean }): void {
    const afterPart = isLastBatch ? this.#fillBuckets() : () => {};
    this.#model.accumulateShare(batch, weight, { share: this.#ranks, afterPart });
    if (!isLastBatch) return;
    this.#sums = this.#sumAll();
    // finish(), which is called later, rethrows failures.
    this.#sums.catch(() => {});
  }

  /** Waits until the gradients on this device are the sums over all ranks. */
  async finish(): Promise<void> {
    await this.#sums;
  }

  /** Makes a function that copies the gradients completed by a part of the backward pass into buckets. */
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
    const exchange = sumOf(this.#ranks, length, { format: this.#format });
    return { names, staging, sums: new Float32Array(length), exchange, numBytes: 0 };
  }

  /** Sums the buckets, each as soon as it is computed, in the same order on all ranks. */
  async #sumAll(): Promise<void> {
    // Map all buckets at once, because the runtime polls the device only every 10 ms.
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

  async #sum({ names, staging, sums, exchange, numBytes }: Bucket): Promise<void> {
    const own = new Float32Array(staging.getMappedRange(0, numBytes));
    const all = sums.subarray(0, own.length);
    await exchange.sum(own, all);
    staging.unmap();
    let start = 0;
    for (const name of names) {
      const end = start + this.#usedBytes(name) / 4;
      this.#gpu.write(this.#gradient(name), all.subarray(start, end));
      start = end;
    }
  }
}

// Local steps: each rank trains independently, and all exchange their weights every few steps. This is for
// networks that are too slow for all gradients. Sources: DiLoCo (Douillard et al., 2023, arXiv 2311.08105,
// algorithm 1); with Muon inside, MuLoCo (Thérien et al., 2025, arXiv 2505.23725).
//
// Each rank has its own optimizer state. An address embedding becomes the mean over the ranks that changed
// it, without momentum, because most rows are changed by few ranks.

type State = ReadonlyMap<string, Float32Array>;

/**
 * Writes each rank's state to a separate file, from which the same number of ranks continues bit by bit.
 * Returns when all are written.
 *
 * @param folder The checkpoint's folder, as known to the first rank.
 * @param own The state of this rank.
 * @throws {UserError} If the disk is full.
 */
async function saveRankState(
  ranks: Communicator,
  folder: string | null,
  own: State,
): Promise<void> {
  const written = await ranks.fromFirst(() => folder);
  ensure(written !== null, "rank 0 writes the checkpoint");
  const shapes = new Map([...own].map(([name, { length }]) => [name, [length]]));
  const metadata = { ...FORMAT_METADATA, sha256: sha256OfTensors(own) };
  writeSafetensors(rankFile(written, ranks), { shapes, tensors: new Map(own), metadata });
  await ranks.sumOf(0);
}

/**
 * Reads the state of this rank.
 *
 * @param folder The checkpoint's folder.
 * @returns Undefined if any rank's file is missing or damaged, as in a checkpoint of another number of ranks.
 */
async function loadRankState(ranks: Communicator, folder: string): Promise<State | undefined> {
  const own = readWhole(rankFile(folder, ranks));
  const [numRead] = await ranks.sumOf(own ? 1 : 0);
  return numRead === ranks.size ? own : undefined;
}

function rankFile(folder: string, { rank, size }: Communicator): string {
  return join(folder, `rank-${rank}-of-${size}.safetensors`);
}

function readWhole(path: string): State | undefined {
  if (!exists(path)) return undefined;
  try {
    const { tensors, metadata } = readSafetensors(path);
    if (metadata.sha256 !== sha256OfTensors(tensors)) return undefined;
    checkFormatVersion(metadata.format_version, path);
    return faultOfNumbers(tensors) === undefined ? floatsOf(tensors, path) : undefined;
  } catch (error) {
    if (error instanceof FormatError) return undefined;
    throw error;
  }
}

/** Suffix of a parameter's outer momentum in checkpoints. */
const STATE = ".outer_momentum";

/** A checkpoint's optimizer state without what {@link LocalSteps} adds. */
export function innerState(state: ReadonlyMap<string, Float32Array>): Map<string, Float32Array> {
  return new Map([...state].filter(([name]) => !name.endsWith(STATE)));
}

interface Followed {
  /** Its value on all ranks after the last exchange. */
  readonly shared: Float32Array;
  readonly velocity: Float32Array;
}

class LocalSteps implements StepWork {
  readonly share: RankSums["share"];
  readonly #ranks: Communicator;
  readonly #model: Transformer;
  readonly #optimizer: Optimizer;
  readonly #config: TrainConfig;
  readonly #parameters: Map<string, Followed>;
  /** The address embeddings on all ranks after the last exchange; empty for models without any. */
  readonly #rows: Float32Array;
  /** This rank's changes to the other weights, parameter by parameter, and their sums over all ranks. */
  readonly #deltas: Float32Array<ArrayBuffer>;
  readonly #sums: Float32Array<ArrayBuffer>;
  readonly #sum: ExchangeSum;
  readonly #sumRows: ExchangeSum;
  #step: number;

  private constructor(
    ranks: Communicator,
    { model, optimizer, config, resumed }: LocalParts,
    weights: Tensors,
  ) {
    this.share = ranks;
    this.#ranks = ranks;
    this.#model = model;
    this.#optimizer = optimizer;
    this.#config = config;
    this.#step = resumed?.state.step ?? 0;
    this.#rows = weights.has(EMBEDDING_VALUES)
      ? tensorOf(weights, EMBEDDING_VALUES, "F32").slice()
      : new Float32Array();
    const names = [...model.parameters.keys()].filter((name) => name !== EMBEDDING_VALUES);
    this.#parameters = new Map(names.map((name) => {
      const shared = tensorOf(weights, name, "F32").slice();
      return [name, {
        shared,
        velocity: resumed?.optimizer.get(name + STATE) ?? new Float32Array(shared.length),
      }];
    }));
    const length = [...this.#parameters.values()].reduce((sum, { shared }) => sum + shared.length, 0);
    this.#deltas = new Float32Array(length);
    this.#sums = new Float32Array(length);
    this.#sum = sumOf(ranks, length, { format: config.exchangeDtype, keepsErrors: true });
    this.#sumRows = sumOf(ranks, this.#rows.length, { format: config.exchangeDtype });
  }

  /** Starts from the model's weights, which are the same on all ranks. */
  static async open(ranks: Communicator, parts: LocalParts): Promise<LocalSteps> {
    const steps = new LocalSteps(ranks, parts, await parts.model.weights());
    const { resumed, onLog } = parts;
    if (!resumed) return steps;
    const own = await loadRankState(ranks, resumed.directory);
    if (own) {
      steps.#restore(own);
    } else {
      onLog(
        `no optimizer states of ${ranks.size} ranks in ${resumed.directory}: all start from rank 0's`,
      );
    }
    return steps;
  }

  /** Adds the gradient of this rank's share, weighted so that the mean over ranks is the batch's gradient. */
  add(batch: Batch, { numTargets }: { numTargets: number }): void {
    this.#model.accumulate(shareOf(batch, batch.batchSize, this.share), this.share.size / numTargets);
  }

  async finish(stepIndex: number): Promise<void> {
    this.#optimizer.step(stepIndex);
    this.#step = stepIndex + 1;
    if (this.numShared(this.#step) > 0) await this.#exchange();
  }

  /** Stops only after steps at which all ranks have equal weights. */
  async agree(own: Parameters<StepWork["agree"]>[0]): ReturnType<StepWork["agree"]> {
    const wishes = await allAgree(this, own);
    const isShared = this.#step % this.#config.syncEverySteps === 0;
    return isShared ? wishes : { stop: undefined, isOutOfTime: false, isDue: wishes.isDue };
  }

  async sum(values: readonly number[]): Promise<readonly number[]> {
    return await this.#ranks.sumOf(...values);
  }

  numShared(step: number): number {
    const { steps, syncEverySteps } = this.#config;
    const rest = step % syncEverySteps;
    return rest === 0 ? syncEverySteps : step === steps ? rest : 0;
  }

  async checkWeights(weights: Tensors, step: number): Promise<void> {
    await checkSameWeights(this.#ranks, weights, step);
  }

  /** Outer momentum, by its names in checkpoints. */
  get state(): Map<string, Float32Array> {
    return new Map([...this.#parameters].map(([name, { velocity }]) => [name + STATE, velocity]));
  }

  /** Saves this rank's rounding errors and optimizer state. Rank 0's state is already in the checkpoint. */
  async saveOwn(checkpoint: string | null): Promise<void> {
    const own = this.share.rank === 0 ? new Map() : await this.#optimizer.readState();
    for (const [key, errors] of this.#errors) own.set(key, errors);
    await saveRankState(this.#ranks, checkpoint, own);
  }

  #restore(own: ReadonlyMap<string, Float32Array>): void {
    const inner = new Map(own);
    for (const [key, errors] of this.#errors) {
      errors.set(named(own, key));
      inner.delete(key);
    }
    if (this.share.rank > 0) this.#optimizer.loadState(inner);
  }

  /** This rank's rounding errors (see {@link CompressedSum}), by their names in its file. */
  get #errors(): [name: string, errors: Float32Array][] {
    const { errors } = this.#sum;
    return errors ? [["exchange.own_errors", errors.own], ["exchange.errors_of_sums", errors.ofSums]] : [];
  }

  /** Moves the last exchanged weights along the ranks' mean change; all ranks continue from there. */
  async #exchange(): Promise<void> {
    const weights = await this.#model.weights();
    let start = 0;
    for (const [name, { shared }] of this.#parameters) {
      const own = tensorOf(weights, name, "F32");
      for (let i = 0; i < own.length; i++) this.#deltas[start + i] = own[i] - shared[i];
      start += own.length;
    }
    await this.#sum.sum(this.#deltas, this.#sums);
    start = 0;
    for (const [name, followed] of this.#parameters) {
      this.#follow(followed, this.#sums.subarray(start, start + followed.shared.length));
      named(weights, name).set(followed.shared);
      start += followed.shared.length;
    }
    if (weights.has(EMBEDDING_VALUES)) {
      await this.#exchangeRows(tensorOf(weights, EMBEDDING_VALUES, "F32"));
    }
    this.#model.load(weights);
  }

  /** A step of SGD with Nesterov momentum, as in torch.optim.SGD, whose gradient is minus the mean change. */
  #follow({ shared, velocity }: Followed, sums: Float32Array): void {
    const { outerLearningRate, outerMomentum } = this.#config;
    for (let i = 0; i < sums.length; i++) {
      const mean = sums[i] / this.share.size;
      velocity[i] = outerMomentum * velocity[i] + mean;
      shared[i] += outerLearningRate * (mean + outerMomentum * velocity[i]);
    }
  }

  /** Moves each address embedding by the mean over the ranks that changed it. Unchanged rows are not sent. */
  async #exchangeRows(own: Float32Array): Promise<void> {
    const shared = this.#rows;
    const numRows = named(this.#model.parameters, EMBEDDING_VALUES).shape[0];
    const width = own.length / numRows;
    const isChanged = Float32Array.from({ length: numRows }, (_, row) => {
      const end = (row + 1) * width;
      for (let i = row * width; i < end; i++) if (own[i] !== shared[i]) return 1;
      return 0;
    });
    const numRanks = await this.#ranks.sum(isChanged, new Float32Array(numRows));
    const changed = Array.from(numRanks.keys()).filter((row) => numRanks[row] > 0);
    const deltas = new Float32Array(changed.length * width);
    changed.forEach((row, at) => {
      for (let i = 0; i < width; i++) deltas[at * width + i] = own[row * width + i] - shared[row * width + i];
    });
    const sums = new Float32Array(deltas.length);
    await this.#sumRows.sum(deltas, sums);
    changed.forEach((row, at) => {
      for (let i = 0; i < width; i++) shared[row * width + i] += sums[at * width + i] / numRanks[row];
    });
    own.set(shared);
  }
}

interface LocalParts {
  model: Transformer;
  optimizer: Optimizer;
  config: TrainConfig;
  resumed: ResumableCheckpoint | undefined;
  onLog: (line: string) => void;
}

/** Sums over the ranks, with the rounding errors if they are kept. */
type ExchangeSum = Pick<CompressedSum, "sum"> & Partial<Pick<CompressedSum, "errors">>;

function sumOf(
  ranks: Communicator,
  maxLength: number,
  { format, keepsErrors = false }: { format: TrainConfig["exchangeDtype"]; keepsErrors?: boolean },
): ExchangeSum {
  if (format !== "f32") return new CompressedSum(ranks, maxLength, { format, keepsErrors });
  return { sum: async (own, sums) => void await ranks.sum(own, sums) };
}
