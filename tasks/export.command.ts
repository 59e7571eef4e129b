import { command } from "../lib/cli/command.ts";
import { option } from "../lib/cli/options.ts";
import * as uses from "../lib/cli/path_uses.ts";
import type { Site } from "../lib/serve/api/site_file.ts";
import {
  calibration,
  names,
  noPool,
  outputFolder,
  overwriteFolder,
  pageSources,
  report,
} from "./shared_options.ts";

export const exportCommand = command({
  name: "export",
  summary: "write a site that contains the model, for any web server",
  reads: "a checkpoint",
  writes: "a site for any web server, whose model runs in the reader's browser, or an npm package of it",
  example: "--checkpoint runs/demo/train --output site",
  main: ["checkpoint", "output", "form", "dtype"],
  options: {
    checkpoint: option.path(
      uses.runWithEvaluation,
      "a run directory, one of its checkpoints or an adapted one",
      { required: true },
    ),
    output: outputFolder,
    form: option.choice(
      ["site", "npm"],
      "a site, or an npm package that contains the model, for programs in browsers, Deno and Node",
      { default: "site" },
    ),
    dtype: option.choice<Site["dtype"]>(
      ["f32", "f16"],
      "storage format of parameters: f16 halves the size and is less precise",
      { default: "f32" },
    ),
    calibration,
    noPool,
    memoryMb: option.number(
      "megabytes of remembered measurements, which browsers download; older ones are thinned out",
      { default: 8, min: 0 },
    ),
    names,
    report,
    overwrite: overwriteFolder,
  },
  needs: { files: pageSources },
});
