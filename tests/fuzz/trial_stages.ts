/**
 * The stages that write, with small inputs, as the trials run them: each in two variants that must not be mixed up.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { createHash } from "node:crypto";
import { join } from "@std/path";
import type { Manifest } from "../../lib/io/files/manifest.ts";
import { readMetrics } from "../../lib/train/metrics.ts";
import { runStageProcess } from "../cli/process.ts";
import { folderHashes } from "../data/probe_rows/folder_hashes.ts";
import { sampleBatch, writeParquet } from "../data/probe_rows/sample_parquet.ts";
import { readEventScalars } from "../train/training_runs.ts";
import { smallSettings } from "../train/small_run.ts";

/** The stages that write, the quick ones first. */
export const TRIAL_STAGES = [
  "synth",
  "import",
  "shard",
  "probe-rows",
  "pretokenize",
  "train",
  "score",
  "eval",
] as const;
/** One of {@link TRIAL_STAGES}. */
export type TrialStage = typeof TRIAL_STAGES[number];

/** A tiny model and few steps, with more checkpoints than anybody would want. */
const TRAIN_SETTINGS = smallSettings({
  "model.sequenceLength": 64,
  "train.evalEverySteps": 10,
  "train.checkpointEverySteps": 3,
  "train.keepCheckpoints": 2,
  "train.logEverySteps": 1,
});

/** Makes the inputs of the stages in a folder. */
export async function prepareTrials(folder: string): Promise<void> {
  writeParquet(join(folder, "in.parquet"), sampleBatch({ numRows: 40_000, numBad: 20 }));
  writeParquet(join(folder, "few.parquet"), sampleBatch({ numRows: 200, numProbes: 12 }));
  Deno.writeFileSync(join(folder, "in.jsonl"), repeatedResults());
  for (const [input, output] of [["in", "rows"], ["few", "few-rows"]]) {
    const paths = ["--input", join(folder, `${input}.parquet`), "--output", join(folder, output)];
    await runToEnd(["probe-rows", ...paths, "--split-by", "row"]);
  }
  await runToEnd([...trainArguments(folder, 3), "--run", join(folder, "run")]);
}

/** Ping results of 60 probes over many times, as JSON lines. */
function repeatedResults(): Uint8Array {
  const lines = Array.from({ length: 60_000 }, (_, i) =>
    JSON.stringify({
      type: "ping",
      msm_id: 1000 + i % 7,
      prb_id: 6000 + i % 60,
      timestamp: 1_602_000_000 + 60 * i,
      from: `193.0.${i % 60}.1`,
      dst_addr: i % 999 === 0 ? "nowhere" : `194.150.191.${i % 7}`,
      af: 4,
      sent: 1,
      rcvd: 1,
      size: 64,
      result: [{ rtt: 1 + i % 1009 / 7 }],
    }));
  return new TextEncoder().encode(lines.join("\n") + "\n");
}

/**
 * The command of a stage.
 *
 * @param folder Where {@link prepareTrials} put the inputs.
 * @param output A folder: the output, or where the output file goes.
 * @param variant 0 or 1: what is made is not the same.
 */
export function stageArguments(stage: TrialStage, folder: string, output: string, variant = 0): string[] {
  const parquet = ["--input", join(folder, "in.parquet"), "--output", output];
  const file = ["--output", join(output, "f.parquet")];
  const seed = ["--seed", String(variant)];
  const model = ["--checkpoint", join(folder, "run")];
  switch (stage) {
    case "synth":
      return ["synth", "--rows", "150000", ...file, ...seed];
    case "import":
      return ["import", "--input", join(folder, "in.jsonl"), ...file, "--rtt", ["mean", "each"][variant]];
    case "shard":
      return [
        ...["shard", ...parquet, ...seed, "--train-shards", "30"],
        ...["--val-shards", "4", "--test-shards", "4"],
      ];
    case "probe-rows":
      return ["probe-rows", ...parquet, ...seed, "--shards", "24", "--max-row-size-mb", "0.02"];
    case "pretokenize":
      return [
        ...["pretokenize", "--input", join(folder, "rows", "train"), "--output", output],
        ...["--sequences-per-file", "60", ...seed],
      ];
    case "train":
      return [...trainArguments(folder, 30), "--run", output, ...seed];
    case "score":
      return ["score", ...model, "--input", join(folder, "few.parquet"), ...file, ...seed, "--context", "2"];
    case "eval":
      return [
        ...["eval", ...model, "--data", join(folder, "few-rows"), "--output", output, ...seed],
        ...["--max-measurements", "5", "--contexts", "0", "--baselines", "none"],
      ];
  }
}

function trainArguments(folder: string, steps: number): string[] {
  return [
    ...["train", "--data", join(folder, "rows"), "--steps", String(steps)],
    ...TRAIN_SETTINGS,
  ];
}

/** Runs a command that must succeed. @param what For the message. */
export async function runToEnd(args: readonly string[], what = "undisturbed"): Promise<void> {
  const { code, stderr } = await runStageProcess(args);
  assertEquals(code, 0, `${args[0]}, ${what}: ${stderr}`);
}

/** The hash of every file, times aside; of a run only the last checkpoint, since a signal makes one more. */
export function comparableFiles(folder: string): Record<string, string> {
  const hashes = folderHashes(folder);
  const latest = Object.keys(hashes).filter((path) => CHECKPOINT.test(path)).map(checkpointOf).sort().at(-1);
  for (const path of Object.keys(hashes)) {
    const full = join(folder, path);
    if (CHECKPOINT.test(path) && checkpointOf(path) !== latest) delete hashes[path];
    else if (TIMED.test(path)) hashes[path] = "";
    else if (path.endsWith("manifest.json")) hashes[path] = sha256Of(timelessManifest(full));
    else if (path.endsWith("metrics.jsonl")) hashes[path] = sha256Of(readMetrics(full).map(timelessRecord));
    else if (path.includes("tfevents")) hashes[path] = sha256Of(readEventScalars(full).map(timelessRecord));
  }
  return hashes;
}

const CHECKPOINT = /checkpoints\/step-\d+\//;
/** Reports say how long something took. */
const TIMED = /report\.(html|json)$/;

function checkpointOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/"));
}

function sha256Of(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("hex");
}

function timelessRecord(record: object): object {
  return { ...record, "train/tokens_per_second": undefined };
}

/** The inputs and options of a manifest, without how many rows an earlier run had done. */
function timelessManifest(path: string): unknown {
  const { counts: _, outputs, ...rest } = JSON.parse(Deno.readTextFileSync(path)) as Manifest;
  return [rest, outputs.map((output) => TIMED.test(output.path) ? output.path : output)];
}
