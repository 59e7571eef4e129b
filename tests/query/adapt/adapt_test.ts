import { assert, assertEquals, assertNotEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { tensorOf, type Tensors } from "../../../lib/base/safetensors_header.ts";
import { adapt, type AdaptOptions } from "../../../lib/query/adapt/adapt.ts";
import { UserError } from "../../../lib/base/errors.ts";
import { Gpu } from "../../../lib/tensor/device.ts";
import { KernelRegistry } from "../../../lib/tensor/registry.ts";
import { AddressEmbeddings } from "../../../lib/model/address_embeddings.ts";
import { EMBEDDING_KEYS, PAIR_HISTORY } from "../../../lib/model/model_config.ts";
import { Transformer } from "../../../lib/model/transformer.ts";
import { EMBEDDING_VALUES, withEmbeddingUpdate } from "../../../lib/model/embedding_update.ts";
import { HISTORY_LENGTH } from "../../../lib/model/pair_history.ts";
import { NUM_HISTORY_RTTS } from "../../../lib/data/tokens/rtt_history.ts";
import { NO_ROW } from "../../../lib/model/embedding_table.ts";
import { PingModel } from "../../../lib/query/ping_model.ts";
import { addressBytes } from "../../../lib/data/addresses/ip.ts";
import { parsePrefix } from "../../../lib/data/addresses/ip_prefix.ts";
import { AddressCounts, basisOf } from "../../../lib/data/addresses/known_addresses.ts";
import type { TokenMeasurement } from "../../../lib/data/tokens/vocab_v2.ts";
import { assertSameBits } from "../../tensor/support.ts";
import { withTinyModel } from "../tiny_model.ts";
import {
  KNOWN,
  knownData,
  measured,
  NEW_ADDRESS,
  newMeasurements,
  tinyLocatedModel,
  tinyRowModel,
} from "./tiny_rows.ts";

const QUICK = { steps: 6, learningRate: 0.1 };

async function adapted(
  measurements: TokenMeasurement[],
  options: AdaptOptions = QUICK,
  model = tinyRowModel(),
) {
  using gpu = await Gpu.open();
  const result = await adapt(new KernelRegistry(gpu), model, measurements, options);
  return { result, model, weights: withEmbeddingUpdate(model.config, model.weights, result.update) };
}

/** Rows of an address's prefixes and of its pairs with the known addresses. */
function rowsOf(address: string, model: ReturnType<typeof tinyRowModel>, weights = model.weights) {
  const rows = new AddressEmbeddings(model.config);
  rows.load(weights);
  const bytes = addressBytes(address);
  return {
    prefixes: rows.rowsOfPrefixes(bytes),
    pairs: KNOWN.map((known) => rows.rowOfPair(bytes, addressBytes(known))),
  };
}

/** Rows whose values or keys differ. */
function changedRows(model: ReturnType<typeof tinyRowModel>, weights: Tensors): number[] {
  const rows = new Set<number>();
  for (const [name, width] of [[EMBEDDING_VALUES, model.config.width], [EMBEDDING_KEYS, 1]] as const) {
    const before = model.weights.get(name);
    weights.get(name)?.forEach((value, i) => {
      if (value !== before?.[i]) rows.add(Math.floor(i / width));
    });
  }
  return [...rows].sort((a, b) => a - b);
}

Deno.test("adapt() changes only the rows of the unknown address and its pairs, to the last bit", async () => {
  const before = tinyRowModel();
  const { result, model, weights } = await adapted(newMeasurements());
  assertEquals(result.addresses, [NEW_ADDRESS]);
  assertEquals([result.numMeasurements, result.numFailed], [4, 1]);
  for (const [name, values] of before.weights) {
    assertSameBits(model.weights.get(name) ?? new Float32Array(), values, `${name} of the given model`);
    if (![EMBEDDING_VALUES, EMBEDDING_KEYS, PAIR_HISTORY].includes(name)) {
      assertEquals(weights.get(name), values);
    }
  }
  const { prefixes, pairs } = rowsOf(NEW_ADDRESS, model, weights);
  assert([...prefixes, ...pairs].every((row) => row !== NO_ROW));
  assertEquals(rowsOf(NEW_ADDRESS, model).prefixes.slice(0, 3), prefixes.slice(0, 3), "known prefixes");
  const wanted = [prefixes[3], ...pairs].sort((a, b) => a - b);
  assertEquals(changedRows(model, weights), wanted);
  assertEquals([...result.update.rows], wanted);
  // Each pair was measured once or twice, which its history reflects at once.
  const histories = tensorOf(weights, PAIR_HISTORY, "U32");
  const remembered =
    histories.filter((code, i) => code !== 0 && i % HISTORY_LENGTH < NUM_HISTORY_RTTS).length;
  assertEquals(remembered, result.numMeasurements);
});

Deno.test("adapt() initialises a new row to the mean of the rows that share its longest prefix", async () => {
  const { model, weights } = await adapted(newMeasurements(), { steps: 0 });
  const values = weights.get(EMBEDDING_VALUES) ?? new Float32Array();
  const { width } = model.config;
  const row = (number: number) => values.subarray(number * width, (number + 1) * width);
  const [a, b, found] = [KNOWN[0], KNOWN[1], NEW_ADDRESS].map((address) =>
    row(rowsOf(address, model, weights).prefixes[3])
  );
  assertEquals(found, Float32Array.from(a, (value, i) => (value + b[i]) / 2));
});

Deno.test("adapt() moves requested known rows by at most maxDrift", async () => {
  const measurements = [measured(KNOWN[0], KNOWN[2], 300), measured(KNOWN[3], KNOWN[0], 250)];
  const maxDrift = 0.25;
  const { model, weights } = await adapted(measurements, { ...QUICK, addresses: [KNOWN[0]], maxDrift });
  const { prefixes, pairs } = rowsOf(KNOWN[0], model);
  assertEquals(changedRows(model, weights), [prefixes[3], pairs[2], pairs[3]].sort((a, b) => a - b));
  const { width } = model.config;
  const distances = changedRows(model, weights).map((row) => {
    const [from, to] = [model.weights, weights].map((of) =>
      of.get(EMBEDDING_VALUES)?.subarray(row * width, (row + 1) * width)
    );
    return Math.hypot(...Array.from(from ?? [], (value, i) => value - (to?.[i] ?? NaN)));
  });
  for (const distance of distances) assert(distance > 0.2 && distance < maxDrift + 1e-4, `${distances}`);
});

Deno.test("adapt() fits the addresses that get rows in a full table, and names the others", async () => {
  const strangers = Array.from({ length: 80 }, (_, i) => `10.${i}.0.1`);
  const measurements = strangers.map((address) => measured(KNOWN[0], address));
  const { result } = await adapted(measurements, { ...QUICK, steps: 1 });
  assert(result.withoutRow.length > 0 && result.addresses.length > 0);
  assertEquals(new Set([...result.withoutRow, ...result.addresses]), new Set(strangers));
});

Deno.test("adapt() rejects a model without rows", async () => {
  await withTinyModel(async ({ registry, config, weights }) => {
    const error = await assertRejects(
      () => adapt(registry, { config, weights }, newMeasurements()),
      UserError,
    );
    assertEquals(error.message.split(":")[0], "Cannot adapt the model");
    assertNotEquals(error.message.indexOf("prefixVectors"), -1);
  });
});

Deno.test("after PingModel.adapt() a model answers like one loaded with the changed embeddings", async () => {
  const { config, weights } = tinyRowModel();
  using gpu = await Gpu.open();
  const registry = new KernelRegistry(gpu);
  const model = PingModel.of(config, registry, { weights });
  const question = { src: KNOWN[0], dst: NEW_ADDRESS };
  const before = await model.rttDistribution(question);
  const { update } = await model.adapt(
    [{ src: NEW_ADDRESS, dst: KNOWN[1], rtt: 12 }, ...newMeasurements()],
    QUICK,
  );
  const after = await model.rttDistribution(question);
  assertNotEquals(after.probabilities, before.probabilities);
  const loaded = PingModel.of(config, registry, { weights: withEmbeddingUpdate(config, weights, update) });
  assertSameBits(
    Float32Array.from((await loaded.rttDistribution(question)).probabilities),
    Float32Array.from(after.probabilities),
    "probabilities",
  );
  const again = await model.adapt([{ src: NEW_ADDRESS, dst: KNOWN[1], rtt: 12 }], QUICK);
  assertEquals(again.addresses, [NEW_ADDRESS], "it is one that training did not know, although it has a row");
});

function basisText({ trainingData }: Pick<PingModel, "trainingData">, src: string, dst: string): string {
  return basisOf(trainingData, parsePrefix(src), parsePrefix(dst)).text;
}

Deno.test("PingModel.adapt() adds the measurements of addresses with a row to those of earlier adaptations", async () => {
  const { config, weights } = tinyRowModel();
  using gpu = await Gpu.open();
  const registry = new KernelRegistry(gpu);
  const earlier = new AddressCounts();
  earlier.add(earlier.id(addressBytes(NEW_ADDRESS)), earlier.id(addressBytes(KNOWN[2])), null);
  const adaptation = {
    known: earlier.table(),
    summary: earlier.summary({ origin: "", isSynthetic: null }),
  };
  const model = PingModel.of(config, registry, { weights, trainingData: { ...knownData(), adaptation } });
  await model.adapt(newMeasurements(), QUICK);
  const says = (src: string, dst: string) => basisText(model, src, dst);
  assertEquals(says(KNOWN[0], NEW_ADDRESS), "Pair in 1 measurement of the adaptation, last on 2023-11-14.");
  assertEquals(says(NEW_ADDRESS, KNOWN[2]), "Pair in 2 measurements of the adaptation.", "of no known time");
  assertEquals(
    says(NEW_ADDRESS, "10.0.0.1").split(", destination never")[0],
    "Source in 5 measurements of the adaptation, last on 2023-11-14",
    "four replies, and one from before",
  );
  assertStringIncludes(
    says(KNOWN[0], "10.0.0.1"),
    "Source measured 9 times, 1 of them in the adaptation, last",
  );
  const strangers = Array.from({ length: 80 }, (_, i) => `10.${i}.0.1`);
  const { withoutRow, addresses } = await model.adapt(
    strangers.map((address) => measured(KNOWN[0], address)),
    { ...QUICK, steps: 1 },
  );
  assertStringIncludes(says(KNOWN[0], addresses[0]), "Pair in 1 measurement of the adaptation");
  assertStringIncludes(says(KNOWN[0], withoutRow[0]), "destination never: a guess");
});

Deno.test("PingModel.adapt() does not change answers for other addresses, to the last bit", async () => {
  const { config, weights } = tinyLocatedModel();
  using gpu = await Gpu.open();
  const model = PingModel.of(config, new KernelRegistry(gpu), { weights });
  const [measuredOne, unknown] = ["203.0.114.77", ["203.0.114.78", "203.9.9.9", "198.51.100.99", "10.0.0.1"]];
  const ends = [...KNOWN, ...unknown];
  const pairs = ends.flatMap((src) => ends.map((dst) => ({ src, dst })));
  const answers = async () => {
    const found = [];
    for (const pair of pairs) found.push((await model.rttDistribution(pair)).probabilities);
    return found;
  };
  const question = { src: KNOWN[0], dst: measuredOne };
  const [before, own] = [await answers(), (await model.rttDistribution(question)).probabilities];
  const measurements = Array.from({ length: 24 }, (_, i) => measured(KNOWN[i % 4], measuredOne, 900 + i));
  const { update } = await model.adapt(measurements, QUICK);
  assertEquals(update.coordinates.nodes.length, 1, "it has coordinates");
  assertNotEquals((await model.rttDistribution(question)).probabilities, own);
  (await answers()).forEach((after, i) => assertEquals(after, before[i], JSON.stringify(pairs[i])));
});

Deno.test("adapt() fits all of many measurements in batches, without longer steps", async () => {
  const many = Array.from({ length: 900 }, (_, i) => measured(KNOWN[i % 4], NEW_ADDRESS, 12 + 20 * (i % 4)));
  const { accumulate } = Transformer.prototype;
  let numBatches = 0;
  Transformer.prototype.accumulate = function (...args) {
    numBatches++;
    accumulate.apply(this, args);
  };
  using restored = new DisposableStack();
  restored.defer(() => Transformer.prototype.accumulate = accumulate);
  const { result } = await adapted(many, { ...QUICK, steps: 12 });
  // Computing the loss before and after the fit takes as long as a step.
  assert(numBatches > 24 && numBatches <= 3 * (12 + 2), `${numBatches} batches`);
  const again = await adapted(many, { ...QUICK, steps: 12 });
  assertEquals(result.numMeasurements, 900);
  const { lossBefore, lossAfter } = result;
  assert(
    lossBefore !== null && lossAfter !== null && lossAfter < lossBefore - 0.3,
    `${lossBefore} ${lossAfter}`,
  );
  assertSameBits(again.result.update.values, result.update.values, "values");
});
