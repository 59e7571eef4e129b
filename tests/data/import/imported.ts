/** Imports files for tests and reads the outputs. @module */
import type { MeasurementBatch } from "../../../lib/data/formats/batch.ts";
import {
  importMeasurements,
  type ImportOptions,
  type ImportSummary,
} from "../../../lib/data/import/import_measurements.ts";
import { joinBatches, readAll } from "../measurement_files/batches.ts";

/** Writes `out.parquet` and `out.rejects.jsonl` to a folder. */
export async function importInto(
  folder: string,
  paths: string[],
  options: Partial<ImportOptions> = {},
): Promise<ImportSummary> {
  return await importMeasurements(paths, `${folder}/out.parquet`, {
    source: "auto",
    rtt: "mean",
    maxRejectRatio: 0.05,
    memoryLimitBytes: 1e9,
    rejectsPath: `${folder}/out.rejects.jsonl`,
    ...options,
  });
}

/** Rows written by {@link importInto}. */
export async function rowsIn(folder: string): Promise<MeasurementBatch> {
  return joinBatches((await readAll([`${folder}/out.parquet`])).batches);
}

/** Rejects written by {@link importInto}, in row order. */
export function rejectsIn(folder: string): { reason: string; path: string; row: number; detail: string }[] {
  return Deno.readTextFileSync(`${folder}/out.rejects.jsonl`).trim().split("\n").map((line) =>
    JSON.parse(line)
  )
    .sort((a, b) => a.row - b.row);
}
