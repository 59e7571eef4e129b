import { assertEquals, assertMatch, assertNotEquals, assertThrows } from "@std/assert";
import { FormatError } from "../../../lib/base/errors.ts";
import { namedWeights, presentPool, weightsOf } from "../../../lib/model/pool/forecasts.ts";
import { fitPool } from "../../../lib/model/pool/pool_fit.ts";
import { Pool } from "../../../lib/model/pool/pool.ts";
import { NUM_KINDS } from "../../../lib/model/pool/question_kinds.ts";
import { faultOfNumbers } from "../../../lib/model/tensor_bounds.ts";
import { withTinyModel } from "../../query/tiny_model.ts";
import { poolOfMesh } from "./mesh_pool.ts";

Deno.test("every file in forecasts/ has weights, with a unique name", () => {
  const files = [...Deno.readDirSync(new URL("../../../lib/model/pool/forecasts/", import.meta.url))];
  // The others are those of the model and of an even distribution.
  assertEquals(namedWeights(fitPool([])).size, files.length + 2);
});

Deno.test("positional weights are read in their original order", () => {
  const old = Float32Array.from({ length: 42 * NUM_KINDS }, (_, i) => i % 42 + Math.floor(i / 42) / 128);
  const pool = presentPool(new Map([["pool.weights", old], ["pool.all", Float32Array.of(1)]]));
  const columns = (first: number, end: number) =>
    Float32Array.from(
      Array.from({ length: NUM_KINDS }, (_, kind) => old.slice(42 * kind + first, 42 * kind + end)).flatMap((
        row,
      ) => [...row]),
    );
  const ends = {
    model: 1,
    pair_rtts: 7,
    pair_medians: 25,
    coordinates: 28,
    usual_rtts: 33,
    forest: 35,
    kriging: 38,
  };
  let first = 0;
  for (const [name, end] of Object.entries({ ...ends, factors: 41, even: 42 })) {
    assertEquals(pool.get(`pool.weights.${name}`), columns(first, end), name);
    first = end;
  }
  assertEquals([pool.has("pool.weights"), pool.get("pool.all")], [false, Float32Array.of(1)]);
});

Deno.test("a pool fitted without a forecast answers as if the forecast's weights were 0", () =>
  withTinyModel(({ config, weights }) => {
    const pool = poolOfMesh();
    const fitted = [...namedWeights(fitPool([]))].filter(([name]) => name !== "pool.weights.factors");
    const without = weightsOf(new Map(fitted));
    for (let kind = 0; kind < NUM_KINDS; kind++) {
      const own = without.subarray(
        kind * without.length / NUM_KINDS,
        (kind + 1) * without.length / NUM_KINDS,
      );
      const sum = own.reduce((a, b) => a + b, 0);
      own.forEach((weight, k) => own[k] = weight / sum);
    }
    const zero = new Map([...pool, ...namedWeights(without)]);
    const earlier = presentPool(new Map([...zero].filter(([name]) => !/factor/.test(name))));
    assertEquals([earlier.size, faultOfNumbers(earlier)], [zero.size, undefined]);
    const ends = { source: Uint8Array.of(192, 0, 2, 1), destination: Uint8Array.of(203, 0, 113, 1) };
    const [ofEarlier, ofZero, ofAll] = [earlier, zero, pool].map((tensors) => {
      const out = new Float64Array(33_791);
      new Pool(config, { weights, pool: tensors }).forecast({ ...ends, timeS: null, context: [] }).addTo(out);
      return out;
    });
    assertEquals(ofEarlier, ofZero);
    assertNotEquals(ofEarlier, ofAll);
    zero.delete("pool.factors");
    assertEquals(faultOfNumbers(zero), "tensor pool.factors has no numbers, expected rows of 20");
    return Promise.resolve();
  }));

Deno.test("a pool with an unknown forecast or a wrong number of weights is rejected with a remedy", () =>
  withTinyModel(({ config, weights }) => {
    const unknown = "contains weights of a forecast unknown to this version";
    const cases: [name: string, length: number, fault: string][] = [
      ["pool.weights.oracle", NUM_KINDS, unknown],
      ["pool.weights", 38 * NUM_KINDS, unknown],
      ["pool.weights.forest", NUM_KINDS, `has ${NUM_KINDS} weights, expected ${2 * NUM_KINDS}`],
    ];
    for (const [name, length, fault] of cases) {
      const pool = poolOfMesh().set(name, new Float32Array(length));
      const { message } = assertThrows(
        () => new Pool(config, { weights, pool }),
        FormatError,
        `${name} ${fault}`,
      );
      assertMatch(message, /^.*; update ping-llm, or delete pool.safetensors and run train again.*$/);
      // The network answers alone with --no-pool.
      assertEquals(faultOfNumbers(pool), undefined);
    }
    return Promise.resolve();
  }));
