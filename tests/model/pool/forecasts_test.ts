import { assert, assertAlmostEquals, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { RandomStream } from "../../../lib/base/random.ts";
import { FormatError, named } from "../../../lib/base/errors.ts";
import type { KnownOfQuestion, Recall } from "../../../lib/model/pool/forecast.ts";
import { namedWeights } from "../../../lib/model/pool/forecasts.ts";
import { averages, networkLogs } from "../../../lib/model/pool/forecasts/averages.ts";
import { FIRST_INDEXES, logOfIndex } from "../../../lib/model/pool/kernel_mixture.ts";
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

Deno.test("averages are those of the quantiles of the network, the forest and kriging; the network's are exact", () => {
  const random = new RandomStream(0, "tests/averages");
  const firstBytes = Float64Array.from({ length: 132 }, () => random.float64() ** 4);
  const endByte = 120;
  const quantiles = networkLogs(firstBytes, FIRST_INDEXES[endByte]);
  const total = firstBytes.subarray(0, endByte).reduce((sum, p) => sum + p, 0);
  quantiles.forEach((log, i) => {
    // P(at most the quantile), with the mass of a first byte even over its logarithms.
    let below = 0;
    for (let byte = 0; byte < endByte; byte++) {
      const [low, high] = [byte, byte + 1].map((each) => logOfIndex(FIRST_INDEXES[each]));
      below += firstBytes[byte] * Math.min(1, Math.max(0, (log - low) / (high - low)));
    }
    assertAlmostEquals(below / total, (i + 0.5) / 16, 1e-9);
  });
  const forest = { logs: () => quantiles.map((_, i) => i / 10), krigedLogs: () => [2] };
  const recall = (() => forest) as unknown as Recall;
  const ends = { source: "10.0.0.1", destination: "10.0.0.2" };
  const known = { ends, recall, ofAll: [1], ofNetwork: quantiles } as unknown as KnownOfQuestion;
  const centres = averages.ask(known)([1, 0]).filter(({ mass }) => mass > 0).map(({ log }) => log);
  quantiles.forEach((log, i) => assert(centres.includes((log + i / 10 + 2) / 3)));
  // Without the network, all pairs' usual RTTs.
  const others = averages.ask({ ...known, ofNetwork: undefined })([1, 0]);
  assert(others.every(({ log }) => log === 1));
});
