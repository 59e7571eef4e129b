/**
 * The grid of the elementwise kernels.
 *
 * @module
 */
import { gridOf } from "../program.ts";

/** Elements that one workgroup of an elementwise kernel handles: 64 threads, BATCH = 8 vec4 each. */
const ELEMENTS_PER_WORKGROUP = 64 * 8 * 4;

/** The grid for so many elements. */
export function elementwiseGrid(length: number): [number, number] {
  return gridOf(Math.ceil(length / ELEMENTS_PER_WORKGROUP));
}
