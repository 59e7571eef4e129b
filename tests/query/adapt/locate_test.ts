/** Coordinates of addresses that a model is adapted to. @module */
import { assert, assertAlmostEquals, assertEquals, assertRejects } from "@std/assert";
import { zeros } from "../../../lib/base/safetensors_header.ts";
import { adapt, type AdaptOptions } from "../../../lib/query/adapt/adapt.ts";
import { Gpu } from "../../../lib/tensor/device.ts";
import { KernelRegistry } from "../../../lib/tensor/registry.ts";
import { AddressEmbeddings } from "../../../lib/model/address_embeddings.ts";
import { EMBEDDING_KEYS, entryType, PAIR_HISTORY } from "../../../lib/model/model_config.ts";
import { numbersOfNode } from "../../../lib/model/coordinates/coordinates.ts";
import { coordinateEntries } from "../../../lib/model/node_coordinates.ts";
import { EMBEDDING_VALUES, withEmbeddingUpdate } from "../../../lib/model/embedding_update.ts";
import { Pool } from "../../../lib/model/pool/pool.ts";
import { fitPool } from "../../../lib/model/pool/pool_fit.ts";
import { PoolTables } from "../../../lib/model/pool/pool_tables.ts";
import { PingModel } from "../../../lib/query/ping_model.ts";
import { addressBytes } from "../../../lib/data/addresses/ip.ts";
import { decodeRttCode, encodeRttCode } from "../../../lib/data/tokens/rtt_code.ts";
import type { TokenMeasurement } from "../../../lib/data/tokens/vocab_v2.ts";
import { SimulatedTime } from "../../simulated_time.ts";
import { planetLabRtts } from "../../model/coordinates/low_rank.ts";
import { assertSameBits } from "../../tensor/support.ts";
import { estimateOf, KNOWN, measured, NEW_ADDRESS, tinyLocatedModel, tinyRowModel } from "./tiny_rows.ts";

const QUICK = { steps: 2, learningRate: 0.1 };
/** The same RTTs as those of the second known address. Known addresses are 20 ms apart on a line. */
const NEAR_SECOND = [measured(NEW_ADDRESS, KNOWN[0], 25), measured(KNOWN[2], NEW_ADDRESS, 25)];

async function adapted(
  measurements: TokenMeasurement[],
  options: AdaptOptions = QUICK,
  model = tinyLocatedModel(),
) {
  using gpu = await Gpu.open();
  const { update, ...result } = await adapt(new KernelRegistry(gpu), model, measurements, options);
  const weights = withEmbeddingUpdate(model.config, model.weights, update);
  return { result, update, before: model, after: { config: model.config, weights } };
}

Deno.test("adapt() assigns coordinates to a new address and changes no others", async () => {
  const { update, before, after } = await adapted(NEAR_SECOND);
  assertEquals(estimateOf(before, [NEW_ADDRESS, KNOWN[3]])?.isOfBoth, false);
  const { rttMs = NaN, isOfBoth } = estimateOf(after, [NEW_ADDRESS, KNOWN[3]]) ?? {};
  assertEquals(isOfBoth, true);
  const { rttMs: ofSecondMs = NaN } = estimateOf(after, [KNOWN[1], KNOWN[3]]) ?? {};
  assertAlmostEquals(Math.log(rttMs / ofSecondMs), 0, 0.3);
  for (const a of KNOWN) {
    for (const b of KNOWN) assertEquals(estimateOf(after, [a, b]), estimateOf(before, [a, b]));
  }
  const [node] = update.coordinates.nodes;
  assertEquals(update.coordinates.nodes.length, 1);
  const fresh = tinyLocatedModel();
  const size = { nodes: 16, folds: 4, rank: 2 };
  for (const [name, values] of fresh.weights) {
    assertSameBits(before.weights.get(name) ?? new Float32Array(), values, `${name} of the given model`);
    if ([EMBEDDING_VALUES, EMBEDDING_KEYS, PAIR_HISTORY].includes(name)) continue;
    const kept = after.weights.get(name)?.slice() ?? new Float32Array();
    if (name === "coordinates.keys") kept.fill(0, node, node + 1);
    for (const { part, start, length } of numbersOfNode(size, node)) {
      if (name === `coordinates.${part}`) {
        kept.set(values.subarray(start, start + length), start);
      }
    }
    assertSameBits(kept, values, name);
  }
});

Deno.test("a located address has an estimate, but the pool counts it as unknown, since its forecasts do", async () => {
  const { after } = await adapted(NEAR_SECOND);
  const tables = new PoolTables();
  const [source, destination] = KNOWN.map(addressBytes);
  tables.add(PoolTables.endOf(source), PoolTables.endOf(destination), encodeRttCode(25), 0);
  const pool = new Pool(after.config, { weights: after.weights, pool: tables.save(fitPool([])) });
  const knownOf = (source: string) =>
    pool.known({
      source: addressBytes(source),
      destination: addressBytes(KNOWN[3]),
      timeS: null,
      context: [],
    });
  const [fresh, known] = [NEW_ADDRESS, KNOWN[2]].map(knownOf);
  assert(fresh.estimate?.isOfBoth && known.estimate?.isOfBoth);
  assertEquals([fresh, known].map(({ knowsSource }) => knowsSource), [false, true]);
  assertEquals([fresh, known].map(({ knowsDestination }) => knowsDestination), [true, true]);
});

Deno.test("adapt() reports how many addresses are located", async () => {
  const measurements = ["192.0.2.201", "192.0.2.202"].map((address) => measured(address, KNOWN[0], 25));
  const told: number[][] = [];
  await adapted(measurements, { ...QUICK, onLocated: (...each) => told.push(each) });
  assertEquals(told, [[1, 2], [2, 2]]);
});

Deno.test("adapt() can be aborted while it locates many addresses", async () => {
  // At every reading of the clock it is time to check the signal.
  using _ = new SimulatedTime(1000);
  const many = Array.from({ length: 20 }, (_, i) => measured(`10.0.0.${i}`, KNOWN[0], 25));
  const controller = new AbortController();
  let [numLocated, numSteps] = [0, 0];
  const stopped = adapted(many, {
    ...QUICK,
    signal: controller.signal,
    onProgress: () => numSteps++,
    onLocated: (done) => {
      numLocated = done;
      if (done === 1) setTimeout(() => controller.abort(new Error("stopped")), 0);
    },
  });
  assertEquals((await assertRejects(() => stopped, Error)).message, "stopped");
  assertEquals([numLocated, numSteps], [1, 0]);
});

Deno.test("adapt() assigns no coordinates to addresses measured only to each other", async () => {
  const strangers = [measured("10.0.0.1", "10.0.0.2"), measured("10.0.0.2", "10.0.0.1")];
  const { update, result, after } = await adapted([...strangers, ...NEAR_SECOND]);
  assertEquals(result.addresses.length, 3);
  assertEquals(update.coordinates.nodes.length, 1);
  assertEquals(estimateOf(after, ["10.0.0.1", "10.0.0.2"])?.isOfBoth, false);
  assertEquals(estimateOf(after, ["10.0.0.1", KNOWN[0]])?.isOfBoth, false);
});

Deno.test("adapt() keeps the coordinates from training, requested or not", async () => {
  const measurements = [measured(KNOWN[0], KNOWN[1], 300), measured(KNOWN[0], KNOWN[2], 300)];
  const { update, result } = await adapted(measurements, { ...QUICK, addresses: [KNOWN[0]] });
  assertEquals([result.addresses, [...update.coordinates.nodes]], [[KNOWN[0]], []]);
});

Deno.test("PingModel.adapt() locates an address again by the new measurements and answers accordingly", async () => {
  const { config, weights } = tinyLocatedModel();
  using gpu = await Gpu.open();
  const model = PingModel.of(config, new KernelRegistry(gpu), { weights });
  const nearFourth = [measured(NEW_ADDRESS, KNOWN[3], 5), measured(KNOWN[0], NEW_ADDRESS, 65)];
  const first = await model.adapt(NEAR_SECOND, QUICK);
  const again = await model.adapt(nearFourth, QUICK);
  const alone = await adapted(nearFourth);
  assertEquals(again.update.coordinates, alone.update.coordinates);
  assert(first.update.coordinates.values.some((value, i) => value !== again.update.coordinates.values[i]));
  assertEquals(
    estimateOf(model, [NEW_ADDRESS, KNOWN[1]]),
    estimateOf(alone.after, [NEW_ADDRESS, KNOWN[1]]),
  );
  const asked = { src: NEW_ADDRESS, dst: KNOWN[1] };
  const loaded = PingModel.of(config, model.registry, { weights: model.weights });
  assertEquals(
    (await model.rttDistribution(asked)).probabilities,
    (await loaded.rttDistribution(asked)).probabilities,
  );
});

const NUM_NODES = 120;
const NUM_NEW = 24;

Deno.test({
  name: "adapt() estimates RTTs of nodes unseen in training, and their errors (PlanetLab)",
  async fn() {
    const { addresses, rttsMs } = await planetLabRtts(NUM_NODES);
    const isNew = (i: number) => i < NUM_NEW;
    const { config: { ...config }, weights } = tinyRowModel(1024);
    config.coordinates = { nodes: 192, rank: 12, folds: 4, dropShare: 0 };
    for (const [name, [rows, columns]] of coordinateEntries(config.coordinates)) {
      weights.set(name, zeros(entryType(name), rows * columns));
    }
    const rows = new AddressEmbeddings(config);
    rows.load(weights);
    const nodes = addresses.map((address, i) => isNew(i) ? -1 : rows.claimNode(addressBytes(address)));
    const known = [...rttsMs].filter(([, [a, b]]) => !isNew(a) && !isNew(b));
    rows.coordinates?.fit({
      a: Uint32Array.from(known, ([, [a]]) => nodes[a]),
      b: Uint32Array.from(known, ([, [, b]]) => nodes[b]),
      rttMs: Float64Array.from(known, ([, [, , ms]]) => ms),
    });
    rows.save(weights);
    for (const [numGiven, most] of [[2, 0.25], [8, 0.1]]) {
      const given: TokenMeasurement[] = [];
      const asked: (readonly [number, number, number])[] = [];
      for (let i = 0; i < NUM_NEW; i++) {
        const own = [...rttsMs.values()].filter(([a, b]) => a === i && !isNew(b));
        given.push(...own.slice(0, numGiven).map(([a, b, ms]) => measured(addresses[a], addresses[b], ms)));
        asked.push(...own.slice(8));
      }
      const { after } = await adapted(given, { steps: 0 }, { config, weights });
      const found = asked.map(([a, b, ms]) => {
        const { rttMs, error } = estimateOf(after, [addresses[a], addresses[b]]) ??
          { rttMs: NaN, error: NaN };
        return { error, off: Math.abs(Math.log(rttMs / ms)) };
      });
      const typical = medianOf(given.map(({ rttCode }) => Math.log(decodeRttCode(rttCode ?? 0))));
      const without = medianOf(asked.map(([, , ms]) => Math.abs(typical - Math.log(ms))));
      const off = medianOf(found.map(({ off }) => off));
      assert(off < most && off < without / 2, `${numGiven}: median |log ratio| ${off}, without ${without}`);
      const sorted = found.toSorted((a, b) => a.error - b.error);
      for (let quarter = 0; quarter < 4; quarter++) {
        const part = sorted.slice(quarter * sorted.length / 4, (quarter + 1) * sorted.length / 4);
        const ratio = medianOf(part.map(({ off }) => off)) / medianOf(part.map(({ error }) => error));
        assert(
          ratio > 0.4 && ratio < 2.5,
          `${numGiven}: quarter ${quarter} is ${ratio} times as far off as told`,
        );
      }
    }
  },
});

function medianOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1];
}
