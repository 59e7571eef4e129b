import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { join } from "@std/path";
import { FormatError, UserError } from "../../lib/base/errors.ts";
import { temporaryName } from "../../lib/io/files/atomic.ts";
import { exists } from "../../lib/io/files/inputs.ts";
import { modelShapes } from "../../lib/model/model_config.ts";
import {
  listCheckpoints,
  loadCheckpoint,
  loadForResume,
  loadResumable,
  modelFilesOf,
  saveCheckpoint,
} from "../../lib/train/checkpoint.ts";
import { stepName } from "../../lib/io/files/checkpoint_folder.ts";
import {
  type CheckpointContent,
  checkpointFiles,
  POOL_FILE,
  readState,
  writePool,
  writeState,
} from "../../lib/train/checkpoint_files.ts";
import { addressBytes } from "../../lib/data/addresses/ip.ts";
import { AddressCounts, NO_DATA } from "../../lib/data/addresses/known_addresses.ts";
import { RandomStream } from "../../lib/base/random.ts";
import { loadConfig } from "../../lib/train/run_config.ts";
import {
  readSafetensors,
  readSafetensorsHeader,
  type SafetensorsFile,
  writeSafetensors,
} from "../../lib/io/safetensors.ts";
import { TemporaryFolder } from "../io/files/temporary_folder.ts";
import { SMALL_RUN } from "./small_run.ts";
import { poolOfMesh } from "../model/pool/mesh_pool.ts";
import { withCheckpoint } from "../query/tiny_checkpoint.ts";
import { inspectCheckpoint } from "../../lib/cli/inspect/checkpoint.ts";
import { embeddingUpdateOf } from "../../lib/model/embedding_update.ts";
import { baseOf, UPDATE_FILE, writeUpdate } from "../../lib/train/adapted_checkpoint.ts";
import { withRowCheckpoint } from "../query/adapt/row_checkpoint.ts";
import { tinyLocatedModel } from "../query/adapt/tiny_rows.ts";

const CONFIG = loadConfig(SMALL_RUN, [
  "model.numLayers=1",
  "model.width=4",
  "model.numHeads=1",
  "model.headDim=32",
  "model.mlpWidth=4",
]);

function contentAt(step: number, evalLoss: number | null = null): CheckpointContent {
  const filled = (length: number, seed: number) => Float32Array.from({ length }, (_, i) => (i + seed) / 7);
  const shapes = modelShapes(CONFIG.model).parameters;
  const size = (shape: number[]) => shape.reduce((a, b) => a * b, 1);
  const moments = [...shapes].flatMap(([name, shape]) =>
    ["exp_avg", "exp_avg_sq"].map((moment): [string, number[]] => [`${name}.${moment}`, shape])
  );
  return {
    state: {
      version: "0.0.0",
      step,
      seed: 3,
      config: CONFIG,
      dataFingerprint: "data",
      engine: "deno",
      position: { epoch: 0, block: 1, sequence: step, blockRows: 8 },
      losses: [{ step, loss: 1 / 3 }],
      evalLoss,
      numSkippedSteps: 0,
      numSkippedInRow: 0,
    },
    weights: new Map([...shapes].map(([name, shape], i) => [name, filled(size(shape), step + i)])),
    optimizer: new Map(moments.map(([name, shape], i) => [name, filled(size(shape), 100 + step - i)])),
    trainingData: NO_DATA,
  };
}

function inRun(work: (checkpointsDir: string, run: string) => void): void {
  using temporary = new TemporaryFolder();
  const run = temporary.path;
  work(join(run, "checkpoints"), run);
}

function saveSteps(checkpointsDir: string, steps: number[]): void {
  for (const step of steps) saveCheckpoint(checkpointsDir, contentAt(step), { keep: 10 });
}

function stepsOf(checkpointsDir: string): number[] {
  return listCheckpoints(checkpointsDir).map(({ step }) => step);
}

function flipByte(path: string, offsetBytes: number): void {
  const bytes = Deno.readFileSync(path);
  bytes[offsetBytes < 0 ? bytes.length + offsetBytes : offsetBytes] ^= 1;
  Deno.writeFileSync(path, bytes);
}

/** Changes a number of a checkpoint and updates the checksums. */
function forge(
  folder: string,
  file: "model" | "optimizer",
  { tensor, index, value }: { tensor: string; index: number; value: number },
): void {
  const path = join(folder, `${file}.safetensors`);
  const content = readSafetensors(path);
  const values = content.tensors.get(tensor);
  assert(values && index < values.length);
  values[index] = value;
  const state = readState(folder);
  writeState(folder, { ...state, files: { ...state.files, [file]: writeSafetensors(path, content) } });
}

Deno.test("loadForResume() restores what saveCheckpoint() saved", () => {
  inRun((checkpointsDir) => {
    const saved = contentAt(200, 2.5);
    const directory = saveCheckpoint(checkpointsDir, saved, { keep: 3 });
    assertEquals(Deno.readTextFileSync(join(checkpointsDir, "latest")), "step-00000200\n");
    const loaded = loadForResume(checkpointsDir);
    assert(loaded);
    const { files, ...state } = loaded.state;
    assertEquals(state, saved.state);
    assertEquals(new Map([...loaded.weights].sort()), new Map([...saved.weights].sort()));
    assertEquals(new Map([...loaded.optimizer].sort()), new Map([...saved.optimizer].sort()));
    assertEquals(files.model.sizeBytes, Deno.statSync(join(directory, "model.safetensors")).size);
    const { metadata } = readSafetensorsHeader(join(directory, "model.safetensors"));
    assertEquals(JSON.parse(metadata.config), CONFIG);
  });
});

Deno.test("loadCheckpoint() accepts a run, its checkpoints folder or one checkpoint", () => {
  inRun((checkpointsDir, run) => {
    saveSteps(checkpointsDir, [100, 200]);
    assertEquals(loadCheckpoint(run).state.step, 200);
    assertEquals(loadCheckpoint(checkpointsDir).state.step, 200);
    assertEquals(loadCheckpoint(join(checkpointsDir, stepName(100))).state.step, 100);
  });
});

Deno.test("loadCheckpoint() throws and loadForResume() returns undefined without a checkpoint", () => {
  inRun((checkpointsDir, run) => {
    assertThrows(() => loadCheckpoint(run), UserError, "deno task train");
    assertThrows(() => loadCheckpoint(join(run, "other")), UserError, "no such file");
    assertEquals(loadForResume(checkpointsDir), undefined);
    Deno.mkdirSync(checkpointsDir);
    assertEquals(loadForResume(checkpointsDir), undefined);
  });
});

Deno.test("saveCheckpoint() keeps the latest checkpoints, the best, and those at which the run may end", () => {
  inRun((checkpointsDir) => {
    const evalLosses = [3, 1, null, 2, 1, 4];
    evalLosses.forEach((evalLoss, i) =>
      saveCheckpoint(checkpointsDir, contentAt((i + 1) * 10, evalLoss), { keep: 2 })
    );
    assertEquals(stepsOf(checkpointsDir), [20, 50, 60]);
    saveCheckpoint(checkpointsDir, contentAt(70, 0.5), { keep: 2 });
    assertEquals(stepsOf(checkpointsDir), [60, 70]);
    for (const step of [80, 90, 100]) {
      saveCheckpoint(checkpointsDir, contentAt(step, 9), { keep: 1, ends: [60, 80, 110] });
    }
    assertEquals(stepsOf(checkpointsDir), [60, 70, 80, 100]);
  });
});

Deno.test("saveCheckpoint() replaces a checkpoint of the same step and drops later ones", () => {
  inRun((checkpointsDir) => {
    saveSteps(checkpointsDir, [10, 20, 30]);
    saveSteps(checkpointsDir, [20]);
    assertEquals(stepsOf(checkpointsDir), [10, 20]);
    assertEquals(loadForResume(checkpointsDir)?.state.step, 20);
  });
});

/** Ways to damage a file: flip a bit, cut off the end (not just a last newline), delete it. */
function damagesOf(sizeBytes: number): [string, (path: string) => void][] {
  const random = new RandomStream(1, "test/damage", sizeBytes);
  const anywhere = Array.from({ length: 6 }, () => random.below(sizeBytes));
  const flips = [0, 7, 8, sizeBytes - 40, sizeBytes - 2, ...anywhere];
  const cuts = [0, 1, 50, sizeBytes - 2, random.below(sizeBytes - 1)];
  return [
    ...flips.map((at): [string, (path: string) => void] => [`flip ${at}`, (path) => flipByte(path, at)]),
    ...cuts.map((
      at,
    ): [string, (path: string) => void] => [`cut ${at}`, (path) => Deno.truncateSync(path, at)]),
    ["delete", (path) => Deno.removeSync(path)],
  ];
}

Deno.test("loadForResume() skips a checkpoint damaged anywhere, with a one-line note", () => {
  inRun((checkpointsDir) => {
    saveSteps(checkpointsDir, [100, 200]);
    for (const name of ["model.safetensors", "optimizer.safetensors", "state.json"]) {
      const path = join(checkpointsDir, stepName(200), name);
      const whole = Deno.readFileSync(path);
      for (const [damage, apply] of damagesOf(whole.length)) {
        apply(path);
        const notes: string[] = [];
        const loaded = loadForResume(checkpointsDir, { onNote: (line) => notes.push(line) });
        assertEquals(loaded?.state.step, 100, `${name} ${damage}`);
        assertEquals(notes.length, 1);
        assertStringIncludes(notes[0], name);
        assertStringIncludes(notes[0], `using ${join(checkpointsDir, stepName(100))} instead`);
        assert(!notes[0].includes("\n"));
        Deno.writeFileSync(path, whole);
      }
    }
    assertEquals(loadForResume(checkpointsDir)?.state.step, 200);
  });
});

Deno.test("loadForResume() throws when every checkpoint is damaged", () => {
  inRun((checkpointsDir) => {
    saveSteps(checkpointsDir, [100, 200]);
    for (const step of [100, 200]) flipByte(join(checkpointsDir, stepName(step), "model.safetensors"), -1);
    assertThrows(() => loadForResume(checkpointsDir), FormatError, "step-00000200");
  });
});

Deno.test("a NaN, infinite or huge weight is rejected with file, tensor and element, despite a valid checksum", () => {
  inRun((checkpointsDir, run) => {
    saveSteps(checkpointsDir, [100, 200]);
    const folder = join(checkpointsDir, stepName(200));
    for (const value of [NaN, Infinity, -Infinity, 1e38, -(2 ** 48)]) {
      forge(folder, "model", { tensor: "wte.weight", index: 7, value });
      const { message } = assertThrows(() => loadCheckpoint(folder), FormatError);
      assertStringIncludes(message, join(folder, "model.safetensors"));
      assertStringIncludes(message, `element 7 of tensor wte.weight is ${Math.fround(value)}, `);
      assert(!message.includes("\n"), message);
    }
    assertEquals(loadCheckpoint(run).state.step, 100);
    forge(folder, "model", { tensor: "wte.weight", index: 7, value: 2 ** 47 });
    assertEquals(loadCheckpoint(run).state.step, 200);
    forge(folder, "optimizer", { tensor: "wte.weight.exp_avg", index: 0, value: NaN });
    assertEquals(loadCheckpoint(run).state.step, 200);
    assertThrows(() => loadResumable(folder), FormatError, "element 0 of tensor wte.weight.exp_avg is NaN");
  });
});

Deno.test("a checkpoint with 10,000,000 layers is rejected with file and key, before it is sized", () => {
  inRun((checkpointsDir) => {
    saveSteps(checkpointsDir, [100]);
    const folder = join(checkpointsDir, stepName(100));
    const state = readState(folder);
    const config = { ...state.config, model: { ...state.config.model, numLayers: 1e7 } };
    writeState(folder, { ...state, config });
    const { message } = assertThrows(() => loadCheckpoint(folder), FormatError);
    assertStringIncludes(message, join(folder, "state.json"));
    assertStringIncludes(message, "model.numLayers: found 10000000, expected at most 1024");
  });
});

Deno.test("loadForResume() finds the newest checkpoint without latest, and ignores leftovers of a kill", () => {
  inRun((checkpointsDir) => {
    saveSteps(checkpointsDir, [100, 200]);
    const latest = join(checkpointsDir, "latest");
    for (const content of [undefined, "", "step-00009999\n", "rubbish"]) {
      if (content === undefined) Deno.removeSync(latest);
      else Deno.writeTextFileSync(latest, content);
      assertEquals(loadForResume(checkpointsDir)?.state.step, 200);
    }
    const torn = temporaryName(join(checkpointsDir, stepName(300)));
    Deno.mkdirSync(torn);
    Deno.writeTextFileSync(join(torn, "state.json"), "{");
    assertEquals(loadForResume(checkpointsDir)?.state.step, 200);
    saveSteps(checkpointsDir, [300]);
    assert(!exists(torn));
  });
});

Deno.test("loadForResume() follows latest if a kill prevented its replacement", () => {
  inRun((checkpointsDir) => {
    saveSteps(checkpointsDir, [100, 200]);
    Deno.writeTextFileSync(join(checkpointsDir, "latest"), "step-00000100\n");
    assertEquals(loadForResume(checkpointsDir)?.state.step, 100);
  });
});

Deno.test("a checkpoint records its training data, and damage is detected", () =>
  inRun((checkpoints) => {
    const counts = new AddressCounts();
    const [a, b, c] = ["198.51.100.1", "203.0.113.1", "2001:db8::7"].map((text) =>
      counts.id(addressBytes(text))
    );
    const lastS = Date.UTC(2100) / 1000 - 1;
    for (const [from, to] of [[a, b], [b, a], [a, b], [c, c]]) counts.add(from, to, lastS);
    const summary = counts.summary({ origin: "x.parquet", isSynthetic: true });
    const trainingData = { summary, known: counts.table() };
    const folder = saveCheckpoint(checkpoints, { ...contentAt(2), trainingData }, { keep: 9 });
    const found = loadResumable(folder).trainingData;
    assertEquals(found.summary, summary);
    assertEquals(found.known.columns, trainingData.known.columns);
    assertEquals(found.known.address(addressBytes("198.51.100.1"))?.asSource, { measurements: 2, lastS });
    flipByte(join(folder, "training_data.safetensors"), -1);
    assertThrows(() => loadCheckpoint(folder), FormatError, "training_data");
  }));

Deno.test("loadCheckpoint() reports what a path that is not a run contains, and what to do", () => {
  using folder = new TemporaryFolder();
  const rows = folder.at("rows");
  const demo = folder.at("demo");
  Deno.mkdirSync(join(rows, "train"), { recursive: true });
  Deno.writeTextFileSync(join(rows, "train", "a.arrayrecord"), "");
  Deno.mkdirSync(demo);
  saveCheckpoint(join(demo, "train", "checkpoints"), contentAt(1), { keep: 1 });
  const file = folder.at("measurements.parquet");
  Deno.writeTextFileSync(file, "PAR1");
  for (
    const [path, ...parts] of [
      [
        rows,
        "found probe rows, expected a run directory",
        `deno task train --data ${rows} --run runs/first`,
      ],
      [demo, "found a folder with a run in it", `use ${join(demo, "train")}`],
      [file, "found a file, expected a run directory"],
      [folder.path, "found no checkpoint, expected a run directory", "--run runs/first"],
    ]
  ) {
    for (const read of [loadCheckpoint, loadResumable]) {
      const { message } = assertThrows(() => read(path), UserError);
      for (const part of parts) assertStringIncludes(message, part);
      assertEquals(message.split("\n").length, 1);
    }
  }
});

Deno.test("a checkpoint is read with its pool, if any, which counts among its files", () =>
  withCheckpoint((_, run) => {
    const { directory, pool, state } = loadCheckpoint(run);
    assertEquals([pool, checkpointFiles(directory).length, modelFilesOf(run).length], [undefined, 4, 1]);
    writePool(directory, poolOfMesh(), state.files.model.sha256);
    assertEquals(loadCheckpoint(run).pool, poolOfMesh());
    assertEquals(checkpointFiles(directory).includes(join(directory, POOL_FILE)), true);
    assertEquals(modelFilesOf(run)[1], join(directory, POOL_FILE));
    return Promise.resolve();
  }));

Deno.test("a pool that is damaged or belongs to another checkpoint is rejected", () =>
  withCheckpoint((_, run) => {
    const { directory, state } = loadCheckpoint(run);
    writePool(directory, poolOfMesh(), "0".repeat(64));
    const remedy = "delete it (the model also answers without it)";
    assertThrows(() => loadCheckpoint(directory), FormatError, `it belongs to another checkpoint; ${remedy}`);
    writePool(directory, poolOfMesh(), state.files.model.sha256);
    flipByte(join(directory, POOL_FILE), -3);
    assertThrows(() => loadCheckpoint(directory), FormatError, `checksum does not match`);
    return Promise.resolve();
  }));

Deno.test("another format version, or none, is rejected with a one-line error, wherever it is stated", () =>
  withRowCheckpoint((at) => {
    const [folder, adapted] = [at("run/checkpoints/step-00000003"), at("adapted")];
    const checkpoint = loadCheckpoint(folder);
    const { config: { model }, weights, state } = checkpoint;
    Deno.mkdirSync(adapted);
    const update = embeddingUpdateOf(model, weights, Uint32Array.of(2, 127), Uint32Array.of(1));
    writeUpdate(join(adapted, UPDATE_FILE), update, { from: baseOf(checkpoint), config: model });
    const refused = (read: () => unknown, path: string, found = "3") => {
      const { message, exitCode } = assertThrows(
        read,
        UserError,
        `found format version ${found}, expected 1; use the version of the program that wrote it`,
      );
      assertEquals([message.split("\n").length, exitCode], [1, 1]);
      assertStringIncludes(message, path);
    };
    toVersion3(join(adapted, UPDATE_FILE));
    refused(() => loadCheckpoint(adapted), UPDATE_FILE);
    const changed = toVersion3(join(folder, "model.safetensors"));
    writeState(folder, { ...state, files: { ...state.files, model: changed } });
    for (const read of [loadCheckpoint, loadResumable]) refused(() => read(at("run")), "model.safetensors");
    const path = join(folder, "state.json");
    const { formatVersion, ...json } = JSON.parse(Deno.readTextFileSync(path));
    assertEquals(formatVersion, 1);
    for (const version of [3, 1.5, 0, "two", undefined]) {
      Deno.writeTextFileSync(path, JSON.stringify({ ...json, formatVersion: version }));
      const found = String(version ?? "none");
      for (const read of [loadCheckpoint, loadResumable]) refused(() => read(folder), path, found);
      refused(() => inspectCheckpoint({ path: "", files: [folder] }), path, found);
    }
  }, tinyLocatedModel()));

function toVersion3(path: string): SafetensorsFile {
  const content = readSafetensors(path);
  assertEquals(content.metadata.format_version, "1");
  return writeSafetensors(path, { ...content, metadata: { ...content.metadata, format_version: "3" } });
}
