import { command } from "../lib/cli/command.ts";
import { option } from "../lib/cli/options.ts";
import * as uses from "../lib/cli/path_uses.ts";
import { overwriteFile } from "./shared_options.ts";

export const synthCommand = command({
  name: "synth",
  summary: "make measurements of a synthetic Internet whose truth is known",
  reads: "a seed",
  writes: "measurements Parquet of a synthetic Internet, and `*.truth.json`: its true RTT distributions",
  example: "--output synth.parquet --rows 1_000_000",
  options: {
    output: option.path(uses.outputFile(".truth.json"), "the Parquet file to write", {
      value: "F.parquet",
      required: true,
    }),
    rows: option.integer("number of measurements", { default: 200_000, min: 1, max: 2 ** 40 }),
    probes: option.integer("number of sources", { default: 500, min: 1, max: 100_000 }),
    destinations: option.integer("number of destinations", { default: 200, min: 1, max: 100_000 }),
    days: option.number("length of the campaign, in days", { default: 28, min: 0.01, max: 3650 }),
    ipv6Share: option.number("share of the probes that measure over IPv6", { default: 0.42, min: 0, max: 1 }),
    overwrite: overwriteFile,
  },
});
