/**
 * kill -9 of each stage at random moments: the rerun must end with the files of a run that nothing disturbed,
 * byte for byte, times aside.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { createHash } from "node:crypto";
import { join } from "@std/path";
import { RandomStream } from "../../lib/random/philox.ts";
import { readMetrics } from "../../lib/train/metrics.ts";
import { outputOf, runStageProcess, spawnStage } from "../cli/process.ts";
import { folderHashes } from "../preprocess/folder_hashes.ts";
import { sampleBatch, writeParquet } from "../preprocess/sample_parquet.ts";
import { readEventScalars } from "../train/event_scalars.ts";

/** The stages that are killed. */
export const KILLED_STAGES = ["synth", "import", "shard", "probe-rows", "pretokenize", "train"] as const;
/** One of {@link KILLED_STAGES}. */
export type KilledStage = typeof KILLED_STAGES[number];

/** A tiny model and few steps, with more checkpoints than anybody would want. */
const TRAIN_SETTINGS: Record<string, number> = {
  "model.numLayers": 1,
  "model.width": 32,
  "model.numHeads": 1,
  "model.headDim": 32,
  "model.mlpWidth": 64,
  "model.sequenceLength": 64,
  "train.batchSize": 2,
  "train.microBatchSize": 2,
  "train.evalEverySteps": 10,
  "train.evalSequences": 2,
  "train.checkpointEverySteps": 3,
  "train.keepCheckpoints": 2,
  "train.logEverySteps": 1,
};
/** Shares of the trials in which the rerun is killed too, and the third run. */
const SECOND_KILL_ONE_IN = 3;
const WORK_FOLDER = "out";

/** How the trials of a stage went. */
export interface KillSummary {
  stage: KilledStage;
  /** Trials in which the process was killed before it ended. */
  numKilled: number;
  /** Kills in all; some trials have several. */
  numKills: number;
  /** Time of the last run that nothing disturbed; kills come within it. */
  seconds: number;
}

/** Makes the inputs of the stages. @returns Whether there is a GPU to train on. */
export async function prepareKills(folder: string): Promise<void> {
  writeParquet(join(folder, "in.parquet"), sampleBatch({ numRows: 40_000, numBad: 20 }));
  const { bytes, count } = repeatedResults();
  assert(count > 0);
  Deno.writeFileSync(join(folder, "in.jsonl"), bytes);
  await runStage(["probe-rows", "--input", join(folder, "in.parquet"), "--output", join(folder, "rows")]);
}

/** Ping results of 60 probes over many times, as JSON lines. */
function repeatedResults(): { bytes: Uint8Array; count: number } {
  const count = 60_000;
  const lines = Array.from({ length: count }, (_, i) =>
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
  return { bytes: new TextEncoder().encode(lines.join("\n") + "\n"), count };
}

/**
 * Kills a stage `count` times, each time in an output of its own, and compares what the rerun leaves.
 *
 * @param folder Where {@link prepareKills} put the inputs.
 * @throws {AssertionError} If a rerun fails or leaves other bytes.
 */
export async function killStage(
  stage: KilledStage,
  options: { folder: string; count: number; seed: number; onTrial?: (done: number) => void },
): Promise<KillSummary> {
  const { folder, count, seed } = options;
  const place = (name: string) => join(folder, `${stage}-${name}`, WORK_FOLDER);
  const startMs = performance.now();
  await runStage(stageArguments(stage, folder, place("whole")));
  const wanted = comparableFiles(join(folder, `${stage}-whole`));
  assert(Object.keys(wanted).length > 0, `${stage} wrote nothing`);
  const summary: KillSummary = { stage, numKilled: 0, numKills: 0, seconds: secondsSince(startMs) };
  for (let trial = 0; summary.numKilled < count; trial++) {
    assert(trial < 3 * count, `${stage} ended before it was killed in ${trial - summary.numKilled} trials`);
    const random = new RandomStream(seed, `tests/fuzz/kills/${stage}`, trial);
    const args = stageArguments(stage, folder, place("killed"));
    const delaysMs: number[] = [];
    do delaysMs.push(1000 * summary.seconds * random.float64()); while (
      random.below(SECOND_KILL_ONE_IN) === 0
    );
    const endings: Ending[] = [];
    for (const delayMs of delaysMs) endings.push(await killAfter(args, delayMs));
    const what = `${stage} killed after ${delaysMs.map((ms) => ms.toFixed(0)).join(", ")} ms`;
    await runStage(args, what);
    assertEquals(comparableFiles(join(folder, `${stage}-killed`)), wanted, what);
    Deno.removeSync(join(folder, `${stage}-killed`), { recursive: true });
    summary.numKills += endings.filter(({ isKilled }) => isKilled).length;
    if (endings[0].isKilled) options.onTrial?.(++summary.numKilled);
    // Where other programs held up the run that was timed, its time would be too long for good.
    else summary.seconds = endings[0].seconds;
  }
  Deno.removeSync(join(folder, `${stage}-whole`), { recursive: true });
  return summary;
}

function stageArguments(stage: KilledStage, folder: string, output: string): string[] {
  const parquet = ["--input", join(folder, "in.parquet"), "--output", output];
  switch (stage) {
    case "synth":
      return ["synth", "--rows", "150000", "--output", join(output, "f.parquet")];
    case "import":
      return ["import", "--input", join(folder, "in.jsonl"), "--output", join(output, "f.parquet")];
    case "shard":
      return ["shard", ...parquet, "--train-shards", "30", "--val-shards", "4", "--test-shards", "4"];
    case "probe-rows":
      return ["probe-rows", ...parquet, "--shards", "24", "--max-row-size-mb", "0.02"];
    case "pretokenize":
      return [
        "pretokenize",
        "--input",
        join(folder, "rows", "train"),
        "--output",
        output,
        "--sequences-per-file",
        "60",
      ];
    case "train":
      return [
        ...["train", "--data", join(folder, "rows"), "--run", output, "--steps", "30"],
        ...Object.entries(TRAIN_SETTINGS).flatMap(([key, value]) => ["--set", `${key}=${value}`]),
      ];
  }
}

async function runStage(args: string[], what = "undisturbed"): Promise<void> {
  const { code, stderr } = await runStageProcess(args);
  assertEquals(code, 0, `${args[0]}, ${what}: ${stderr}`);
}

/** How a run ended that was to be killed. */
interface Ending {
  /** False if it had ended before. */
  isKilled: boolean;
  seconds: number;
}

async function killAfter(args: string[], delayMs: number): Promise<Ending> {
  const startMs = performance.now();
  const child = spawnStage(args);
  const output = outputOf(child);
  const timer = setTimeout(() => {
    try {
      child.kill("SIGKILL");
    } catch { /* it has ended */ }
  }, delayMs);
  const { signal } = await child.status;
  const seconds = secondsSince(startMs);
  clearTimeout(timer);
  await output;
  return { isKilled: signal === "SIGKILL", seconds };
}

function secondsSince(startMs: number): number {
  return (performance.now() - startMs) / 1000;
}

/** The hash of every file; of metrics and events only what is no matter of time, of reports only that there are. */
function comparableFiles(folder: string): Record<string, string> {
  const hashes = folderHashes(folder);
  for (const path of Object.keys(hashes)) {
    if (path.endsWith("report.html")) hashes[path] = "";
    const records = path.endsWith("metrics.jsonl")
      ? readMetrics(join(folder, path))
      : path.includes("tfevents")
      ? readEventScalars(join(folder, path))
      : undefined;
    if (!records) continue;
    const timeless = records.map((record) => ({ ...record, "train/tokens_per_second": undefined }));
    hashes[path] = createHash("sha256").update(JSON.stringify(timeless)).digest("hex");
  }
  return hashes;
}
