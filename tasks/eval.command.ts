import { command } from "../lib/cli/command.ts";
import { option } from "../lib/cli/options.ts";
import * as uses from "../lib/cli/path_uses.ts";
import type { HistoryMode } from "../lib/eval/eval_rows.ts";
import { configOptions, engine, noPool, outputFolder, overwriteFolder, verify } from "./shared_options.ts";

export const evalCommand = command({
  name: "eval",
  summary: "measure how well a model predicts held-out measurements, compared with baselines",
  reads: "a checkpoint, probe rows; or measurements Parquet (`--all-splits`)",
  writes:
    "`report.json` and `report.html`: how well held-out measurements are predicted, compared with baselines; " +
    "with `--plots` its figures as SVG and CSV",
  example: "--checkpoint runs/first --data data/rows --output runs/first/eval",
  main: ["checkpoint", "data", "output", "allSplits", "geo"],
  options: {
    checkpoint: option.path(
      uses.run,
      "a run directory or one of its checkpoints; optional with --all-splits",
    ),
    data: option.path(uses.rowsWithTruth, "folder of probe rows with the split to predict"),
    output: outputFolder,
    plots: option.path(
      uses.outputFolder,
      "folder for each figure of the report as SVG and CSV, such as error-cdf.svg; with --all-splits a subfolder " +
        "per split",
    ),
    train: option.paths(
      uses.input,
      "folders of the probe rows whose train split the model and the baselines learned from (default: --data)",
      { value: "DIR" },
    ),
    split: option.choice(["test", "val"], "which split to predict", { default: "test" }),
    history: option.choice<HistoryMode | "default">(
      ["default", "all", "train"],
      "earlier measurements that are available as context: all, or only those in the training data " +
        "(default: train if split by pair, destination, node)",
      { default: "default" },
    ),
    maxMeasurements: option.integer("number of measurements to predict, drawn at random", {
      default: 2000,
      min: 1,
    }),
    contexts: option.text("numbers of context measurements to predict with", {
      default: "0,1,2,5,10,20",
      value: "N,N,…",
    }),
    everyContext: option.switch(
      "predict each measurement with every one of these numbers, instead of one of them in rotation",
    ),
    adapt: option.text(
      "if addresses were held out (destination, node, probe): also adapt the model to K measurements " +
        "of each new\naddress and predict its others; or none (default: none; with --all-splits 0,2,8,24)",
      { value: "K,K,…" },
    ),
    noPool,
    baselines: option.text(
      "baselines to compare with: all, none, or names such as `pair last seen,Vivaldi`",
      { default: "all", value: "NAMES" },
    ),
    parts: option.integer(
      "number of measurements to predict also with the network alone, the pool alone, and without each forecast of the pool; " +
        "0 for none",
      { default: 200, min: 0 },
    ),
    allSplits: option.paths(
      uses.inputs,
      "instead of --data: measurements Parquet to split in several ways; trains a model and evaluates it on each split",
    ),
    splits: option.text(
      "the splits of --all-splits, in this order, in percent of the rows, sources, pairs, " +
        "…\n(default: probe=10,destination=10,pair=10,time=10; in a mesh pair=70 and possibly time=10)",
      { value: "MODE=X,…" },
    ),
    config: option.path(uses.config, "preset or JSON file that --all-splits trains", {
      default: "campaign",
    }),
    geo: option.paths(
      uses.inputs,
      "files with the places of addresses: for the model that --all-splits trains, otherwise for the baselines that use " +
        "places (default: the checkpoint's places); later files override earlier ones",
    ),
    set: configOptions.set,
    maxTime: option.text("train as many steps as fit in this time, such as 30m or 2h", { value: "TIME" }),
    engine,
    verify,
    overwrite: overwriteFolder,
  },
  needs: { trains: true },
});
