import { command } from "../lib/cli/command.ts";
import { option } from "../lib/cli/options.ts";
import * as uses from "../lib/cli/path_uses.ts";
import { questionOptions } from "../lib/cli/question_options.ts";
import { map } from "../lib/query/questions/map.ts";
import type { MapLayer } from "../lib/query/rtt/map_format.ts";
import { distributionOptions, formatOptions, overwriteOther } from "./shared_options.ts";

export const queryMapCommand = command({
  name: "query map",
  summary: "the RTTs from one source to all countries and cells in them, for models with places",
  reads: "a checkpoint with places, a source: an address, prefix, place or network",
  writes: "a map of the world: median RTT and 90 % interval of each country and cell, as SVG, GeoJSON or CSV",
  example: '--checkpoint runs/demo/train --src "Berlin, DE" --output map.svg',
  main: ["checkpoint", "src", "output", "layer", "time"],
  options: {
    ...distributionOptions,
    ...questionOptions(map),
    ...formatOptions,
    layer: option.choice<MapLayer>(
      ["median", "interval"],
      "the shading of a picture: the median RTT, or the width of the 90 % interval",
      { default: "median" },
    ),
    output: option.path(
      uses.outputFile(),
      "write all countries and cells to this file: .svg; .geojson or .json; .csv (default: a table of some of them)",
    ),
    overwrite: overwriteOther,
  },
});
