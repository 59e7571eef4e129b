/** Options that the kinds of `query` share, and their JSON lines output. @module */
import { addressFault } from "../lib/data/addresses/ip_prefix.ts";
import { csvField } from "../lib/base/text.ts";
import type { StageContext } from "../lib/cli/stage.ts";
import { shortened, UsageError } from "../lib/base/errors.ts";
import { loadModel, type LoadOptions } from "../lib/query/files/load_model.ts";
import { readContext } from "../lib/query/files/measurement_files.ts";
import type { PingModel } from "../lib/query/ping_model.ts";
import { parseAddress } from "../lib/data/addresses/ip.ts";
import { openNames } from "../lib/data/addresses/places/open_names.ts";
import type { TokenMeasurement } from "../lib/data/tokens/vocab_v2.ts";
import { type OwnOutput, ownOutput } from "./own_outputs.ts";
import { type GivenReading, logLeftOut, openReading } from "./reading.ts";
import { OutputFile, type OutputFileOptions } from "../lib/io/files/output_file.ts";
import { printLine } from "../lib/io/files/standard_output.ts";

/** Parses an address given as `--option`. @throws {UsageError} If it is not an address. */
export function addressOf(option: string, text: string): Uint8Array {
  const bytes = parseAddress(text);
  if (bytes) return bytes;
  throw new UsageError({ action: `use --${option} ${shortened(text)}`, ...addressFault(text) });
}

/** Loads the model of `--checkpoint`, as modified by other options. */
export async function askedModel(
  { checkpoint, calibration, noPool, geo, names }:
    & Required<Pick<LoadOptions, "geo" | "names" | "noPool">>
    & { checkpoint: string; calibration?: string | undefined },
  { log }: Pick<StageContext, "log">,
): Promise<PingModel> {
  return await loadModel(checkpoint, { calibration, noPool, geo, names, onLog: log });
}

/** Options of how to read `--context`. */
export type ContextReading = Omit<GivenReading, "dst" | "source" | "rtt">;

/** Like `openReading`. `src` is the query's, which may be a name, a prefix or a place. */
export async function openContext(
  { src = "", noReply, format, columns, start, interval = 1, zone, names = [] }: ContextReading,
  log: (line: string) => void,
): ReturnType<typeof openReading> {
  const source = parseAddress((await openNames(names)).addressOf(src) ?? src) && src;
  return await openReading({ src: source, noReply, format, columns, start, interval, zone, names }, log);
}

/**
 * Reads the measurements of `--context`, if any. Logs if they were sorted, or if some are after the query.
 *
 * @param options `src`: the source of measurements that do not name theirs.
 * @param timeS The query's time; null for any time.
 */
export async function contextOf(
  { context: path, src, ...options }: ContextReading & { context?: string | undefined },
  stage: StageContext,
  timeS: number | null = null,
): Promise<TokenMeasurement[]> {
  if (path === undefined) return [];
  const { reading, readings } = await openContext({ src, ...options }, stage.log);
  const { measurements, isSorted, numLater, ...leftOut } = await readContext(path, timeS, reading);
  readings.end();
  logLeftOut(leftOut, stage.log);
  if (!isSorted) stage.log(`${path} is not in order of time; its measurements were sorted`);
  if (numLater > 0) stage.log(`${numLater} measurements of ${path} are after --time and were skipped`);
  return measurements;
}

/**
 * Opens the output of a query that writes JSON lines. @param what The lines, for the message.
 *
 * @throws {UsageError} If `--json` would share standard output with the lines.
 */
export function openLines(
  name: OwnOutput,
  { json, output, overwrite }: { json: boolean; output: string | undefined; overwrite: boolean },
  what: string,
): JsonLinesOutput {
  if (json && output === undefined) {
    throw new UsageError(`Cannot use --json: the ${what} use standard output; add --output FILE`);
  }
  return new JsonLinesOutput(output, ownOutput(name, overwrite));
}

/** Logs if only part of the context is used. */
export function logContext(stage: StageContext, numUsed: number, context: readonly TokenMeasurement[]): void {
  if (numUsed === context.length) return;
  stage.log(`using the newest ${numUsed} of ${context.length} context measurements; more do not fit`);
}

/**
 * Writes rows as JSON lines, or as CSV if the file's name ends with `.csv`.
 *
 * @param columns The columns of CSV.
 */
export function writeRows(
  file: OutputFile | undefined,
  { path = "", columns }: { path: string | undefined; columns: readonly string[] },
  rows: readonly Readonly<Record<string, unknown>>[],
): void {
  const cellOf = (value: unknown) => typeof value === "object" ? JSON.stringify(value) : String(value);
  const lines = path.endsWith(".csv")
    ? [columns, ...rows.map((row) => columns.map((column) => csvField(cellOf(row[column] ?? ""))))]
      .map((cells) => cells.join(","))
    : rows.map((row) => JSON.stringify(row));
  file?.finish(lines.map((line) => `${line}\n`).join(""));
}

/** Writes JSON lines to standard output, or to a file that appears complete or not at all. */
export class JsonLinesOutput {
  readonly #encoder = new TextEncoder();
  readonly #file: OutputFile | undefined;

  /** @param path Undefined for standard output. @throws {UserError} If the file cannot be made. */
  constructor(path: string | undefined, options: OutputFileOptions) {
    this.#file = path === undefined ? undefined : new OutputFile(path, options);
  }

  write(value: unknown): void {
    const line = JSON.stringify(value);
    if (this.#file) this.#file.writeSync(this.#encoder.encode(`${line}\n`));
    else printLine(line);
  }

  commit(): void {
    this.#file?.commit();
  }

  [Symbol.dispose](): void {
    this.#file?.[Symbol.dispose]();
  }
}
