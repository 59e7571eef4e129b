/** Linear least squares with L2 regularisation, as alternating least squares solves it many times. @module */

/** The normal equations of a least-squares problem, gathered row by row. */
export class RidgeSum {
  /** Sums of products of features (n, n), of which the lower triangle is kept, and of features and targets (n,). */
  readonly #products: Float64Array;
  readonly #targets: Float64Array;
  readonly #factor: Float64Array;

  /** @param numFeatures Length n of each row. */
  constructor(readonly numFeatures: number) {
    this.#products = new Float64Array(numFeatures ** 2);
    this.#targets = new Float64Array(numFeatures);
    this.#factor = new Float64Array(numFeatures ** 2);
  }

  /** Removes all rows. */
  clear(): void {
    this.#products.fill(0);
    this.#targets.fill(0);
  }

  /** Adds a row. @param target The value that the features should predict. */
  add(features: Float64Array, target: number): void {
    const n = this.numFeatures;
    for (let i = 0; i < n; i++) {
      this.#targets[i] += target * features[i];
      for (let j = 0; j <= i; j++) this.#products[i * n + j] += features[i] * features[j];
    }
  }

  /**
   * Adds four rows at once, which is faster than one after the other.
   *
   * @param features (4, n).
   * @param targets (4,).
   * @param weights (4,): the weight of each row; 0 leaves it out.
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
   * The weights w that minimise the sum of (features . w - target)^2 + sum of penalty_i (w_i - prior_i)^2, by Cholesky.
   *
   * @param penalty Above 0, one for each weight or the same for all.
   * @param prior Zeros by default.
   */
  solve(penalty: number | Float64Array, prior?: Float64Array): Float64Array {
    const n = this.numFeatures;
    const lower = this.#factor;
    const weights = new Float64Array(n);
    for (let i = 0; i < n; i++) {
      const own = typeof penalty === "number" ? penalty : penalty[i];
      let sum = this.#targets[i] + own * (prior?.[i] ?? 0);
      for (let j = 0; j <= i; j++) {
        let product = this.#products[i * n + j] + (i === j ? own : 0);
        for (let k = 0; k < j; k++) product -= lower[i * n + k] * lower[j * n + k];
        lower[i * n + j] = i === j ? Math.sqrt(product) : product / lower[j * n + j];
      }
      for (let j = 0; j < i; j++) sum -= lower[i * n + j] * weights[j];
      weights[i] = sum / lower[i * n + i];
    }
    for (let i = n - 1; i >= 0; i--) {
      for (let j = i + 1; j < n; j++) weights[i] -= lower[j * n + i] * weights[j];
      weights[i] /= lower[i * n + i];
    }
    return weights;
  }
}
