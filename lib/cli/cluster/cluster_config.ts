/**
 * Configuration of a cluster: the resources of the chain's jobs, from a small JSON file or from single keys.
 *
 * @module
 */
import * as z from "zod";
import { applySet, parseConfig } from "../../base/config_file.ts";
import { readJsonObject } from "../../io/files/inputs.ts";

export const CHAIN_STAGES = ["shard", "probe-rows", "train", "eval"] as const;
export type ChainStage = typeof CHAIN_STAGES[number];

/** A text, or a number as text, because `--set` reads `time=90` as a number. */
const text = (pattern: RegExp, wanted: string) =>
  z.preprocess(
    (value) => typeof value === "number" ? String(value) : value,
    z.string().regex(pattern, wanted),
  );
const word = text(/^[\w.,:+-]+$/, "a word of letters, digits and . , : + -");
const line = text(/^[^\n\r]+$/, "one line");
const count = (min: number) => z.int().min(min);

const demands = {
  partition: word.optional(),
  account: word.optional(),
  time: text(/^(?:\d+-)?\d+(?::\d+){0,2}$/, "a time such as 90, 12:00:00 or 2-00:00:00").optional(),
  memoryGb: count(1).optional(),
  cpus: count(1).optional(),
  gpus: z.union(
    [count(0), text(/^[\w.-]+:\d+$/, "such as a100:1")],
    "a number or a text such as a100:1",
  )
    .optional(),
  options: z.array(text(/^--[a-z][^\n\r]*$/, "an option of sbatch such as --qos=long")).optional(),
};
const args = z.array(line).default([]);
const stage = z.strictObject({ ...demands, args }).prefault({});
/** One of the names in `srun --mpi=list`. */
const mpi = word.default("pmix");
const trainStage = z.strictObject({ ...demands, args, ranks: count(1).max(100_000).default(1), mpi })
  .prefault({});
/** By default SLURM limits a job array to 1,000 tasks. */
const arrayStage = z.strictObject({ ...demands, args, tasks: count(1).max(1000).default(4) }).prefault({});

const schema = z.strictObject({
  ...demands,
  setup: z.array(line).default([]),
  container: line.optional(),
  program: line.optional(),
  maxRestarts: count(0).default(100),
  signalSeconds: count(1).max(65_535).default(120),
  "shard": arrayStage,
  "probe-rows": arrayStage,
  "train": trainStage,
  "eval": stage,
});

export type ClusterConfig = z.output<typeof schema>;

export interface JobDemands {
  partition?: string | undefined;
  account?: string | undefined;
  /** In the notation of SLURM's `--time`; by default the partition's limit. */
  time?: string | undefined;
  memoryGb: number;
  cpus: number;
  /** A count, or type:count; 0 for none. Like memory and processors, it is per rank. */
  gpus: number | string;
  options: string[];
  args: string[];
  tasks: number;
  /** Processes that `srun` starts together. */
  ranks: number;
  /** The MPI interface by which `srun` connects them. */
  mpi: string;
}

const DEFAULTS: Record<ChainStage, Pick<JobDemands, "memoryGb" | "cpus" | "gpus">> = {
  "shard": { memoryGb: 4, cpus: 2, gpus: 0 },
  "probe-rows": { memoryGb: 4, cpus: 2, gpus: 0 },
  "train": { memoryGb: 16, cpus: 4, gpus: 1 },
  "eval": { memoryGb: 16, cpus: 4, gpus: 1 },
};

/**
 * @param given Keys set by options; undefined values change nothing.
 * @param sets `KEY=VALUE` texts, applied last.
 * @throws {ConfigError} If a key is unknown or has an invalid value.
 * @throws {UserError} If the file cannot be read.
 */
export function loadClusterConfig(
  file: string | undefined,
  given: readonly (readonly [key: string, value: unknown])[],
  sets: readonly string[],
): ClusterConfig {
  const raw = file === undefined ? {} : readJsonObject(file, "a cluster's configuration");
  for (const [key, value] of given) {
    if (value !== undefined) applySet(raw, `${key}=${JSON.stringify(value)}`);
  }
  for (const text of sets) applySet(raw, text);
  return parseConfig(schema, raw);
}

export function demandsOf(cluster: ClusterConfig, name: ChainStage): JobDemands {
  const [byDefault, own] = [DEFAULTS[name], cluster[name]];
  return {
    partition: own.partition ?? cluster.partition,
    account: own.account ?? cluster.account,
    time: own.time ?? cluster.time,
    memoryGb: own.memoryGb ?? cluster.memoryGb ?? byDefault.memoryGb,
    cpus: own.cpus ?? cluster.cpus ?? byDefault.cpus,
    // A stage that needs no GPU by default gets one only by its own key.
    gpus: own.gpus ?? (byDefault.gpus === 0 ? 0 : cluster.gpus ?? byDefault.gpus),
    options: [...cluster.options ?? [], ...own.options ?? []],
    args: own.args,
    tasks: "tasks" in own ? own.tasks : 1,
    ...("ranks" in own ? { ranks: own.ranks, mpi: own.mpi } : { ranks: 1, mpi: "none" }),
  };
}
