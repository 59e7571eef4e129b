/** Tiny training runs in real processes. @module */
import { createHash } from "node:crypto";
import { join } from "@std/path";
import { exists } from "../../lib/io/files/inputs.ts";
import type { ProbeRow } from "../../lib/data/probe_rows/probe_row.ts";
import { decodeTfRecords, EVENT_FILE } from "../../lib/train/event_log.ts";
import { type MetricsRecord, readMetrics } from "../../lib/train/metrics.ts";
import {
  outputOf,
  type ProcessOptions,
  type ProcessResult,
  runStageProcess,
  spawnStage,
} from "../cli/process.ts";
import { syntheticRows, writeProbeRows } from "../data/loader/synthetic_rows.ts";
import { copyFolder } from "../io/files/temporary_folder.ts";
import { type Settings, smallSettings } from "./small_run.ts";
import { BinaryReader } from "@bufbuild/protobuf/wire";

/** Steps of the runs unless their arguments set another number. */
export const STEPS = 40;

const SETTINGS: Settings = {
  "model.numLayers": 2,
  "model.sequenceLength": 64,
  "train.dtype": "f32",
  "train.batchSize": 4,
  "train.evalEverySteps": 10,
  "train.evalSequences": 4,
  "train.checkpointEverySteps": 7,
  "train.keepCheckpoints": 2,
};

/**
 * Writes probe rows for the runs; without workers they are always the same.
 * @param numRows Rows to train on.
 */
export async function writeTrainingRows(folder: string, numRows = 30): Promise<void> {
  await writeRows(folder, "train", syntheticRows(1, numRows, 20));
  await writeRows(folder, "val", syntheticRows(2, 12, 20));
}

export async function writeRows(folder: string, split: string, rows: readonly ProbeRow[]): Promise<void> {
  await writeProbeRows(join(folder, split, `${split}-00000-of-00001.arrayrecord`), rows);
}

interface SignalOptions {
  signals: Deno.Signal[];
  delayMs?: number;
  settings?: Settings;
  more?: string[];
  process?: ProcessOptions;
  /** The process to signal (default: the started process). */
  target?: (child: Deno.ChildProcess) => number;
}

/** How many times to restart a run that ended before its signals. */
const MAX_ATTEMPTS = 20;

/** The runs in one folder, on one set of rows. */
export class TrainingRuns {
  readonly data: string;

  /** @param folder Contains the rows (`rows`) and the runs. */
  constructor(readonly folder: string) {
    this.data = join(folder, "rows");
  }

  /**
   * The arguments of a run's process. By default it fits no pool.
   *
   * @param more Options; `--steps` or `--tokens`, and `--pool-measurements`, replace the defaults.
   */
  arguments(run: string, settings: Settings = {}, ...more: string[]): string[] {
    const sets = smallSettings({ ...SETTINGS, ...settings });
    const hasLength = more.includes("--steps") || more.includes("--tokens");
    const steps = hasLength ? [] : ["--steps", String(STEPS)];
    const pool = more.includes("--pool-measurements") ? [] : ["--pool-measurements", "0"];
    return ["train", "--data", this.data, "--run", run, ...steps, ...pool, ...sets, ...more];
  }

  async train(run: string, settings: Settings = {}, ...more: string[]): Promise<ProcessResult> {
    return await runStageProcess(this.arguments(run, settings, ...more));
  }

  /**
   * Starts training and sends signals, one by one, once the metrics have a line for a step. Restarts from the
   * same state if the run ended before them.
   */
  async signalAtStep(run: string, step: number, options: SignalOptions): Promise<ProcessResult> {
    const before = `${run} before`;
    if (exists(run)) copyFolder(run, before);
    try {
      for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        const result = await this.#signalOnce(run, step, options);
        if (result.code !== 0) return result;
        Deno.removeSync(run, { recursive: true });
        if (exists(before)) copyFolder(before, run);
      }
    } finally {
      if (exists(before)) Deno.removeSync(before, { recursive: true });
    }
    throw new Error(`${run} ended before its signal ${MAX_ATTEMPTS} times`);
  }

  async #signalOnce(run: string, step: number, options: SignalOptions): Promise<ProcessResult> {
    const { signals, delayMs = 0, settings = {}, more = [], process, target = ({ pid }) => pid } = options;
    const metrics = join(run, "metrics.jsonl");
    const hasStep = () => exists(metrics) && readMetrics(metrics).some((record) => record.step >= step);
    const child = spawnStage(
      this.arguments(run, { "train.logEverySteps": 1, ...settings }, ...more),
      process,
    );
    const output = outputOf(child);
    const hasEnded = output.then(() => true);
    while (!hasStep()) {
      if (await Promise.race([hasEnded, new Promise((resolve) => setTimeout(() => resolve(false), 2))])) {
        break;
      }
    }
    for (const signal of signals) {
      await new Promise((resolve) => setTimeout(resolve, delayMs));
      const pid = target(child);
      try {
        Deno.kill(pid, signal);
      } catch { /* it ended before the signal */ }
    }
    return await output;
  }
}

/** A run's metrics without the only scalar that depends on time. */
export function metricsOf(run: string): MetricsRecord[] {
  return timeless(readMetrics(join(run, "metrics.jsonl")));
}

/** Like {@link metricsOf}, from the event file. */
export function eventsOf(run: string): MetricsRecord[] {
  return timeless(readEventScalars(join(run, "tensorboard", EVENT_FILE)));
}

function timeless(records: readonly MetricsRecord[]): MetricsRecord[] {
  return records.map(({ "train/tokens_per_second": _, ...rest }) => rest as MetricsRecord);
}

export function checkpointOf(run: string, step: number): string {
  return join(run, "checkpoints", `step-${String(step).padStart(8, "0")}`);
}

/** Hashes of the files with weights and optimizer state of a run's checkpoint. */
export function tensorHashes(run: string, step = STEPS): string[] {
  return ["model", "optimizer"].map((file) => {
    const bytes = Deno.readFileSync(join(checkpointOf(run, step), `${file}.safetensors`));
    return createHash("sha256").update(bytes).digest("hex");
  });
}

// Reads event files like TensorBoard, to compare them with the expected content.

/** The events of a file with their scalars, without wall times; the first has the version and no scalar. */
export function readEventScalars(path: string): MetricsRecord[] {
  return [...decodeTfRecords(Deno.readFileSync(path))].map(({ data }) => {
    const [step] = fieldsOf(data).get(2) ?? [0];
    const [summary] = fieldsOf(data).get(5) ?? [new Uint8Array(0)];
    const values = (fieldsOf(summary as Uint8Array).get(1) ?? []).map((value) =>
      fieldsOf(value as Uint8Array)
    );
    const scalars = values.map((fields): [string, number | null] => {
      const [tag] = fields.get(1) ?? [];
      const [value] = fields.get(2) ?? [];
      const name = new TextDecoder().decode(tag as Uint8Array);
      return [name, Number.isFinite(value) ? value as number : null];
    });
    return { step: step as number, ...Object.fromEntries(scalars) };
  });
}

/** Field number -> its values: varints, doubles and floats as numbers, everything else as bytes. */
function fieldsOf(message: Uint8Array): Map<number, (number | Uint8Array)[]> {
  const reader = new BinaryReader(message);
  const fields = new Map<number, (number | Uint8Array)[]>();
  const readers = [() => Number(reader.int64()), () => reader.double(), () => reader.bytes()];
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    const value = (readers[wireType] ?? (() => reader.float()))();
    fields.set(field, [...fields.get(field) ?? [], value]);
  }
  return fields;
}
