/**
 * Tells what a file or folder of the chain is from its content; names do not count.
 *
 * @module
 */
import { basename, join } from "@std/path";
import { explainFileError, FormatError, UserError } from "../errors.ts";
import { exists, fingerprint, listInputs } from "../files/inputs.ts";
import { ByteFile } from "../files/byte_file.ts";
import { requireFinished } from "../files/task_manifests.ts";
import { SPLIT_NAMES } from "../preprocess/splits.ts";

/** Kinds of file and folder that can be inspected. */
export type Kind =
  | "measurements"
  | "arrayRecord"
  | "safetensors"
  | "checkpoint"
  | "run"
  | "manifest"
  | "truth"
  | "state"
  | "metrics"
  | "rejects";

/** Files of one kind, or one folder, and the path through which they were named. */
export interface Target {
  kind: Kind;
  path: string;
  files: string[];
}

const PARQUET_MAGIC = [0x50, 0x41, 0x52, 0x31]; // "PAR1"
// The first bytes of every Riegeli file, riegeli_records_file_format.md, "File signature".
const ARRAY_RECORD_MAGIC = [0x83, 0xaf, 0x70, 0xd1, 0x0d, 0x88, 0x4a, 0x3f];
const STEP_FOLDER = /^step-\d+$/;
const TEMPORARY = /\.tmp$/;
/** Kinds of which a folder may hold many files. */
const DATA_KINDS = new Set<Kind | undefined>(["measurements", "arrayRecord"]);
const HEAD_BYTES = 1 << 16;
/** The largest JSON document that is read: truth files of large worlds have some 10 MB. */
const MAX_JSON_BYTES = 1 << 28;
const KNOWN = "a measurements Parquet, an ArrayRecord, a checkpoint, a run or another output of this program";

/**
 * Finds what a path stands for.
 *
 * @param path A file or folder.
 * @returns One target, or several if a folder holds data of several kinds.
 * @throws {UserError} If it does not exist, is nothing that is known, or is a folder of splits that a run or a task
 *   has not finished.
 */
export function detectTargets(path: string): Target[] {
  try {
    if (!Deno.statSync(path).isDirectory) return [{ kind: detectFile(path), path, files: [path] }];
    const kind = detectFolder(path);
    if (kind) return [{ kind, path, files: [path] }];
  } catch (error) {
    throw explainFileError(error, `inspect ${path}`);
  }
  return detectData(path);
}

/** Reads a whole JSON document. @throws {FormatError} If it is none, or too large. */
function readJson(path: string): unknown {
  try {
    checkJsonSize(path);
    return JSON.parse(Deno.readTextFileSync(path));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw explainFileError(error, `read ${path}`);
    throw new FormatError("it is no JSON; it is damaged or cut short, make it again", { path, cause: error });
  }
}

function checkJsonSize(path: string): void {
  const { sizeBytes } = fingerprint(path);
  if (sizeBytes <= MAX_JSON_BYTES) return;
  throw new FormatError(
    `it has ${sizeBytes} bytes, a JSON file of at most ${MAX_JSON_BYTES} was wanted; check the path`,
    { path },
  );
}

function detectFolder(path: string): Kind | undefined {
  if (exists(join(path, "state.json")) || STEP_FOLDER.test(basename(path))) return "checkpoint";
  if (exists(join(path, "metrics.jsonl")) || exists(join(path, "checkpoints"))) return "run";
  return [...Deno.readDirSync(path)].some(({ name }) => STEP_FOLDER.test(name)) ? "run" : undefined;
}

/** The data files of a folder, by kind; a folder of one other file is that file. */
function detectData(path: string): Target[] {
  if (SPLIT_NAMES.some((split) => exists(join(path, split)))) requireFinished(path);
  const files = listInputs([path], { extensions: [""], wanted: KNOWN }).filter((file) =>
    !TEMPORARY.test(file)
  );
  const byKind = new Map<Kind, string[]>();
  for (const file of files) {
    const kind = kindOfHead(readHead(file, ARRAY_RECORD_MAGIC.length + 8));
    if (kind && DATA_KINDS.has(kind)) byKind.set(kind, [...byKind.get(kind) ?? [], file]);
  }
  if (byKind.size > 0) return [...byKind].map(([kind, found]) => ({ kind, path, files: found }));
  const manifest = join(path, "manifest.json");
  if (exists(manifest)) return [{ kind: detectFile(manifest), path: manifest, files: [manifest] }];
  throw new UserError(
    `Cannot inspect ${path}: none of its ${files.length} files is known, ${KNOWN} was wanted; check the path`,
  );
}

function detectFile(path: string): Kind {
  const head = readHead(path, HEAD_BYTES);
  const kind = kindOfHead(head) ?? kindOfText(path, head);
  if (kind) return kind;
  const found = head.length === 0 ? "it is empty" : "its content is of no known kind";
  throw new UserError(`Cannot inspect ${path}: ${found}, ${KNOWN} was wanted; check the path`);
}

function kindOfHead(head: Uint8Array): Kind | undefined {
  const startsWith = (magic: number[]) => magic.every((byte, i) => head[i] === byte);
  if (startsWith(PARQUET_MAGIC)) return "measurements";
  if (startsWith(ARRAY_RECORD_MAGIC)) return "arrayRecord";
  // safetensors: a length below 2^32, then the JSON header.
  if (head[8] === 0x7b && head.subarray(4, 8).every((byte) => byte === 0) && head[0] !== 0x7b) {
    return "safetensors";
  }
  return undefined;
}

function kindOfText(path: string, head: Uint8Array): Kind | undefined {
  const text = new TextDecoder().decode(head).trimStart();
  if (text[0] !== "{" && text[0] !== "[") return undefined;
  const firstLine = parse(text.split("\n", 1)[0]);
  const value = isObject(firstLine) || Array.isArray(firstLine) ? firstLine : readJson(path);
  if (isAtlasResult(Array.isArray(value) ? value[0] : value)) {
    throw new UserError(
      `Cannot inspect ${path}: it holds RIPE Atlas results, an output of this program was wanted; ` +
        `convert it with deno task import --input ${path} --output F.parquet`,
    );
  }
  const kind = isObject(value) ? kindOfJson(value) : undefined;
  if (kind) checkJsonSize(path);
  return kind;
}

function kindOfJson(value: Record<string, unknown>): Kind | undefined {
  if ("stage" in value && "outputs" in value) return "manifest";
  if (typeof value.format === "string" && value.format.includes("synthetic truth")) return "truth";
  if ("step" in value) return "config" in value ? "state" : "metrics";
  if ("reason" in value && "row" in value) return "rejects";
  return undefined;
}

function isAtlasResult(value: unknown): boolean {
  return isObject(value) && ("msm_id" in value || "prb_id" in value || "fw" in value);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function readHead(path: string, lengthBytes: number): Uint8Array {
  using file = ByteFile.open(path, `inspect ${path}`);
  const head = new Uint8Array(lengthBytes);
  return head.subarray(0, file.readAvailable(0, head));
}
