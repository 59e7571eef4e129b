/**
 * The backward pass as dispatches: the chain rule of lib/model/forward.ts, last operation first. Gradients of
 * parameters are added to the values in their tensors.
 *
 * @module
 */
import { ensure, named } from "../errors.ts";
import { addAttentionBackward } from "../gpu/ops/attention.ts";
import { addEmbeddingBackward } from "../gpu/ops/embedding.ts";
import { addGemm, type GemmEpilogue } from "../gpu/ops/gemm.ts";
import { addQkNormRopeBackward } from "../gpu/ops/qk_norm_rope.ts";
import { addRmsNormBackward } from "../gpu/ops/rms_norm.ts";
import { addShiftKeysBackward } from "../gpu/ops/shift_keys.ts";
import type { Program } from "../gpu/program.ts";
import type { Tensor } from "../gpu/tensor.ts";
import type { BackwardTensors } from "./buffers.ts";
import { numRowSlots, numRowUses } from "./batch_rows.ts";
import { vocabSize } from "./model_config.ts";
import { addBlockActivations, attentionShape, type Pass, ropeShape } from "./forward.ts";

/**
 * Adds all operations from `dLogits` to the gradients, of all parameters or only of the free rows. A part of the
 * program ends where a group of gradients is complete. Its label is the start of their names.
 */
export function addBackward(program: Program, pass: Pass): void {
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
    { name: "wte.weight", tokenRows: inputs.tokenRows, vocabSize: vocabSize(config), numUses: rows },
    {
      name: "wpe.weight",
      tokenRows: inputs.rowPlaces,
      vocabSize: numRowSlots(config, extent),
      numUses: numRowUses(extent),
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
  ensure(hidden, "a model without training keeps no argument of the activation");
  addLinearBackward(program, pass, {
    name: `blocks.${layer}.mlp.down_proj.weight`,
    dy: backward.dx,
    x: activated,
    dx: backward.dHidden,
    epilogue: { activation: pass.config.activation, slopeAt: hidden },
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
  const shape = ropeShape(config, extent);
  const { dqRotated, dkRotated, dkUnshifted = dkRotated, dq, dk, dv, dNorm } = backward;
  const { previous } = tensors.inputs;
  if (previous) addShiftKeysBackward(program, { dy: dkRotated, previous, dx: dkUnshifted, ...shape });
  addQkNormRopeBackward(program, { x: saved.q, scale: saved.qScale, dy: dqRotated, dx: dq, ...shape });
  addQkNormRopeBackward(program, { x: saved.k, scale: saved.kScale, dy: dkUnshifted, dx: dk, ...shape });
  for (const [part, dy] of [["q", dq], ["k", dk], ["v", dv]] as const) {
    addLinearBackward(program, pass, {
      name: `blocks.${layer}.attn.${part}_proj.weight`,
      dy,
      x: saved.xNorm,
      dx: dNorm,
      epilogue: part === "q" ? "store" : "accumulate",
    });
  }
  addNormBackward(program, pass, { x: saved.x, scale: saved.xScale, backward, accumulate: true });
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
