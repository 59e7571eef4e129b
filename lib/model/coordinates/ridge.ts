/** Linear least squares with L2 regularisation, for many small problems in a row. @module */

export function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let k = 0; k < a.length; k++) sum += a[k] * b[k];
  return sum;
}

/** The normal equations of a least-squares problem, accumulated row by row. */
export class RidgeSum {
  /** Sums of products: feature by feature, (n, n), lower triangle only; and feature by target, (n,). */
  readonly #products: Float64Array;
  readonly #targets: Float64Array;
  readonly #factor: Float64Array;

  /** @param numFeatures Length n of each row. */
  constructor(readonly numFeatures: number) {
    this.#products = new Float64Array(numFeatures ** 2);
    this.#targets = new Float64Array(numFeatures);
    this.#factor = new Float64Array(numFeatures ** 2);
  }

  clear(): void {
    this.#products.fill(0);
    this.#targets.fill(0);
  }

  /** @param target The value that the features should predict. */
  add(features: Float64Array, target: number): void {
    const n = this.numFeatures;
    for (let i = 0; i < n; i++) {
      this.#targets[i] += target * features[i];
      for (let j = 0; j <= i; j++) this.#products[i * n + j] += features[i] * features[j];
    }
  }

  /**
   * Adds four rows at once, which is faster than adding them one by one.
   *
   * @param features (4, n). @param targets (4,). @param weights (4,); 0 leaves a row out.
   */
  addFour(features: Float64Array, targets: Float64Array, weights: Float64Array): void {
    const n = this.numFeatures;
    const products = this.#products;
    const sums = this.#targets;
    for (let i = 0; i < n; i++) {
      const w0 = weights[0] * features[i];
      const w1 = weights[1] * features[n + i];
      const w2 = weights[2] * features[2 * n + i];
      const w3 = weights[3] * features[3 * n + i];
      sums[i] += w0 * targets[0] + w1 * targets[1] + w2 * targets[2] + w3 * targets[3];
      for (let j = 0, at = i * n; j <= i; j++, at++) {
        products[at] += w0 * features[j] + w1 * features[n + j] + w2 * features[2 * n + j] +
          w3 * features[3 * n + j];
      }
    }
  }

  /**
   * Returns the weights w that minimise the sum of (features . w - target)^2 + sum of penalty_i (w_i -
   * prior_i)^2, by Cholesky.
   *
   * @param penalty Above 0; one per weight, or one for all.
   * @param prior Zeros by default.
   */
  solve(penalty: number | Float64Array, prior?: Float64Array): Float64Array {
    const n = this.numFeatures;
    const lower = this.#factor;
    const weights = new Float64Array(n);
    for (let i = 0; i < n; i++) {
      const own = typeof penalty === "number" ? penalty : penalty[i];
      weights[i] = this.#targets[i] + own * (prior?.[i] ?? 0);
      for (let j = 0; j <= i; j++) lower[i * n + j] = this.#products[i * n + j] + (i === j ? own : 0);
    }
    factorize(lower, n);
    substituteForward(lower, weights);
    substituteBack(lower, weights);
    return weights;
  }
}

/**
 * Replaces a symmetric matrix by its Cholesky factor L: the matrix is L L^T.
 *
 * @param lower (n, n); only the lower triangle is used.
 * @param least Lower bound of the squared diagonal elements.
 */
export function factorize(lower: Float64Array, n: number, least = 0): void {
  for (let i = 0; i < n; i++) {
    const first = i - i % 4;
    if (i === first && i + 4 <= n) factorizeFour(lower, n, i);
    for (let j = first + 4 <= n ? first : 0; j <= i; j++) {
      let sum = lower[i * n + j];
      for (let k = 0; k < j; k++) sum -= lower[i * n + k] * lower[j * n + k];
      lower[i * n + j] = i === j ? Math.sqrt(Math.max(sum, least)) : sum / lower[j * n + j];
    }
  }
}

/** Columns before `i` of rows i to i + 3. Four sums run at once: the additions of one wait for each other. */
function factorizeFour(lower: Float64Array, n: number, i: number): void {
  const [a, b, c, d] = [i * n, (i + 1) * n, (i + 2) * n, (i + 3) * n];
  for (let j = 0; j < i; j++) {
    const row = j * n;
    let [sumA, sumB, sumC, sumD] = [lower[a + j], lower[b + j], lower[c + j], lower[d + j]];
    for (let k = 0; k < j; k++) {
      const other = lower[row + k];
      sumA -= lower[a + k] * other;
      sumB -= lower[b + k] * other;
      sumC -= lower[c + k] * other;
      sumD -= lower[d + k] * other;
    }
    const diagonal = lower[row + j];
    lower[a + j] = sumA / diagonal;
    lower[b + j] = sumB / diagonal;
    lower[c + j] = sumC / diagonal;
    lower[d + j] = sumD / diagonal;
  }
}

/** Solves L x = b in place. @param lower See {@link factorize}. */
export function substituteForward(lower: Float64Array, b: Float64Array): void {
  const n = b.length;
  for (let i = 0; i < n; i++) {
    let sum = b[i];
    for (let j = 0; j < i; j++) sum -= lower[i * n + j] * b[j];
    b[i] = sum / lower[i * n + i];
  }
}

/** Solves L^T x = b in place. @param lower See {@link factorize}. */
function substituteBack(lower: Float64Array, b: Float64Array): void {
  const n = b.length;
  for (let i = n - 1; i >= 0; i--) {
    for (let j = i + 1; j < n; j++) b[i] -= lower[j * n + i] * b[j];
    b[i] /= lower[i * n + i];
  }
}
