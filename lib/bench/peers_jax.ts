/**
 * The part of jax-js (npm `@jax-js/jax`, https://jax-js.com) that the comparison uses, as types: the package itself
 * is loaded by {@link file://./peers_child.ts} alone, at run time.
 *
 * Every function takes over its arrays: an array that is used again is passed as `x.ref`.
 *
 * @module
 */

/** An array on jax-js's device. */
export interface JaxArray {
  /** The same array, to be used once more. */
  readonly ref: JaxArray;
  add(other: JaxArray | number): JaxArray;
  sub(other: JaxArray | number): JaxArray;
  mul(other: JaxArray | number): JaxArray;
  div(other: JaxArray | number): JaxArray;
  mean(axis: number, options: { keepdims: boolean }): JaxArray;
  sum(): JaxArray;
  reshape(shape: readonly number[]): JaxArray;
  dispose(): void;
  data(): Promise<Float32Array>;
}

/** Arrays by name; jax-js's transformations go through all of them. */
export type JaxArrays = { [name: string]: JaxArray };

/** The package. */
export interface Jax {
  init(device: "webgpu"): Promise<string[]>;
  defaultDevice(device: "webgpu"): void;
  blockUntilReady(arrays: unknown): Promise<unknown>;
  jit<F>(compute: F): F;
  valueAndGrad<Rest extends unknown[]>(
    compute: (parameters: JaxArrays, ...rest: Rest) => JaxArray,
  ): (parameters: JaxArrays, ...rest: Rest) => [JaxArray, JaxArrays];
  tree: { ref<T>(arrays: T): T; dispose(arrays: unknown): void };
  nn: {
    relu(x: JaxArray): JaxArray;
    silu(x: JaxArray): JaxArray;
    gelu(x: JaxArray, options: { approximate: boolean }): JaxArray;
    softmax(x: JaxArray, axis: number): JaxArray;
    logSoftmax(x: JaxArray, axis: number): JaxArray;
    oneHot(x: JaxArray, numClasses: number): JaxArray;
  };
  numpy: {
    int32: unknown;
    array(values: Float32Array | Int32Array, options?: { dtype: unknown }): JaxArray;
    zeros(shape: readonly number[]): JaxArray;
    matmul(a: JaxArray, b: JaxArray): JaxArray;
    transpose(x: JaxArray, axes?: readonly number[]): JaxArray;
    split(x: JaxArray, numParts: number, axis: number): JaxArray[];
    concatenate(parts: readonly JaxArray[], axis: number): JaxArray;
    square(x: JaxArray): JaxArray;
    sqrt(x: JaxArray): JaxArray;
    tanh(x: JaxArray): JaxArray;
    minimum(a: JaxArray, b: JaxArray | number): JaxArray;
    maximum(a: JaxArray, b: JaxArray | number): JaxArray;
  };
}
