/** Clipping by the global norm in float64. @module */

/** Scales gradients in place so that their global norm is at most `maxNorm`; returns the norm before. */
export function clipGradients(gradients: Iterable<Float64Array>, maxNorm: number): number {
  const all = [...gradients];
  const norm = Math.sqrt(all.reduce((sum, g) => g.reduce((part, value) => part + value * value, sum), 0));
  const factor = Math.min(1, maxNorm / norm);
  for (const gradient of all) gradient.forEach((value, i) => gradient[i] = value * factor);
  return norm;
}
