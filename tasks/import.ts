/**
 * `import`: RIPE Atlas ping results (JSON) or CSV to a measurements Parquet file.
 *
 * @module
 */
import { formatSeconds } from "../lib/base/text.ts";
import { defineStage, serveStage, type Stage, type StageResult } from "../lib/cli/stage.ts";
import { listInputs, type OnLink } from "../lib/io/files/inputs.ts";
import { UsageError } from "../lib/base/errors.ts";
import {
  ATLAS_EXTENSIONS,
  importAtlas,
  type ImportSummary,
  inputFingerprint,
} from "../lib/data/import/atlas_import.ts";
import {
  CSV_EXTENSIONS,
  type CsvImportOptions,
  importCsv,
  parseColumns,
} from "../lib/data/import/csv_import.ts";
import { namesPathBeside } from "../lib/data/import/imported_names.ts";
import { STANDARD_INPUT } from "../lib/io/compression/decompress.ts";
import { rejectsPathBeside } from "../lib/data/measurement_files/rejects.ts";
import { type FileRun, makeOutputFile, outputPaths } from "./stage_files.ts";
import { STAGES } from "./stages.ts";

const ATLAS_FILES = { extensions: ATLAS_EXTENSIONS, wanted: "a file of RIPE Atlas results" };
const CSV_FILES = { extensions: CSV_EXTENSIONS, wanted: "a CSV file" };

export const importStage: Stage = defineStage(
  STAGES.import,
  async (options, context): Promise<StageResult> => {
    const { source, rtt, maxRejectRatio, output, overwrite } = options;
    const columns = options.columns === undefined ? undefined : parseColumns(options.columns);
    const paths = listFiles(options.input, columns ? CSV_FILES : ATLAS_FILES, context.log);
    const isCsv = columns !== undefined || areCsv(paths);
    if (isCsv) refuseAtlasOptions(options);
    const inputs = paths.map(inputFingerprint);
    const besides = (path: string) => [rejectsPathBeside(path), ...(isCsv ? [] : [namesPathBeside(path)])];
    const reading = isCsv ? { columns: options.columns ?? "of the header" } : { source, rtt };
    const start = { stage: "import", inputs, options: { ...reading, maxRejectRatio }, overwrite, besides };
    const run = await makeOutputFile(output, start, async ({ path }) => {
      const totalBytes = inputs.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
      using progress = context.progress("importing", { total: totalBytes, unit: "B" });
      const importing: CsvImportOptions = {
        maxRejectRatio,
        rejectsPath: rejectsPathBeside(path),
        signal: context.signal,
        onProgress: ({ bytes, rows }) => progress.update(bytes, `${rows} rows`),
      };
      const memoryLimitBytes = options.memoryLimitGb * 1e9;
      const numThreads = options.workers;
      const { rejected, ...counts } = isCsv
        ? await importCsv(paths, path, { ...importing, columns })
        : await importAtlas(paths, path, {
          ...importing,
          source,
          rtt,
          memoryLimitBytes,
          numThreads,
          namesPath: namesPathBeside(path),
        });
      return { counts: { ...counts }, rows: counts.rows, rejected };
    });
    return describe(output, run);
  },
);

function listFiles(
  inputs: readonly string[],
  kind: { extensions: string[]; wanted: string },
  onLink: OnLink,
): string[] {
  const files = inputs.filter((input) => input !== STANDARD_INPUT);
  const listed = files.length === 0 ? [] : listInputs(files, { ...kind, onLink });
  return files.length < inputs.length ? [STANDARD_INPUT, ...listed] : listed;
}

/** Whether all files are CSV by their names. @throws {UsageError} If only some are. */
function areCsv(paths: readonly string[]): boolean {
  const isCsv = (path: string) => CSV_EXTENSIONS.some((extension) => path.endsWith(extension));
  const csv = paths.find(isCsv);
  const other = paths.find((path) => !isCsv(path));
  if (csv === undefined || other === undefined) return csv !== undefined;
  throw new UsageError(
    `Cannot use --input ${csv} with ${other}: one is CSV by its name and the other is not; ` +
      "import them separately, or give --columns if all are CSV",
  );
}

/** @throws {UsageError} If an option for results of several packets is given. */
function refuseAtlasOptions(options: { source: string; rtt: string }): void {
  for (const [name, usual] of [["source", "auto"], ["rtt", "mean"]] as const) {
    if (options[name] === usual) continue;
    throw new UsageError(
      `Cannot use --${name} ${options[name]} with CSV: a row has one source and one RTT; leave it out`,
    );
  }
}

function describe(output: string, { manifest, seconds, isDone }: FileRun): StageResult {
  const { rejected } = manifest;
  const { skippedByType, firstTimeS, lastTimeS, ...counts } = manifest.counts as unknown as Omit<
    ImportSummary,
    "rejected"
  >;
  const skipped = sum(skippedByType);
  const toIso = (timeS: number | undefined) =>
    timeS === undefined ? undefined : new Date(timeS * 1000).toISOString();
  const json = {
    stage: "import",
    ...counts,
    skipped,
    skippedByType,
    rejected,
    firstTime: toIso(firstTimeS),
    lastTime: toIso(lastTimeS),
    seconds,
    doneAlready: isDone,
    outputs: outputPaths(output, manifest),
  };
  const failedPercent = counts.rows > 0 ? (100 * counts.failed / counts.rows).toFixed(2) : "0";
  const reasons = Object.entries(rejected).map(([reason, count]) => `, ${reason} ${count}`).join("");
  const text = [
    isDone
      ? `${output} exists already, made from the same inputs with the same options:`
      : `Wrote ${output}:`,
    `  ${counts.rows} rows, ${failedPercent} % without reply, ${counts.sources} sources, ` +
    `${counts.destinations} destinations`,
    `  skipped: ${counts.duplicates} duplicate results (same measurement, probe and time), ${skipped} of ` +
    `other types; ${sum(rejected)} rejected${reasons}`,
    ...(json.firstTime ? [`  ${json.firstTime} to ${json.lastTime}`] : []),
    ...(isDone ? [] : [`  in ${formatSeconds(seconds)}`]),
  ].join("\n");
  return { text, json };
}

function sum(counts: Record<string, number>): number {
  return Object.values(counts).reduce((total, count) => total + count, 0);
}

if (import.meta.main) serveStage(importStage);
