/** Inspects every kind of file or folder that the chain writes. @module */
import { parseJson } from "../../base/collections.ts";
import { inspectArrayRecords } from "./probe_rows.ts";
import {
  inspectAdapted,
  inspectCheckpoint,
  inspectMetrics,
  inspectRun,
  inspectSafetensors,
  inspectState,
} from "./checkpoint.ts";
import { inspectManifest, inspectRejects, inspectTruth } from "./json_files.ts";
import type { InspectOptions, Json, Report, Target } from "./report.ts";
import { inspectParquet } from "./measurements.ts";
import { join } from "@std/path";
import { FormatError, UserError } from "../../base/errors.ts";
import { explained } from "../../io/files/file_errors.ts";
import { CHECKPOINTS, isCheckpointFolder, stepOfName } from "../../io/files/checkpoint_folder.ts";
import { exists, fingerprint, listInputs, readText } from "../../io/files/inputs.ts";
import { ByteFile } from "../../io/files/byte_file.ts";
import { requireFinished } from "../../io/files/task_manifests.ts";
import { isAdapted } from "../../train/adapted_checkpoint.ts";
import { SPLIT_NAMES } from "../../data/probe_rows/splits.ts";

// The first bytes of every Riegeli file, riegeli_records_file_format.md, "File signature".
const ARRAY_RECORD_MAGIC = [0x83, 0xaf, 0x70, 0xd1, 0x0d, 0x88, 0x4a, 0x3f];

/** Kinds of files by their first bytes. */
const BINARY = {
  // "PAR1"
  parquet: startsWith([0x50, 0x41, 0x52, 0x31]),
  arrayRecord: startsWith(ARRAY_RECORD_MAGIC),
  // A length below 2^32, then the JSON header.
  safetensors: (head: Uint8Array) =>
    head[8] === 0x7b && head.subarray(4, 8).every((byte) => byte === 0) && head[0] !== 0x7b,
};

/** Kinds of JSON documents and JSON lines by the first value; the first match counts. */
const JSON_KINDS = {
  manifest: (value: Json) => "stage" in value && "outputs" in value,
  truth: ({ format }: Json) => typeof format === "string" && format.includes("synthetic truth"),
  state: (value: Json) => "step" in value && "config" in value,
  metrics: (value: Json) => "step" in value,
  rejects: (value: Json) => "reason" in value && "row" in value,
};

type Kind = keyof typeof BINARY | keyof typeof JSON_KINDS | "checkpoint" | "adapted" | "run";

/** Whether files of a kind are summarised together, because folders contain many of them. */
function isSummed(kind: Kind | undefined): boolean {
  return kind === "parquet" || kind === "arrayRecord";
}

const TEMPORARY = /\.tmp$/;
const HEAD_BYTES = 1 << 16;
const SMALL_HEAD_BYTES = 16;
/** Truth files of large worlds take about 10 MB. */
const MAX_JSON_BYTES = 1 << 28;
const KNOWN = "a measurements Parquet, an ArrayRecord, a checkpoint, a run or another output of this program";

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
 * Inspects files and folders, with one report for all data files of a kind.
 *
 * @throws {UserError} If a path does not exist or has an unknown format.
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

/**
 * Finds one target, or several if a folder contains data of several kinds.
 *
 * @throws {UserError} If the path does not exist, has an unknown format, or is a folder of splits that a run
 *   or a task has not finished.
 */
function detectTargets(path: string): (Target & { kind: Kind })[] {
  const kind = explained(
    `inspect ${path}`,
    () => Deno.statSync(path).isDirectory ? detectFolder(path) : detectFile(path),
  );
  return kind ? [{ kind, path, files: [path] }] : detectData(path);
}

/** @throws {FormatError} If it is not JSON, or too large. */
function readJson(path: string): unknown {
  checkJsonSize(path);
  const text = readText(path);
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new FormatError("it is not JSON; it is damaged or truncated, make it again", { path, cause });
  }
}

function checkJsonSize(path: string): void {
  const { sizeBytes } = fingerprint(path);
  if (sizeBytes <= MAX_JSON_BYTES) return;
  throw new FormatError(
    `it has ${sizeBytes} bytes, expected a JSON file of at most ${MAX_JSON_BYTES}; check the path`,
    { path },
  );
}

function detectFolder(path: string): Kind | undefined {
  if (isCheckpointFolder(path)) return "checkpoint";
  if (isAdapted(path)) return "adapted";
  if (exists(join(path, "metrics.jsonl")) || exists(join(path, CHECKPOINTS))) return "run";
  return [...Deno.readDirSync(path)].some(({ name }) => stepOfName(name) !== undefined) ? "run" : undefined;
}

/** The data files of a folder by kind; if there are none, its manifest. */
function detectData(path: string): ReturnType<typeof detectTargets> {
  if (SPLIT_NAMES.some((split) => exists(join(path, split)))) requireFinished(path);
  const files = listInputs([path], { extensions: [""], wanted: KNOWN }).filter((file) =>
    !TEMPORARY.test(file)
  );
  const byKind = Map.groupBy(files, (file) => kindOf(BINARY, readHead(file, SMALL_HEAD_BYTES)));
  const targets = [...byKind].flatMap(([kind, files]) =>
    kind && isSummed(kind) ? [{ kind, path, files }] : []
  );
  if (targets.length > 0) return targets;
  const manifest = join(path, "manifest.json");
  if (exists(manifest)) return [{ kind: detectFile(manifest), path: manifest, files: [manifest] }];
  throw new UserError(
    `Cannot inspect ${path}: none of its ${files.length} files has a known format, expected ${KNOWN}; check the path`,
  );
}

function detectFile(path: string): Kind {
  const head = readHead(path, HEAD_BYTES);
  const kind = kindOf(BINARY, head) ?? kindOfText(path, head);
  if (kind) return kind;
  const found = head.length === 0 ? "it is empty" : "its format is unknown";
  throw new UserError(`Cannot inspect ${path}: ${found}, expected ${KNOWN}; check the path`);
}

function startsWith(magic: readonly number[]): (head: Uint8Array) => boolean {
  return (head) => magic.every((byte, i) => head[i] === byte);
}

function kindOf<K extends string, T>(table: Record<K, (value: T) => boolean>, value: T): K | undefined {
  return (Object.keys(table) as K[]).find((kind) => table[kind](value));
}

function kindOfText(path: string, head: Uint8Array): Kind | undefined {
  const text = new TextDecoder().decode(head).trimStart();
  if (text[0] !== "{" && text[0] !== "[") return undefined;
  const document = parseJson(text.split("\n", 1)[0]) ?? readJson(path);
  const value = (Array.isArray(document) ? document[0] : document) as Json | undefined;
  if (typeof value !== "object" || value === null) return undefined;
  if ("msm_id" in value || "prb_id" in value || "fw" in value) {
    throw new UserError(
      `Cannot inspect ${path}: it contains RIPE Atlas results, expected an output of this program; convert ` +
        `it with deno task import --input ${path} --output F.parquet`,
    );
  }
  const kind = value === document ? kindOf(JSON_KINDS, value) : undefined;
  if (kind) checkJsonSize(path);
  return kind;
}

function readHead(path: string, lengthBytes: number): Uint8Array {
  using file = ByteFile.open(path, `inspect ${path}`);
  const head = new Uint8Array(lengthBytes);
  return head.subarray(0, file.readAvailable(0, head));
}
