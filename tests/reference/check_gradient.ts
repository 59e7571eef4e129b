/**
 * Checks a backward function against finite differences of its forward function, both in float64.
 *
 * The differentiated scalar is `sum(dOutput * forward(inputs))` for a random dOutput, so every entry of the
 * Jacobian contributes.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { RandomStream } from "../../lib/base/random.ts";

export type Arrays = Record<string, Float64Array>;

export interface GradientCheck {
  /** The point of the check. Arrays for which `backward` returns no gradient are constants. */
  inputs: Arrays;
  forward: (inputs: Arrays) => Float64Array;
  /** The gradient of `sum(dOutput * forward(inputs))` with respect to each differentiable input. */
  backward: (inputs: Arrays, dOutput: Float64Array) => Arrays;
  /** Maximum number of randomly drawn elements to check in each input (default: 40). */
  maxElements?: number;
  /** Step of the central difference (default: 1e-5): truncation h^2, rounding 1e-16 / h. */
  step?: number;
  /** `|numeric - analytic| <= tolerance * (1 + |analytic|)` (default: 1e-6). */
  tolerance?: number;
}

/** @throws {AssertionError} With name and index of the first element that differs. */
export function checkGradient(check: GradientCheck): void {
  const { inputs, forward, backward, maxElements = 40, step = 1e-5, tolerance = 1e-6 } = check;
  const random = new RandomStream(0, "check gradient");
  const dOutput = forward(inputs).map(() => random.normal());
  const objective = () =>
    forward(inputs).reduce((sum, value, i) => sum + (dOutput[i] === 0 ? 0 : dOutput[i] * value), 0);
  const gradients = backward(inputs, dOutput);
  assert(Object.keys(gradients).length > 0, "the backward function returned no gradient");
  for (const [name, gradient] of Object.entries(gradients)) {
    const input = inputs[name];
    assertEquals(gradient.length, input.length, `gradient of ${name} has the wrong length`);
    const indices = [...input.keys()];
    random.shuffle(indices);
    for (const i of indices.slice(0, maxElements)) {
      const value = input[i];
      input[i] = value + step;
      const above = objective();
      input[i] = value - step;
      const below = objective();
      input[i] = value;
      const numeric = (above - below) / (2 * step);
      assert(
        Math.abs(numeric - gradient[i]) <= tolerance * (1 + Math.abs(gradient[i])),
        `gradient of ${name}[${i}] is ${gradient[i]}, finite differences give ${numeric}`,
      );
    }
  }
}
