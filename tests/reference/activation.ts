/** The activations of the MLP and their slopes in float64. @module */
import type { ActivationKind } from "../../lib/tensor/ops/gemm.ts";

const sigmoid = (u: number) => 1 / (1 + Math.exp(-u));
const ROOT = Math.sqrt(2 / Math.PI);
const inner = (u: number) => ROOT * (u + 0.044715 * u ** 3);

/** f(u). */
export const ACTIVATION: Record<ActivationKind, (u: number) => number> = {
  relu2: (u) => Math.max(u, 0) ** 2,
  gelu: (u) => 0.5 * u * (1 + Math.tanh(inner(u))),
  silu: (u) => u * sigmoid(u),
};

/** f'(u). */
export const ACTIVATION_SLOPE: Record<ActivationKind, (u: number) => number> = {
  relu2: (u) => 2 * Math.max(u, 0),
  gelu: (u) => {
    const t = Math.tanh(inner(u));
    return 0.5 * (1 + t) + 0.5 * u * (1 - t * t) * ROOT * (1 + 3 * 0.044715 * u * u);
  },
  silu: (u) => sigmoid(u) * (1 + u * (1 - sigmoid(u))),
};
