import { command } from "../lib/cli/command.ts";
import { option } from "../lib/cli/options.ts";
import * as uses from "../lib/cli/path_uses.ts";

export const slurmCommand = command({
  name: "slurm",
  summary: "write the chain as jobs of a SLURM cluster, and submit them",
  details:
    "shard and probe-rows are job arrays; train and eval follow. The scripts are DIR/jobs/*.sbatch; bash can run them too, " +
    "without SLURM.",
  reads: "measurements Parquet, a small JSON file that describes the cluster",
  writes: "`*.sbatch`: the chain as jobs of SLURM; with `--submit` submits them",
  example: "--input data/measurements --output runs/first --config cluster.json --submit",
  main: ["input", "output", "config", "submit", "dryRun"],
  options: {
    input: option.paths(
      uses.inputs,
      "measurements: Parquet files, folders or globs, which the nodes see under the same paths",
      { required: true },
    ),
    output: option.path(
      uses.outputFolder,
      "folder for scripts, logs, shards, rows, run and evaluation, which the nodes see",
      { required: true },
    ),
    splitBy: option.text(
      "how shard splits; each of several modes gets its own chain, in a folder of that name",
      {
        default: "probe",
        value: "MODE,…",
      },
    ),
    ratios: option.text("shares of train, val, test", { default: "80,10,10", value: "A,B,C" }),
    config: option.path(
      uses.config,
      "configuration of the cluster, and options of stages (lib/cli/cluster/README.md)",
      { value: "FILE" },
    ),
    set: option.texts("change one key of it, such as train.time=2-00:00:00; repeatable", {
      value: "KEY=VALUE",
    }),
    partition: option.text("partition of the jobs", { value: "NAME" }),
    account: option.text("account of the jobs", { value: "NAME" }),
    time: option.text(
      "time limit of each job, in sbatch's notation; train continues in another job after it",
      {
        value: "D-HH:MM:SS",
      },
    ),
    gpus: option.integer("GPUs of train and eval (default: 1)", { min: 0 }),
    container: option.text("shell words before the program, such as `apptainer exec --nv image.sif`", {
      value: "LINE",
    }),
    program: option.text("the program on the nodes (default: this one)", { value: "PROGRAM" }),
    submit: option.switch("submit the jobs with sbatch"),
    dryRun: option.switch("print the scripts without writing or submitting anything"),
    overwrite: option.switch("replace scripts that were made with other options or edited by hand"),
  },
  needs: { programs: ["sbatch"] },
});
