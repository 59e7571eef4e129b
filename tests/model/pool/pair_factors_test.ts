import { assert, assertEquals } from "@std/assert";
import type { Tensors } from "../../../lib/base/safetensors_header.ts";
import { RandomStream } from "../../../lib/base/random.ts";
import { quantileOfSample } from "../../../lib/base/sample_statistics.ts";
import { recallFrom, type TrainingPair } from "../../../lib/model/pool/forecast.ts";
import { PAIR_FACTORS } from "../../../lib/model/pool/pair_factors.ts";
import { hashesOf } from "../../../lib/model/embedding_table.ts";

const NUM_NODES = 40;
const END = Array.from({ length: NUM_NODES }, (_, i) => hashesOf(Uint8Array.of(192, 0, 2, i)));
const placeOf = () => undefined;
const open = (tensors: Tensors) => recallFrom(tensors, placeOf)(PAIR_FACTORS);
const learned = (pairs: readonly Omit<TrainingPair, "source" | "destination">[]) =>
  PAIR_FACTORS.learn(pairs.map((pair) => ({ source: "", destination: "", ...pair })), {
    placeOf,
    seed: 0,
  });

/** Pairs of a mesh: RTTs are products of vectors of length 3, except a tenth that are 50 times as long. */
function mesh() {
  const random = new RandomStream(3, "tests/factors");
  const vectors = END.map(() => Array.from({ length: 3 }, () => 1 + 4 * random.float64()));
  const trueMs = (a: number, b: number) => vectors[a].reduce((sum, each, k) => sum + each * vectors[b][k], 0);
  const all = END.flatMap((_, a) => END.keys().filter((b) => b > a).map((b) => [a, b] as const).toArray());
  const isKnown = all.map(() => random.float64() < 0.4);
  const known = all.filter((_, i) => isKnown[i]).map(([a, b]) => ({
    hashes: [END[a], END[b]] as const,
    rttsMs: Array.from({ length: 10 }, (_, i) => trueMs(a, b) * (i === 4 ? 50 : 1)),
  }));
  return { known, unknown: all.filter((_, i) => !isKnown[i]), trueMs };
}

Deno.test("factors recover RTTs of unmeasured pairs, symmetrically and despite outliers", () => {
  const { known, unknown, trueMs } = mesh();
  const factors = open(learned(known));
  const errors = unknown.map(([a, b]) => {
    const [log] = factors.logs(END[a], END[b]);
    assertEquals(factors.logs(END[b], END[a]), [log]);
    return Math.abs(log - Math.log(trueMs(a, b)));
  });
  assert(errors.length > 400);
  const median = quantileOfSample(errors, 0.5);
  assert(median < 0.06, `${median}`);
});

Deno.test("an address with fewer than four pairs has no vectors and no estimate", () => {
  const { known } = mesh();
  const few = hashesOf(Uint8Array.of(203, 0, 113, 1));
  const with3 = [...known, ...END.slice(0, 3).map((end) => ({ hashes: [end, few] as const, rttsMs: [20] }))];
  const tensors = learned(with3);
  assertEquals(tensors.get("pool.factors")?.length, NUM_NODES * 20);
  assertEquals(tensors, learned(known));
  assertEquals(open(tensors).logs(END[0], few), []);
});

Deno.test("without pairs there are no factors", () => {
  assertEquals(learned([]).get("pool.factors"), new Float32Array());
});
