/**
 * Sampling without replacement.
 *
 * @module
 */
import type { RandomStream } from "./philox.ts";

/**
 * Different integers below n in random order: every choice and order is equally likely. Fisher and Yates on an
 * array 0..n-1 of which only the moved elements are stored, so n can be large.
 *
 * @param n Number of values, 1..2^31.
 * @param count Number of values to draw, 0..n.
 * @param random Source of the draws.
 */
export function drawDistinct(n: number, count: number, random: RandomStream): Int32Array {
  const drawn = new Int32Array(count);
  const moved = new Map<number, number>();
  for (let i = 0; i < count; i++) {
    const chosen = i + random.below(n - i);
    drawn[i] = moved.get(chosen) ?? chosen;
    moved.set(chosen, moved.get(i) ?? i);
  }
  return drawn;
}
