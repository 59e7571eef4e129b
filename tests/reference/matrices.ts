/** Float64 matrix products of row-major arrays, in the three layouts of the model. @module */

/** C[m, n] = A[m, k] B[n, k]^T. */
export function productNT(a: Float64Array, b: Float64Array, m: number, n: number, k: number): Float64Array {
  const c = new Float64Array(m * n);
  for (let i = 0; i < m; i++) {
    for (let j = 0; j < n; j++) {
      let sum = 0;
      for (let l = 0; l < k; l++) sum += a[i * k + l] * b[j * k + l];
      c[i * n + j] = sum;
    }
  }
  return c;
}

/** C[m, n] = A[m, k] B[k, n]. */
export function productNN(a: Float64Array, b: Float64Array, m: number, n: number, k: number): Float64Array {
  const c = new Float64Array(m * n);
  for (let i = 0; i < m; i++) {
    for (let l = 0; l < k; l++) {
      for (let j = 0; j < n; j++) c[i * n + j] += a[i * k + l] * b[l * n + j];
    }
  }
  return c;
}

/** C[m, n] = A[k, m]^T B[k, n]. */
export function productTN(a: Float64Array, b: Float64Array, m: number, n: number, k: number): Float64Array {
  const c = new Float64Array(m * n);
  for (let l = 0; l < k; l++) {
    for (let i = 0; i < m; i++) {
      for (let j = 0; j < n; j++) c[i * n + j] += a[l * m + i] * b[l * n + j];
    }
  }
  return c;
}

/** a += b. */
export function addInto(a: Float64Array, b: Float64Array): void {
  for (let i = 0; i < a.length; i++) a[i] += b[i];
}
