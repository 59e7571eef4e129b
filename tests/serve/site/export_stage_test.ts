import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { createHash } from "node:crypto";
import { modelShapes } from "../../../lib/model/model_config.ts";
import { CALIBRATION_LEVELS } from "../../../lib/query/rtt/quantile_calibration.ts";
import { parseSite } from "../../../lib/serve/api/site_file.ts";
import { readSafetensors } from "../../../lib/io/safetensors.ts";
import { decodeTrainingData } from "../../../lib/model/training_tables.ts";
import { poolOfMesh } from "../../model/pool/mesh_pool.ts";
import { writePool } from "../../../lib/train/checkpoint_files.ts";
import { loadCheckpoint } from "../../../lib/train/checkpoint.ts";
import { tinyLocatedModel } from "../../query/adapt/tiny_rows.ts";
import { withRowCheckpoint } from "../../query/adapt/row_checkpoint.ts";
import { runStageProcess } from "../../cli/process.ts";

const MODEL = tinyLocatedModel();

function siteIn(folder: string) {
  const path = `${folder}/site.json`;
  return parseSite(Deno.readTextFileSync(path), path);
}

async function exported(at: (name: string) => string, output: string, ...options: string[]): Promise<string> {
  const args = ["export", "--checkpoint", at("run"), "--output", at(output), ...options];
  const { code, stdout, stderr } = await runStageProcess(args);
  assertEquals(code, 0, stderr);
  return stdout;
}

async function refused(args: string[], code: number, ...parts: string[]): Promise<void> {
  const result = await runStageProcess(["export", ...args]);
  assertEquals([result.code, result.stderr.trim().split("\n").length], [code, 1], result.stderr);
  for (const part of parts) assertStringIncludes(result.stderr, part);
}

Deno.test("export writes the page and weights with their size and SHA-256, and a rerun keeps them", () =>
  withRowCheckpoint(async (at) => {
    assertStringIncludes(await exported(at, "site"), "Wrote ");
    const names = [...Deno.readDirSync(at("site"))].map(({ name }) => name).sort();
    // A site has no HTTP API and therefore no description of it.
    const page = ["icon.svg", "index.html", "licenses.txt", "page.css", "page.js", "worker.js"];
    const data = ["manifest.json", "model.safetensors", "site.json", "training_data.safetensors"];
    assertEquals(names, [...data, ...page].sort());
    const meta = '<meta name="ping-llm-site" content="site.json">';
    assertStringIncludes(Deno.readTextFileSync(at("site/index.html")), meta);
    const checkpoint = loadCheckpoint(at("run"));
    const { model, weights: [file], trainingData, ...site } = siteIn(at("site"));
    assertEquals(site, { formatVersion: 1, calibration: null, dtype: "f32" });
    assertEquals([model.step, model.model_sha256], [3, checkpoint.state.files.model.sha256]);
    for (const { path, sizeBytes, sha256 } of [file, trainingData]) {
      const bytes = Deno.readFileSync(at(`site/${path}`));
      assertEquals(sizeBytes, bytes.length);
      assertEquals(sha256, createHash("sha256").update(bytes).digest("hex"));
    }
    const known = decodeTrainingData(readSafetensors(at("site/training_data.safetensors")), "site").known;
    assertEquals(known.columns, checkpoint.trainingData.known.columns);
    assertEquals(readSafetensors(at("site/model.safetensors")).tensors, checkpoint.weights);
    const changedMs = Deno.statSync(at("site/site.json")).mtime?.getTime();
    assertStringIncludes(await exported(at, "site"), "already complete");
    for (const part of ["run/checkpoints", "run/checkpoints/step-00000003"]) {
      const args = ["export", "--checkpoint", at(part), "--output", at("site")];
      assertStringIncludes((await runStageProcess(args)).stdout, "already complete");
    }
    assertEquals(Deno.statSync(at("site/site.json")).mtime?.getTime(), changedMs);
    await refused(
      ["--checkpoint", at("run"), "--output", at("site"), "--dtype", "f16"],
      1,
      "other inputs or options",
    );
    await exported(at, "site", "--dtype", "f16", "--overwrite");
    assertEquals(siteIn(at("site")).dtype, "f16");
  }, MODEL));

Deno.test("export writes the pool in float32 beside the weights, and omits it with --no-pool", () =>
  withRowCheckpoint(async (at) => {
    const { directory, state } = loadCheckpoint(at("run"));
    const pool = poolOfMesh();
    writePool(directory, pool, state.files.model.sha256);
    await exported(at, "site", "--dtype", "f16");
    const { tensors } = readSafetensors(at("site/model.safetensors"));
    assertEquals(new Map([...tensors].filter(([name]) => name.startsWith("pool."))), pool);
    await exported(at, "alone", "--no-pool");
    assertEquals(readSafetensors(at("alone/model.safetensors")).tensors, loadCheckpoint(at("run")).weights);
  }, MODEL));

Deno.test("export --dtype f16 halves the parameters and keeps keys and coordinates", () =>
  withRowCheckpoint(async (at) => {
    await exported(at, "f32");
    await exported(at, "f16", "--dtype", "f16");
    const { config: { model }, weights } = loadCheckpoint(at("run"));
    const parameters = modelShapes(model).parameters;
    let savedBytes = 0;
    for (const [rows, columns] of parameters.values()) savedBytes += 2 * rows * columns;
    const [f32, f16] = ["f32", "f16"].map((name) => siteIn(at(name)).weights[0].sizeBytes);
    // The headers differ by a few digits in their offsets.
    assert(Math.abs(f32 - f16 - savedBytes) < 200, `${f32} and ${f16} bytes`);
    for (const [name, values] of readSafetensors(at("f16/model.safetensors")).tensors) {
      const wanted = weights.get(name);
      assert(wanted);
      assertEquals(values, parameters.has(name) ? Float32Array.from(new Float16Array(wanted)) : wanted, name);
    }
  }, MODEL));

Deno.test("export includes the model's calibration and evaluation, and rejects those of another model", () =>
  withRowCheckpoint(async (at) => {
    const shares = CALIBRATION_LEVELS.map((level) => level ** 2);
    const { sha256 } = loadCheckpoint(at("run")).state.files.model;
    const overall = { medianAbsoluteMs: 1, meanAbsoluteMs: 2, crpsMs: 3 };
    const write = (modelSha256: string) => {
      const run = {
        checkpoint: "run",
        step: 3,
        modelSha256,
        isPooled: false,
        numMeasurements: 7,
        split: "test",
      };
      const rtt = { numTraining: 5, model: { overall }, baselines: [] };
      Deno.writeTextFileSync(at("report.json"), JSON.stringify({ run, calibration: { shares }, rtt }));
    };
    write(sha256);
    const report = at("report.json");
    await exported(at, "site", "--calibration", report, "--report", report);
    const { calibration, model: { is_calibrated, evaluation } } = siteIn(at("site"));
    assertEquals([calibration, is_calibrated], [shares, true]);
    assertEquals([evaluation?.num_measurements, evaluation?.methods[0].median_absolute_ms], [7, 1]);
    write("ab".repeat(32));
    const args = ["--checkpoint", at("run"), "--output", at("other")];
    await refused([...args, "--calibration", report], 1, report, "run eval on that one");
    await refused([...args, "--report", report], 1, report, "it is the report of another model");
  }, MODEL));

Deno.test("export rejects a missing model, values too large for float16 and its checkpoint as output", () =>
  withRowCheckpoint(async (at) => {
    await refused(["--checkpoint", at("none"), "--output", at("site")], 1, at("none"), "no such file");
    const run = ["--checkpoint", at("run")];
    await refused([...run, "--output", at("site"), "--dtype", "f16"], 1, "wte.weight", "use --dtype f32");
    await refused([...run, "--output", at("site"), "--dtype", "f8"], 2, "f32 | f16");
    const checkpoint = loadCheckpoint(at("run")).directory;
    await refused([...run, "--output", checkpoint], 2, checkpoint);
  }, { ...MODEL, weights: new Map(MODEL.weights).set("wte.weight", large("wte.weight")) }));

/** The values of a parameter, one of which is too large. */
function large(name: string): Float32Array {
  return Float32Array.from(MODEL.weights.get(name) ?? []).fill(65_520, 5, 6);
}
