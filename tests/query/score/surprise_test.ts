import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { LossRuns } from "../../../lib/query/score/loss_runs.ts";
import { NormalPValues } from "../../../lib/query/score/normal_p_values.ts";

Deno.test("corrected p-values are above 0 and at most 1, also if no reply was lost before", () => {
  const normal = new NormalPValues(Float64Array.from([0.2, 0.1, 0.5, 0.9]), (i) => i === 0);
  for (const lost of [true, false]) {
    for (const p of [1e-300, 1]) assert(normal.corrected(p, lost) > 0 && normal.corrected(p, lost) <= 1);
  }
  // If no reply was ever lost, a lost one is more surprising than nearly everything else.
  const neverLost = new NormalPValues(Float64Array.from([0.1, 0.5, 0.9]), () => false);
  assert(neverLost.corrected(0.3, true) < neverLost.corrected(0.1, false));
});

Deno.test("a pair's run of lost replies has the product of at most ten loss probabilities", () => {
  const runs = new LossRuns(2);
  const log = Math.log(0.1);
  assertAlmostEquals(runs.add("a", true, log), 0.1, 1e-12);
  assertAlmostEquals(runs.add("b", true, log), 0.1, 1e-12);
  assertAlmostEquals(runs.add("a", true, Math.log(0.5)), 0.05, 1e-12);
  assertEquals(runs.add("a", false, -9), 1);
  assertAlmostEquals(runs.add("a", true, log), 0.1, 1e-12);
  assertAlmostEquals(runs.add("b", true, log), 0.01, 1e-12);
  for (let i = 0; i < 20; i++) runs.add("a", true, log);
  assertAlmostEquals(runs.add("a", true, log), 1e-10, 1e-15);
  // The least recently seen pair is forgotten.
  runs.add("c", true, log);
  assertAlmostEquals(runs.add("b", true, log), 0.1, 1e-12);
});
