/**
 * `bench changes`: the agreement of the change detector with people.
 *
 * @module
 */
import {
  changesOfFile,
  describeChanges,
  listSeries,
  medianAgreement,
  type SeriesChanges,
} from "../lib/cli/bench/changes.ts";
import { defineStage, serveStage } from "../lib/cli/stage.ts";
import { formatCount } from "../lib/base/text.ts";
import { JsonLinesOutput } from "./query_options.ts";
import { STAGES } from "./stages.ts";

/** The stage `bench changes`. */
export const changesBench = defineStage(STAGES.bench.kinds.changes, async (options, stage) => {
  const { input, output, delay } = options;
  const paths = listSeries(input);
  using lines = output === undefined
    ? undefined
    : new JsonLinesOutput(output, { stage: "bench changes", inputs: input });
  using progress = stage.progress("searching", { total: paths.length, unit: "series" });
  const changes: SeriesChanges[] = [];
  const startMs = performance.now();
  for (const path of paths) {
    stage.signal.throwIfAborted();
    progress.update(changes.length);
    const found = await changesOfFile(path, delay === undefined ? {} : { delay });
    lines?.write({ file: found.file, detections: found.detections });
    changes.push(found);
  }
  lines?.commit();
  const seconds = (performance.now() - startMs) / 1000;
  const rowsPerSecond = changes.reduce((sum, { numRows }) => sum + numRows, 0) / seconds;
  const agreements = changes.flatMap(({ agreement }) => agreement ?? []);
  return {
    text: `${describeChanges(changes)}\n${formatCount(Math.round(rowsPerSecond))} rows/s, with reading`,
    json: {
      stage: "bench changes",
      series: changes,
      medians: agreements.length > 0 ? medianAgreement(agreements) : null,
      rowsPerSecond,
    },
  };
});

if (import.meta.main) serveStage(changesBench);
