/**
 * Measurements from files of any kind: Parquet, JSON lines, RIPE Atlas ping results.
 *
 * @module
 */
import { UserError } from "../../base/errors.ts";
import { listInputs } from "../../io/files/inputs.ts";
import { convertPing, resultType, type RttChoice } from "../../data/measurement/atlas_result.ts";
import { readMeasurements } from "../../data/measurement_files/parquet_reader.ts";
import { RejectLog } from "../../data/measurement_files/rejects.ts";
import { addressBytes } from "../../data/addresses/ip.ts";
import type { TokenMeasurement } from "../../data/tokens/vocab_v2.ts";
import { tokenMeasurement, tokenMeasurementAt } from "../query_tokens.ts";
import { parseMeasurement } from "../rtt/rtt_question.ts";
import { jsonObjectOf, type TextLine } from "../text_lines.ts";
import { readLines } from "./read_lines.ts";

const PARQUET = ".parquet";
const WANTED = {
  extensions: [PARQUET, ".jsonl", ".ndjson"],
  wanted: "a file of measurements, Parquet or JSON lines",
};

const WANTED_LINE =
  "expected a line with src, dst, rtt and perhaps time, or a RIPE Atlas ping result; turn other files into Parquet " +
  "with deno task import";
/** More than fit in any preset's sequence. */
const MAX_CONTEXT_MEASUREMENTS = 4096;

/** A measurement, and what RIPE Atlas knows it by if that is known. */
export interface LineMeasurement extends TokenMeasurement {
  readonly msmId?: number;
  readonly prbId?: number;
}

/**
 * The measurement of a line: `{"src": …, "dst": …, "time": …, "rtt": ms or null}`, or a RIPE Atlas ping result.
 *
 * @param rtt The choice of one RTT from those of a ping result.
 * @returns Undefined for an empty line, and for an Atlas result of another type.
 * @throws {UserError} If it is neither.
 */
export function measurementOfLine(
  { text, fault }: TextLine,
  rtt: Exclude<RttChoice, "each"> = "mean",
): LineMeasurement | undefined {
  if (fault !== undefined) throw new UserError(fault);
  if (text.trim() === "") return undefined;
  const value = jsonObjectOf(text, WANTED_LINE);
  const type = resultType(value);
  if (type === undefined) return parseMeasurement(value);
  if (type !== "ping") return undefined;
  const row = convertPing(value, { source: "auto", rtt });
  if ("reason" in row) throw new UserError(`found an unusable ping result: ${row.reason}, ${row.detail}`);
  const measurement = tokenMeasurement({
    source: addressBytes(row.srcAddr),
    destination: addressBytes(row.dstAddr),
    rttMs: row.rttsMs[0],
    eventTimeUs: row.eventTimeUs,
  });
  return withIds(measurement, row);
}

/** A measurement with those of its ids that are known: the others are NaN. */
export function withIds(
  measurement: TokenMeasurement,
  { msmId, prbId }: { msmId: number; prbId: number },
): LineMeasurement {
  return { ...measurement, ...(msmId >= 0 && { msmId }), ...(prbId >= 0 && { prbId }) };
}

/** The files that arguments name. @throws {UserError} If there are none. */
export function listMeasurementFiles(paths: readonly string[]): string[] {
  return listInputs(paths, WANTED);
}

/** The result of {@link readMeasurementFiles}. */
export interface FileMeasurements {
  /** The newest, in order of time; those without a time are the oldest, in the order of the files. */
  measurements: TokenMeasurement[];
  /** Their total number. */
  numRead: number;
}

/**
 * Reads the newest measurements of files.
 *
 * @param paths Parquet files, JSON lines, folders of them, globs.
 * @param options `most`: the number to keep; `isWanted`: whether a measurement counts (all), called in the order of
 *   the files;
 *   `maxRejectRatio`: the share of the rows that may be unusable (0.05).
 * @throws {UserError} If a file cannot be read or too many rows are unusable.
 */
export async function readMeasurementFiles(
  paths: readonly string[],
  options: {
    most: number;
    isWanted?: (measurement: TokenMeasurement) => boolean;
    maxRejectRatio?: number;
  },
): Promise<FileMeasurements> {
  const { most, isWanted = () => true, maxRejectRatio = 0.05 } = options;
  const rejects = new RejectLog();
  let newest: TokenMeasurement[] = [];
  let numRows = 0;
  let numRead = 0;
  const trim = () => newest = newest.sort((a, b) => (a.timeS ?? 0) - (b.timeS ?? 0)).slice(-most);
  const take = (measurement: TokenMeasurement) => {
    if (!isWanted(measurement)) return;
    numRead++;
    newest.push(measurement);
    if (newest.length >= 2 * most + 1024) trim();
  };
  for (const path of listMeasurementFiles(paths)) {
    if (path.endsWith(PARQUET)) {
      for await (const batch of readMeasurements([path], { rejects, columns: [] })) {
        numRows += batch.numRowsRead;
        for (let i = 0; i < batch.numRows; i++) take(tokenMeasurementAt(batch, i));
      }
      continue;
    }
    let row = 0;
    for await (const line of readLines(path)) {
      numRows++;
      try {
        const measurement = measurementOfLine(line);
        if (measurement) take(measurement);
      } catch (error) {
        if (!(error instanceof UserError)) throw error;
        rejects.add("invalidJson", path, row, error.message);
      }
      row++;
    }
  }
  rejects.check(numRows, maxRejectRatio, "correct or remove them");
  return { measurements: trim(), numRead };
}

/** The result of {@link readContext}. */
export interface FileContext {
  /** At most 4,096, oldest first. */
  measurements: TokenMeasurement[];
  /** Whether the file has them in that order. */
  isSorted: boolean;
  /** The number of measurements of the file that are later and were skipped. */
  numLater: number;
}

/**
 * Reads the `--context` of a query: the newest measurements of a file.
 *
 * @param path Measurements in any order.
 * @param untilS The last time to read, Unix seconds; null for any time.
 * @throws {UserError} If it cannot be read or a row is unusable.
 */
export async function readContext(path: string, untilS: number | null = null): Promise<FileContext> {
  let isSorted = true;
  let numLater = 0;
  let lastS = -Infinity;
  const isKnown = ({ timeS }: TokenMeasurement): boolean => {
    if (timeS === null) return true;
    isSorted &&= timeS >= lastS;
    lastS = timeS;
    const isLater = untilS !== null && timeS > untilS;
    if (isLater) numLater++;
    return !isLater;
  };
  const options = { most: MAX_CONTEXT_MEASUREMENTS, isWanted: isKnown, maxRejectRatio: 0 };
  const { measurements } = await readMeasurementFiles([path], options);
  return { measurements, isSorted, numLater };
}
