/** A chain so small that a test can run it, and its jobs. @module */
import { join } from "@std/path";
import { exists } from "../../../lib/io/files/inputs.ts";
import { succeed } from "../process.ts";
import { TemporaryFolder } from "../../io/files/temporary_folder.ts";
import { folderHashes } from "../../data/probe_rows/stage_fixtures.ts";
import { until } from "../../until.ts";
import { smallSettings } from "../../train/small_run.ts";

/** Steps of the training, unless said otherwise; signals come before their end. */
const STEPS = 400;
const SMALL = smallSettings({
  "train.logEverySteps": 1,
  "train.checkpointEverySteps": 100_000,
  "model.coordinates": null,
});
/** Few shards. */
export const SHARDS = ["--train-shards", "4", "--val-shards", "1", "--test-shards", "1"];
/** The options of the training. */
export function trainingOf(steps = STEPS): string[] {
  return ["--steps", String(steps), ...SMALL];
}

/** A small cluster, and how little is to be done on it. */
const CLUSTER = {
  gpus: 0,
  cpus: 1,
  memoryGb: 2,
  signalSeconds: 60,
  setup: ["export NO_COLOR=1"],
  "shard": { tasks: 2, args: SHARDS },
  "probe-rows": { tasks: 2, args: ["--shards", "2"] },
  "train": { args: trainingOf() },
  "eval": { args: ["--max-measurements", "20", "--contexts", "0", "--baselines", "none"] },
};
/** The names of the scripts. */
export const SCRIPTS = ["01-shard", "02-probe-rows", "03-train", "04-eval"];

/** A folder whose name a shell and sbatch could take for several words, with measurements and a cluster in it. */
export async function prepared(): Promise<TemporaryFolder> {
  const folder = new TemporaryFolder();
  const args = ["--rows", "4000", "--probes", "20", "--destinations", "8"];
  await succeed("synth", "--output", folder.at("in put/m.parquet"), ...args);
  Deno.writeTextFileSync(folder.at("cluster.json"), JSON.stringify(CLUSTER));
  return folder;
}

export function slurmArguments(folder: TemporaryFolder, output: string): string[] {
  const files = ["--input", folder.at("in put/*.parquet"), "--config", folder.at("cluster.json")];
  return [...files, "--split-by", "row", "--output", output];
}

/** The scripts of a chain. */
export function jobsOf(output: string): string[] {
  return SCRIPTS.map((name) => join(output, "jobs", `${name}.sbatch`));
}

/** Starts bash. */
export function bash(...args: string[]): Deno.ChildProcess {
  return new Deno.Command("bash", { args, stdin: "null", stdout: "piped", stderr: "piped" }).spawn();
}

/** The weights and the state of a finished run, without where it is and how long it took. */
export function finalState(run: string, steps = STEPS): unknown {
  const checkpoint = join(run, "checkpoints", `step-${String(steps).padStart(8, "0")}`);
  const hashes = folderHashes(checkpoint);
  return ["model.safetensors", "optimizer.safetensors"].map((name) => hashes[name] ?? name);
}

/** Waits until a run has made some steps. */
export async function untilTraining(run: string): Promise<void> {
  const metrics = join(run, "metrics.jsonl");
  await until(
    "training",
    () => exists(metrics) && Deno.readTextFileSync(metrics).split("\n").length > 10,
  );
}
