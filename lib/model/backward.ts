/**
 * The backward pass as dispatches: the chain rule of lib/model/forward.ts, last operation first. Gradients of
 * parameters are added to their tensors.
 *
 * @module
 */
import { ensure, named } from "../base/errors.ts";
import { addAttentionBackward } from "../tensor/ops/attention.ts";
import { addEmbeddingBackward } from "../tensor/ops/embedding.ts";
import { addGemm, type GemmEpilogue } from "../tensor/ops/gemm.ts";
import { addQkNormRopeBackward } from "../tensor/ops/qk_norm_rope.ts";
import { addRmsNormBackward } from "../tensor/ops/rms_norm.ts";
import type { Program } from "../tensor/program.ts";
import { adjacent, firstElement, spanOf, type Tensor } from "../tensor/tensor.ts";
import { numRowSlots, numRowUses } from "./batch_rows.ts";
import type { BackwardTensors } from "./buffers.ts";
import { addBlockActivations, attentionShape, type Pass, projectionName, ropeShape } from "./forward.ts";

/**
 * Adds all operations from `dLogits` to the gradients, of all parameters or only of the free rows. A part of
 * the program ends when a group of gradients is complete. Its label is the prefix of their names.
 */
export function addBackward(program: Program, pass: Pass): void {
  const { shapes, extent, tensors } = pass;
  const { config } = shapes;
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
    // With recomputation all blocks share their tensors, which still contain the last block's activations.
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
      vocabSize: shapes.vocabSize,
      numUses: rows,
    },
    {
      name: "address_embed.weight",
      tokenRows: inputs.rowPlaces,
      vocabSize: numRowSlots(shapes, extent),
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
    epilogue: { activation: pass.shapes.config.activation, slopeAt: hidden ?? activated },
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
  const { shapes: { config }, extent, tensors } = pass;
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

/** Computes `dNorm` and the gradients of the matrices from the gradients of v and of the rotated q and k. */
function addProjectionsBackward(program: Program, pass: Pass, { layer, backward }: BlockArgs): void {
  const { shapes: { config }, extent, tensors } = pass;
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
  // The three matrices share a buffer, as do their gradients: dx is a sum of products, dW a batch of three.
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

/** Adds the gradient of rmsNorm(x) with respect to x, given `dNorm`, to `dx`, or stores it there. */
function addNormBackward(
  program: Program,
  { shapes: { config: { width } }, extent }: Pass,
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
