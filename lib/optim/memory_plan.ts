/**
 * The GPU memory of an optimizer, computed without allocating any.
 *
 * @module
 */
import { NUM_ADAMW_HYPER } from "../gpu/ops/adamw.ts";
import { muonScratchShapes, NUM_MUON_HYPER } from "../gpu/ops/muon.ts";
import { numPartialSums } from "../gpu/ops/reduce.ts";
import type { MakeTensor } from "../model/allocation.ts";
import { type GroupName, groupOf, type OptimConfig } from "./optim_config.ts";
import { stackOf } from "./muon.ts";

/**
 * Makes a tensor of each size that `Optimizer.create` allocates: states, scratch memory and numbers.
 *
 * @param shapes Parameter name -> (rows, columns) of its tensor on the GPU.
 */
export function optimizerTensors(
  shapes: ReadonlyMap<string, readonly number[]>,
  config: OptimConfig,
  make: MakeTensor,
): void {
  const numPartials = [...shapes.values()].reduce(
    (sum, [rows, columns]) => sum + numPartialSums(rows * columns),
    0,
  );
  // For the gradient's norm: clip factor, sum of squares, partial sums.
  const norm = [[4], [1], [numPartials]];
  const groups = (Object.keys(config.groups) as GroupName[]).map((group) => {
    const members = [...shapes].filter(([name]) => groupOf(name) === group).map(([, shape]) => shape);
    const shapesOf = config.groups[group].kind === "muon" ? muonShapes(members) : adamWShapes(members);
    return group === "rows" ? [...shapesOf, ...members.map(([rows]) => [rows])] : shapesOf;
  });
  for (const shape of [...norm, ...groups.flat()]) make("of the optimizer", shape);
}

/** The 4-byte numbers of the optimizer's state in a checkpoint. @param shapes See {@link optimizerTensors}. */
export function numStateValues(
  shapes: ReadonlyMap<string, readonly number[]>,
  config: OptimConfig,
): number {
  return [...shapes].reduce((sum, [name, [rows, columns]]) => {
    const numMoments = config.groups[groupOf(name)].kind === "muon" ? 1 : 2;
    return sum + numMoments * rows * columns + (groupOf(name) === "rows" ? rows : 0);
  }, 0);
}

function adamWShapes(members: readonly (readonly number[])[]): (readonly number[])[] {
  return [[NUM_ADAMW_HYPER], ...members, ...members];
}

function muonShapes(members: readonly (readonly number[])[]): (readonly number[])[] {
  const stacks = Map.groupBy(members, (shape) => shape.join()).values();
  const scratch = [...stacks].flatMap((shapes) => Object.values(muonScratchShapes(stackOf(shapes))));
  return [[NUM_MUON_HYPER], ...members, ...scratch];
}
