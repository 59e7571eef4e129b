/**
 * `metrics.jsonl`: one JSON object per logged step, appended during training.
 *
 * A run that resumes from the checkpoint of step n first drops what was logged after n, so that the file
 * reads as if the run had never been interrupted. lib/train/CHECKPOINTS.md lists the names of the scalars,
 * which are those shown in TensorBoard.
 *
 * @module
 */
import { isObject, parseJson } from "../base/collections.ts";
import { FormatError } from "../base/errors.ts";
import { writeFileAtomic } from "../io/files/atomic.ts";
import { ByteFile } from "../io/files/byte_file.ts";
import { exists, readText } from "../io/files/inputs.ts";

/** How much of the file's end {@link readLastMetrics} reads: about 300 records. */
const TAIL_BYTES = 1 << 16;

/** The scalars of one step. Non-finite numbers are written as null. */
export interface MetricsRecord {
  step: number;
  /** `train/loss`, `eval/loss`, … */
  [name: string]: number | null;
}

/** Where scalars are logged during training. */
export interface ScalarLog extends Disposable {
  /** @throws {UserError} If the disk is full. */
  append(record: MetricsRecord): void;
  /** Makes appended records durable; called before a checkpoint counts as saved. */
  flush(): void;
}

/** Opens a log that writes each step's scalars to a file. @param encode Encodes a step. */
export function scalarLog(file: ByteFile, encode: (record: MetricsRecord) => Uint8Array): ScalarLog {
  return {
    append: (record) => file.write(encode(record)),
    flush: () => file.flush(),
    [Symbol.dispose]: () => file[Symbol.dispose](),
  };
}

/**
 * Opens a metrics file, creating it if needed, and drops the lines after a step and a truncated last line.
 *
 * @param lastStep The step that the run resumes after; 0 empties the file.
 * @throws {UserError} If it cannot be written.
 * @throws {FormatError} If a line to be kept is not a metrics record.
 */
export function openMetrics(path: string, lastStep: number): ScalarLog {
  truncateAfter(path, lastStep);
  const encoder = new TextEncoder();
  return scalarLog(
    ByteFile.write(path, "append"),
    (record) => encoder.encode(JSON.stringify(record) + "\n"),
  );
}

/**
 * Reads a metrics file. A truncated last line, which a kill can leave, is ignored.
 *
 * @throws {UserError} If it is missing.
 * @throws {FormatError} If another line is not a metrics record.
 */
export function readMetrics(path: string): MetricsRecord[] {
  return parseLines(readText(path), path).map(({ record }) => record);
}

/**
 * Reads the end of a metrics file, however long it is. A line truncated by a kill or still being written is
 * ignored.
 *
 * @returns The newest records; empty if the file does not exist.
 * @throws {UserError} If it cannot be read.
 * @throws {FormatError} If a complete line among them is not a metrics record.
 */
export function readLastMetrics(path: string): MetricsRecord[] {
  if (!exists(path)) return [];
  using file = ByteFile.open(path);
  const startBytes = Math.max(0, file.sizeBytes - TAIL_BYTES);
  const bytes = new Uint8Array(TAIL_BYTES);
  const length = file.readAvailable(startBytes, bytes);
  const text = new TextDecoder().decode(bytes.subarray(0, length));
  const whole = startBytes === 0 ? text : text.slice(text.indexOf("\n") + 1);
  return parseLines(whole, path).map(({ record }) => record);
}

function truncateAfter(path: string, lastStep: number): void {
  if (!exists(path)) return;
  const text = readText(path);
  const kept = lastStep === 0 ? "" : parseLines(text, path, lastStep).map(({ line }) => `${line}\n`).join("");
  if (kept !== text) writeFileAtomic(path, kept);
}

/** The lines up to a step. Anything after the last newline is a truncated line. */
function parseLines(
  text: string,
  path: string,
  lastStep = Infinity,
): { line: string; record: MetricsRecord }[] {
  const kept: { line: string; record: MetricsRecord }[] = [];
  const lines = text.split("\n").slice(0, -1);
  for (const [i, line] of lines.entries()) {
    const record = parseRecord(line);
    if (!record) {
      throw new FormatError("it is not a metrics record; delete the line", { path, place: `line ${i + 1}` });
    }
    if (record.step <= lastStep) kept.push({ line, record });
  }
  return kept;
}

function parseRecord(line: string): MetricsRecord | undefined {
  const record = parseJson(line);
  return isObject(record) && Number.isInteger(record.step) ? record as MetricsRecord : undefined;
}
