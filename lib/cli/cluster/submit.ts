/**
 * Writes the scripts of jobs, and submits them with SLURM's `sbatch`.
 *
 * @module
 */
import { dirname, join } from "@std/path";
import { UserError } from "../../base/errors.ts";
import { type ChainJob, quoted } from "./chain.ts";
import { WORK } from "../../io/files/array_task.ts";
import { removeStaleTemporaries, writeFileAtomic } from "../../io/files/atomic.ts";
import { exists, readText } from "../../io/files/inputs.ts";
import { OutputLock } from "../../io/files/output_lock.ts";

export interface SubmittedJob extends ChainJob {
  /** Its SLURM job number. */
  id: number;
}

/**
 * Submits jobs. Each job of a chain waits for the previous one.
 *
 * @param jobs The jobs; their scripts are already written.
 * @param onSubmit Called with each submitted job.
 * @param signal Stops between two jobs.
 * @throws {UserError} If `sbatch` is missing or refuses a script.
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
        `Cannot submit ${job.path}: sbatch said \`${error}\`, expected a job number; correct that${undo}`,
      );
    }
    submitted.push({ ...job, id });
    onSubmit({ ...job, id });
  }
  return submitted;
}

/** The commands to submit jobs by hand. */
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
      "Cannot submit: there is no sbatch on PATH, expected SLURM's commands; go to a login node, " +
        "or submit by hand what slurm prints without --submit",
      { cause },
    );
  }
}

/** The mark of scripts that slurm wrote. */
const SIGN = "# Written by ping-llm slurm";

/**
 * Writes scripts. Existing files with the same text are not changed.
 *
 * @param overwrite Whether to replace scripts of slurm with other options or with changes by hand.
 * @throws {UserError} If an existing file may not be replaced; then none is written.
 */
export function writeScripts(jobs: readonly ChainJob[], overwrite: boolean): void {
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
      `Cannot write ${path}: it was made with other options or changed by hand, expected no difference; ` +
        "submit it with sbatch as it is, or add --overwrite",
    );
  });
  for (const folder of new Set(jobs.map(({ path }) => dirname(path)))) {
    using _lock = OutputLock.acquire(join(folder, WORK), { output: folder, stage: "slurm" });
    removeStaleTemporaries(folder);
    for (const { path, script } of changed) if (dirname(path) === folder) writeFileAtomic(path, script);
  }
}
