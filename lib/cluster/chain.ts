/**
 * The jobs of the chain: measurements to shards, to probe rows, to a model, to its evaluation; a chain for each way of
 * splitting, with folders of its own.
 *
 * @module
 */
import { ConfigError } from "../errors.ts";
import { CHAIN_STAGES, type ChainStage, type ClusterConfig, demandsOf, type JobDemands } from "./config.ts";
import { type Job, jobScript } from "./job_script.ts";

/** A job of a chain. */
export interface ChainJob {
  stage: ChainStage;
  /** The way of splitting that the chain is of. */
  splitBy: string;
  /** The arguments of the stage; those of a job array lack the task. */
  args: string[];
  /** Where its script goes. */
  path: string;
  /** The text of the script. */
  script: string;
}

/** What chains are made of. */
export interface ChainOptions {
  /** Measurements, as `shard` takes them. */
  inputs: readonly string[];
  /** The folder of everything, absolute. With several ways of splitting each has a folder within it. */
  output: string;
  /** Ways of splitting, see lib/preprocess/splits.ts. */
  splitBy: readonly string[];
  ratios: string;
  seed: number;
  /** How the program is started, before the name of a stage. */
  program: readonly string[];
  /** The folder that relative paths are of. */
  folder: string;
}

const PURPOSES: Record<ChainStage, string> = {
  "shard": "divides measurements into Parquet shards",
  "probe-rows": "groups the shards' measurements by source",
  "train": "trains a model on the probe rows",
  "eval": "evaluates the model",
};

/** What a stage leaves free of its job's memory, for what is no part of its bound. */
const MEMORY_SHARE = 0.75;

/** Options by which the jobs of a chain hang together. */
const LINKS = ["--input", "--output", "--split-by", "--task", "--data", "--run", "--checkpoint"];

/** The jobs of all chains, each after those that it waits for. */
export function chainJobs(options: ChainOptions, cluster: ClusterConfig): ChainJob[] {
  return options.splitBy.flatMap((splitBy) => {
    const isOnly = options.splitBy.length === 1;
    const root = isOnly ? options.output : `${options.output}/${splitBy}`;
    const nameOfFile = (index: number) =>
      `${String(index + 1).padStart(2, "0")}-${CHAIN_STAGES[index]}.sbatch`;
    return CHAIN_STAGES.map((stage, i) => {
      const demands = demandsOf(cluster, stage);
      const args = [
        ...optionsOf(stage, { ...options, root, mode: splitBy }, demands),
        ...(demands.args.length > 0 ? [demands.args] : []),
      ];
      const job: Job = {
        name: `ping-llm-${stage}${isOnly ? "" : `-${splitBy}`}`,
        path: `${root}/jobs/${nameOfFile(i)}`,
        purpose: `${PURPOSES[stage]}, job ${i + 1} of ${CHAIN_STAGES.length}`,
        after: i === 0 ? undefined : nameOfFile(i - 1),
        ...{ demands, folder: options.folder },
        command: [[...options.program, stage], ...args],
      };
      return { stage, splitBy, args: args.flat(), path: job.path, script: jobScript(job, cluster) };
    });
  });
}

/**
 * The options of a stage, but for those that its arguments give themselves.
 *
 * @throws {ConfigError} If these give what the chain hangs on.
 */
function optionsOf(
  stage: ChainStage,
  { root, mode, inputs, ratios, seed }: ChainOptions & { root: string; mode: string },
  { memoryGb, cpus, args }: JobDemands,
): string[][] {
  const [shards, rows, run] = ["shards", "rows", "train"].map((name) => `${root}/${name}`);
  const shared = ["--seed", String(seed)];
  const workers = ["--workers", String(cpus)];
  const bounds = [["--memory-limit-gb", String(MEMORY_SHARE * memoryGb)], workers];
  const options: Record<ChainStage, string[][]> = {
    "shard": [
      ["--input", ...inputs],
      ["--output", shards],
      ["--split-by", mode],
      ["--ratios", ratios],
      ...bounds,
    ],
    "probe-rows": [["--input", shards], ["--output", rows], ...bounds],
    "train": [["--data", rows], ["--run", run]],
    "eval": [["--checkpoint", run], ["--data", rows], ["--output", `${root}/eval`], workers],
  };
  const given = args.map((arg) => arg.split("=")[0]);
  const taken = given.find((arg) => LINKS.includes(arg));
  if (taken !== undefined) {
    throw new ConfigError(`${stage}.args`, `found ${taken}, which the chain sets itself; leave it out`);
  }
  return [...options[stage], shared].filter(([option]) => !given.includes(option));
}
