/** `import`: converts measurements in any format to a measurements Parquet file. @module */
import { shortened, UsageError, UserError } from "../lib/base/errors.ts";
import { defineStage, serveStage, snakeKeys, type StageContext, type StageResult } from "../lib/cli/stage.ts";
import type { OptionsOf } from "../lib/cli/command.ts";
import { explainedText, explainFile } from "../lib/data/import/explain.ts";
import {
  importMeasurements,
  type ImportSummary,
  inputFingerprint,
} from "../lib/data/import/import_measurements.ts";
import type { Reading } from "../lib/data/formats/reading.ts";
import { namesPathBeside } from "../lib/data/import/imported_names.ts";
import { listMeasurementFiles } from "../lib/data/measurement_files/input_files.ts";
import {
  describeRejected,
  describeSkipped,
  rejectsPathBeside,
  totalOf,
} from "../lib/data/measurement_files/rejects.ts";
import { identityOf, openReading } from "./reading.ts";
import { type FileRun, madeText, makeOutputFile, outputPaths } from "./stage_files.ts";
import { importCommand } from "./import.command.ts";

export const importStage = defineStage(
  importCommand,
  async (options, context) => {
    const { maxRejectRatio, output, overwrite } = options;
    if (options.explain) return await explain(options, context);
    if (output === undefined) {
      throw new UsageError("Cannot run: --output F.parquet is missing; add it, or --explain");
    }
    const { reading, readings } = await openReading(options, context.log);
    const paths = listMeasurementFiles(options.input, { log: context.log, except: output, reading });
    const inputs = [...paths, ...options.names].map(inputFingerprint);
    const besides = (path: string) => [rejectsPathBeside(path), namesPathBeside(path)];
    const identity = { ...identityOf(reading), maxRejectRatio };
    const start = { stage: "import", inputs, options: identity, overwrite, besides };
    const run = await makeOutputFile(output, start, async ({ path }) => {
      const totalBytes = inputs.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
      using progress = context.progress("importing", { total: totalBytes, unit: "B" });
      const { rejected, ...counts } = await importMeasurements(paths, path, {
        ...reading,
        maxRejectRatio,
        rejectsPath: rejectsPathBeside(path),
        namesPath: namesPathBeside(path),
        memoryLimitBytes: options.memoryLimitGb * 1e9,
        signal: context.signal,
        onNote: context.log,
        onProgress: ({ bytes, rows }) => progress.update(bytes, `${rows} rows`),
      });
      readings.end();
      return { counts: { ...counts, reading: readings.list }, rows: counts.rows, rejected };
    });
    return describe(output, run);
  },
);

/** Maximum number of files that `--explain` shows. */
const MAX_EXPLAINED = 3;

/** Shows how the beginning of the first files is read. @throws {UserError} If no row can be read. */
async function explain(
  options: OptionsOf<typeof importCommand>,
  { log }: Pick<StageContext, "log">,
): Promise<StageResult> {
  const { reading, readings } = await openReading(options, log);
  const paths = listMeasurementFiles(options.input, { log, reading });
  const files = [];
  for (const path of paths.slice(0, MAX_EXPLAINED)) {
    files.push({ path, rows: await explainFile(path, reading) });
  }
  const text = files.map(({ path, rows }) => `${path}:\n${explainedText(rows)}`).join("\n");
  if (files.some(({ rows }) => rows.some(({ left_out }) => left_out === undefined))) {
    return { text, json: { stage: "import", ...snakeKeys({ reading: readings.list }, true), files } };
  }
  text.split("\n").forEach(log);
  throw new UserError(
    `Cannot read the beginning of ${paths[0]}: found no measurement in it; the lines above say why`,
  );
}

function describe(output: string, { manifest, seconds, isDone }: FileRun): StageResult {
  const { rejected } = manifest;
  const { skippedByType, firstTimeS, lastTimeS, reading: readings = [], ...counts } = manifest
    .counts as unknown as
      & Omit<ImportSummary, "rejected">
      & { reading?: Reading[] };
  const skipped = totalOf(skippedByType);
  const toIso = (timeS: number | undefined) =>
    timeS === undefined ? undefined : new Date(timeS * 1000).toISOString();
  const json = {
    stage: "import",
    ...snakeKeys({ reading: readings }, true),
    ...snakeKeys(counts),
    skipped,
    skipped_by_type: skippedByType,
    rejected,
    first_time: toIso(firstTimeS),
    last_time: toIso(lastTimeS),
    seconds,
    done_already: isDone,
    outputs: outputPaths(output, manifest),
  };
  const noReply = [...new Set(readings.map((reading) => reading.noReply))].join("; ");
  const failed = counts.failed > 0
    ? `${(100 * counts.failed / counts.rows).toFixed(2)} % without reply`
    : `all with a reply${noReply && ` (no reply would be ${shortened(noReply, 200)})`}`;
  const text = [
    `${madeText(output, { isDone, seconds })}:`,
    `  ${counts.rows} rows, ${failed}, ${counts.sources} sources, ` +
    `${counts.destinations} destinations`,
    `  left out: ${counts.duplicates} duplicate results (same measurement, probe and time), ` +
    `${describeSkipped(skippedByType)}, ${describeRejected(rejected)}`,
    ...(json.first_time ? [`  ${json.first_time} to ${json.last_time}`] : []),
  ].join("\n");
  return { text, json };
}

if (import.meta.main) serveStage(importStage);
