import { assert, assertEquals } from "@std/assert";
import type { KernelRegistry } from "../../lib/tensor/registry.ts";
import type { ModelExtent } from "../../lib/model/model_config.ts";
import { markRttBytes } from "../../lib/model/batch_rows.ts";
import { readParameterLike } from "../../lib/model/parameters.ts";
import { Transformer } from "../../lib/model/transformer.ts";
import { decodeTokens, type Field, RTT_START, TokenWriter } from "../../lib/data/tokens/vocab_v2.ts";
import { assertClose, assertSameBits, testOnEachDevice } from "../tensor/support.ts";
import { modelTolerance } from "../tolerances.ts";
import { tinyBatch, tinyConfig, tinyWeights, toFloat32 } from "./tiny_model.ts";

const ORDERS: Field[][] = [["result", "source", "destination"], ["source", "destination", "result"]];

Deno.test("markRttBytes() marks the targets that are the bytes of an RTT code", () => {
  const tokens = new Uint16Array(30);
  const writer = new TokenWriter(tokens);
  const addresses = { source: Uint8Array.of(8, 8, 8, 8), destination: Uint8Array.of(9, 9, 9, 9) };
  for (const [i, order] of ORDERS.entries()) {
    writer.write({ ...addresses, rttCode: 1000 + i, timeS: null }, order);
  }
  assertEquals(decodeTokens(tokens.subarray(0, writer.at)).length, 2);
  const targets = tokens.map((_, i) => tokens[i + 1] ?? 0);
  const segmentStart = tokens.map(() => 0);
  const lossMask = Uint8Array.from(tokens, (_, i) => Number(i < writer.at));
  const marked = markRttBytes({ tokens, targets, lossMask, segmentStart }, 30);
  const starts = [...tokens.keys()].filter((i) => tokens[i] === RTT_START && i < writer.at);
  assertEquals(starts, [1, 25]);
  const expected = lossMask.slice();
  for (const start of starts) expected.set([2, 3], start);
  assertEquals(marked, expected);
});

Deno.test("markRttBytes() sees neither over a segment's start nor over a sequence's", () => {
  const batch = {
    tokens: Uint16Array.of(20, RTT_START, 30, RTT_START, 40, RTT_START),
    targets: new Uint16Array(6),
    lossMask: Uint8Array.of(1, 1, 1, 0, 1, 1),
    segmentStart: Uint16Array.of(0, 0, 2, 0, 0, 0),
  };
  assertEquals([...markRttBytes(batch, 3)], [1, 2, 1, 0, 3, 2]);
  assertEquals([...markRttBytes({ ...batch, segmentStart: Uint16Array.of(0, 0, 2, 0, 1, 1) }, 3)], [
    1,
    2,
    1,
    0,
    1,
    2,
  ]);
});

async function gradientsOf(
  registry: KernelRegistry,
  weights: Pick<ModelExtent, "rttDistanceWeights" | "rttByteWeight"> = {},
  isRttOnly = false,
) {
  const config = tinyConfig();
  const batch = tinyBatch(config, 2);
  batch.tokens.fill(RTT_START, 4, 6);
  // Earlier keys in their segment: a token that attends to itself alone has no gradient of q and k but roundings.
  batch.segmentStart.fill(3, 3, 7);
  if (isRttOnly) batch.lossMask = markRttBytes(batch, config.sequenceLength).map((kind) => Number(kind > 1));
  const model = await Transformer.create(registry, config, { batchSize: 2, training: true, ...weights });
  model.load(toFloat32(tinyWeights(config)));
  model.accumulate(batch, 0.25);
  const gradients = await readParameterLike(registry.gpu, config, model.gradients);
  return gradients.set("lossSum", (await registry.gpu.read(model.lossSum))[0]);
}

testOnEachDevice("rttDistanceWeights change the gradient, not the loss", async ({ registry }) => {
  const [plain, zero, weighted] = [
    await gradientsOf(registry),
    await gradientsOf(registry, { rttDistanceWeights: [0, 0] }),
    await gradientsOf(registry, { rttDistanceWeights: [0.5, 0.1] }),
  ];
  const values = (gradients: Map<string, Float32Array>, name: string) =>
    gradients.get(name) ?? new Float32Array();
  const name = "lm_head.weight";
  assertSameBits(values(plain, name), values(zero, name), name);
  assertSameBits(values(plain, "lossSum"), values(weighted, "lossSum"), "lossSum");
  const changed = values(weighted, name);
  assert(values(plain, name).some((value, i) => value !== changed[i]), "nothing changed");
});

testOnEachDevice(
  "rttByteWeight counts the gradient of RTT bytes so often, not their loss",
  async ({ registry }) => {
    const [plain, rttOnly, weighted] = [
      await gradientsOf(registry),
      await gradientsOf(registry, {}, true),
      await gradientsOf(registry, { rttByteWeight: 3 }),
    ];
    for (const [name, values] of weighted) {
      const [ofAll, ofRtt] = [plain, rttOnly].map((gradients) => gradients.get(name) ?? new Float32Array());
      if (name === "lossSum") assertSameBits(values, ofAll, name);
      else {
        const expected = Float64Array.from(ofAll, (g, i) => g + 2 * ofRtt[i]);
        const largest = expected.reduce((most, g) => Math.max(most, Math.abs(g)), 0);
        assertClose(values, expected, modelTolerance(tinyConfig(), largest), name);
        assert(ofRtt.some((g) => g !== 0), `no gradient of ${name}`);
      }
    }
  },
);
