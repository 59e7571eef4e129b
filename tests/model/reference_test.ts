import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import type { ModelConfig } from "../../lib/model/model_config.ts";
import { checkGradient } from "../reference/check_gradient.ts";
import { referenceBackward, referenceForward, type Weights } from "../reference/model.ts";
import { tinyBatch, tinyConfig, tinyWeights } from "./tiny_model.ts";

/** Checks every gradient of the float64 model against finite differences. */
function checkModelGradient(changes: Partial<ModelConfig>) {
  // Smaller than the kernels support; finite differences cost two forward passes per element.
  const small = { width: 8, headDim: 4, mlpWidth: 12, sequenceLength: 7 } as unknown as ModelConfig;
  const config = { ...tinyConfig(), ...small, ...changes };
  const batch = tinyBatch(config, 2);
  checkGradient({
    inputs: Object.fromEntries(tinyWeights(config)),
    forward: (inputs) => Float64Array.of(sum(referenceForward(config, toMap(inputs), batch).losses)),
    backward: (inputs, dOutput) => {
      const forward = referenceForward(config, toMap(inputs), batch);
      const options = { forward, weight: dOutput[0] };
      return Object.fromEntries(referenceBackward(config, toMap(inputs), batch, options));
    },
    maxElements: 12,
  });
}

function toMap(inputs: Record<string, Float64Array>): Weights {
  return new Map(Object.entries(inputs));
}

function sum(values: Float64Array): number {
  return values.reduce((a, b) => a + b, 0);
}

Deno.test("referenceBackward() is the derivative of referenceForward()", () => checkModelGradient({}));

Deno.test("referenceBackward() is the derivative without softcap and qkNorm, with silu and gelu", () => {
  checkModelGradient({ softcap: null, qkNorm: false, activation: "silu" });
  checkModelGradient({ activation: "gelu" });
});

Deno.test("referenceBackward() is the derivative with shifted keys", () => {
  checkModelGradient({ keyShift: true });
});

Deno.test("referenceForward() attends neither across segment borders nor into the future", () => {
  const config = tinyConfig();
  const weights = tinyWeights(config);
  const batch = tinyBatch(config, 1);
  batch.segmentStart.set([0, 0, 0, 0, 0, 5, 5, 5, 5, 5, 10, 10]);
  const before = referenceForward(config, weights, batch).logits.slice();
  batch.tokens[7] ^= 1;
  const after = referenceForward(config, weights, batch).logits;
  const V = before.length / 12;
  for (let t = 0; t < 12; t++) {
    const isSame = before.slice(t * V, (t + 1) * V).every((z, i) => z === after[t * V + i]);
    assertEquals(isSame, t < 7 || t >= 10, `logits at position ${t}`);
  }
});

Deno.test("referenceForward() returns the uniform loss for a head of zeros, and 0 where masked", () => {
  const config = tinyConfig();
  const weights = tinyWeights(config);
  weights.get("lm_head.weight")?.fill(0);
  const batch = tinyBatch(config, 2);
  const { losses } = referenceForward(config, weights, batch);
  assert(batch.lossMask.includes(0) && batch.lossMask.includes(1));
  losses.forEach((loss, i) => assertAlmostEquals(loss, batch.lossMask[i] ? Math.log(267) : 0, 1e-12));
});
