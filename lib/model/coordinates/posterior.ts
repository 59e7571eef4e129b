/**
 * The normal distribution of a node's bias and vector, (1 + rank), before and after RTTs to other nodes are
 * known: Bayesian linear regression, since an RTT on a scale is linear in them. Errors are distributed as
 * Student's t, fitted by expectation maximisation (Lange, Little, Taylor, "Robust Statistical Modeling Using
 * the t Distribution", JASA 84, 1989), so that a few outlying RTTs hardly move a node.
 *
 * @module
 */
import { dot } from "./ridge.ts";

export interface NodeDistribution {
  readonly mean: Float64Array;
  /** (1 + rank, 1 + rank). */
  readonly covariance: Float64Array;
}

/** A known RTT on the scale. */
export interface KnownValue {
  /** Derivative of the RTT with respect to the node's bias and vector, (1 + rank). */
  readonly features: Float64Array;
  /** The RTT less the other node's bias. */
  readonly value: number;
  /** The variance of its error. */
  readonly noise: number;
}

/** Degrees of freedom of Student's t. */
const DEGREES = 3;
const NUM_ITERATIONS = 5;

/** The logarithm of the density of an error by Student's t, up to a constant. */
export function logDensity(error: number, variance: number): number {
  return -(DEGREES + 1) / 2 * Math.log1p(error ** 2 / variance / DEGREES) - Math.log(variance) / 2;
}

/** The sample mean and covariance. @param vectors At least one. */
export function distributionOf(vectors: readonly Float64Array[]): NodeDistribution {
  const [{ length }] = vectors;
  const mean = new Float64Array(length);
  for (const vector of vectors) vector.forEach((part, i) => mean[i] += part / vectors.length);
  const covariance = new Float64Array(length * length);
  for (const vector of vectors) {
    addProduct(covariance, vector.map((part, i) => part - mean[i]), 1 / vectors.length);
  }
  return { mean, covariance };
}

/** The variance of an RTT because of a node's distribution. */
export function varianceAlong(covariance: Float64Array, features: Float64Array): number {
  return dot(features, times(covariance, features));
}

/** Reduces a covariance by a known RTT. @returns The change of the mean per unit of the RTT's error. */
export function lessen(covariance: Float64Array, features: Float64Array, noise: number): Float64Array {
  const changes = times(covariance, features);
  const variance = dot(features, changes) + noise;
  addProduct(covariance, changes, -1 / variance);
  return changes.map((change) => change / variance);
}

/**
 * The distribution of a node after RTTs are known.
 *
 * @returns Also, for each RTT, what the others predict: its value, and the variance of its error.
 */
export function posterior(
  prior: NodeDistribution,
  known: readonly KnownValue[],
): NodeDistribution & { readonly predicted: { value: number; variance: number }[] } {
  let noises = known.map(({ noise }) => noise);
  for (let iteration = 1;; iteration++) {
    const mean = prior.mean.slice();
    const covariance = prior.covariance.slice();
    known.forEach(({ features, value }, i) => {
      const error = value - dot(features, mean);
      lessen(covariance, features, noises[i]).forEach((change, k) => mean[k] += error * change);
    });
    const fits = known.map(({ features, value, noise }, i) => {
      const [error, variance] = [value - dot(features, mean), varianceAlong(covariance, features)];
      // Without this RTT both would be greater.
      const factor = noises[i] / (noises[i] - variance);
      return {
        value: value - error * factor,
        variance: noise + variance * factor,
        noise: (DEGREES * noise + error ** 2 + variance) / (DEGREES + 1),
      };
    });
    if (iteration === NUM_ITERATIONS) return { mean, covariance, predicted: fits };
    noises = fits.map(({ noise }) => noise);
  }
}

/** Adds the weighted outer product of a column with itself. */
export function addProduct(matrix: Float64Array, column: Float64Array, weight: number): void {
  const { length } = column;
  for (let i = 0; i < length; i++) {
    const factor = weight * column[i];
    for (let j = 0; j < length; j++) matrix[i * length + j] += factor * column[j];
  }
}

export function times(matrix: Float64Array, column: Float64Array): Float64Array {
  const { length } = column;
  const product = new Float64Array(length);
  for (let i = 0; i < length; i++) {
    let sum = 0;
    for (let j = 0; j < length; j++) sum += matrix[i * length + j] * column[j];
    product[i] = sum;
  }
  return product;
}
