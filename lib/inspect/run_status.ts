/**
 * The progress of a training run, from its manifest, the end of its metrics and the state of its last checkpoint.
 *
 * @module
 */
import { basename, join } from "@std/path";
import { formatCount, formatSeconds } from "../text/quantities.ts";
import { ConfigError, UserError } from "../errors.ts";
import { CHECKPOINTS, STATE_FILE } from "../files/checkpoint_folder.ts";
import { WORK } from "../files/array_task.ts";
import { type Manifest, readManifest } from "../files/manifest.ts";
import { checkpointDirectory, hasCheckpoints } from "../train/checkpoint.ts";
import { type CheckpointState, readState } from "../train/checkpoint_files.ts";
import { TRAINING_DATA_FILE } from "../train/training_data.ts";
import { deriveConfig, parseRunConfig, type RunConfig } from "../train/run_config.ts";
import { type MetricsRecord, readLastMetrics } from "../train/metrics.ts";
import { type Fact, formatShare, formatValue } from "./report.ts";
import {
  changedMsOf,
  faultsOfSizes,
  PATIENCE_MS,
  type Progress,
  stateOfWork,
  type StatusReport,
  statusReport,
} from "./work_state.ts";

/** The speed is the median of this many newest metrics lines. */
const SPEED_RECORDS = 10;
/** The largest pause of a working process, as a multiple of the usual time between two of its metrics lines. */
const PATIENCE_RECORDS = 3;

/** The files of a run in its folder. */
interface RunTraces {
  manifest: Manifest | undefined;
  config: RunConfig | undefined;
  records: MetricsRecord[];
  metricsMs: number;
  checkpoint: { state: CheckpointState; savedMs: number } | undefined;
  /** Missing or damaged files. */
  faults: string[];
}

/**
 * Reads the progress of a run.
 *
 * @param folder The run's folder.
 * @param nowMs The time, milliseconds since 1970.
 * @throws {FormatError} If its manifest is damaged.
 * @throws {UserError} If a file cannot be read.
 */
export function runStatus(folder: string, nowMs: number): StatusReport {
  const traces = readTraces(folder);
  const { config, records, checkpoint } = traces;
  const wantedSteps = config?.train.steps ?? null;
  const savedStep = checkpoint?.state.step ?? 0;
  const steps = Math.max(records.at(-1)?.step ?? 0, savedStep);
  const tokensPerSecond = speedOf(records);
  const secondsPerStep = config && tokensPerSecond
    ? deriveConfig(config).tokensPerStep / tokensPerSecond
    : null;
  const state = stateOfRun(folder, traces, { secondsPerStep: secondsPerStep ?? 0, nowMs });
  let secondsLeft: number | null = null;
  if (state.state !== "done" && wantedSteps !== null && secondsPerStep !== null) {
    // A stopped run continues from its checkpoint.
    const doneSteps = state.state === "working" ? steps : savedStep;
    secondsLeft = (wantedSteps - doneSteps) * secondsPerStep;
  }
  const timeLeft = secondsLeft === null ? undefined : `${formatSeconds(secondsLeft)} at that speed`;
  const speed = tokensPerSecond ? `${formatCount(Math.round(tokensPerSecond))} tokens/s` : undefined;
  const progress = `${steps} of ${wantedSteps ?? "?"} steps`;
  const share = wantedSteps ? ` (${formatShare(steps / wantedSteps)})` : "";
  const facts: Fact[] = [
    ["steps", progress + share, { steps, wantedSteps }],
    checkpointFact(traces, nowMs),
    ["speed", speed, { tokensPerSecond }],
    ["time left", timeLeft, { secondsLeft }],
    ...lossFacts(traces),
  ];
  return statusReport(state, { kind: "run", path: folder, progress, facts });
}

function checkpointFact({ checkpoint, faults }: RunTraces, nowMs: number): Fact {
  if (!checkpoint) return ["last checkpoint", faults.length > 0 ? "unknown" : "none", { checkpoint: null }];
  const saved = { step: checkpoint.state.step, secondsAgo: Math.max(0, nowMs - checkpoint.savedMs) / 1000 };
  return ["last checkpoint", `step ${saved.step}, ${formatSeconds(saved.secondsAgo)} ago`, {
    checkpoint: saved,
  }];
}

function stateOfRun(
  folder: string,
  { manifest, records, metricsMs, checkpoint, faults }: RunTraces,
  { secondsPerStep, nowMs }: { secondsPerStep: number; nowMs: number },
): Progress {
  if (faults.length > 0) return { state: "broken", why: faults.join("; ") };
  if (manifest?.complete) return { state: "done", why: "" };
  const stepsBetween = (records.at(-1)?.step ?? 0) - (records.at(-2)?.step ?? 0);
  return stateOfWork(join(folder, WORK), {
    what: "metrics.jsonl",
    changedMs: Math.max(metricsMs, checkpoint?.savedMs ?? 0),
    patienceMs: Math.max(PATIENCE_MS, PATIENCE_RECORDS * 1000 * stepsBetween * secondsPerStep),
    nowMs,
  });
}

function readTraces(folder: string): RunTraces {
  const manifest = readManifest(join(folder, "manifest.json"));
  const metricsPath = join(folder, "metrics.jsonl");
  const checkpoints = join(folder, CHECKPOINTS);
  const metricsMs = changedMsOf(metricsPath);
  const faults = manifest?.complete ? faultsOfSizes([folder], manifest.outputs) : [];
  const attempt = <T>(read: () => T): T | undefined => {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      faults.push(error.message);
      return undefined;
    }
  };
  const records = attempt(() => readLastMetrics(metricsPath)) ?? [];
  const config = attempt(() => manifest && configOf(manifest));
  const traces = { manifest, config, records, metricsMs, checkpoint: undefined, faults };
  // Checkpoints of another version are not read.
  if ((manifest && !config) || !hasCheckpoints(checkpoints)) return traces;
  if (!manifest) faults.push("manifest.json is missing");
  const checkpoint = attempt(() => readCheckpoint(checkpointDirectory(checkpoints), faults));
  return { ...traces, checkpoint, config: config ?? checkpoint?.state.config };
}

function configOf({ options }: Manifest): RunConfig {
  try {
    return parseRunConfig(options.config);
  } catch (cause) {
    if (!(cause instanceof ConfigError)) throw cause;
    throw new UserError(`${cause.message}; use the version of the program that wrote it`, { cause });
  }
}

/** The state of a checkpoint; its tensors are not read. */
function readCheckpoint(directory: string, faults: string[]): RunTraces["checkpoint"] {
  const state = readState(directory);
  const { model, optimizer, trainingData } = state.files;
  const files = [
    { path: "model.safetensors", sizeBytes: model.sizeBytes },
    { path: "optimizer.safetensors", sizeBytes: optimizer.sizeBytes },
    ...(trainingData ? [{ path: TRAINING_DATA_FILE, sizeBytes: trainingData.sizeBytes }] : []),
  ];
  for (const fault of faultsOfSizes([directory], files)) faults.push(`${basename(directory)}: ${fault}`);
  return { state, savedMs: changedMsOf(join(directory, STATE_FILE)) };
}

/** The median of the newest lines' tokens per second; null without lines. */
function speedOf(records: readonly MetricsRecord[]): number | null {
  const speeds = records.slice(-SPEED_RECORDS).map((record) => record["train/tokens_per_second"])
    .filter((speed) => typeof speed === "number").sort((a, b) => a - b);
  return speeds[speeds.length >> 1] ?? null;
}

function lossFacts({ records, checkpoint }: RunTraces): Fact[] {
  const last = records.at(-1);
  const state = checkpoint?.state;
  const trainLoss = (last ? last["train/loss"] : state?.losses.at(-1)?.loss) ?? null;
  const evaluated = records.findLast((record) => typeof record["eval/loss"] === "number");
  const evalLoss = evaluated?.["eval/loss"] ?? state?.evalLoss ?? null;
  const evalStep = evaluated?.step ?? state?.step;
  const skippedSteps = last?.["train/skipped_steps"] ?? state?.numSkippedSteps ?? 0;
  const isBegun = last !== undefined || state !== undefined;
  const perToken = (loss: number | null) => loss === null ? undefined : `${formatValue(loss)} nats per token`;
  const evalText = evalLoss === null ? undefined : `${perToken(evalLoss)} at step ${evalStep}`;
  return [
    ["training loss", isBegun ? perToken(trainLoss) ?? "not finite" : undefined, { trainLoss }],
    ["validation loss", evalText, { evalLoss }],
    ["skipped updates", skippedSteps > 0 ? String(skippedSteps) : undefined, { skippedSteps }],
  ];
}
