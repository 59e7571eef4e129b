/** The commands `bench kernels`, `bench train`, `bench gpu` and `bench peers`. @module */
import { command } from "../lib/cli/command.ts";
import { option } from "../lib/cli/options.ts";
import * as uses from "../lib/cli/path_uses.ts";
import { configOptions, engine } from "./shared_options.ts";

export const benchKernelsCommand = command({
  name: "bench kernels",
  summary: "the speed of each GPU kernel at the sizes of the presets",
  example: "--seconds 0.5 --only gemm",
  options: {
    engine,
    seconds: option.number("time per kernel, in seconds", { default: 0.5, min: 0.01, max: 60 }),
    only: option.text("time only the kernels whose names contain this", { default: "" }),
    compare: option.path(uses.input, "an earlier --json output; adds its medians and the ratios to them"),
  },
  module: "bench",
});

export const benchTrainCommand = command({
  name: "bench train",
  summary: "the speed of training a preset, on made-up batches, and its time profile",
  example: "--config demo --seconds 20",
  options: {
    engine,
    ...configOptions,
    seconds: option.number("measuring time, in seconds", { default: 10, min: 0.1, max: 3600 }),
  },
  module: "bench",
});

export const benchGpuCommand = command({
  name: "bench gpu",
  summary: "recommended constants for this GPU, from its products, training, decoding and start-up",
  example: "--output runs/gpu",
  options: {
    engine,
    output: option.path(uses.outputFolder, "folder of gpu.json and gpu.html", { required: true }),
    scale: option.choice(
      ["auto", "full", "small"],
      "sizes; auto: small on a software adapter, else full",
      { default: "auto" },
    ),
    config: option.path(
      uses.config,
      "configuration to train: a preset or a JSON file (default: 95m; with scale small: demo)",
    ),
    set: configOptions.set,
    quick: option.switch(
      "instead compare both engines and PyTorch, in 8 minutes: correctness, training by kernel, open choices; " +
        "writes a table, and gpu.json after each step",
    ),
    maxTime: option.text(
      "skip steps that have not begun after this time (default: 20m; with --quick: 8m)",
      { value: "TIME" },
    ),
    overwrite: option.switch("replace what a survey with other options wrote to the output folder"),
  },
  needs: { deno: true },
  module: "bench",
});

export const benchPeersCommand = command({
  name: "bench peers",
  summary: "the speed of training compared with jax-js and, if python3 has torch, PyTorch, in turns",
  details:
    "A step has one micro-batch. On a GPU, PyTorch also uses it, through CUDA, in f32 and in bf16, compared with f16 of " +
    "this program; jax-js is compared on a software adapter.",
  example: "--config demo --seconds 60",
  options: {
    engine,
    ...configOptions,
    seconds: option.number("time to train in turns with each, in seconds", {
      default: 60,
      min: 0.1,
      max: 3600,
    }),
  },
  needs: { deno: true, programs: ["python3"], temporaryFiles: true },
  module: "bench",
});
