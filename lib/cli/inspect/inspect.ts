/**
 * Inspects any file or folder that the chain writes.
 *
 * @module
 */
import { inspectArrayRecords } from "./probe_rows.ts";
import {
  inspectAdapted,
  inspectCheckpoint,
  inspectMetrics,
  inspectRun,
  inspectSafetensors,
  inspectState,
} from "./checkpoint.ts";
import { detectTargets, isSummed, type Kind } from "./detect.ts";
import { inspectManifest, inspectRejects, inspectTruth } from "./json_files.ts";
import type { InspectOptions, Report, Target } from "./report.ts";
import { inspectParquet } from "./measurements.ts";

type Inspector = (target: Target, options: InspectOptions) => Report | Promise<Report>;

const INSPECTORS: Record<Kind, Inspector> = {
  parquet: inspectParquet,
  arrayRecord: inspectArrayRecords,
  safetensors: inspectSafetensors,
  checkpoint: inspectCheckpoint,
  adapted: inspectAdapted,
  run: inspectRun,
  manifest: inspectManifest,
  truth: inspectTruth,
  state: inspectState,
  metrics: inspectMetrics,
  rejects: inspectRejects,
};

/**
 * Inspects files and folders; data files of one kind are summarised in one report.
 *
 * @param paths The files and folders.
 * @returns A report for each, in the order of the paths.
 * @throws {UserError} If a path does not exist or is of no known kind.
 * @throws {FormatError} If a file is damaged.
 */
export async function inspect(paths: readonly string[], options: InspectOptions): Promise<Report[]> {
  const targets: ReturnType<typeof detectTargets> = [];
  for (const target of paths.flatMap(detectTargets)) {
    const same = isSummed(target.kind) ? targets.find(({ kind }) => kind === target.kind) : undefined;
    if (!same) {
      targets.push(target);
      continue;
    }
    same.files = [...new Set([...same.files, ...target.files])];
    if (target.path !== same.path) same.path += `, ${target.path}`;
  }
  const reports: Report[] = [];
  for (const target of targets) {
    options.signal?.throwIfAborted();
    reports.push(await INSPECTORS[target.kind](target, options));
  }
  return reports;
}
