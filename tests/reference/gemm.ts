/** Matrix products in float64. @module */
import type { GemmKind } from "../../lib/tensor/ops/gemm.ts";

export interface GemmShape {
  kind: GemmKind;
  m: number;
  n: number;
  k: number;
}

export function gemm({ kind, m, n, k }: GemmShape, a: Float64Array, b: Float64Array): Float64Array {
  const c = new Float64Array(m * n);
  for (let i = 0; i < m; i++) {
    for (let l = 0; l < k; l++) {
      const left = kind === "TN" ? a[l * m + i] : a[i * k + l];
      for (let j = 0; j < n; j++) c[i * n + j] += left * (kind === "NT" ? b[j * k + l] : b[l * n + j]);
    }
  }
  return c;
}

/** The gradients of op(A) op(B) with respect to A and B, each in its own layout. */
export function gemmBackward(
  shape: GemmShape,
  a: Float64Array,
  b: Float64Array,
  dC: Float64Array,
): { a: Float64Array; b: Float64Array } {
  const { kind, m, n, k } = shape;
  if (kind === "NN") {
    return {
      a: gemm({ kind: "NT", m, n: k, k: n }, dC, b),
      b: gemm({ kind: "TN", m: k, n, k: m }, a, dC),
    };
  }
  if (kind === "NT") {
    return {
      a: gemm({ kind: "NN", m, n: k, k: n }, dC, b),
      b: gemm({ kind: "TN", m: n, n: k, k: m }, dC, a),
    };
  }
  return {
    a: gemm({ kind: "NT", m: k, n: m, k: n }, b, dC),
    b: gemm({ kind: "NN", m: k, n, k: m }, a, dC),
  };
}
