import { KernelRegistry } from "../../lib/tensor/registry.ts";
import { checkHalf } from "./attention_problem.ts";
import { withLargerMatrices } from "./larger_matrices.ts";
import { testWithMatrices } from "./support.ts";

testWithMatrices(
  "kernels for matrix units of 16 rows are right with four units of 8 for one",
  async (bench) => {
    const names = ["forward", "backward_query", "backward_key"].map((name) => `attention_${name}_matrix`);
    const sources = Object.fromEntries(names.map((name) => {
      // Of half as many subgroups, for the 32 KiB of workgroup memory of lavapipe.
      const halved = bench.registry.source(name).replace(/(?<!override )\bSUBGROUPS\b/g, "(SUBGROUPS / 2u)");
      return [name, withLargerMatrices(halved)];
    }));
    const registry = new KernelRegistry(bench.gpu, { sources });
    await checkHalf(bench, [1, 100, 2, 64], 60, ["matrix"], registry);
  },
);
