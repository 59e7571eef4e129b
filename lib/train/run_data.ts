/**
 * The probe rows of a run: their fingerprint, so that a run is not resumed on other data; training batches
 * from where a checkpoint stopped; and the fixed batches of the validation loss.
 *
 * @module
 */
import { join, relative } from "@std/path";
import type { CheckedOutputs } from "../io/files/checked_outputs.ts";
import { exists, fingerprint, listInputs } from "../io/files/inputs.ts";
import {
  type Batch,
  BatchLoader,
  type DataPosition,
  type LoaderOptions,
  validationBatches,
} from "../data/loader/batches.ts";
import { type ArrayRecordRowSource, openProbeRows } from "../data/loader/row_source.ts";
import { rttEncodingChoice } from "../model/model_config.ts";
import type { ResumableCheckpoint } from "./checkpoint_files.ts";
import type { RunPlan } from "./run_config.ts";
import { createHash } from "node:crypto";
import { UserError } from "../base/errors.ts";
import { readManifests } from "../io/files/task_manifests.ts";
import { ArrayRecordReader } from "../io/array_record/reader.ts";

/** @internal The data of a run, and how to read them. */
export interface DataOptions {
  /** Seed of the initial weights and of the data's order and sampling. */
  seed: number;
  /** A folder of probe rows with `train` and `val`, or one per campaign. */
  dataDir: string | readonly string[];
  /** Manifests of the data, if they were read already. */
  checked?: CheckedOutputs;
  /** Whether a damaged chunk of probe rows is an error (the default) or its rows are skipped. */
  onCorrupt?: "error" | "skip";
  /**
   * Threads that make batches ahead of training, without an effect on results. With 0, the default, batches
   * are made between steps.
   */
  numLoaderWorkers?: number;
  /** Called with messages for the user: what was opened, resumed, evaluated, saved. */
  onLog?: (line: string) => void;
}

/** What the rows of a run are read with. */
export type RowsOptions = Required<Pick<DataOptions, "dataDir" | "checked" | "onCorrupt" | "onLog">>;

/** Rows of both splits; `val` may be missing or empty. */
export interface OpenRows extends Disposable {
  train: ArrayRecordRowSource;
  val: ArrayRecordRowSource | undefined;
}

/** @throws {UserError} If there are no rows to train on, or they cannot be read. */
export async function openRows(
  { dataDir, checked, onCorrupt, onLog }: RowsOptions,
): Promise<OpenRows> {
  const train = await openProbeRows(dataDir, "train", { onCorrupt, checked });
  const folders = [dataDir].flat();
  const validated = folders.filter((folder) => exists(join(folder, "val")));
  let val: ArrayRecordRowSource | undefined;
  try {
    if (validated.length > 0) val = await openProbeRows(validated, "val", { onCorrupt, checked });
  } catch (error) {
    train.close();
    throw error;
  }
  if (!val?.numRows) {
    const names = folders.map((folder) => join(folder, "val")).join(", ");
    onLog(`no validation rows in ${names}: there will be no validation loss`);
  }
  return {
    train,
    val,
    [Symbol.dispose]() {
      train.close();
      val?.close();
    },
  };
}

function batchOptions(
  { config, extent }: RunPlan,
): Pick<LoaderOptions, "sequenceLength" | "batchSize" | "sampling" | "rttEncoding"> {
  return {
    sequenceLength: extent.sequenceLength,
    batchSize: extent.batchSize,
    sampling: config.data,
    rttEncoding: rttEncodingChoice(config.model),
  };
}

/**
 * Opens the batches to train on, each a micro-batch per rank. @param resumed The checkpoint to continue from.
 */
export async function openLoader(
  rows: OpenRows,
  run: RunPlan & Pick<Required<DataOptions>, "seed" | "numLoaderWorkers">,
  resumed: ResumableCheckpoint | undefined,
): Promise<BatchLoader> {
  const { blockRows, ...position } = resumed?.state.position ?? {};
  const { seed, numLoaderWorkers: numWorkers, numRanks } = run;
  const common = batchOptions(run);
  const loaderOptions: LoaderOptions = {
    ...common,
    batchSize: numRanks * common.batchSize,
    seed,
    ...(blockRows === undefined ? {} : { blockRows, position: position as DataPosition }),
  };
  return await BatchLoader.openWithWorkers(rows.train, { ...loaderOptions, numWorkers });
}

/** Makes the batches of the validation loss; none without validation rows. */
export async function openValidation({ val }: OpenRows, plan: RunPlan): Promise<Batch[]> {
  if (!val?.numRows) return [];
  return await validationBatches(val, {
    ...batchOptions(plan),
    numSequences: plan.config.train.evalSequences,
  });
}

/** Chunks (one per probe row) that are hashed of a file without a checksum; 20 ms on a server's core. */
const MAX_CHUNKS = 4096;

/**
 * Fingerprints the probe rows of a folder: names, sizes and checksums of its files. Checksums come from the
 * folder's manifests or, if they are missing, from the headers of the files' chunks. Modification times and the
 * number of tasks that wrote the folder do not matter, so a copy has the same fingerprint.
 *
 * @param folder A folder written by `probe-rows`, or one per campaign.
 * @returns 16 hexadecimal digits per folder, joined by "+".
 * @throws {UserError} If it has no probe rows, or two folders have the same.
 * @throws {FormatError} If a file without a checksum is not an ArrayRecord file.
 */
export async function dataFingerprint(folder: string | readonly string[]): Promise<string> {
  const found = new Map<string, string>();
  for (const each of [folder].flat()) {
    const fingerprint = await campaignFingerprint(each);
    const same = found.get(fingerprint);
    if (same !== undefined) {
      throw new UserError(
        `Cannot train on ${same} and ${each}: they contain the same probe rows; leave one out`,
      );
    }
    found.set(fingerprint, each);
  }
  return [...found.keys()].join("+");
}

async function campaignFingerprint(folder: string): Promise<string> {
  const outputs = readManifests(folder).flatMap(({ manifest }) => manifest.outputs);
  const checksums = new Map(outputs.map(({ path, sha256 }) => [path, sha256]));
  const files = listInputs([folder], { extensions: [".arrayrecord"], wanted: "probe rows" });
  const hash = createHash("sha256");
  for (const file of files) {
    const name = relative(folder, file).replaceAll("\\", "/");
    hash.update(
      JSON.stringify([name, fingerprint(file).sizeBytes, checksums.get(name) ?? await chunksChecksum(file)]),
    );
  }
  return hash.digest("hex").slice(0, 16);
}

async function chunksChecksum(path: string): Promise<string> {
  using reader = await ArrayRecordReader.open(path);
  const hash = createHash("sha256");
  for (const header of reader.chunkHeaders(MAX_CHUNKS)) hash.update(header);
  return hash.digest("hex");
}
