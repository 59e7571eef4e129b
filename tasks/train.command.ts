import { command } from "../lib/cli/command.ts";
import { option } from "../lib/cli/options.ts";
import * as uses from "../lib/cli/path_uses.ts";
import { LAUNCH_VARIABLES } from "../lib/train/mpi/launch.ts";
import { configOptions, engine, onCorrupt, verify } from "./shared_options.ts";

export const trainCommand = command({
  name: "train",
  summary: "train a model on probe rows",
  reads: "probe rows",
  writes: "a run folder: checkpoints (safetensors), `metrics.jsonl`, TensorBoard events, `report.html`",
  example: "--data data/rows --run runs/first --config demo --set train.batchSize=16",
  main: ["data", "run", "config", "maxTime", "geo"],
  options: {
    data: option.paths(
      uses.rowsWithOrigin,
      "folder of probe rows; several folders are campaigns that one model learns (data.campaignExponent)",
      { required: true },
    ),
    run: option.path(uses.outputFolder, "folder of the run; an existing run is continued", {
      required: true,
    }),
    teacher: option.path(
      uses.run,
      "also learn RTTs from this trained model, with train.teacherWeight (knowledge distillation)",
    ),
    geo: option.paths(
      uses.inputs,
      "files with the places of addresses, for the model to learn from: MMDB, CSV of ip-location-db, probe archive of " +
        "RIPE Atlas; later files override earlier ones",
    ),
    ...configOptions,
    steps: option.integer("optimizer steps of the whole run (default: as configured)", { min: 1 }),
    tokens: option.integer("instead of --steps: train on this many tokens, including padding", { min: 1 }),
    mpiLibrary: option.path(
      uses.input,
      "the MPI library of the launcher (default: found by its usual names)",
    ),
    maxTime: option.text(
      "plan as many steps as fit in this time, such as 90s, 30m, 1h30m; a continued run keeps " +
        "its number of steps. With --steps or --tokens, or several ranks: save everything and stop after this time",
      { value: "TIME" },
    ),
    resumeFrom: option.path(
      uses.run,
      "continue from this checkpoint, of this or another run, with its whole state; settings of train " +
        "and optim may differ",
    ),
    initFrom: option.path(uses.run, "start a new run with the weights of this checkpoint or run"),
    poolData: option.paths(
      uses.rowsWithOrigin,
      "further probe rows that are not trained on: fit the pool to their val splits too",
    ),
    poolMeasurements: option.integer(
      "validation measurements that the pool is fitted to after training; 0 for no pool",
      { default: 1000, min: 0, max: 1_000_000 },
    ),
    memoryMb: option.number(
      "megabytes of training measurements that answers remember, about 8 bytes each; older ones are thinned out",
      { default: 64, min: 0.01, max: 100_000 },
    ),
    engine,
    onCorrupt,
    verify,
    workers: option.integer("number of threads that prepare batches; results do not depend on it", {
      default: 0,
      min: 0,
      max: 1024,
    }),
    profile: option.switch(
      "show the time profile of an early step and write it to profile.txt in the run; that step is slower",
    ),
    fresh: option.switch(
      "start over; the existing run in the folder is deleted once the new one has a checkpoint",
    ),
  },
  needs: { trains: true, launchVariables: LAUNCH_VARIABLES },
});
