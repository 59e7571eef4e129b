/**
 * `adapt`: fits the address embeddings that a model does not know to a few measurements, everything else frozen.
 *
 * @module
 */
import { join, relative } from "@std/path";
import { ADAPT_DEFAULTS, type AdaptOptions, requireRows } from "../lib/query/adapt/adapt.ts";
import { AdaptedModel } from "../lib/query/adapt/adapted_model.ts";
import { usesAddress } from "../lib/query/adapt/free_rows.ts";
import { formatSeconds } from "../lib/base/text.ts";
import {
  defineStage,
  serveStage,
  type Stage,
  type StageContext,
  type StageResult,
} from "../lib/cli/stage.ts";
import { shortened, UsageError } from "../lib/base/errors.ts";
import { CHECKPOINTS } from "../lib/io/files/checkpoint_folder.ts";
import { fingerprint } from "../lib/io/files/inputs.ts";
import { refuseOverlap } from "../lib/io/files/output_guard.ts";
import { StagedOutput } from "../lib/io/files/staged_output.ts";
import { Gpu } from "../lib/tensor/device.ts";
import { KernelRegistry } from "../lib/tensor/registry.ts";
import { listMeasurementFiles, readMeasurementFiles } from "../lib/query/files/measurement_files.ts";
import { formatAddress } from "../lib/data/addresses/ip.ts";
import { baseOf, isAdapted, UPDATE_FILE, writeAdapted } from "../lib/train/adapted_checkpoint.ts";
import {
  checkpointDirectory,
  loadCheckpoint,
  loadResumable,
  modelFilesOf,
  saveCheckpoint,
} from "../lib/train/checkpoint.ts";
import { type AdaptedFrom, checkpointFiles } from "../lib/train/checkpoint_files.ts";
import { followLines } from "./adapt_follow.ts";
import { adaptProgress, countsOf, describeCounts, noteAdaptation, noteEstimate } from "./adapt_text.ts";
import { checkInputs } from "./input_check.ts";
import { addressOf } from "./query_options.ts";
import { STAGES } from "./stages.ts";

/** The stage `adapt`. */
export const adaptStage: Stage = defineStage(STAGES.adapt, async (options, stage): Promise<StageResult> => {
  const { input, output, follow, merge, checkpoint: path } = options;
  if (follow === (input.length > 0)) {
    throw new UsageError(
      follow
        ? "Cannot use --input with --follow: it reads standard input; leave one out"
        : "Cannot run: --input P is missing; add it, or --follow",
    );
  }
  if (follow && merge) throw new UsageError("Cannot use --merge with --follow: leave one out");
  const addresses = addressesOf(options.addresses);
  refuseOverlap(output, [checkpointDirectory(path), ...input]);
  await checkInputs(input, { verify: options.verify }, stage);
  const hasBegun = follow && !options.overwrite && isAdapted(output);
  const loaded = loadCheckpoint(hasBegun ? output : path, { onNote: stage.log });
  const model = new AdaptedModel(loaded.config.model, loaded.weights, loaded);
  requireRows(model);
  const base = baseOf(loaded);
  const { steps, learningRate, maxDrift, maxMeasurements, overwrite } = options;
  const fit = { steps, learningRate, maxDrift, ...(addresses ? { addresses } : {}) };
  const start = {
    stage: "adapt",
    inputs: [...(follow ? [] : listMeasurementFiles(input)), ...modelFilesOf(path)].map((file) =>
      fingerprint(file)
    ),
    options: { ...base, ...fit, maxMeasurements, merge, follow },
    overwrite,
  };
  using staged = StagedOutput.openFolder(output, start);
  if (follow) return await followLines(model, { ...options, base, fit }, { staged, stage });
  const begunMs = performance.now();
  const wasComplete = staged.isComplete;
  if (!wasComplete) await make(model, { ...options, base, fit }, { staged, stage });
  const seconds = wasComplete ? 0 : (performance.now() - begunMs) / 1000;
  const { counts, outputs } = staged.manifest;
  return {
    text: wasComplete
      ? `${output} is already complete, from the same inputs and options`
      : `Wrote ${output} in ${formatSeconds(seconds)}: ${describeCounts(counts)}`,
    json: {
      stage: "adapt",
      ...counts,
      base: base.base,
      seconds,
      doneAlready: wasComplete,
      outputs: outputs.map(({ path }) => join(output, path)),
    },
  };
});

/** Fits and publishes. */
async function make(
  model: AdaptedModel,
  { checkpoint, base, input, maxMeasurements, merge, fit }: {
    checkpoint: string;
    base: AdaptedFrom;
    input: readonly string[];
    maxMeasurements: number;
    merge: boolean;
    fit: Omit<AdaptOptions, "adapted">;
  },
  { staged, stage }: { staged: StagedOutput; stage: StageContext },
): Promise<void> {
  const asked = fit.addresses && new Set(fit.addresses);
  const { measurements, numRead } = await readMeasurementFiles(input, {
    most: maxMeasurements,
    isWanted: (measurement) => !asked || usesAddress(measurement, asked),
  });
  if (numRead > measurements.length) {
    stage.log(`using the newest ${measurements.length} of ${numRead} measurements: --max-measurements`);
  }
  noteEstimate(measurements.length, fit.steps ?? ADAPT_DEFAULTS.steps, stage.log);
  using gpu = await Gpu.open();
  using progress = adaptProgress(stage, fit.steps ?? ADAPT_DEFAULTS.steps);
  const adaptation = await model.fit(new KernelRegistry(gpu), measurements, {
    ...fit,
    signal: stage.signal,
    ...progress.options,
  });
  noteAdaptation(adaptation, stage.log);
  if (merge) await saveMerged(model, { checkpoint, base }, staged);
  else {
    writeAdapted(staged.folder, model, base);
    await staged.record(UPDATE_FILE);
  }
  staged.manifest.counts = countsOf(adaptation, model);
  staged.publish();
}

/** Writes a checkpoint with all weights; its optimizer state is that of the base. */
async function saveMerged(
  { weights, trainingData }: AdaptedModel,
  { checkpoint, base: { base } }: { checkpoint: string; base: AdaptedFrom },
  staged: StagedOutput,
): Promise<void> {
  const { state, optimizer } = loadResumable(base);
  const { state: { files: _, ...kept }, pool } = loadCheckpoint(checkpoint);
  const content = { state: { ...state, ...kept }, weights, optimizer, trainingData, pool };
  const folder = saveCheckpoint(join(staged.folder, CHECKPOINTS), content, { keep: 1 });
  for (const path of [...checkpointFiles(folder), join(folder, "../latest")]) {
    await staged.record(relative(staged.folder, path));
  }
}

function addressesOf(text: string | undefined): string[] | undefined {
  if (text === undefined) return undefined;
  const parts = text.split(",").map((part) => part.trim()).filter((part) => part !== "");
  if (parts.length === 0) {
    throw new UsageError(
      `Cannot use --addresses ${shortened(text)}: expected addresses separated by commas`,
    );
  }
  return parts.map((part) => formatAddress(addressOf("addresses", part))).sort();
}

if (import.meta.main) serveStage(adaptStage);
