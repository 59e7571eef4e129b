/**
 * Writes and submits the jobs of the chain: measurements to shards, to probe rows, to a model, to its
 * evaluation. Each way of splitting has its own chain and folders.
 *
 * @module
 */
import JOB from "./job.sh" with { type: "text" };
import { ConfigError, UsageError, UserError } from "../../base/errors.ts";
import {
  CHAIN_STAGES,
  type ChainStage,
  type ClusterConfig,
  demandsOf,
  type JobDemands,
} from "./cluster_config.ts";
import { basename, dirname, join } from "@std/path";
import { TRACE, WORK } from "../../io/files/array_task.ts";
import { removeStaleTemporaries, writeFileAtomic } from "../../io/files/atomic.ts";
import { exists, readText } from "../../io/files/inputs.ts";
import { OutputLock } from "../../io/files/output_lock.ts";

export interface ChainJob {
  stage: ChainStage;
  splitBy: string;
  /** The arguments of the stage, without its task in the job array. */
  args: string[];
  path: string;
  script: string;
}

interface ChainOptions {
  /** The input of `shard`. */
  inputs: readonly string[];
  /** Absolute path of the output folder. With several ways of splitting, each has a subfolder. */
  output: string;
  /** See lib/data/probe_rows/splits.ts. */
  splitBy: readonly string[];
  ratios: string;
  seed: number;
  program: readonly string[];
  /** The folder that relative paths start from. */
  folder: string;
}

const PURPOSES: Record<ChainStage, string> = {
  "shard": "divides measurements into Parquet shards",
  "probe-rows": "groups the shards' measurements by source",
  "train": "trains a model on the probe rows",
  "eval": "evaluates the model",
};

/** The share of a job's memory for --memory-limit-gb, which does not count everything. */
const MEMORY_SHARE = 0.75;

/** Options that connect the jobs of a chain. */
const LINKS = ["--input", "--output", "--split-by", "--task", "--data", "--run", "--checkpoint"];

/** The jobs of all chains, each after the jobs that it waits for. */
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
        demands,
        folder: options.folder,
        command: [[...options.program, stage], ...args],
      };
      return { stage, splitBy, args: args.flat(), path: job.path, script: jobScript(job, cluster) };
    });
  });
}

/**
 * The options of a stage, except those that `args` already contain.
 *
 * @throws {ConfigError} If `args` contain an option that connects the jobs.
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
    throw new ConfigError(`${stage}.args`, `slurm sets ${taken} itself; leave it out`);
  }
  return [...options[stage], shared].filter(([option]) => !given.includes(option));
}

interface Job {
  /** The job's name in `squeue`. */
  name: string;
  /** The absolute path of the script; its log is beside it. */
  path: string;
  purpose: string;
  /** The name of the script that has to finish first, if any. */
  after: string | undefined;
  demands: JobDemands;
  /** The program and stage first, then the words of each option. */
  command: readonly (readonly string[])[];
  folder: string;
}

/** A word of a shell command, with quotation marks if it needs them. */
export function quoted(word: string): string {
  return /^[\w./:=,+@%-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** @throws {UsageError} If the path has a line break, which `sbatch` does not allow. */
function jobScript(job: Job, cluster: ClusterConfig): string {
  const { tasks, memoryGb } = job.demands;
  const file = basename(job.path);
  const values: Record<string, string> = {
    PURPOSE: job.purpose,
    DEPENDENCY: job.after === undefined ? "" : `--dependency=afterok:JOB `,
    FILE: file,
    DIRECTIVES: directives(job).map((option) => `#SBATCH ${option}`).join("\n"),
    SIGNAL_SECONDS: String(cluster.signalSeconds),
    MAX_RESTARTS: String(cluster.maxRestarts),
    MEMORY: `${memoryGb}G`,
    COMMAND: commandLines(job, cluster.container),
    FOLDER: quoted(job.folder),
    SETUP: cluster.setup.join("\n"),
    RUN: tasks === 1 ? "run" : [
      "# Under SLURM one task of the array, otherwise all tasks in turn.",
      `for task in \${SLURM_ARRAY_TASK_ID:-$(seq ${tasks})}; do`,
      "  run",
      "done",
    ].join("\n"),
  };
  return JOB.replace(/@([A-Z_]+)@\n?/g, (found, key: string) => {
    const value = values[key];
    return value === "" && found.endsWith("\n") ? "" : found.replace(`@${key}@`, () => value);
  });
}

function directives({ name, path, demands }: Job): string[] {
  const { partition, account, time, memoryGb, cpus, gpus, options, tasks, ranks } = demands;
  if (/[\n\r]/.test(path)) {
    throw new UsageError(
      `Cannot write ${JSON.stringify(path)}: the path contains a line break; choose another ` +
        "--output",
    );
  }
  const [number, arrayed] = tasks === 1 ? ["%j", []] : ["%A_%a", [`--array=1-${tasks}`]];
  const log = path.replace(/\.sbatch$/, "").replaceAll("%", "%%").replace(/["\\]/g, "\\$&");
  return [
    `--job-name=${name}`,
    `--output="${log}-${number}.log"`,
    ...arrayed,
    ...(partition === undefined ? [] : [`--partition=${partition}`]),
    ...(account === undefined ? [] : [`--account=${account}`]),
    ...(time === undefined ? [] : [`--time=${time}`]),
    `--ntasks=${ranks}`,
    `--cpus-per-task=${cpus}`,
    // --mem is per node, and the number of ranks per node is unknown.
    ranks === 1 ? `--mem=${memoryGb}G` : `--mem-per-cpu=${Math.ceil(memoryGb * 1024 / cpus)}M`,
    ...(gpus === 0 ? [] : [ranks === 1 ? `--gres=gpu:${gpus}` : `--gpus-per-task=${gpus}`]),
    ...options,
  ];
}

function commandLines({ command, demands }: Job, container: string | undefined): string {
  const lines = command.map((words) => words.map(quoted).join(" "));
  const task = demands.tasks === 1 ? [] : [`--task "$task/${demands.tasks}"`];
  // Without --kill-on-bad-exit the other ranks would wait for one that has exited.
  const srun = demands.ranks === 1 ? [] : [`srun --mpi=${demands.mpi} --kill-on-bad-exit=1`];
  const [first, ...rest] = [...srun, ...(container === undefined ? [] : [container]), ...lines, ...task];
  return [`  exec ${first}`, ...rest.map((each) => `    ${each}`)].join(" \\\n");
}

interface SubmittedJob extends ChainJob {
  id: number;
}

/**
 * Submits jobs, each of which waits for the previous one of its chain.
 *
 * @param jobs Jobs whose scripts exist. @param signal Stops between two jobs.
 * @throws {UserError} If `sbatch` is missing or rejects a script.
 */
export async function submitJobs(
  jobs: readonly ChainJob[],
  { onSubmit, signal }: { onSubmit: (job: SubmittedJob) => void; signal: AbortSignal },
): Promise<SubmittedJob[]> {
  const submitted: SubmittedJob[] = [];
  for (const job of jobs) {
    signal.throwIfAborted();
    const before = submitted.findLast(({ splitBy }) => splitBy === job.splitBy);
    const { id, error } = await sbatch(job.path, before?.id);
    if (id === undefined) {
      const ids = submitted.map(({ id }) => id);
      const undo = ids.length === 0 ? "" : `, and cancel the waiting jobs: scancel ${ids.join(" ")}`;
      throw new UserError(
        `Cannot submit ${job.path}: sbatch printed \`${error}\`, expected a job number; correct that${undo}`,
      );
    }
    submitted.push({ ...job, id });
    onSubmit({ ...job, id });
  }
  return submitted;
}

export function submitCommands(jobs: readonly ChainJob[]): string[] {
  return jobs.map(({ path, splitBy }, i) => {
    const dependency = jobs[i - 1]?.splitBy === splitBy ? `--dependency="afterok:$job" ` : "";
    return `job=$(sbatch --parsable ${dependency}${quoted(path)})`;
  });
}

async function sbatch(path: string, after: number | undefined): Promise<{ id?: number; error?: string }> {
  const dependency = after === undefined ? [] : [`--dependency=afterok:${after}`];
  const { stdout, stderr } = await start(["--parsable", ...dependency, path]);
  const text = new TextDecoder();
  const id = /^(\d+)(?:;|$)/m.exec(text.decode(stdout))?.[1];
  if (id !== undefined) return { id: Number(id) };
  return { error: text.decode(stderr).trim().split("\n").at(-1) || "nothing" };
}

async function start(args: string[]): Promise<Deno.CommandOutput> {
  try {
    return await new Deno.Command("sbatch", { args, stdin: "null" }).output();
  } catch (cause) {
    if (!(cause instanceof Deno.errors.NotFound)) throw cause;
    throw new UserError(
      "Cannot submit: sbatch is not on PATH, expected SLURM's commands; use a login node, " +
        "or submit by hand what slurm prints without --submit",
      { cause },
    );
  }
}

const SIGN = "# Written by ping-llm slurm";

/**
 * Writes scripts, except those that exist with the same text.
 *
 * @param overwrite Whether to replace scripts that slurm wrote with other options, or that were edited.
 * @throws {UserError} If an existing file may not be replaced, or another stage wrote the folder; then none
 *   is written.
 */
export function writeScripts(jobs: readonly ChainJob[], output: string, overwrite: boolean): void {
  if (exists(output) && [...Deno.readDirSync(output)].some(({ name }) => TRACE.test(name))) {
    throw new UserError(
      `Cannot write to ${output}: another stage wrote to it, expected a new folder or one of slurm; choose another ` +
        "--output",
    );
  }
  const changed = jobs.filter(({ path, script }) => {
    if (!exists(path)) return true;
    const found = readText(path);
    if (found === script) return false;
    if (!found.includes(SIGN)) {
      throw new UserError(
        `Cannot write ${path}: a file that slurm did not write exists already; choose another --output`,
      );
    }
    if (overwrite) return true;
    throw new UserError(
      `Cannot write ${path}: it was made with other options or edited by hand; ` +
        "submit it with sbatch as it is, or add --overwrite",
    );
  });
  for (const folder of new Set(jobs.map(({ path }) => dirname(path)))) {
    using _lock = OutputLock.acquire(join(folder, WORK), { output: folder, stage: "slurm" });
    removeStaleTemporaries(folder);
    for (const { path, script } of changed) if (dirname(path) === folder) writeFileAtomic(path, script);
  }
}
