/**
 * The stages, before any is loaded: their purposes, modules, and the permissions to read, write and start programs.
 *
 * @module
 */
import {
  config,
  input,
  inputs,
  outputFile,
  outputFolder,
  rowsWithOrigin,
  rowsWithTruth,
  run,
  runWithEvaluation,
  watched,
} from "../lib/cli/path_uses.ts";
import type { StageNeeds } from "../lib/cli/stage_permissions.ts";
import { LAUNCH_VARIABLES } from "../lib/train/mpi/launch.ts";

/** The default address of `serve`. */
export const SERVED_AT = { host: "127.0.0.1", port: "8080" };

/** The purpose of each stage, in the order of the chain. */
export const STAGES: Record<string, string> = {
  "synth": "make measurements of a synthetic Internet whose truth is known",
  "import": "turn RIPE Atlas ping results or CSV into measurements Parquet",
  "shard": "divide measurements into Parquet shards of train, val and test",
  "probe-rows": "group measurements by source into ArrayRecord shards",
  "pretokenize": "write token sequences as Parquet, for other trainers",
  "inspect": "summarise any file or folder of the chain",
  "status": "tell how far runs and outputs are, also while others work on them",
  "train": "train a model on probe rows",
  "adapt": "fit a model to a few measurements of addresses that it does not know",
  "eval": "tell how well a model predicts held-out measurements, beside simple methods",
  "query": "ask a trained model for RTT distributions",
  "score": "add log-likelihoods and anomaly p-values to measurements",
  "serve": "answer questions to a trained model over HTTP, with a page for people",
  "export": "write a site with the model in it, for any web server",
  "slurm": "write the chain as jobs of a SLURM cluster, and submit them",
  "demo": "run the whole chain, small, end to end",
  "bench": "measure the throughput of kernels, training, preprocessing and loading",
  "compile": "make one executable file of the program",
};

/** The URL of a stage's module, beside this one. */
export function moduleOf(stage: string): URL {
  return new URL(`./${stage.replace("-", "_")}.ts`, import.meta.url);
}

const dataBench: StageNeeds = {
  paths: { compare: input, folder: outputFolder },
  defaults: { folder: temporaryFolder },
  startsProcesses: true,
};

/** The permissions that stages need, by kind for stages with several kinds. Stages that are not listed need none. */
export const NEEDS: Record<string, StageNeeds> = {
  "synth": { paths: { output: outputFile(".truth.json") } },
  "import": { paths: { input: inputs, output: outputFile(".rejects.jsonl") } },
  "shard": { paths: { input: inputs, output: outputFolder } },
  "probe-rows": { paths: { input: inputs, output: outputFolder } },
  "pretokenize": { paths: { input: inputs, output: outputFolder } },
  "inspect": { paths: { "": inputs, plot: outputFile() } },
  "status": { paths: { "": watched } },
  "train": {
    paths: {
      data: rowsWithOrigin,
      geo: inputs,
      teacher: run,
      "resume-from": run,
      "init-from": run,
      config,
      "mpi-library": input,
      run: outputFolder,
      "autotune-cache": outputFile(),
    },
    sys: ["systemMemoryInfo"],
    launchVariables: LAUNCH_VARIABLES,
  },
  "eval": {
    paths: {
      checkpoint: run,
      data: rowsWithTruth,
      train: input,
      "all-splits": inputs,
      geo: inputs,
      config,
      output: outputFolder,
    },
    sys: ["systemMemoryInfo"],
  },
  "adapt": { paths: { checkpoint: run, input: inputs, output: outputFolder } },
  "query rtt": {
    paths: {
      checkpoint: run,
      context: input,
      adapt: input,
      queries: input,
      calibration: input,
      output: outputFile(),
      plot: outputFile(),
    },
  },
  "query destinations": {
    paths: { checkpoint: run, context: input, calibration: input, output: outputFile() },
  },
  "query likelihood": { paths: { checkpoint: run, context: input, input: inputs, output: outputFile() } },
  "query sample": { paths: { checkpoint: run, context: input, output: outputFile() } },
  "score": {
    paths: {
      checkpoint: run,
      input: inputs,
      history: inputs,
      output: outputFile(".rejects.jsonl"),
      report: outputFile(),
    },
  },
  "serve": {
    paths: { checkpoint: runWithEvaluation, calibration: input, report: input },
    listens: SERVED_AT,
  },
  "export": {
    paths: { checkpoint: runWithEvaluation, calibration: input, report: input, output: outputFolder },
  },
  "slurm": { paths: { input: inputs, config, output: outputFolder }, programs: ["sbatch"] },
  "demo": {
    paths: { input: inputs, output: outputFolder },
    defaults: { output: () => "runs/demo" },
    sys: ["systemMemoryInfo"],
  },
  "bench kernels": { paths: { compare: input } },
  "bench train": { paths: { config } },
  "bench gpu": { paths: { config, output: outputFolder } },
  "bench preprocess": dataBench,
  "bench loader": dataBench,
  "bench peers": { ...dataBench, paths: { config, folder: outputFolder }, programs: ["python3"] },
  "bench curves": {
    paths: { data: input, config: { ...config, arity: "many" }, output: outputFolder },
    startsProcesses: true,
  },
  // The kernel's peak memory can only be read with all permissions.
  "bench child": { everything: true },
  "bench anomalies": { paths: { checkpoint: run, input: inputs } },
  "compile": {
    paths: { output: outputFile() },
    defaults: { output: () => "dist/ping-llm" },
    reads: programFiles,
    startsProcesses: true,
  },
};

/**
 * The permissions of a stage, or of the kind with which the arguments begin.
 *
 * @param name A stage.
 * @param args The arguments after its name.
 * @returns `rest`: the arguments after the kind.
 */
export function needsOf(
  name: string,
  args: readonly string[],
): { needs: StageNeeds; rest: readonly string[] } {
  const kind = `${name} ${args[0]}`;
  return Object.hasOwn(NEEDS, kind)
    ? { needs: NEEDS[kind], rest: args.slice(1) }
    : { needs: NEEDS[name] ?? {}, rest: args };
}

/** The inputs of the one file. */
function programFiles(): (string | URL)[] {
  const names = ["configs", "deno.json", "deno.lock", "kernels", "lib", "LICENSE", "tasks"];
  const deno = Deno.execPath();
  return [...names.map((name) => new URL(`../${name}`, import.meta.url)), deno, Deno.realPathSync(deno)];
}

/** The system's folders for temporary files. */
function temporaryFolder(): string {
  const folder = Deno.makeTempDirSync();
  Deno.removeSync(folder);
  return `${folder}/..`;
}
