/**
 * The GPU memory of an optimizer, computed without allocating any.
 *
 * @module
 */
import { NUM_ADAMW_HYPER } from "../gpu/ops/adamw.ts";
import { muonScratchShapes, NUM_MUON_HYPER } from "../gpu/ops/muon.ts";
import { numPartialSums } from "../gpu/ops/reduce.ts";
import { allocationSizeBytes } from "../gpu/tensor.ts";
import { type GroupName, groupOf, type OptimConfig } from "./config.ts";
import { stackOf } from "./muon.ts";

/**
 * The bytes of everything that `Optimizer.create` allocates: states, scratch memory and numbers.
 *
 * @param shapes Parameter name -> (rows, columns) of its tensor on the GPU.
 */
export function optimizerSizeBytes(
  shapes: ReadonlyMap<string, readonly number[]>,
  config: OptimConfig,
): number {
  const partials = sum([...shapes.values()].map(([rows, columns]) => numPartialSums(rows * columns)));
  // Of the gradient's norm: clip factor, sum of squares, partial sums.
  const norm = [[4], [1], [partials]];
  const groups = (Object.keys(config.groups) as GroupName[]).map((group) => {
    const members = [...shapes].filter(([name]) => groupOf(name) === group).map(([, shape]) => shape);
    return config.groups[group].kind === "muon" ? muonShapes(members) : adamWShapes(members);
  });
  return sum([...norm, ...groups.flat()].map((shape) => allocationSizeBytes(shape)));
}

function adamWShapes(members: readonly (readonly number[])[]): (readonly number[])[] {
  return [[NUM_ADAMW_HYPER], ...members, ...members];
}

function muonShapes(members: readonly (readonly number[])[]): (readonly number[])[] {
  const stacks = Map.groupBy(members, (shape) => shape.join()).values();
  const scratch = [...stacks].flatMap((shapes) => Object.values(muonScratchShapes(stackOf(shapes))));
  return [[NUM_MUON_HYPER], ...members, ...scratch];
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
