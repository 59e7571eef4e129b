import { poolOfMesh } from "../../model/pool/mesh_pool.ts";
import { writePool } from "../../../lib/train/checkpoint_files.ts";
import { assert, assertAlmostEquals, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { join } from "@std/path";
import { FormatError } from "../../../lib/base/errors.ts";
import { CALIBRATION_LEVELS, QuantileCalibration } from "../../../lib/query/rtt/quantile_calibration.ts";
import { loadModel, readCalibration } from "../../../lib/query/files/load_model.ts";
import { RttDistribution } from "../../../lib/query/rtt/rtt_distribution.ts";
import { CANONICAL_RTT_CODES, decodeRttCode } from "../../../lib/data/tokens/rtt_code.ts";
import { loadCheckpoint } from "../../../lib/train/checkpoint.ts";
import { TemporaryFolder } from "../../io/files/temporary_folder.ts";
import { withCheckpoint } from "../tiny_checkpoint.ts";

/** Locations of n points, mapped from n uniform numbers. */
function pointsOf(n: number, place: (u: number) => number) {
  const places = Float64Array.from({ length: n }, (_, i) => place((i + 0.5) / n));
  return { below: places, upTo: places };
}

/** A uniform distribution over adjacent codes, given by their index among the canonical ones. */
function uniformOver(first: number, count: number): RttDistribution {
  const probabilities = new Float64Array(CANONICAL_RTT_CODES.length);
  probabilities.fill(1 / count, first, first + count);
  return new RttDistribution(0.25, probabilities, 0.99);
}

Deno.test("QuantileCalibration.of() does not change calibrated points and ranges", () => {
  const n = 1000;
  const ranges = {
    below: Float64Array.from({ length: n }, (_, i) => i / n),
    upTo: Float64Array.from({ length: n }, (_, i) => (i + 1) / n),
  };
  for (const [k, share] of QuantileCalibration.of(ranges).shares.entries()) {
    assertAlmostEquals(share, CALIBRATION_LEVELS[k], 1e-12);
  }
  for (const [k, share] of QuantileCalibration.of(pointsOf(n, (u) => u)).shares.entries()) {
    assertAlmostEquals(share, CALIBRATION_LEVELS[k], 1 / n);
  }
});

Deno.test("QuantileCalibration.of() computes the share of measurements below each level", () => {
  const calibration = QuantileCalibration.of(pointsOf(10_000, (u) => u * u));
  CALIBRATION_LEVELS.forEach((level, k) => assertAlmostEquals(calibration.shares[k], Math.sqrt(level), 2e-4));
});

Deno.test("apply() returns the distribution R(F), with mass 1, and keeps P(no reply)", () => {
  const calibration = QuantileCalibration.of(pointsOf(500, (u) => 0.3 + 0.4 * u));
  const predicted = uniformOver(9000, 777);
  const corrected = calibration.apply(predicted);
  assertEquals([corrected.pFailed, corrected.canonicalMass], [0.25, 0.99]);
  assertAlmostEquals(corrected.probabilities.reduce((sum, p) => sum + p, 0), 1, 1e-12);
  for (const index of [8999, 9000, 9100, 9388, 9700, 9776, 9777]) {
    const rttMs = decodeRttCode(CANONICAL_RTT_CODES[index]);
    assertAlmostEquals(corrected.cdf(rttMs), calibration.shareBelow(predicted.cdf(rttMs)), 1e-12);
  }
});

Deno.test("massOf() computes a range's mass in the corrected distribution, however small", () => {
  const calibration = QuantileCalibration.of(pointsOf(500, (u) => u * u));
  const predicted = uniformOver(9000, 777);
  const corrected = calibration.apply(predicted);
  const massOf = ({ probabilities }: RttDistribution, first: number, end: number) =>
    probabilities.slice(first, end).reduce((sum, p) => sum + p, 0);
  for (const [first, end] of [[8990, 9010], [9000, 9001], [9300, 9310], [9700, 9800], [0, 20_000]]) {
    const mass = { below: massOf(predicted, 0, first), within: massOf(predicted, first, end) };
    assertAlmostEquals(calibration.massOf(mass), massOf(corrected, first, end), 1e-12);
  }
  for (const below of [0, 0.3, 1]) {
    const [one, two] = [1e-40, 2e-40].map((within) => calibration.massOf({ below, within }));
    assertAlmostEquals(two / one, 2, 1e-9);
  }
});

Deno.test("readCalibration() reads a report's calibration and rejects files without one", () => {
  using folder = new TemporaryFolder();
  const { shares } = QuantileCalibration.of(pointsOf(100, (u) => u ** 3));
  const path = folder.at("report.json");
  const write = (calibration: unknown) =>
    Deno.writeTextFileSync(
      path,
      typeof calibration === "string" ? calibration : JSON.stringify({ run: RUN, calibration }),
    );
  write({ shares, numMeasurements: 100 });
  assertEquals(readCalibration(path).shares, shares);
  const changed = (index: number, share: number | null) => ({ shares: shares.with(index, share as number) });
  const endless = JSON.stringify({ run: RUN, calibration: changed(5, 12345) }).replace("12345", "1e999");
  const cases: [unknown, string][] = [
    ["{}", "it contains no calibration"],
    ["no JSON", "it contains no calibration"],
    [changed(5, null), "it contains no calibration"],
    [endless, "it contains no calibration"],
    [changed(24, 0.5), "its calibration is damaged"],
    [changed(5, shares[4]), "its calibration is damaged"],
    [changed(5, -0.1), "its calibration is damaged"],
    [changed(5, 1.5), "its calibration is damaged"],
    [{ shares: shares.slice(0, -1) }, "its calibration is damaged"],
  ];
  for (const [bad, message] of cases) {
    write(bad);
    const error = assertThrows(() => readCalibration(path), FormatError, message);
    assert(error.message.includes(path), error.message);
  }
});

/** The model identified in a report. */
const RUN = {
  checkpoint: "runs/a/checkpoints/step-00000020",
  step: 20,
  modelSha256: "ab".repeat(32),
  isPooled: false,
};

Deno.test("loadModel() rejects the calibration of another model and names both with their steps", () =>
  withCheckpoint(async (folder, checkpoint) => {
    const path = join(folder, "report.json");
    const { shares } = QuantileCalibration.of(pointsOf(100, (u) => u ** 3));
    const { directory, state: { files } } = loadCheckpoint(checkpoint);
    const read = (modelSha256: string) => {
      Deno.writeTextFileSync(path, JSON.stringify({ run: { ...RUN, modelSha256 }, calibration: { shares } }));
      return path;
    };
    const refused = loadModel(checkpoint, { calibration: read(RUN.modelSha256) });
    const { message } = await assertRejects(() => refused, FormatError);
    for (const part of [path, RUN.checkpoint, "step 20, SHA-256 abababababab…", directory, "step 3"]) {
      assert(message.includes(part), message);
    }
    using model = await loadModel(checkpoint, { calibration: read(files.model.sha256) });
    assertEquals(model.step, 3);
  }));

Deno.test("loadModel() rejects a calibration of the pool without it, and of the network alone with it", () =>
  withCheckpoint(async (folder, checkpoint) => {
    const path = join(folder, "report.json");
    const { shares } = QuantileCalibration.of(pointsOf(100, (u) => u ** 3));
    const { directory, state: { files: { model: { sha256: modelSha256 } } } } = loadCheckpoint(checkpoint);
    writePool(directory, poolOfMesh(), modelSha256);
    const load = async (isPooled: boolean, noPool: boolean) => {
      const run = { ...RUN, modelSha256, isPooled };
      Deno.writeTextFileSync(path, JSON.stringify({ run, calibration: { shares } }));
      using model = await loadModel(checkpoint, { calibration: path, noPool });
      return model.step;
    };
    assertEquals([await load(true, false), await load(false, true)], [3, 3]);
    await assertRejects(() => load(false, false), FormatError, "run eval again without --no-pool");
    await assertRejects(() => load(true, true), FormatError, "run eval again with --no-pool");
  }));
