/** `slurm`: writes the chain as cluster jobs, and submits them. @module */
import { join, resolve } from "@std/path";
import { parseArguments } from "../lib/cli/command.ts";
import { defineStage, serveStage, type Stage } from "../lib/cli/stage.ts";
import {
  type ChainJob,
  chainJobs,
  submitCommands,
  submitJobs,
  writeScripts,
} from "../lib/cli/cluster/chain.ts";
import { type ChainStage, loadClusterConfig } from "../lib/cli/cluster/cluster_config.ts";
import { CHECKOUT } from "../lib/cli/own_program.ts";
import { UsageError } from "../lib/base/errors.ts";
import { listInputs } from "../lib/io/files/inputs.ts";
import { refuseOverlap } from "../lib/io/files/real_path.ts";
import { RejectLog } from "../lib/data/measurement_files/rejects.ts";
import { readKeyed } from "../lib/data/probe_rows/keyed_reader.ts";
import { parseRatios, SPLIT_MODES, type SplitMode } from "../lib/data/probe_rows/splits.ts";
import { evalStage } from "./eval.ts";
import { checkInputs } from "./stage_files.ts";
import { probeRowsStage, shardStage } from "./split_stages.ts";
import { trainStage } from "./train.ts";
import { shardCommand } from "./split_stages.command.ts";
import { slurmCommand } from "./slurm.command.ts";

const CHAIN: Record<ChainStage, Stage> = {
  "shard": shardStage,
  "probe-rows": probeRowsStage,
  "train": trainStage,
  "eval": evalStage,
};
const KEYS = ["partition", "account", "time", "gpus", "container", "program"] as const;

export const slurmStage = defineStage(slurmCommand, async (options, context) => {
  if (options.submit && options.dryRun) {
    throw new UsageError(
      "Cannot use --submit and --dry-run together: a dry run submits nothing; leave one out",
    );
  }
  const splitBy = splitModes(options.splitBy);
  parseRatios(options.ratios);
  const given = KEYS.map((key) => [key, options[key]] as const);
  const cluster = loadClusterConfig(options.config, given, options.set);
  await checkInputs(options.input, { verify: false }, context);
  const files = listInputs(options.input, { extensions: [".parquet"], wanted: "a Parquet file" });
  refuseOverlap(options.output, files);
  const jobs = chainJobs({
    ...options,
    splitBy,
    inputs: options.input,
    output: resolve(options.output),
    folder: Deno.cwd(),
    program: programOf(cluster.program),
  }, cluster);
  jobs.forEach(checkArguments);
  await checkFooters(files, jobs);
  const scripts = jobs.map(({ path, script }) => ({ path, script }));
  const json = { stage: "slurm", output: options.output, scripts: scripts.map(({ path }) => path) };
  if (options.dryRun) {
    const text = scripts.map(({ path, script }) => `# ==> ${path} <==\n${script}`).join("\n");
    return { text, json: { ...json, texts: scripts.map(({ script }) => script) } };
  }
  writeScripts(jobs, options.output, options.overwrite);
  const { signal } = context;
  const onSubmit = ({ id, path }: { id: number; path: string }) =>
    context.log(`submitted ${path} as job ${id}`);
  const submitted = options.submit ? await submitJobs(jobs, { onSubmit, signal }) : [];
  const ids = submitted.map(({ id }) => id);
  return {
    text: [
      ...jobs.map(({ path }, i) => `${path}${ids.length > 0 ? `  job ${ids[i]}` : ""}`),
      ...(options.submit
        ? ["squeue --me and `status` show their progress; submit again to continue after a failure"]
        : ["submit them with --submit, or by hand:", ...submitCommands(jobs).map((line) => `  ${line}`)]),
    ].join("\n"),
    json: { ...json, jobs: ids },
  };
});

function splitModes(text: string): SplitMode[] {
  const modes = text.split(",");
  const isMode = (mode: string): mode is SplitMode => (SPLIT_MODES as readonly string[]).includes(mode);
  if (modes.every(isMode) && new Set(modes).size === modes.length) return modes;
  throw new UsageError(
    `Cannot use --split-by ${text}: expected distinct values from ${
      SPLIT_MODES.join(", ")
    }, such as probe,time`,
  );
}

/** Rejects options that a stage would reject, before its job waits in a queue. */
function checkArguments({ stage, args }: ChainJob): void {
  try {
    CHAIN[stage].check(args);
  } catch (error) {
    throw error instanceof UsageError ? new UsageError(`${error.message} (of ${stage})`) : error;
  }
}

/** Rejects files that `shard` would reject when it opens them. */
async function checkFooters(files: readonly string[], jobs: readonly ChainJob[]): Promise<void> {
  const args = jobs.find(({ stage }) => stage === "shard")?.args ?? [];
  const { groupBy } = parseArguments(shardCommand, args).values;
  const options = { groupBy, seed: 0, splitMode: undefined, columns: [], rejects: new RejectLog() } as const;
  // All footers are checked before the first row; no rows are read.
  await readKeyed(files, { ...options, rowRange: [0, 0] }).next();
}

/** How jobs start the program: as this executable, by the tasks of this checkout, or from the package. */
function programOf(given: string | undefined): string[] {
  if (given !== undefined) return [given];
  if (Deno.build.standalone) return [Deno.execPath()];
  if (CHECKOUT === undefined) {
    return [Deno.execPath(), "run", "-A", new URL("../mod.ts", import.meta.url).href];
  }
  const config = join(CHECKOUT, "deno.json");
  return [Deno.execPath(), "task", "--quiet", "--config", config];
}

if (import.meta.main) serveStage(slurmStage);
