/** `deno task bench:preprocess`: times the stages that process data, at several sizes. @module */
import { command } from "../../lib/cli/command.ts";
import { option } from "../../lib/cli/options.ts";
import { defineStage, runStage } from "../../lib/cli/stage.ts";
import { DataBench, dataOptions } from "./data_stages.ts";
import { describeThroughputs, parseNumbers, type Throughput } from "./throughput.ts";

/** The share of rows to import: results as text are large, and slower to make than to import. */
const IMPORT_SHARE = 0.1;

const preprocessBench = defineStage(
  command({
    name: "bench:preprocess",
    summary: "the speed and memory of synth, import, shard and probe-rows at several sizes",
    example: "--rows 1_000_000,10_000_000,100_000_000",
    options: {
      rows: option.text("measurements to make and process, one number or several", {
        default: "1_000_000,10_000_000",
        value: "N,N",
      }),
      ...dataOptions,
      importRows: option.integer(
        "maximum number of results to import (default: a tenth of the rows); a result takes about 500 bytes",
        { min: 1 },
      ),
      repeats: option.integer("runs of each stage, whose median is reported", {
        default: 1,
        min: 1,
        max: 100,
      }),
    },
  }),
  async (options, context) => {
    const measured: Throughput[] = [];
    for (const rows of parseNumbers("rows", options.rows, [1000, 2 ** 40])) {
      using bench = new DataBench({ ...options, rows }, context);
      await bench.synth();
      await bench.import(options.importRows ?? Math.ceil(IMPORT_SHARE * rows));
      await bench.shard();
      await bench.probeRows();
      measured.push(...bench.rows);
    }
    return { text: describeThroughputs(measured, options.compare), json: { options, rows: measured } };
  },
);

if (import.meta.main) await runStage(preprocessBench, Deno.args);
