/**
 * The weights: their transfer between GPU and host, and their initial values, N(0, 0.02). The two projections
 * that write to the residual stream are scaled by 1 / sqrt(2 L), so that its variance does not grow with
 * depth (Radford et al., GPT-2, 2019, 2.3). Vectors of close bytes may be initialised to be close.
 *
 * @module
 */
import { RandomStream } from "../base/random.ts";
import { BYTE_BASE as BYTE_BASE_V1 } from "../data/tokens/vocab_v1.ts";
import { BYTE_BASE as BYTE_BASE_V2 } from "../data/tokens/vocab_v2.ts";
import { entryType, type ModelConfig, type ModelShapes, modelShapes } from "./model_config.ts";
import { byteOfSelectedRow } from "./selected_rows.ts";
import { UserError } from "../base/errors.ts";
import { type TensorArray, tensorOf, type Tensors, zeros } from "../base/safetensors_header.ts";
import type { Gpu } from "../tensor/device.ts";
import { type Tensor, tensorLength } from "../tensor/tensor.ts";

const INITIAL_DEVIATION = 0.02;

/**
 * Draws the initial weights. Each parameter has its own random stream, named after it, so a weight depends
 * only on (seed, parameter name, position).
 *
 * With `byteVectors: "ordinal"` the vectors of bytes, in the embedding and the head, are the sum of
 * {@link byteFeatures} and a random part. The embedding then has deviation 1: its learning rate is so high
 * that a small initial value would be lost after one step.
 *
 * @param seed The run's seed.
 * @param options `period`: the number of elements after which a parameter repeats (default: never); for time
 *   measurements, because drawing takes seconds per hundred million.
 * @returns name -> weights, row-major, with the shapes of `ModelShapes.entries`.
 */
export function initialParameters(
  config: ModelConfig,
  seed: number,
  { period = Infinity }: { period?: number } = {},
): Map<string, TensorArray> {
  const weights = new Map<string, TensorArray>();
  const isOrdinal = config.byteVectors === "ordinal";
  const shapes = modelShapes(config);
  for (const [name, [rows, columns]] of shapes.parameters) {
    const writesResidual = name.endsWith(".o_proj.weight") || name.endsWith(".down_proj.weight");
    const depthScale = writesResidual ? 1 / Math.sqrt(2 * config.numLayers) : 1;
    const deviation = isOrdinal && name === "wte.weight" ? 1 : INITIAL_DEVIATION * depthScale;
    const stream = new RandomStream(seed, `model/${name}`);
    const values = new Float32Array(rows * columns);
    weights.set(name, values);
    if (name === "address_embed.weight") {
      initializeSelectedRows(values, shapes, seed);
      continue;
    }
    const numDrawn = Math.min(period, values.length);
    for (let i = 0; i < numDrawn; i++) values[i] = stream.normal() * deviation;
    for (let end = numDrawn; end < values.length; end *= 2) values.copyWithin(end, 0, end);
    if (isOrdinal && (name === "wte.weight" || name === "lm_head.weight")) {
      mixIn(values, byteFeatures(columns, seed), { firstRow: firstByteToken(config), deviation });
    }
  }
  for (const [name, [rows, columns]] of shapes.entries) {
    if (!weights.has(name)) weights.set(name, zeros(entryType(name), rows * columns));
  }
  return weights;
}

/** Rows of prefixes and pairs start at zero, rows selected by RTT codes as the vectors of their bytes. */
function initializeSelectedRows(values: Float32Array, shapes: ModelShapes, seed: number): void {
  const { numAddressEmbeddings: numRows, numSelectedRows: numSelected, config: { width } } = shapes;
  for (let row = 0; row < numSelected; row++) {
    const found = byteOfSelectedRow(row);
    if (found?.byte !== 0) continue;
    const features = byteFeatures(width, found.isNext ? seed : seed + 1 + found.table);
    values.set(features, (numRows - numSelected + row) * width);
  }
}

function firstByteToken({ vocabulary }: ModelConfig): number {
  return vocabulary === "v1" ? BYTE_BASE_V1 : BYTE_BASE_V2;
}

/** Share of the variance of a byte's vector that it has in common with its neighbours; the rest is random. */
const ORDINAL_SHARE = 0.7;
const MAX_FREQUENCIES = 32;
/** Scale of the decay with frequency, which makes vectors of close bytes similar. */
const FADING_FREQUENCY = 8;

/**
 * Vectors of the bytes whose products depend only on the bytes' distance on a circle of 256: the cosines and
 * sines of 2 pi k b / 256, k = 1, 2, …, along random orthogonal directions. It is a circle because byte 2 of
 * a growing RTT code goes from 255 to 0.
 *
 * Source: Rahimi and Recht, Random features for large-scale kernel machines, 2007, section 3.
 *
 * @param width C, a multiple of 4.
 * @returns (256, C), rows of length sqrt(C).
 */
function byteFeatures(width: number, seed: number): Float64Array {
  const numFrequencies = Math.min(MAX_FREQUENCIES, width / 4);
  const directions = orthonormalRows(2 * numFrequencies, width, new RandomStream(seed, "model/byte vectors"));
  const amplitudes = Array.from(
    { length: numFrequencies },
    (_, i) => 1 / Math.hypot(1, (i + 1) / FADING_FREQUENCY),
  );
  const scale = Math.sqrt(width) / Math.hypot(...amplitudes);
  const features = new Float64Array(256 * width);
  for (let byte = 0; byte < 256; byte++) {
    amplitudes.forEach((amplitude, i) => {
      const angle = 2 * Math.PI * (i + 1) * byte / 256;
      const x = scale * amplitude * Math.cos(angle);
      const y = scale * amplitude * Math.sin(angle);
      for (let column = 0; column < width; column++) {
        features[byte * width + column] += x * directions[2 * i][column] + y * directions[2 * i + 1][column];
      }
    });
  }
  return features;
}

/** Random orthonormal vectors, by the Gram-Schmidt process. */
function orthonormalRows(count: number, width: number, random: RandomStream): Float64Array[] {
  const rows: Float64Array[] = [];
  for (let i = 0; i < count; i++) {
    const row = Float64Array.from({ length: width }, () => random.normal());
    for (const other of rows) {
      const product = row.reduce((sum, x, j) => sum + x * other[j], 0);
      for (let j = 0; j < width; j++) row[j] -= product * other[j];
    }
    const length = Math.hypot(...row);
    rows.push(row.map((x) => x / length));
  }
  return rows;
}

/** Replaces rows of deviation `deviation` by a weighted sum of themselves and the features. */
function mixIn(
  values: Float32Array,
  features: Float64Array,
  { firstRow, deviation }: { firstRow: number; deviation: number },
): void {
  const first = firstRow * (features.length / 256);
  for (let i = 0; i < features.length; i++) {
    values[first + i] = Math.sqrt(1 - ORDINAL_SHARE) * values[first + i] +
      Math.sqrt(ORDINAL_SHARE) * deviation * features[i];
  }
}

/**
 * Sets all parameters on the GPU, where the head is padded.
 *
 * @param values `parameters`: name -> tensor; `weights`: name -> values with the shapes of
 *   `ModelShapes.entries`.
 * @throws {UserError} If a weight is missing, unknown or of the wrong size.
 */
export function writeParameters(
  gpu: Gpu,
  { entries }: ModelShapes,
  { parameters, weights }: { parameters: Map<string, Tensor>; weights: Tensors },
): void {
  for (const name of weights.keys()) {
    if (!entries.has(name)) throw wrongWeights(`a weight ${name}`, "no weight of that name");
  }
  for (const [name, [rows, columns]] of entries) {
    const values = weights.get(name);
    if (!values) throw wrongWeights(`no weight ${name}`, `one of shape [${rows}, ${columns}]`);
    if (values.length !== rows * columns) {
      throw wrongWeights(`${values.length} values of ${name}`, `a shape of [${rows}, ${columns}]`);
    }
    const tensor = parameters.get(name);
    if (tensor) gpu.write(tensor, tensorOf(weights, name, "F32"));
  }
}

/**
 * Reads tensors with the layout of the parameters, without the head's padding rows.
 *
 * @param tensors Any names that start with a parameter's name, such as `wte.weight.exp_avg`.
 */
export async function readParameterLike(
  gpu: Gpu,
  { vocabSize, config }: ModelShapes,
  tensors: Map<string, Tensor>,
): Promise<Map<string, Float32Array>> {
  const values = await gpu.read(...tensors.values());
  return new Map([...tensors].map(([name, tensor], i) => {
    const isHead = name.startsWith("lm_head.weight");
    const length = isHead ? vocabSize * config.width : tensorLength(tensor);
    return [name, values[i].slice(0, length)];
  }));
}

function wrongWeights(found: string, wanted: string): UserError {
  return new UserError(
    `Cannot load the weights: found ${found}, expected ${wanted}; use the configuration they were trained with`,
  );
}
