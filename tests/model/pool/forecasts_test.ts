import { assertEquals, assertMatch, assertThrows } from "@std/assert";
import { FormatError, named } from "../../../lib/base/errors.ts";
import { namedWeights } from "../../../lib/model/pool/forecasts.ts";
import { fitPool } from "../../../lib/model/pool/pool_fit.ts";
import { Pool } from "../../../lib/model/pool/pool.ts";
import { NUM_KINDS } from "../../../lib/model/pool/question_kinds.ts";
import { faultOfNumbers } from "../../../lib/model/tensor_bounds.ts";
import { withTinyModel } from "../../query/tiny_model.ts";
import { poolOfMesh } from "./mesh_pool.ts";

Deno.test("every file in forecasts/ has weights, with a unique name", () => {
  const files = [...Deno.readDirSync(new URL("../../../lib/model/pool/forecasts/", import.meta.url))];
  // The others are those of the model, of an even distribution, and of neighbours.
  assertEquals(namedWeights(fitPool([])).size, files.length + 3);
});

Deno.test("a pool with an unknown or missing forecast or a wrong number of weights is rejected with a remedy", () =>
  withTinyModel(({ config, weights }) => {
    const unknown = "contains weights of a forecast unknown to this version";
    const cases: [name: string, length: number, fault: string][] = [
      ["pool.weights.oracle", NUM_KINDS, unknown],
      ["pool.weights", 38 * NUM_KINDS, unknown],
      // An earlier forest, whose features were others.
      ["pool.weights.forest", 2 * NUM_KINDS, unknown],
      ["pool.weights.factors", 0, `has no weights, expected ${3 * NUM_KINDS}`],
      ["pool.weights.pair_forest", NUM_KINDS, `has ${NUM_KINDS} weights, expected ${2 * NUM_KINDS}`],
    ];
    for (const [name, length, fault] of cases) {
      const pool = poolOfMesh().set(name, new Float32Array(length));
      if (length === 0) pool.delete(name);
      named(pool, "pool.nodes")[0] = 17;
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
