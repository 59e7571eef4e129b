/**
 * The weights a training run starts from: N(0, 0.02), the two projections that write to the residual stream
 * scaled by 1 / sqrt(2 L) so that its variance does not grow with depth (Radford et al., GPT-2, 2019, 2.3).
 *
 * @module
 */
import { RandomStream } from "../random/philox.ts";
import { type ModelConfig, parameterShapes } from "./config.ts";

/** Standard deviation of the initial weights (design 04-model, from GPT-2). */
const INITIAL_DEVIATION = 0.02;

/**
 * Draws the initial weights. Each parameter has its own random stream, named after it, so a weight depends on
 * (seed, parameter name, place) alone.
 *
 * @param config The model.
 * @param seed The run's seed.
 * @returns name -> weights, row-major, of the shapes of {@link parameterShapes}.
 */
export function initialParameters(config: ModelConfig, seed: number): Map<string, Float32Array> {
  const weights = new Map<string, Float32Array>();
  for (const [name, [rows, columns]] of parameterShapes(config)) {
    const writesResidual = name.endsWith(".o_proj.weight") || name.endsWith(".down_proj.weight");
    const deviation = INITIAL_DEVIATION / (writesResidual ? Math.sqrt(2 * config.numLayers) : 1);
    const stream = new RandomStream(seed, `model/${name}`);
    const values = new Float32Array(rows * columns);
    for (let i = 0; i < values.length; i++) values[i] = stream.normal() * deviation;
    weights.set(name, values);
  }
  return weights;
}
