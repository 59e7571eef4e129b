import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { join } from "@std/path";
import { named } from "../../lib/base/errors.ts";
import { sha256OfTensors } from "../../lib/io/safetensors.ts";
import { drawCases } from "../../lib/eval/cases.ts";
import { openEvalRows } from "../../lib/eval/eval_rows.ts";
import { evaluateParts } from "../../lib/eval/sections/parts_section.ts";
import { forecastRtts } from "../../lib/eval/sections/rtt_forecasts.ts";
import { meanOf } from "../../lib/base/sample_statistics.ts";
import { fitPoolOf, type FittedPool, validationErrors } from "../../lib/eval/fit_pool.ts";
import { loadCheckpoint } from "../../lib/train/checkpoint.ts";
import { POOL_FILE } from "../../lib/train/checkpoint_files.ts";
import { PingModel } from "../../lib/query/ping_model.ts";
import { addressBytes } from "../../lib/data/addresses/ip.ts";
import { type Place, PlaceTable } from "../../lib/data/addresses/place_table.ts";
import type { ProbeRow } from "../../lib/data/probe_rows/probe_row.ts";
import { encodeRttCode } from "../../lib/data/tokens/rtt_code.ts";
import { hashesOf } from "../../lib/model/embedding_table.ts";
import { Identities } from "../../lib/model/pool/identities.ts";
import { indexOfCode } from "../../lib/model/pool/kernel_mixture.ts";
import { initialParameters } from "../../lib/model/parameters.ts";
import { claimRows, DataSurvey } from "../../lib/train/autosize.ts";
import { loadConfig } from "../../lib/train/run_config.ts";
import { TemporaryFolder } from "../io/files/temporary_folder.ts";
import { blockPlaces } from "../data/addresses/block_places.ts";
import { MemoryRowSource, syntheticRows } from "../data/loader/synthetic_rows.ts";
import { SMALL, SMALL_RUN } from "../train/small_run.ts";
import { writeUntrainedRun } from "../train/untrained_run.ts";
import { writeRows, writeTrainingRows } from "../train/training_runs.ts";
import { withCheckpoint } from "../query/tiny_checkpoint.ts";
import { type MeshMeasurement, meshRow } from "./sections/mesh_rows.ts";

Deno.test("fitPoolOf() adds a pool to a checkpoint once, reproducibly, and the pool changes answers", () =>
  withCheckpoint(async (folder, run) => {
    const rows = join(folder, "rows");
    await writeTrainingRows(rows);
    const { directory, pool: none } = loadCheckpoint(run);
    assertEquals(none, undefined);
    const options = { checkpoint: directory, dataDir: rows, validationDirs: [rows], seed: 0 };
    const fit = (): Promise<FittedPool | undefined> => fitPoolOf({ ...options, maxMeasurements: 60 });
    const fitted = await fit();
    assert(fitted && fitted.numMeasurements > 20, `${fitted?.numMeasurements}`);
    // The model has random weights.
    assert(fitted.poolBits < fitted.modelBits - 1, `${fitted.poolBits} and ${fitted.modelBits} bits`);
    const checkpoint = loadCheckpoint(run);
    assert(checkpoint.pool && named(checkpoint.pool, "pool.nodes").length > 0);
    // The addresses of a row are one probe.
    assertEquals(fitted.identities, { identified: 60, shared: 0, ignored: 0 });
    const [v4, v6] = ["10.0.0.0", "2001:db8::"].map((address) => hashesOf(addressBytes(address)));
    const identities = new Identities(checkpoint.pool);
    const probe = identities.probeOf(v4);
    assert(probe !== undefined);
    assertEquals([probe, identities.addressesOf(probe).length], [identities.probeOf(v6), 2]);
    assertEquals(await fit(), undefined);
    const path = join(directory, POOL_FILE);
    Deno.removeSync(path);
    assertEquals(await fit(), fitted);
    assertEquals(sha256OfTensors(loadCheckpoint(run).pool ?? new Map()), sha256OfTensors(checkpoint.pool));
    const asked = { src: "192.0.2.1", dst: "192.0.2.2" };
    using pooled = await PingModel.from(checkpoint);
    using alone = await PingModel.from(checkpoint, { noPool: true });
    const [withPool, ofModel] = [await pooled.rttDistribution(asked), await alone.rttDistribution(asked)];
    assert(withPool.pFailed > 0 && withPool.pFailed < 1 && withPool.pFailed !== ofModel.pFailed);
    assert(withPool.quantileMs(0.95) < ofModel.quantileMs(0.95));
    // The parts of the same checkpoint: the whole model and the network alone predict as those above.
    using val = await openEvalRows(rows, { split: "val", history: "all" });
    const cases = await drawCases(val, { count: 20, maxContext: 2, seed: 0 });
    const asking = { contexts: [0, 2], pool: checkpoint.pool, count: 20, seed: 0 };
    const parts = await evaluateParts(pooled, cases, { ...asking, ofCase: new Uint32Array(20) });
    assert(parts);
    assertEquals(parts.scores.slice(0, 4).map(({ parts }) => parts), [
      "all",
      "network",
      "pool",
      "without pair_memory",
    ]);
    const answered = cases.filter(({ rttMs }) => rttMs !== null);
    assertEquals(parts.numMeasurements, answered.length);
    for (const [i, model] of [pooled, alone].entries()) {
      const { crpsMs, codeBits } = await forecastRtts(model, answered, {
        contexts: [0, 2],
        maxSpreadMass: 0,
      });
      const { crpsMs: ofParts, codeBits: bits } = parts.scores[i];
      assertAlmostEquals(ofParts / (meanOf(crpsMs) ?? NaN), 1, 0.02);
      assertAlmostEquals(bits, meanOf(codeBits) ?? NaN, 0.05);
    }
    const [all, network, pool] = parts.scores;
    assert(all.codeBits < network.codeBits && pool.codeBits < network.codeBits);
  }));

Deno.test("fitPoolOf() reports the bits of the model and the pool, including RTTs that the pool rules out", () =>
  withCheckpoint(async (folder, run) => {
    const rows = join(folder, "rows");
    await writeRows(rows, "train", syntheticRows(1, 60, 20));
    // Untrained sources with one measurement each: RTTs like those in training, and 100 s.
    const measured = [20, 35, 100_000, 30, 100_000].map((rttMs, i) => ({
      src: `10.77.0.${i}`,
      rttMs,
      time: 1_750_000_000 + i,
    }));
    const val = measured.map(({ src, rttMs, time }) => meshRow(src, [["192.0.2.99", rttMs, time]]));
    await writeRows(rows, "val", val);
    const { directory } = loadCheckpoint(run);
    const fitted = await fitPoolOf({
      checkpoint: directory,
      dataDir: rows,
      validationDirs: [rows],
      maxMeasurements: 60,
      seed: 0,
    });
    assertEquals(fitted?.numMeasurements, measured.length);
    const bitsOf = async (noPool: boolean) => {
      using model = await PingModel.from(loadCheckpoint(directory), { noPool });
      const bits: number[] = [];
      for (const { src, rttMs, time } of measured) {
        const { probabilities } = await model.rttDistribution({ src, dst: "192.0.2.99", time });
        bits.push(-Math.log2(probabilities[indexOfCode(encodeRttCode(rttMs))]));
      }
      return bits.reduce((sum, each) => sum + each, 0) / bits.length;
    };
    assertAlmostEquals(fitted?.modelBits ?? NaN, await bitsOf(true), 1e-3);
    assertAlmostEquals(fitted?.poolBits ?? NaN, await bitsOf(false), 1e-3);
  }));

Deno.test("fitPoolOf() makes no pool without a validation split", () =>
  withCheckpoint(async (folder, run) => {
    const rows = join(folder, "rows");
    await writeTrainingRows(rows);
    const { directory } = loadCheckpoint(run);
    const options = { checkpoint: directory, dataDir: rows, seed: 0, maxMeasurements: 60 };
    assertEquals(await fitPoolOf({ ...options, validationDirs: [folder] }), undefined);
    Deno.removeSync(join(rows, "val"), { recursive: true });
    assertEquals(await fitPoolOf({ ...options, validationDirs: [rows] }), undefined);
    assertEquals(loadCheckpoint(run).pool, undefined);
  }));

/** Three cities with six hosts each, every host in its own block, and RTTs between cities, ms. */
const CITIES: Record<string, Place> = {
  "10.1": { latitude: 52.5, longitude: 13.5, countryCode: "DE", region: "Berlin", asNumber: 64500 },
  "10.2": { latitude: 40.5, longitude: -74, countryCode: "US", region: "New York", asNumber: 64501 },
  "10.3": { latitude: 35.5, longitude: 139.5, countryCode: "JP", region: "Tokyo", asNumber: 64502 },
};
const RTTS_MS: Record<string, number> = { "12": 90, "13": 240, "23": 160, "11": 5, "22": 6, "33": 4 };
const BLOCKS = Object.keys(CITIES).flatMap((city) =>
  Array.from({ length: 6 }, (_, i) => `${city}.${10 * i}`)
);
const UNMEASURED = "10.2.7.1";

/** Every host measures every other one, in `hours` hours from hour `first`. */
function rowsBetweenCities(hours: number, first: number): ProbeRow[] {
  const cityOf = (address: string) => address.split(".")[1];
  const hosts = BLOCKS.map((block) => `${block}.1`);
  return hosts.map((source) => {
    const others = hosts.filter((host) => host !== source);
    const measurements = Array.from({ length: hours * others.length }, (_, i): MeshMeasurement => {
      const destination = others[i % others.length];
      const rttMs = RTTS_MS[[cityOf(source), cityOf(destination)].sort().join("")];
      return [destination, rttMs, 1_750_000_000 + 3600 * first + Math.floor(3600 * i / others.length)];
    });
    return meshRow(source, measurements);
  });
}

Deno.test("fitPoolOf() fits a pool that uses the places of unknown addresses", async () => {
  using folder = new TemporaryFolder();
  const rows = folder.at("rows");
  const train = rowsBetweenCities(3, 0);
  await writeRows(rows, "train", train);
  await writeRows(rows, "val", rowsBetweenCities(1, 5));
  const addresses = [...BLOCKS.map((block) => `${block}.0`), UNMEASURED];
  const table = PlaceTable.of(blockPlaces(
    addresses.map((each) => [addressBytes(each), CITIES[each.split(".", 2).join(".")]]),
  )).encode();
  const config = loadConfig(SMALL_RUN, [
    ...Object.entries(SMALL).map(([key, value]) => `${key}=${value}`),
    'model.prefixVectors={"rows":1024}',
    'model.coordinates={"nodes":128,"rank":4}',
    `model.places={"tableSize":${table.length / 3}}`,
  ]);
  const weights = initialParameters(config.model, 7);
  const places = { table, numAddresses: 0, numLocated: 0, misplaced: [] };
  const survey = DataSurvey.of(new MemoryRowSource(train));
  claimRows(config.model, weights, survey, places);
  const trainingData = {
    summary: survey.counts.summary({ origin: "", isSynthetic: true }),
    known: survey.counts.table(),
  };
  writeUntrainedRun(folder.at("run"), { config, weights, trainingData });
  const { directory } = loadCheckpoint(folder.at("run"));
  const options = { checkpoint: directory, dataDir: rows, validationDirs: [rows], seed: 0 };
  assert(await fitPoolOf({ ...options, maxMeasurements: 300 }));
  using model = await PingModel.from(loadCheckpoint(directory));
  const rtt = await model.rttDistribution({ src: "10.1.10.1", dst: UNMEASURED });
  assertAlmostEquals(rtt.quantileMs(0.5), RTTS_MS["12"], 5);
  // The location of this address is unknown.
  const nowhere = await model.rttDistribution({ src: "10.1.10.1", dst: "10.2.9.1" });
  assert(nowhere.cdf(100) - nowhere.cdf(80) < rtt.cdf(100) - rtt.cdf(80) - 0.2);
  const errors = Object.values(await validationErrors({ ...options, maxMeasurements: 50 }));
  assert(errors.length === 1 && errors[0] > 0 && errors[0] < 60, `${errors}`);
});
