/**
 * Transfers tensors with the layout of a model's parameters between GPU and host. On the GPU the head has padding rows.
 *
 * @module
 */
import { UserError } from "../base/errors.ts";
import type { Gpu } from "../tensor/device.ts";
import { type Tensor, tensorLength } from "../tensor/tensor.ts";
import { type ModelConfig, modelShapes } from "./model_config.ts";

/**
 * Sets all parameters.
 *
 * @param values `parameters`: name -> tensor; `weights`: name -> values of the shapes of `ModelShapes.entries`.
 * @throws {UserError} If a weight is missing, unknown or of a wrong size.
 */
export function writeParameters(
  gpu: Gpu,
  config: ModelConfig,
  { parameters, weights }: { parameters: Map<string, Tensor>; weights: Map<string, Float32Array> },
): void {
  const shapes = modelShapes(config).entries;
  for (const name of weights.keys()) {
    if (!shapes.has(name)) throw wrongWeights(`a weight ${name}`, "none of that name");
  }
  for (const [name, [rows, columns]] of shapes) {
    const values = weights.get(name);
    if (!values) throw wrongWeights(`no weight ${name}`, `one of shape [${rows}, ${columns}]`);
    if (values.length !== rows * columns) {
      throw wrongWeights(`${values.length} values of ${name}`, `a shape of [${rows}, ${columns}]`);
    }
    const tensor = parameters.get(name);
    if (tensor) gpu.write(tensor, values);
  }
}

/**
 * Reads tensors with the layout of the parameters, without the head's padding rows.
 *
 * @param tensors Any names that start with a parameter's name, such as `wte.weight.exp_avg`.
 */
export async function readParameterLike(
  gpu: Gpu,
  config: ModelConfig,
  tensors: Map<string, Tensor>,
): Promise<Map<string, Float32Array>> {
  const values = await gpu.read(...tensors.values());
  const V = modelShapes(config).vocabSize;
  return new Map([...tensors].map(([name, tensor], i) => {
    const isHead = name.startsWith("lm_head.weight");
    const length = isHead ? V * config.width : tensorLength(tensor);
    return [name, values[i].slice(0, length)];
  }));
}

function wrongWeights(found: string, wanted: string): UserError {
  return new UserError(
    `Cannot load the weights: found ${found}, expected ${wanted}; use the configuration they were trained with`,
  );
}
