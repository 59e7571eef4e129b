/**
 * Options that the kinds of `query` share, and their output as JSON lines.
 *
 * @module
 */
import { adviceOnName, faultOfPrefix } from "../lib/data/addresses/ip_prefix.ts";
import type { StageContext } from "../lib/cli/stage.ts";
import { shortened, UsageError, UserError } from "../lib/base/errors.ts";
import { loadModel, readCalibration } from "../lib/query/files/load_model.ts";
import { USUAL_READING } from "../lib/data/formats/format.ts";
import { readContext } from "../lib/query/files/measurement_files.ts";
import type { PingModel } from "../lib/query/ping_model.ts";
import { isMeantAsPrefix, parseEnds, parseTimeS } from "../lib/query/rtt/rtt_question.ts";
import { parseAddress } from "../lib/data/addresses/ip.ts";
import type { TokenMeasurement } from "../lib/data/tokens/vocab_v2.ts";
import { type OwnOutput, ownOutput } from "./own_outputs.ts";
import { logLeftOut } from "./reading.ts";
import { OutputFile, type OutputFileOptions } from "../lib/io/files/output_file.ts";
import { printLine } from "../lib/io/files/standard_output.ts";

/** The bytes of an address given as `--option`. @throws {UsageError} If it is not an address. */
export function addressOf(option: string, text: string): Uint8Array {
  const bytes = parseAddress(text);
  if (bytes) return bytes;
  throw new UsageError(
    `Cannot use --${option} ${shortened(text)}: it is not an address, expected an IPv4 or IPv6 ` +
      `address${adviceOnName(text)}`,
  );
}

/** Checks an end given as `--option`: an address, a prefix, or what may be a place. @throws {UsageError} If it is invalid. */
export function requireEnd(option: string, text: string): void {
  const fault = isMeantAsPrefix(text) || text.trim() === "" ? faultOfPrefix(text) : undefined;
  if (fault !== undefined) throw new UsageError(`Cannot use --${option} ${shortened(text)}: ${fault}`);
}

/** The ends of a question. @throws {UsageError} As `parseEnds` throws a UserError. */
export function endsOf(
  { src, dst }: { src: string; dst: string },
  { places }: Pick<PingModel, "places">,
): ReturnType<typeof parseEnds> {
  try {
    return parseEnds(src, dst, places);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    const found = /^(src|dst): (?:Cannot read "[^"]*": )?(.*)/.exec(error.message);
    if (!found) throw error;
    const [, name, fault] = found;
    throw new UsageError(`Cannot use --${name} ${shortened(name === "src" ? src : dst)}: ${fault}`);
  }
}

/** The numbers given as `--option`, with commas between them. @throws {UsageError} If one is none, or out of bounds. */
export function numbersOf(
  option: string,
  text: string,
  [least, greatest]: readonly [number, number],
): number[] {
  const numbers = text.split(",").map((part) => part.trim() === "" ? NaN : Number(part));
  if (numbers.every((number) => number >= least && number <= greatest)) return numbers;
  const wanted = greatest === 1 ? `numbers from ${least} to 1` : `numbers of at least ${least}`;
  throw new UsageError(`Cannot use --${option} ${shortened(text)}: expected ${wanted} separated by commas`);
}

/** Unix seconds of `--time`, null if not given. @throws {UsageError} If it is not a time. */
export function timeOf(text: string | undefined): number | null {
  if (text === undefined) return null;
  const parsed = parseTimeS(text);
  if ("timeS" in parsed) return parsed.timeS;
  throw new UsageError(`Cannot use --time ${shortened(text)}: ${parsed.fault}`);
}

/** The model of `--checkpoint`, as the other options change its answers. */
export async function askedModel(
  { checkpoint, calibration, noPool, geo, names }: {
    checkpoint: string;
    calibration?: string | undefined;
    noPool: boolean;
    geo: readonly string[];
    names: readonly string[];
  },
  { log }: Pick<StageContext, "log">,
): Promise<PingModel> {
  return await loadModel(checkpoint, {
    calibration: calibration === undefined ? undefined : readCalibration(calibration),
    noPool,
    geo,
    names,
    onLog: log,
  });
}

/**
 * The measurements of `--context`, empty if not given. Logs if they had to be sorted, or if some are skipped because
 * they are after the query's time.
 *
 * @param options `src`: where the measurements were made if they do not say it.
 * @param timeS The query's time; null for any time.
 */
export async function contextOf(
  { context: path, src }: { context?: string | undefined; src?: string | undefined },
  stage: StageContext,
  timeS: number | null = null,
): Promise<TokenMeasurement[]> {
  if (path === undefined) return [];
  const { measurements, isSorted, numLater, skipped } = await readContext(path, timeS, {
    ...USUAL_READING,
    src: src !== undefined && parseAddress(src) ? src : undefined,
  });
  logLeftOut({ skipped }, stage.log);
  if (!isSorted) stage.log(`${path} is not in order of time: its measurements were sorted`);
  if (numLater > 0) stage.log(`${numLater} measurements of ${path} are after --time and were skipped`);
  return measurements;
}

/**
 * Opens the output of a kind of query that writes JSON lines.
 *
 * @param name The option.
 * @param what The lines, for the message.
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

/** Logs if not all of the context is used. */
export function logContext(stage: StageContext, numUsed: number, context: readonly TokenMeasurement[]): void {
  if (numUsed === context.length) return;
  stage.log(`using the newest ${numUsed} of ${context.length} context measurements: more do not fit`);
}

/** A share as text, perhaps with its standard error. Three significant figures: masses of prefixes are often tiny. */
export function percent(share: number, error?: number): string {
  const text = `${+(share * 100).toPrecision(3)} %`;
  return error === undefined ? text : `${text} ± ${percent(error)}`;
}

/** Writes all values as JSON lines, if there is a file. */
export function writeLines(file: OutputFile | undefined, values: readonly unknown[]): void {
  file?.finish(values.map((value) => `${JSON.stringify(value)}\n`).join(""));
}

/** Writes values as JSON lines to a file, which appears complete or not at all, or to standard output. */
export class JsonLinesOutput {
  readonly #encoder = new TextEncoder();
  readonly #file: OutputFile | undefined;

  /**
   * Opens the output.
   *
   * @param path The file, or undefined for standard output.
   * @param options The writing stage.
   * @throws {UserError} If the file cannot be made.
   */
  constructor(path: string | undefined, options: OutputFileOptions) {
    this.#file = path === undefined ? undefined : new OutputFile(path, options);
  }

  /** Writes a value as one line. @throws {UserError} If the disk is full or the output's reader has gone. */
  write(value: unknown): void {
    const line = JSON.stringify(value);
    if (this.#file) this.#file.writeSync(this.#encoder.encode(`${line}\n`));
    else printLine(line);
  }

  /** Gives the file its name. */
  commit(): void {
    this.#file?.commit();
  }

  [Symbol.dispose](): void {
    this.#file?.[Symbol.dispose]();
  }
}
