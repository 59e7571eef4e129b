/** `score`: writes how surprising each measurement is to additional columns of a Parquet file. @module */
import { PhaseProgress } from "../lib/cli/progress.ts";
import { UsageError } from "../lib/base/errors.ts";
import { defineStage, serveStage, snakeKeys, type StageContext, type StageResult } from "../lib/cli/stage.ts";
import type { OutputFile } from "../lib/io/files/output_file.ts";
import { listInputs } from "../lib/io/files/inputs.ts";
import { ParquetFile } from "../lib/io/parquet/file.ts";
import type { AddressNames } from "../lib/data/addresses/address_names.ts";
import { openNames } from "../lib/data/addresses/places/open_names.ts";
import type { Reading } from "../lib/data/formats/reading.ts";
import { importMeasurements, inputFingerprint } from "../lib/data/import/import_measurements.ts";
import { isParquet, listMeasurementFiles } from "../lib/data/measurement_files/input_files.ts";
import { MEASUREMENT_COLUMNS } from "../lib/data/measurement_files/parquet_writer.ts";
import {
  describeRejected,
  describeSkipped,
  RejectLog,
  rejectsPathBeside,
  totalOf,
} from "../lib/data/measurement_files/rejects.ts";
import type { GroupKey } from "../lib/data/probe_rows/external_sort/probe_columns.ts";
import { PingModel, requireQueryable } from "../lib/query/ping_model.ts";
import { readRows } from "../lib/query/files/ordered_rows.ts";
import {
  describeFindings,
  namedFindings,
  pageOfFindings,
  type ScoreFindings,
} from "../lib/query/files/score_findings.ts";
import { digestOfModel, readNormal, SCORE_COLUMNS, scoreFile } from "../lib/query/files/score_file.ts";
import { loadCheckpoint } from "../lib/train/checkpoint.ts";
import { withGeo } from "../lib/train/run_places.ts";
import { openOwn } from "./own_outputs.ts";
import { identityOf, openReading } from "./reading.ts";
import {
  checkInputs,
  type FileRun,
  madeText,
  makeOutputFile,
  outputPaths,
  requireMeasurements,
} from "./stage_files.ts";
import { scoreCommand } from "./score.command.ts";

const WANTED = { extensions: [".parquet"], wanted: "a measurements Parquet file" };

export const scoreStage = defineStage(scoreCommand, async (options, stage): Promise<StageResult> => {
  const { output, noPool, context: maxContext, groupBy, seed, maxRejectRatio, overwrite } = options;
  requireMeasurements(options.input, "score");
  if (options.report !== undefined && !/\.html?$/i.test(options.report)) {
    throw new UsageError(
      `Cannot use --report ${options.report}: expected a name that ends with .html, such as scored.html`,
    );
  }
  using page = openOwn("score --report", options.report, overwrite);
  const calibration = options.calibration === undefined ? [] : listInputs([options.calibration], WANTED);
  await checkInputs([...options.input, ...options.history, ...calibration], options, stage);
  const { reading, readings } = await openReading(options, stage.log);
  const inputs = listMeasurementFiles(options.input, { log: stage.log, except: output, reading });
  const history = options.history.length > 0 ? listInputs(options.history, WANTED) : [];
  await checkColumns(inputs.filter(isParquet), history, { groupBy, stage });
  const names = await openNames(options.names);
  const checkpoint = await withGeo(
    loadCheckpoint(options.checkpoint, { onNote: stage.log }),
    options.geo,
    stage.log,
  );
  requireQueryable(checkpoint);
  const model = {
    config: checkpoint.config.model,
    weights: checkpoint.weights,
    pool: noPool ? undefined : checkpoint.pool,
  };
  const modelDigest = digestOfModel({ ...model, weights: new Map([...model.weights, ...model.pool ?? []]) });
  const besides = (path: string) => [rejectsPathBeside(path)];
  const start = {
    stage: "score",
    inputs: [...inputs, ...history, ...calibration].map(inputFingerprint),
    options: {
      model: modelDigest,
      numInputs: inputs.length,
      isCalibrated: calibration.length > 0,
      maxContext,
      groupBy,
      seed,
      maxRejectRatio,
      ...identityOf(reading),
    },
    overwrite,
    besides,
  };
  const run = await makeOutputFile(output, start, async ({ path, workPath }) => {
    using phases = new PhaseProgress(stage, "rows");
    const normal = options.calibration === undefined ? undefined : await readNormal(options.calibration);
    using pingModel = await PingModel.from(checkpoint, { noPool });
    const imported: string[] = [];
    for (const [i, input] of inputs.entries()) {
      // Rows of other formats are converted to Parquet, then sorted and scored alike.
      const parquet = isParquet(input) ? input : workPath(`imported-${i}.parquet`);
      imported.push(parquet);
      if (parquet === input) continue;
      const { rows, duplicates, rejected, skippedByType: skipped } = await importMeasurements(
        [input],
        parquet,
        {
          ...reading,
          maxRejectRatio,
          memoryLimitBytes: options.memoryLimitGb * 1e9,
          signal: stage.signal,
          onNote: stage.log,
        },
      );
      const counts = [
        describeRejected(rejected),
        ...(totalOf(skipped) > 0 ? [describeSkipped(skipped)] : []),
        ...(duplicates > 0 ? [`${duplicates} duplicate results`] : []),
      ];
      stage.log(`${input}: ${rows} rows, ${counts.join(", ")}`);
    }
    const { rejected, ...counts } = await scoreFile(pingModel, {
      inputs: imported,
      history,
      output: path,
      workFolder: workPath("score"),
      maxContext,
      groupBy,
      seed,
      normal,
      maxRejectRatio,
      memoryLimitBytes: options.memoryLimitGb * 1e9,
      workers: { count: options.workers, model },
    }, { signal: stage.signal, onProgress: phases.update });
    readings.end();
    return {
      counts: { ...counts, reading: readings.list, step: pingModel.step },
      rows: counts.rows,
      rejected,
    };
  });
  return await resultOf({ output, page, names }, run);
});

/** Rejects files that lack a column before anything is written, and logs which columns are not copied. */
async function checkColumns(
  inputs: readonly string[],
  history: readonly string[],
  { groupBy, stage }: { groupBy: GroupKey; stage: StageContext },
): Promise<void> {
  await readRows([...inputs, ...history], { groupBy }, new RejectLog()).next();
  for (const input of inputs) {
    using file = await ParquetFile.open(input);
    const rtt = file.column("rtt") ? "rtt" : "rtt_avg";
    const kept = new Set([...MEASUREMENT_COLUMNS, ...SCORE_COLUMNS, rtt]);
    const others = file.columnNames.filter((name) => !kept.has(name));
    if (others.length === 0) continue;
    stage.log(`${input}: columns ${others.join(", ")} are not columns of measurements and are not copied`);
  }
}

async function resultOf(
  { output, page, names }: {
    output: string;
    page: OutputFile | undefined;
    names: AddressNames;
  },
  { manifest, seconds, isDone }: FileRun,
): Promise<StageResult> {
  const { rows, meanBits, findings: counted, reading = [], ...counts } = manifest.counts as {
    rows: number;
    reading?: Reading[];
    meanBits: number;
    findings: ScoreFindings;
  };
  const findings = namedFindings(counted, names);
  page?.finish(await pageOfFindings(`Scores of ${output}`, findings));
  const { rejected } = manifest;
  const outputs = [...outputPaths(output, manifest), ...(page ? [page.path] : [])];
  const json = {
    stage: "score",
    ...snakeKeys({ reading }, true),
    rows,
    mean_bits: meanBits,
    ...snakeKeys(counts),
    findings: snakeKeys(findings, true),
    rejected,
    seconds,
    done_already: isDone,
    outputs,
  };
  const made = madeText(output, { isDone, seconds });
  const head = `${made}: ${rows} rows, ${describeRejected(rejected)}, ${meanBits.toFixed(2)} bits per result`;
  const text = `${head}\n\n${describeFindings(findings)}`;
  return { text, json };
}

if (import.meta.main) serveStage(scoreStage);
