/**
 * The script of a job, for `sbatch` (https://slurm.schedmd.com/sbatch.html) or for bash without SLURM.
 *
 * @module
 */
import { UsageError } from "../../base/errors.ts";
import { nameOf } from "../../io/files/real_path.ts";
import type { ClusterConfig, JobDemands } from "./cluster_config.ts";
import JOB from "./job.sh" with { type: "text" };

/** The content of a script. */
export interface Job {
  /** The job's name in `squeue`. */
  name: string;
  /** The script's path, absolute; its log is beside it. */
  path: string;
  /** The purpose, for its first lines. */
  purpose: string;
  /** The name of the script that must finish before, if there is one. */
  after: string | undefined;
  demands: JobDemands;
  /** The program and its arguments: first the program and the stage, then the words of each option. */
  command: readonly (readonly string[])[];
  /** The folder that it runs in. */
  folder: string;
}

/** A word, quoted for the shell if needed. */
export function quoted(word: string): string {
  return /^[\w./:=,+@%-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/**
 * The text of a script.
 *
 * @throws {UsageError} If its path has a line break, which a line for `sbatch` cannot contain.
 */
export function jobScript(job: Job, cluster: ClusterConfig): string {
  const { tasks, memoryGb } = job.demands;
  const file = nameOf(job.path);
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
      "# In SLURM one task of the array, by hand all tasks, one after the other.",
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
      `Cannot write ${
        JSON.stringify(path)
      }: its name has a line break, expected none; choose another --output`,
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
    // --mem is per node, and the number of ranks on a node is unknown.
    ranks === 1 ? `--mem=${memoryGb}G` : `--mem-per-cpu=${Math.ceil(memoryGb * 1024 / cpus)}M`,
    ...(gpus === 0 ? [] : [ranks === 1 ? `--gres=gpu:${gpus}` : `--gpus-per-task=${gpus}`]),
    ...options,
  ];
}

/** The command, one option a line. */
function commandLines({ command, demands }: Job, container: string | undefined): string {
  const lines = command.map((words) => words.map(quoted).join(" "));
  const task = demands.tasks === 1 ? [] : [`--task "$task/${demands.tasks}"`];
  // Without --kill-on-bad-exit the other ranks would wait for one that has exited.
  const srun = demands.ranks === 1 ? [] : [`srun --mpi=${demands.mpi} --kill-on-bad-exit=1`];
  const [first, ...rest] = [...srun, ...(container === undefined ? [] : [container]), ...lines, ...task];
  return [`  exec ${first}`, ...rest.map((each) => `    ${each}`)].join(" \\\n");
}
