/**
 * The model on a GPU: its tensors, and the programs (fixed sequences of dispatches) that train and evaluate it.
 *
 * Programs are built once; a micro-batch is then one upload and one submit, without a readback.
 *
 * @module
 */
import { ensure, named } from "../base/errors.ts";
import { type TensorArray, type Tensors } from "../base/safetensors_header.ts";
import { addAttentionBackward } from "../tensor/ops/attention.ts";
import { addEmbeddingBackward } from "../tensor/ops/embedding.ts";
import { addGemm, type GemmEpilogue } from "../tensor/ops/gemm.ts";
import { addQkNormRopeBackward } from "../tensor/ops/qk_norm_rope.ts";
import { addRmsNormBackward } from "../tensor/ops/rms_norm.ts";
import { type ProfileRow, Program } from "../tensor/program.ts";
import { adjacent, firstElement, spanOf, type Tensor } from "../tensor/tensor.ts";
import { allocate, type BackwardTensors, type ModelTensors, writeInputs } from "./buffers.ts";
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
import { type ModelConfig, type ModelExtent, modelShapes } from "./model_config.ts";
import {
  addBlockActivations,
  addHiddenStates,
  addLosses,
  addOperandCopies,
  attentionShape,
  type Pass,
  projectionName,
  readLogProbabilities,
  ropeShape,
  type Teacher,
} from "./forward.ts";
import type { Gpu } from "../tensor/device.ts";
import { initialLossScale } from "../tensor/ops/clip.ts";
import { addSum } from "../tensor/ops/reduce.ts";
import type { KernelRegistry } from "../tensor/registry.ts";
import { AddressEmbeddings } from "./address_embeddings.ts";
import { readParameterLike, writeParameters } from "./parameters.ts";

// The backward pass as dispatches: the chain rule of lib/model/forward.ts, last operation first. Gradients of
// parameters are added to the values in their tensors.

/**
 * Adds all operations from `dLogits` to the gradients, of all parameters or only of the free rows. A part of the
 * program ends where a group of gradients is complete. Its label is the start of their names.
 */
function addBackward(program: Program, pass: Pass): void {
  const { config, extent, tensors } = pass;
  const { backward, head, gradients, inputs } = tensors;
  ensure(backward, "a model without training has no backward pass");
  const rows = extent.batchSize * extent.sequenceLength;
  const width = config.width;
  addLinearBackward(program, pass, {
    name: "lm_head.weight",
    dy: backward.dLogits,
    x: head.xLastNorm,
    dx: backward.dNorm,
  });
  program.mark("lm_head.");
  addNormBackward(program, pass, { x: head.xLast, scale: head.xLastScale, backward, accumulate: false });
  for (let layer = config.numLayers - 1; layer >= 0; layer--) {
    // With recomputation all blocks share their tensors, which still hold the last block's activations.
    const isLost = extent.checkpointActivations && layer < config.numLayers - 1;
    if (isLost) addBlockActivations(program, pass, layer);
    addMlpBackward(program, pass, { layer, backward });
    addAttentionBlockBackward(program, pass, { layer, backward });
    program.mark(`blocks.${layer}.`);
  }
  const tables = [
    {
      name: "wte.weight",
      tokenRows: inputs.tokenRows,
      vocabSize: modelShapes(config).vocabSize,
      numUses: rows,
    },
    {
      name: "address_embed.weight",
      tokenRows: inputs.rowPlaces,
      vocabSize: numRowSlots(config, extent),
      numUses: numRowUses(config, extent),
    },
  ];
  for (const { name, tokenRows, ...sizes } of tables) {
    if (!tokenRows) continue;
    const dTable = named(gradients, name);
    addEmbeddingBackward(program, { tokenRows, dx: backward.dx, dTable, rows, width, ...sizes });
  }
}

/** The gradients of y = x W^T: dx = dy W, through `epilogue`, and dW += dy^T x if W has a gradient. */
function addLinearBackward(
  program: Program,
  { extent, tensors }: Pass,
  args: {
    name: string;
    dy: Tensor;
    x: Tensor;
    dx: Tensor;
    epilogue?: GemmEpilogue;
  },
): void {
  const { name, dy, x, dx, epilogue = "store" } = args;
  const weight = named(tensors.operands, name);
  const [numOutputs, numInputs] = weight.shape;
  const rows = extent.batchSize * extent.sequenceLength;
  const part = name.replace(/^blocks\.\d+\.\w+\.|\.weight$/g, "");
  addGemm(program, {
    kind: "NN",
    m: rows,
    n: numInputs,
    k: numOutputs,
    a: dy,
    b: weight,
    c: dx,
    epilogue,
    label: `${part} dx`,
  });
  const gradient = tensors.gradients.get(name);
  if (!gradient) return;
  addGemm(program, {
    kind: "TN",
    m: numOutputs,
    n: numInputs,
    k: rows,
    a: dy,
    b: x,
    c: gradient,
    epilogue: "accumulate",
    label: `${part} dW`,
  });
}

interface BlockArgs {
  layer: number;
  backward: BackwardTensors;
}

function addMlpBackward(program: Program, pass: Pass, { layer, backward }: BlockArgs): void {
  const { xMiddle, xMiddleNorm, xMiddleScale, hidden, activated } = pass.tensors.layers[layer];
  addLinearBackward(program, pass, {
    name: `blocks.${layer}.mlp.down_proj.weight`,
    dy: backward.dx,
    x: activated,
    dx: backward.dHidden,
    epilogue: { activation: pass.config.activation, slopeAt: hidden ?? activated },
  });
  addLinearBackward(program, pass, {
    name: `blocks.${layer}.mlp.up_proj.weight`,
    dy: backward.dHidden,
    x: xMiddleNorm,
    dx: backward.dNorm,
  });
  addNormBackward(program, pass, { x: xMiddle, scale: xMiddleScale, backward, accumulate: true });
}

function addAttentionBlockBackward(program: Program, pass: Pass, { layer, backward }: BlockArgs): void {
  const { config, extent, tensors } = pass;
  const saved = tensors.layers[layer];
  addLinearBackward(program, pass, {
    name: `blocks.${layer}.attn.o_proj.weight`,
    dy: backward.dx,
    x: saved.attention,
    dx: backward.dAttention,
  });
  addAttentionBackward(program, {
    q: saved.qRotated,
    k: saved.kRotated,
    v: saved.v,
    out: saved.attention,
    dOut: backward.dAttention,
    logSumExp: saved.logSumExp,
    segmentStart: tensors.inputs.segmentStart,
    dq: backward.dqRotated,
    dk: backward.dkRotated,
    dv: backward.dv,
    delta: backward.delta,
    ...attentionShape(config, extent),
  });
  addProjectionsBackward(program, pass, { layer, backward });
  addNormBackward(program, pass, { x: saved.x, scale: saved.xScale, backward, accumulate: true });
}

/** From the gradients of the rotated q and k, and of v, to `dNorm` and the gradients of their matrices. */
function addProjectionsBackward(program: Program, pass: Pass, { layer, backward }: BlockArgs): void {
  const { config, extent, tensors } = pass;
  const saved = tensors.layers[layer];
  const { dq, dk, dv, dqRotated, dkRotated, dNorm } = backward;
  const rows = extent.batchSize * extent.sequenceLength;
  const shape = ropeShape(config, extent);
  const { previous } = tensors.inputs;
  const shift = previous && { previous, rows };
  const pairs = [[saved.q, saved.k], [saved.qScale, saved.kScale], [dqRotated, dkRotated], [dq, dk]];
  const [x, scale, dy, dx] = pairs.map(adjacent);
  if (x && scale && dy && dx) {
    addQkNormRopeBackward(program, { ...shape, x, scale, dy, dx, rows: 2 * rows, shift });
  } else {
    const [ofQ, ofK] = [0, 1].map((i) => pairs.map((pair) => pair[i]));
    addQkNormRopeBackward(program, { ...shape, x: ofQ[0], scale: ofQ[1], dy: ofQ[2], dx: ofQ[3] });
    addQkNormRopeBackward(program, { ...shape, x: ofK[0], scale: ofK[1], dy: ofK[2], dx: ofK[3], shift });
  }
  // The three matrices lie in one buffer, and so do their gradients: dx is one sum of products, dW a batch of three.
  const [ofHeads, weights, gradients] = [
    [dq, dk, dv],
    ...[tensors.operands, tensors.gradients].map((tensors) =>
      (["q", "k", "v"] as const).flatMap((part) => tensors.get(projectionName(layer, part)) ?? [])
    ),
  ];
  const [n, k] = weights[0].shape;
  const a = spanOf(ofHeads);
  const strides = { a: firstElement(dk, dq), b: firstElement(weights[1], weights[0]) };
  addGemm(program, {
    kind: "NN",
    m: rows,
    n: k,
    k: n,
    terms: 3,
    strides,
    a,
    b: spanOf(weights),
    c: dNorm,
    label: "qkv_proj dx",
  });
  if (gradients.length === 0) return;
  addGemm(program, {
    kind: "TN",
    m: n,
    n: k,
    k: rows,
    batch: 3,
    strides: { a: strides.a, b: 0, c: firstElement(gradients[1], gradients[0]) },
    a,
    b: saved.xNorm,
    c: spanOf(gradients),
    epilogue: "accumulate",
    label: "qkv_proj dW",
  });
}

/** Adds the gradient of x of rmsNorm(x), whose gradient is `dNorm`, to `dx`, or stores it there. */
function addNormBackward(
  program: Program,
  { config: { width }, extent }: Pass,
  { backward: { dNorm: dy, dx }, ...args }: {
    x: Tensor;
    scale: Tensor;
    backward: BackwardTensors;
    accumulate: boolean;
  },
): void {
  const rows = extent.batchSize * extent.sequenceLength;
  addRmsNormBackward(program, { ...args, dy, dx, rows, width });
}

/** The options of uploading a batch. */
interface BatchUse {
  /** Whether shares of the address embeddings are hidden. */
  isTraining?: boolean;
  /** See {@link Transformer.accumulate}. */
  ofTokens?: Uint32Array<ArrayBuffer> | undefined;
}

/** A decoder-only Transformer on one device. */
export class Transformer {
  readonly #gpu: Gpu;
  readonly #pass: Pass;
  readonly #copies: Program;
  readonly #evaluation: Program;
  readonly #training: Program | undefined;
  readonly #addressEmbeddings: AddressEmbeddings | undefined;
  /** The slots of the rows used by the present step so far. */
  readonly #rowSlots: RowSlots;

  private constructor(
    readonly registry: KernelRegistry,
    readonly config: ModelConfig,
    readonly extent: ModelExtent,
    tensors: ModelTensors,
    teacher: Teacher | undefined,
  ) {
    this.#gpu = registry.gpu;
    this.#pass = { config, extent, tensors, teacher };
    if (tensors.inputs.embeddingRows) this.#addressEmbeddings = new AddressEmbeddings(config);
    const isFixed = extent.freeRows !== undefined;
    this.#rowSlots = new RowSlots(
      numRowSlots(config, extent),
      numRowUses(config, extent),
      modelShapes(config).rowsPerToken,
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
   * Allocates a model with weights of zero and compiles its kernels.
   *
   * @param options See {@link ModelExtent}; `sequenceLength` is the configuration's by default.
   * @param teacher A teacher from {@link asTeacher} of a model without training.
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
    const tensors = await allocate(registry.gpu, config, extent);
    const model = new Transformer(registry, config, extent, tensors, teacher);
    await registry.ready();
    return model;
  }

  /** Parameter name -> weights on the GPU; the head has rows of zeros added up to a multiple of 4. */
  get parameters(): Map<string, Tensor> {
    return this.#pass.tensors.parameters;
  }

  /** Parameter name -> gradient, of the parameter's shape, times the {@link lossScale}; empty without training. */
  get gradients(): Map<string, Tensor> {
    return this.#pass.tensors.gradients;
  }

  /** (1): sum of the unmasked losses (nats, not weighted) since {@link zeroGradients}. */
  get lossSum(): Tensor {
    return this.#pass.tensors.lossSum;
  }

  /** (2): the factor of all gradients, which `addClipFactor` updates; undefined where gradients are not f16. */
  get lossScale(): Tensor | undefined {
    return this.#pass.tensors.inputs.lossScale;
  }

  /** (1 + slots) u32: the rows of address embeddings in `gradients`, see `RowSlots.rows`; undefined without them. */
  get slotRows(): Tensor | undefined {
    return this.#pass.tensors.inputs.slotRows;
  }

  /**
   * Parameter name -> the tensor that operations read: the parameter itself, or a copy in f16. `addOperandCopies` has
   * to renew the copies after every change of {@link parameters} on the GPU.
   */
  get operands(): Map<string, Tensor> {
    return this.#pass.tensors.operands;
  }

  /**
   * Sets all weights.
   *
   * @param weights name -> values of the shapes of `ModelShapes.entries`.
   * @throws {UserError} If a weight is missing, unknown or of another size.
   */
  load(weights: Tensors): void {
    writeParameters(this.#gpu, this.config, { parameters: this.parameters, weights });
    this.#addressEmbeddings?.load(weights);
    if (this.#copies.length > 0) this.#copies.run();
  }

  /** Sets the share of pairs that training hides in a context, for a run whose length has changed. */
  hidePairs(share: number): void {
    if (this.#addressEmbeddings) this.#addressEmbeddings.pairDropShare = share;
  }

  /** Reads all weights back, of the shapes of `ModelShapes.entries`. */
  async weights(): Promise<Map<string, TensorArray>> {
    const weights = await readParameterLike(this.#gpu, this.config, this.parameters);
    this.#addressEmbeddings?.save(weights);
    return weights;
  }

  /** Sets all gradients and the loss sum to 0. */
  zeroGradients(): void {
    this.#rowSlots.clear();
    const encoder = this.#gpu.device.createCommandEncoder({ label: "zero gradients" });
    const buffers = new Set([...this.gradients.values()].map(({ buffer }) => buffer));
    for (const buffer of buffers) encoder.clearBuffer(buffer);
    encoder.clearBuffer(this.lossSum.buffer);
    this.#gpu.device.queue.submit([encoder.finish()]);
  }

  /**
   * Forward and backward pass of one micro-batch; returns at once. Adds `weight` times (and {@link lossScale} times)
   * the gradient of the sum of its unmasked losses to the gradients, and that sum to {@link lossSum}.
   *
   * @param weight One over the number of unmasked targets of all micro-batches of the step, for a mean loss.
   * @param ofTokens The address embeddings of each token, in the form of {@link rowsOfBatch}. By default they follow
   *   from the model's keys, with shares of them hidden.
   */
  accumulate(batch: ModelBatch, weight: number, ofTokens?: Uint32Array<ArrayBuffer>): void {
    ensure(this.#training, "a model without training cannot accumulate gradients");
    this.#write(batch, weight, { isTraining: true, ofTokens });
    this.#training.run();
  }

  /**
   * {@link accumulate} for one rank's share of a batch. The rows of the whole batch get slots, so that slots are the
   * same on every rank.
   *
   * @param batch A batch of the number of ranks times this model's number of sequences.
   * @param afterPart Called with each part of the commands, see `addBackward` and `Program.runInParts`.
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

  /** The number of used rows of a gradient's tensor: all, or for address embeddings the slots used by this step. */
  usedRows(name: string): number {
    return name === "address_embed.weight" ? this.#rowSlots.size : named(this.gradients, name).shape[0];
  }

  /** {@link accumulate} that waits for each dispatch and times it. */
  async profile(batch: ModelBatch, weight: number): Promise<ProfileRow[]> {
    ensure(this.#training, "a model without training cannot accumulate gradients");
    this.#write(batch, weight, { isTraining: true });
    const ofTeacher = await this.#pass.teacher?.profile() ?? [];
    const rows = ofTeacher.map((row) => ({ ...row, label: `teacher's ${row.label}` }));
    return [...rows, ...await this.#training.profile()];
  }

  /** Starts a forward pass; returns at once. */
  #forward(batch: ModelBatch, use: BatchUse = {}): void {
    this.#write(batch, 0, use);
    this.#evaluation.run();
  }

  /** The loss of every position, (B * T), nats; 0 where masked. */
  async evaluateLosses(batch: ModelBatch): Promise<Float32Array> {
    this.#forward(batch);
    return (await this.#gpu.read(this.#pass.tensors.head.losses))[0];
  }

  /**
   * The log-probability of every token as the next one, at chosen rows.
   *
   * @param positions Row indices b * T + t, n of them.
   * @returns (n, V), nats.
   */
  async logProbabilities(batch: ModelBatch, positions: Uint32Array): Promise<Float32Array> {
    ensure(positions.every((row) => row < this.#numRows), "a position is outside the batch");
    if (positions.length === 0) return new Float32Array();
    this.#forward(batch);
    const { config, tensors } = this.#pass;
    return await readLogProbabilities(this.registry, { config, logits: tensors.head.logits, positions });
  }

  /** This model as the teacher of another model on this device. @param weight Its share of the other's gradient. */
  asTeacher(weight: number): Teacher {
    return {
      logits: this.#pass.tensors.head.logits,
      softcap: this.config.softcap,
      weight,
      // Rows are hidden as in its own training: a student should not learn what the teacher memorised about a pair.
      forward: (batch) => this.#forward(batch, { isTraining: true }),
      profile: () => this.#evaluation.profile(),
    };
  }

  /** Frees the model's GPU memory. */
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
    const { config, extent } = this;
    const rows = this.#rowsOf(batch, use);
    writeInputs(this.#gpu, this.#pass.tensors.inputs, { config, extent, batch, weight, rows });
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
