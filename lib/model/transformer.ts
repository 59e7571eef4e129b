/**
 * The model on a GPU: its tensors, and the programs (fixed sequences of dispatches) that train and evaluate
 * it.
 *
 * Programs are built once; a micro-batch is then one upload and one submit, without a readback.
 *
 * @module
 */
import { ensure, named } from "../base/errors.ts";
import type { TensorArray, Tensors } from "../base/safetensors_header.ts";
import { type ProfileRow, Program } from "../tensor/program.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { addBackward } from "./backward.ts";
import { allocate, type ModelTensors, writeInputs } from "./buffers.ts";
import {
  type BatchRows,
  type ModelBatch,
  numRowSlots,
  numRowUses,
  RowSlots,
  rowsOfBatch,
  type Share,
  shareOf,
  shareOfRows,
} from "./batch_rows.ts";
import { type ModelConfig, type ModelExtent, type ModelShapes, modelShapes } from "./model_config.ts";
import {
  addHiddenStates,
  addLosses,
  addOperandCopies,
  type Pass,
  readLogProbabilities,
  type Teacher,
} from "./forward.ts";
import type { Gpu } from "../tensor/device.ts";
import { initialLossScale } from "../tensor/ops/clip.ts";
import { addSum } from "../tensor/ops/reduce.ts";
import type { KernelRegistry } from "../tensor/registry.ts";
import { AddressEmbeddings } from "./address_embeddings.ts";
import { readParameterLike, writeParameters } from "./parameters.ts";

interface BatchUse {
  isTraining?: boolean;
  /** See {@link Transformer.accumulate}. */
  ofTokens?: Uint32Array<ArrayBuffer> | undefined;
}

export class Transformer {
  readonly #gpu: Gpu;
  readonly #pass: Pass;
  readonly #copies: Program;
  readonly #evaluation: Program;
  readonly #training: Program | undefined;
  readonly #addressEmbeddings: AddressEmbeddings | undefined;
  /** The slots of the rows used so far by the current step. */
  readonly #rowSlots: RowSlots;

  private constructor(
    readonly registry: KernelRegistry,
    readonly shapes: ModelShapes,
    readonly extent: ModelExtent,
    tensors: ModelTensors,
    teacher: Teacher | undefined,
  ) {
    this.#gpu = registry.gpu;
    this.#pass = { shapes, extent, tensors, teacher };
    if (tensors.inputs.embeddingRows) this.#addressEmbeddings = new AddressEmbeddings(shapes.config);
    const isFixed = extent.freeRows !== undefined;
    this.#rowSlots = new RowSlots(
      numRowSlots(shapes, extent),
      numRowUses(shapes.config, extent),
      shapes.rowsPerToken,
      isFixed,
    );
    const { lossScale } = tensors.inputs;
    if (lossScale) this.#gpu.write(lossScale, initialLossScale());
    this.#copies = new Program(registry, "operand copies");
    addOperandCopies(this.#copies, tensors);
    this.#evaluation = new Program(registry, "evaluation");
    addHiddenStates(this.#evaluation, this.#pass);
    addLosses(this.#evaluation, { ...this.#pass, tensors: { ...tensors, backward: undefined } });
    this.#training = extent.training ? this.#trainingProgram() : undefined;
  }

  /**
   * Allocates a model with zero weights and compiles its kernels.
   *
   * @param options See {@link ModelExtent}; `sequenceLength` is the configuration's by default.
   * @param teacher From {@link asTeacher} of a model without training.
   * @throws {UserError} If the adapter cannot hold the model.
   */
  static async create(
    registry: KernelRegistry,
    config: ModelConfig,
    options: Omit<ModelExtent, "sequenceLength"> & { sequenceLength?: number },
    teacher?: Teacher,
  ): Promise<Transformer> {
    const { sequenceLength = config.sequenceLength } = options;
    ensure(sequenceLength <= config.sequenceLength, `sequences of ${sequenceLength} tokens are too long`);
    const extent = { ...options, sequenceLength };
    const shapes = modelShapes(config);
    const tensors = await allocate(registry.gpu, shapes, extent);
    const model = new Transformer(registry, shapes, extent, tensors, teacher);
    await registry.ready();
    return model;
  }

  get config(): ModelConfig {
    return this.shapes.config;
  }

  /** Parameter name -> weights on the GPU; the head is padded with rows of zeros to a multiple of 4. */
  get parameters(): Map<string, Tensor> {
    return this.#pass.tensors.parameters;
  }

  /**
   * Parameter name -> gradient, shaped like the parameter, times {@link lossScale}; empty if not training.
   */
  get gradients(): Map<string, Tensor> {
    return this.#pass.tensors.gradients;
  }

  /** (1): sum of the unmasked losses (nats, not weighted) since {@link zeroGradients}. */
  get lossSum(): Tensor {
    return this.#pass.tensors.lossSum;
  }

  /** (2): the factor of all gradients, which `addClipFactor` updates; undefined if gradients are not f16. */
  get lossScale(): Tensor | undefined {
    return this.#pass.tensors.inputs.lossScale;
  }

  /** (1 + slots) u32: rows of address embeddings in `gradients` (`RowSlots.rows`); undefined without any. */
  get slotRows(): Tensor | undefined {
    return this.#pass.tensors.inputs.slotRows;
  }

  /**
   * Parameter name -> the tensor that operations read: the parameter, or an f16 copy. `addOperandCopies` must
   * renew the copies after every change of {@link parameters} on the GPU.
   */
  get operands(): Map<string, Tensor> {
    return this.#pass.tensors.operands;
  }

  /**
   * @param weights name -> values with the shapes of `ModelShapes.entries`.
   * @throws {UserError} If a weight is missing, unknown or of the wrong size.
   */
  load(weights: Tensors): void {
    writeParameters(this.#gpu, this.shapes, { parameters: this.parameters, weights });
    this.#addressEmbeddings?.load(weights);
    if (this.#copies.length > 0) this.#copies.run();
  }

  /** Sets the share of pairs that training hides in a context, for a run whose length has changed. */
  hidePairs(share: number): void {
    if (this.#addressEmbeddings) this.#addressEmbeddings.pairDropShare = share;
  }

  /** Reads all weights back, with the shapes of `ModelShapes.entries`. */
  async weights(): Promise<Map<string, TensorArray>> {
    const weights = await readParameterLike(this.#gpu, this.shapes, this.parameters);
    this.#addressEmbeddings?.save(weights);
    return weights;
  }

  zeroGradients(): void {
    this.#rowSlots.clear();
    const encoder = this.#gpu.device.createCommandEncoder({ label: "zero gradients" });
    const buffers = new Set([...this.gradients.values()].map(({ buffer }) => buffer));
    for (const buffer of buffers) encoder.clearBuffer(buffer);
    encoder.clearBuffer(this.lossSum.buffer);
    this.#gpu.device.queue.submit([encoder.finish()]);
  }

  /**
   * Runs the forward and backward pass of one micro-batch; returns at once. Adds `weight` times (and
   * {@link lossScale} times) the gradient of the sum of its unmasked losses to the gradients, and that sum to
   * {@link lossSum}.
   *
   * @param weight One over the number of unmasked targets of all micro-batches of the step, for a mean loss.
   * @param ofTokens The address embeddings of each token, as from {@link rowsOfBatch}. By default they follow
   *   from the model's keys, with shares of them hidden.
   */
  accumulate(batch: ModelBatch, weight: number, ofTokens?: Uint32Array<ArrayBuffer>): void {
    ensure(this.#training, "a model without training cannot accumulate gradients");
    this.#write(batch, weight, { isTraining: true, ofTokens });
    this.#training.run();
  }

  /**
   * Like {@link accumulate}, for one rank's share of a batch. The rows of the whole batch get slots, so that
   * slots are the same on every rank.
   *
   * @param batch A batch with this model's number of sequences for each rank.
   * @param afterPart Called with each part of the commands; see `addBackward` and `Program.runInParts`.
   */
  accumulateShare(
    batch: ModelBatch,
    weight: number,
    { share, afterPart }: { share: Share; afterPart: (names: string, encoder: GPUCommandEncoder) => void },
  ): void {
    ensure(this.#training, "a model without training cannot accumulate gradients");
    const { sequenceLength } = this.extent;
    const numSequences = batch.tokens.length / sequenceLength;
    const ofTokens = this.#addressEmbeddings &&
      rowsOfBatch(batch, this.#addressEmbeddings, { sequenceLength, isTraining: true });
    if (ofTokens) this.#rowSlots.claim(ofTokens);
    this.#write(shareOf(batch, numSequences, share), weight, {
      isTraining: true,
      ofTokens: ofTokens && shareOfRows(ofTokens, numSequences, share),
    });
    this.#training.runInParts(afterPart);
  }

  /** The number of used rows of a gradient: all, or for address embeddings the slots used by this step. */
  usedRows(name: string): number {
    return name === "address_embed.weight" ? this.#rowSlots.size : named(this.gradients, name).shape[0];
  }

  /** Like {@link accumulate}, but waits for each dispatch and times it. */
  async profile(batch: ModelBatch, weight: number): Promise<ProfileRow[]> {
    ensure(this.#training, "a model without training cannot accumulate gradients");
    this.#write(batch, weight, { isTraining: true });
    const ofTeacher = await this.#pass.teacher?.profile() ?? [];
    const rows = ofTeacher.map((row) => ({ ...row, label: `teacher's ${row.label}` }));
    return [...rows, ...await this.#training.profile()];
  }

  #forward(batch: ModelBatch, use: BatchUse = {}): void {
    this.#write(batch, 0, use);
    this.#evaluation.run();
  }

  /** Computes the loss of every position, (B * T), nats; 0 where masked. */
  async evaluateLosses(batch: ModelBatch): Promise<Float32Array> {
    this.#forward(batch);
    return (await this.#gpu.read(this.#pass.tensors.head.losses))[0];
  }

  /**
   * Computes the log-probability of every next token at chosen rows.
   *
   * @param positions Row indices b * T + t, n of them.
   * @returns (n, V), nats.
   */
  async logProbabilities(batch: ModelBatch, positions: Uint32Array): Promise<Float32Array> {
    ensure(positions.every((row) => row < this.#numRows), "a position is outside the batch");
    if (positions.length === 0) return new Float32Array();
    this.#forward(batch);
    const { shapes, tensors } = this.#pass;
    return await readLogProbabilities(this.registry, { shapes, logits: tensors.head.logits, positions });
  }

  /** This model as the teacher of another on this device. @param weight Its share of the other's gradient. */
  asTeacher(weight: number): Teacher {
    return {
      logits: this.#pass.tensors.head.logits,
      softcap: this.config.softcap,
      weight,
      // Hide rows as in the teacher's training: a student should not learn what it memorised about a pair.
      forward: (batch) => this.#forward(batch, { isTraining: true }),
      profile: () => this.#evaluation.profile(),
    };
  }

  destroy(): void {
    for (const tensor of this.#pass.tensors.all) tensor.buffer.destroy();
  }

  get #numRows(): number {
    return this.extent.batchSize * this.extent.sequenceLength;
  }

  #trainingProgram(): Program {
    const program = new Program(this.registry, "forward and backward");
    addHiddenStates(program, this.#pass);
    addLosses(program, this.#pass);
    const { head, lossSum } = this.#pass.tensors;
    addSum(program, { x: head.losses, length: this.#numRows, out: lossSum, accumulate: true });
    addBackward(program, this.#pass);
    return program;
  }

  #write(batch: ModelBatch, weight: number, use: BatchUse = {}): void {
    const { shapes: { vocabSize }, extent } = this;
    const rows = this.#rowsOf(batch, use);
    writeInputs(this.#gpu, this.#pass.tensors.inputs, { vocabSize, extent, batch, weight, rows });
    if (use.isTraining) this.#pass.teacher?.forward(batch);
  }

  #rowsOf(batch: ModelBatch, use: BatchUse): BatchRows | undefined {
    if (!this.#addressEmbeddings) return undefined;
    const { sequenceLength } = this.extent;
    const { isTraining = false } = use;
    const ofTokens = use.ofTokens ??
      rowsOfBatch(batch, this.#addressEmbeddings, { sequenceLength, isTraining });
    if (!isTraining || !this.#training) return { ofTokens };
    const places = this.#rowSlots.places(ofTokens);
    return { ofTokens, places, ofSlots: this.#rowSlots.rows };
  }
}
