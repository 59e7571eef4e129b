import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { named } from "../../lib/base/errors.ts";
import { POOL_COLUMNS } from "../../lib/model/pool/pool.ts";
import { faultOfNumbers } from "../../lib/model/tensor_bounds.ts";
import { poolOfMesh } from "./pool/mesh_pool.ts";
import { VALUES } from "../fuzz/forged_checkpoints.ts";

Deno.test("faultOfNumbers() accepts only possible numbers in every tensor and column of a pool", () => {
  const pool = poolOfMesh();
  assertEquals(faultOfNumbers(pool), undefined);
  let numTried = 0;
  // Without zeros, which most tensors allow.
  const accepted = new Map<string, Set<number>>();
  for (const [name, { length: width }] of POOL_COLUMNS) {
    const values = named(pool, name);
    for (let column = 0; column < width; column++) {
      const kept = values[column];
      for (const value of VALUES) {
        values[column] = value;
        // Integer tensors convert the value.
        const stored = values[column];
        if (Object.is(stored, kept)) continue;
        numTried++;
        const fault = faultOfNumbers(pool);
        if (fault !== undefined) assertStringIncludes(fault, "pool.");
        else if (stored !== 0) accepted.set(name, new Set([...accepted.get(name) ?? [], stored]));
      }
      values[column] = kept;
    }
  }
  assertEquals(
    accepted,
    new Map([
      // Hashes may be any numbers that keep the rows in order.
      ...["end_tries", "ends", "factor_hashes", "pairs"].map((name) =>
        [`pool.${name}`, new Set([2 ** 32 - 1, 1e9])] as const
      ),
      ["pool.neighbour_ends", new Set([255])],
      // A time, or a reply with the code 51,712 of 15,258 measurements.
      ["pool.measurements", new Set([1e9, 2 ** 32 - 1])],
      ["pool.pair_shares", new Set([255])],
      ["pool.pair_spreads", new Set([0.5])],
      ["pool.usual_pair", new Set([0.5])],
      ["pool.age", new Set([1e9])],
      ["pool.failure_weights", new Set([0.5])],
      ["pool.weights.pair_neighbours", new Set([0.5])],
      ["pool.factors", new Set([0.5, 1e9])],
      ["pool.regression", new Set([-1, 0.5])],
      ["pool.nodes", new Set([-1, 0.5, 1e9])],
      ["pool.leaves", new Set([-1, 0.5])],
    ]),
  );
  assert(numTried > 650, `${numTried}`);
});

Deno.test("faultOfNumbers() names the first inconsistency between the numbers of a pool", () => {
  const cases: [tensor: string, index: number, value: number, fault: string][] = [
    ["pool.weights.pair_memory", 1, 0.5, "pool.weights of kind 0 add up to"],
    [
      "pool.range",
      1,
      20,
      "element 0 of tensor pool.usual is 8019, expected a code within the range of pool.range",
    ],
    [
      "pool.measurements",
      0,
      7,
      "element 0 of tensor pool.measurements is 7, expected a time from 1990 to 2099",
    ],
    [
      "pool.measurements",
      1,
      10067,
      "element 1 of tensor pool.measurements is 10067, expected an RTT code or 0, plus 65,536 times a number",
    ],
    [
      "pool.measurements",
      2,
      1_600_000_000,
      "element 2 of tensor pool.measurements is 1600000000, expected the measurements of a pair in the order",
    ],
    ["pool.age", 1, 0.9, "the shares of pool.age add up to"],
    ["pool.pairs", 3, 0, "element 3 of tensor pool.pairs is 0, expected rows in ascending order"],
    [
      "pool.pairs",
      2,
      9,
      "the counts of tensor pool.pairs add up to 65, expected 60, the number of rows of pool.measurements",
    ],
    ["pool.ends", 2, 3, "the number of rows of pool.usual"],
    [
      "pool.end_tries",
      3,
      11,
      "element 3 of tensor pool.end_tries is 11, expected at most the number of measurements",
    ],
    ["pool.end_tries", 2, 11, "add up to 61 for sources and 60 for destinations, expected equal sums"],
    ["pool.roots", 3, 1e6, "element 3 of tensor pool.roots is 1000000, expected below"],
    ["pool.nodes", 2, 0, "element 2 of tensor pool.nodes is 0, expected a node from 2 to"],
    [
      "pool.leaves",
      0,
      9,
      "element 1 of tensor pool.leaves is -0.1880338340997696, expected numbers in ascending order",
    ],
    ["pool.neighbour_ends", 0, 5, "element 0 of tensor pool.neighbour_ends is 5, expected 4 or 16"],
    ["pool.neighbour_pairs", 1, 0, "element 1 of tensor pool.neighbour_pairs is 0, expected from 6 to 11"],
  ];
  for (const [tensor, index, value, fault] of cases) {
    const pool = poolOfMesh();
    named(pool, tensor)[index] = value;
    assertStringIncludes(faultOfNumbers(pool) ?? "none", fault);
  }
  const pool = poolOfMesh().set("pool.failure_weights", new Float32Array(5));
  assertEquals(faultOfNumbers(pool), "tensor pool.failure_weights has 5 rows, expected 4");
});
