import { assertAlmostEquals, assertEquals } from "@std/assert";
import { adamW, type AdamWState, clipGradients } from "../../reference/updates.ts";

Deno.test("adamW() gives the numbers worked out by hand over two steps", () => {
  let state: AdamWState = {
    parameter: Float64Array.of(1),
    expAvg: new Float64Array(1),
    expAvgSq: new Float64Array(1),
  };
  const numbers = { learningRate: 0.1, beta1: 0.8, beta2: 0.95, epsilon: 1e-8, weightDecay: 0.1 };
  // m = 0.2 * 2, v = 0.05 * 4; corrected 2 and 4; 1 - 0.1 * (0.1 * 1 + 2 / 2).
  state = adamW(state, Float64Array.of(2), { ...numbers, step: 1 });
  assertAlmostEquals(state.expAvg[0], 0.4, 1e-12);
  assertAlmostEquals(state.expAvgSq[0], 0.2, 1e-12);
  assertAlmostEquals(state.parameter[0], 0.89, 1e-8);
  // m = 0.32 - 0.2, v = 0.19 + 0.05; corrected by 0.36 and 0.0975: 1/3 and 32/13, root 1.56892908.
  state = adamW(state, Float64Array.of(-1), { ...numbers, step: 2 });
  assertAlmostEquals(state.expAvg[0], 0.12, 1e-12);
  assertAlmostEquals(state.expAvgSq[0], 0.24, 1e-12);
  assertAlmostEquals(state.parameter[0], 0.89 - 0.1 * (0.089 + 1 / 3 / Math.sqrt(32 / 13)), 1e-8);
});

Deno.test("clipGradients() scales to the norm when above it and leaves smaller gradients alone", () => {
  const gradients = [Float64Array.of(3, 0), Float64Array.of(4)];
  assertEquals(clipGradients(gradients, 10), 5);
  assertEquals(gradients, [Float64Array.of(3, 0), Float64Array.of(4)]);
  assertEquals(clipGradients(gradients, 1), 5);
  assertAlmostEquals(gradients[0][0], 0.6, 1e-15);
  assertAlmostEquals(gradients[1][0], 0.8, 1e-15);
});
