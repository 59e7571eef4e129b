import { assert, assertAlmostEquals, assertEquals, assertGreater, assertLess } from "@std/assert";
import { AddressEmbeddings } from "../../lib/model/address_embeddings.ts";
import { EMBEDDING_KEYS, type ModelConfig, modelShapes, PAIR_HISTORY } from "../../lib/model/model_config.ts";
import { initialParameters } from "../../lib/model/parameters.ts";
import { autosizer, claimRows, DataSurvey } from "../../lib/train/autosize.ts";
import { parseRunConfig, type RunConfig } from "../../lib/train/run_config.ts";
import type { ProbeRow } from "../../lib/data/probe_rows/probe_row.ts";
import { addressBytes } from "../../lib/data/addresses/ip.ts";
import { MemoryRowSource, syntheticRows } from "../data/loader/synthetic_rows.ts";
import { tinyConfig } from "../model/tiny_model.ts";
import { advance } from "../../lib/model/embedding_table.ts";
import { CITIES, CITY_TABLE, rowOf } from "./cities.ts";

const SOURCE = new MemoryRowSource(syntheticRows(1, 40, 60));
const SURVEY = DataSurvey.of(SOURCE);
const NUM_MEASUREMENTS = SOURCE.rows.reduce((sum, { rttMs }) => sum + rttMs.length, 0);

function configOf(model: Partial<ModelConfig>, passes: number, steps = 5000, spareRows = 0) {
  const rule = { kind: "adamw", learningRate: 0.01 };
  return parseRunConfig({
    model: { ...tinyConfig(), ...model },
    optim: { groups: { embedding: rule, head: rule, matrices: rule } },
    train: { steps, batchSize: 2, microBatchSize: 2, evalSequences: 2 },
    autosize: { passes, spareRows },
  });
}

const autosized = (config: RunConfig, survey: DataSurvey) => autosizer(config, survey)(config.train.steps);

const TABLES = {
  prefixVectors: { rows: 4096, seed: 0, dropShare: 0.1 },
  pairVectors: { rows: 4096, seed: 0, dropShare: 0.1, history: true },
  coordinates: { nodes: 1024, rank: 2, folds: 4, dropShare: 0.1 },
};

function pairsOf({ rows }: MemoryRowSource): Set<string> {
  return new Set(
    rows.flatMap(({ srcAddrs, dstAddrs, srcIndex, dstIndex }) =>
      Array.from(srcIndex, (src, i) => `${srcAddrs[src]} ${dstAddrs[dstIndex[i]]}`)
    ),
  );
}

function numAddressesOf({ rows }: MemoryRowSource): number {
  return new Set(rows.flatMap(({ srcAddrs, dstAddrs }) => [...srcAddrs, ...dstAddrs])).size;
}

Deno.test("autosizer() chooses rows to fit the data and steps to fit the passes", () => {
  const config = configOf(TABLES, 2);
  const sized = autosized(config, SURVEY);
  const numPairs = pairsOf(SOURCE).size;
  const { pairVectors, prefixVectors } = sized.model;
  assert(pairVectors && prefixVectors);
  assertGreater(pairVectors.rows, numPairs);
  assertLess(pairVectors.rows, 1.25 * numPairs + 64);
  assertLess(prefixVectors.rows, 4096);
  assertLess(sized.model.coordinates?.nodes ?? Infinity, 1.25 * numAddressesOf(SOURCE) + 64);
  assertEquals(sized.train.steps, Math.ceil(2 * NUM_MEASUREMENTS * 18 / (2 * 12)));
  assertEquals(autosized(sized, SURVEY), sized);
});

Deno.test("autosizer() lets a run end after its passes or continue up to maxPasses", () => {
  const config = configOf(TABLES, 2);
  const sized = (maxPasses: number, steps = 50_000) =>
    autosized({
      ...config,
      train: { ...config.train, steps },
      autosize: config.autosize && { ...config.autosize, maxPasses },
    }, SURVEY);
  const once = autosized(config, SURVEY);
  const { train, model } = sized(16);
  assertEquals([train.firstSteps, once.train.firstSteps], [once.train.steps, null]);
  assertEquals(train.steps, Math.ceil(16 * NUM_MEASUREMENTS * 18 / (2 * 12)));
  assertEquals(model, once.model);
  assertEquals(autosized(sized(16), SURVEY), sized(16));
  // If the steps do not suffice for the first epochs, there is only one end.
  assertEquals(sized(16, 700).train, { ...train, steps: 700, firstSteps: null });
  assertEquals(sized(1).train, { ...train, steps: once.train.steps, firstSteps: null });
});

Deno.test("autosizer() keeps smaller configured steps and rows, and at least 50 steps", () => {
  const small = { prefixVectors: { ...TABLES.prefixVectors, rows: 32 }, pairVectors: null };
  const sized = autosized(configOf(small, 3, 700), SURVEY);
  assertEquals([sized.train.steps, sized.model.prefixVectors?.rows], [700, 32]);
  assertEquals(autosized(configOf(small, 0.01), SURVEY).train.steps, 50);
  const unchanged = { ...configOf(TABLES, 3), autosize: null };
  assertEquals(autosized(unchanged, SURVEY), unchanged);
});

Deno.test("autosizer() sets dropShare so that a pair is unknown as often as there are passes", () => {
  const often = { ...TABLES, pairVectors: { ...TABLES.pairVectors, dropShare: 0.9 } };
  const perPair = NUM_MEASUREMENTS / pairsOf(SOURCE).size;
  for (const steps of [3000, 6000]) {
    const { train, model } = autosized(configOf(often, 4, steps), SURVEY);
    const passes = train.steps * 2 * 12 / (18 * NUM_MEASUREMENTS);
    const dropShare = model.pairVectors?.dropShare ?? NaN;
    assertAlmostEquals(passes * (1 + (perPair - 1) * dropShare), 4, 1e-6);
    assert(dropShare < 0.9);
  }
  assertEquals(autosized(configOf(often, 4, 100), SURVEY).model.pairVectors?.dropShare, 0.9);
});

Deno.test("autosizer() limits rows to what fits a buffer of any adapter", () => {
  const rowsOf = (width: number) => {
    const { prefixVectors, pairVectors } = autosized(
      configOf({
        width,
        prefixVectors: TABLES.prefixVectors,
        pairVectors: { ...TABLES.pairVectors, history: false },
      }, 3),
      SURVEY,
    ).model;
    return [prefixVectors?.rows ?? NaN, pairVectors?.rows ?? NaN];
  };
  const [prefixes, pairs] = rowsOf(16);
  assert(prefixes <= 256 && pairs > 256, `${prefixes} and ${pairs} rows`);
  assertEquals(
    rowsOf(65_536),
    [prefixes, 512 - prefixes],
    "512 rows of 2^18 bytes: the larger part gives way",
  );
  assertEquals(rowsOf(4 * Math.floor(2 ** 23 / (prefixes + pairs))), [prefixes, pairs], "as many as fit");
});

Deno.test("autosizer() omits pair rows where pairs are rarely measured", () => {
  const seldom = new MemoryRowSource(syntheticRows(1, 200, 5));
  assertEquals(autosized(configOf(TABLES, 3), DataSurvey.of(seldom)).model.pairVectors, null);
});

Deno.test("claimRows() claims rows and nodes for all pairs, and is idempotent", () => {
  const { model } = autosized(configOf(TABLES, 1), SURVEY);
  const weights = initialParameters(model, 1);
  claimRows(model, weights, SURVEY);
  for (const [name, [rows, columns]] of modelShapes(model).entries) {
    assertEquals(weights.get(name)?.length, rows * columns, name);
  }
  const rows = new AddressEmbeddings(model);
  rows.load(weights);
  assertEquals(rows.numPairs, pairsOf(SOURCE).size);
  assertEquals(rows.coordinates?.numNodes, numAddressesOf(SOURCE));
  const { srcAddrs, dstAddrs, srcIndex, dstIndex } = SOURCE.rows[0];
  const [a, b] = [srcAddrs[srcIndex[0]], dstAddrs[dstIndex[0]]].map((text) =>
    rows.claimNode(addressBytes(text))
  );
  assert(rows.coordinates?.estimate(a, b), "an estimate of a known pair");
  const keys = weights.get(EMBEDDING_KEYS)?.slice();
  claimRows(model, weights, SURVEY);
  assertEquals(weights.get(EMBEDDING_KEYS), keys);
});

Deno.test("autosizer() lowers the rank of coordinates for many nodes", () => {
  const ranks = [2, 40, 400].map((numSources) => {
    const source = new MemoryRowSource(syntheticRows(1, numSources, 60));
    const coordinates = { nodes: 2 ** 20, rank: 64, folds: 4, dropShare: 0 };
    return autosized(configOf({ ...TABLES, coordinates }, 1), DataSurvey.of(source)).model.coordinates
      ?.rank ?? NaN;
  });
  assertEquals(ranks[0], 64);
  assertGreater(ranks[1], ranks[2]);
  assertGreater(ranks[2], 1);
});

Deno.test("claimRows() stops when the table is full", () => {
  const model = { ...configOf(TABLES, 1).model, pairVectors: { ...TABLES.pairVectors, rows: 16 } };
  const weights = initialParameters(model, 1);
  claimRows(model, weights, SURVEY);
  const rows = new AddressEmbeddings(model);
  rows.load(weights);
  assertEquals(rows.numPairs, 16);
});

Deno.test("autosizer() reserves spareRows times the needed rows and nodes for adaptations, 1 by default", () => {
  const [none, default1, three] = [0, undefined, 3].map((spareRows) =>
    autosized(parseRunConfig({ ...configOf(TABLES, 2), autosize: { passes: 2, spareRows } }), SURVEY).model
  );
  const sizes = ({ prefixVectors, pairVectors, coordinates }: ModelConfig) => [
    prefixVectors?.rows ?? NaN,
    pairVectors?.rows ?? NaN,
    coordinates?.nodes ?? NaN,
  ];
  for (const [model, factor] of [[default1, 2], [three, 4]] as const) {
    sizes(model).forEach((size, i) => {
      const most = [4096, 4096, 1024][i];
      assert(
        size <= most && Math.abs(size - Math.min(most, factor * sizes(none)[i])) <= 64 * factor,
        `${size}`,
      );
    });
  }
});

Deno.test("autosizer() limits spare rows to what the data leave of a buffer", () => {
  const model = {
    ...TABLES,
    width: 2 ** 15,
    coordinates: null,
    pairVectors: { ...TABLES.pairVectors, history: false },
  };
  const [none, spare] = [0, 8].map((spareRows) =>
    autosized(configOf(model, 2, 5000, spareRows), SURVEY).model
  );
  const [a, b] = [none, spare].map((of) => [of.prefixVectors?.rows ?? NaN, of.pairVectors?.rows ?? NaN]);
  assert(b[0] >= a[0] && b[1] >= a[1] && b[0] + b[1] > a[0] + a[1] && b[0] + b[1] <= 1024, `${a} ${b}`);
});

Deno.test("DataSurvey reads each row only once, for sizing and claiming", () => {
  const read: number[] = [];
  class CountedSource extends MemoryRowSource {
    override row(index: number) {
      read.push(index);
      return super.row(index);
    }
  }
  const survey = DataSurvey.of(new CountedSource(SOURCE.rows));
  const { model } = autosized(configOf(TABLES, 1), survey);
  claimRows(model, initialParameters(model, 1), survey);
  assertEquals(autosized(configOf(TABLES, 1), survey).model, model);
  assertEquals(read, SOURCE.rows.map((_, i) => i));
  assertEquals(survey.numMeasurements, NUM_MEASUREMENTS);
});

Deno.test("a pair's newest RTTs are those of the latest campaign, wherever it is in the order", () => {
  const [one, two] = ["192.0.2.1", "192.0.2.2"];
  const campaign = (startS: number, rttMs: number) => {
    const row = rowOf(one, Array.from({ length: 6 }, () => [two, rttMs] as const));
    return { ...row, eventTimeUs: row.eventTimeUs.map((_, i) => 1e6 * (startS + i)) };
  };
  const rows = [campaign(1000, 5), campaign(3000, 7), campaign(2000, 9)];
  const newest = [rows, rows.toReversed()].map((rows) => {
    const { model } = configOf(TABLES, 1);
    const weights = initialParameters(model, 1);
    claimRows(model, weights, DataSurvey.of(new MemoryRowSource(rows, [0, 1, 2])));
    return weights.get(PAIR_HISTORY);
  });
  assertEquals(newest[0], newest[1]);
  assert(newest[0]?.some((word) => word > 0));
});

/** The RTTs in ms that a survey calls typical for the pairs of rows. */
function typicalRtts(rows: readonly ProbeRow[]): number[] {
  const survey = DataSurvey.of(new MemoryRowSource(rows));
  const { a, b, rttMs } = survey.claim(new AddressEmbeddings(configOf(TABLES, 1).model)).typical;
  a.forEach((lower, i) => assertLess(lower, b[i]));
  return [...rttMs];
}

Deno.test("the typical RTT of a pair is the lower median of few RTTs, in either direction", () => {
  const [one, two, three] = ["192.0.2.1", "192.0.2.2", "192.0.2.3"];
  const rows = [
    rowOf(one, [[two, 5], [two, 9], [one, 1]]),
    rowOf(two, [[one, 1], [one, 3], [three, -1]]),
    rowOf(three, [[one, 8]]),
  ];
  assertEquals(typicalRtts(rows), [3, 8]);
});

Deno.test("the typical RTT of a pair represents all times, however many RTTs there are", () => {
  for (const count of [15, 16, 100, 5000]) {
    const rtts = Array.from({ length: count }, (_, i) => ["192.0.2.2", i] as const);
    const [found] = typicalRtts([rowOf("192.0.2.1", rtts)]);
    assert(Math.abs(found / count - 0.5) < 0.1, `${found} of ${count}`);
  }
});

/** RTTs between cities in ms, by the second bytes of their addresses. */
const RTTS_MS: Record<string, number> = { "12": 90, "13": 240, "23": 160, "11": 5, "22": 6, "33": 4 };
const NUM_HOSTS = 6;

const TABLE = CITY_TABLE.encode();

const HOSTS = Object.keys(CITIES).flatMap((city) =>
  Array.from({ length: NUM_HOSTS }, (_, i) => `${city}.${i + 1}`)
);
const cityOf = (address: string) => address.split(".")[1];
const rttMs = (a: string, b: string) => RTTS_MS[[cityOf(a), cityOf(b)].sort().join("")];

/** Every host measures all others. */
const CITY_ROWS = HOSTS.map((source) => {
  const others = HOSTS.filter((host) => host !== source);
  return rowOf(source, others.map((other) => [other, rttMs(source, other)] as const));
});

function placedModel(places: ModelConfig["places"]): AddressEmbeddings {
  const config = tinyConfig({
    prefixVectors: { rows: 1024, seed: 1, dropShare: 0 },
    coordinates: { nodes: 128, rank: 4, folds: 4, dropShare: 0 },
    places,
  });
  const weights = initialParameters(config, 0);
  const given = places && { table: TABLE, numAddresses: 0, numLocated: 0, misplaced: [] };
  claimRows(config, weights, DataSurvey.of(new MemoryRowSource(CITY_ROWS)), given ?? undefined);
  const rows = new AddressEmbeddings(config);
  rows.load(weights);
  return rows;
}

function estimateOf(rows: AddressEmbeddings, ...addresses: [string, string]) {
  const use = { isTraining: false, context: 0 };
  const [a, b] = addresses.map((text) => {
    const state = rows.begin(4);
    for (const byte of addressBytes(text)) advance(state, byte);
    return state;
  });
  return rows.estimateOf(rows.pairOf(a, b, use), use);
}

const PLACES = { tableSize: TABLE.length / 3, sources: [], dropShare: 0 };
const [UNKNOWN_BERLIN, UNKNOWN_TOKYO, UNKNOWN] = ["10.1.0.200", "10.3.0.200", "192.0.2.1"];

Deno.test("an address without coordinates uses those of its place, or a typical address's without a known place", () => {
  const rows = placedModel(PLACES);
  for (const known of ["10.1.0.1", "10.2.0.1", "10.3.0.1"]) {
    const estimate = estimateOf(rows, UNKNOWN_BERLIN, known);
    assert(estimate);
    const wanted = rttMs(UNKNOWN_BERLIN, known);
    assertLess(
      Math.abs(Math.log(estimate.rttMs / wanted)),
      0.3,
      `${estimate.rttMs} ms to ${known}, wanted ${wanted}`,
    );
    assertEquals(estimate.isOfBoth, false);
  }
  assertLess(Math.abs(Math.log((estimateOf(rows, UNKNOWN_BERLIN, UNKNOWN_TOKYO)?.rttMs ?? 0) / 240)), 0.4);
  const [here, there] = ["10.1.0.1", "10.3.0.1"].map((known) => estimateOf(rows, known, UNKNOWN));
  assertAlmostEquals(
    here?.rttMs ?? NaN,
    estimateOf(placedModel(null), "10.1.0.1", UNKNOWN)?.rttMs ?? NaN,
    1e-3,
  );
  assert(here && there);
});

Deno.test("places do not change estimates of known addresses", () => {
  const [without, withPlaces] = [placedModel(null), placedModel(PLACES)];
  for (const [a, b] of [["10.1.0.1", "10.2.0.2"], ["10.3.0.1", "10.3.0.2"], ["10.2.0.3", "10.3.0.4"]]) {
    const [x, y] = [without, withPlaces].map((rows) => estimateOf(rows, a, b));
    assertAlmostEquals(x?.rttMs ?? NaN, y?.rttMs ?? NaN, 1e-3);
    assertEquals(y?.isOfBoth, true);
  }
});

Deno.test("two unknown addresses in the same place count as typical addresses", () => {
  const rows = placedModel(PLACES);
  const estimate = estimateOf(rows, UNKNOWN_BERLIN, "10.1.0.201");
  assertEquals(estimate?.isOfBoth, false);
  assertAlmostEquals(estimate?.rttMs ?? NaN, estimateOf(rows, UNKNOWN, "192.0.2.2")?.rttMs ?? NaN, 1e-6);
});
