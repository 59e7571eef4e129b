/**
 * Measurements from files of any kind that people have them in: Parquet, JSON lines, RIPE Atlas ping results.
 *
 * @module
 */
import { UserError } from "../errors.ts";
import { listInputs } from "../files/inputs.ts";
import { convertPing, resultType } from "../atlas/atlas_result.ts";
import { readMeasurements } from "../measurement/parquet_reader.ts";
import { RejectLog } from "../measurement/rejects.ts";
import { addressBytes } from "../addresses/ip.ts";
import type { TokenMeasurement } from "../tokens/vocab_v2.ts";
import { tokenMeasurement, tokenMeasurementAt } from "./context.ts";
import { parseMeasurement } from "./rtt_question.ts";
import { readLines, type TextLine } from "./text_lines.ts";

const PARQUET = ".parquet";
const WANTED = {
  extensions: [PARQUET, ".jsonl", ".ndjson"],
  wanted: "a file of measurements, Parquet or JSON lines",
};

/**
 * The measurement of a line: `{"src": …, "dst": …, "time": …, "rtt": ms or null}`, or a RIPE Atlas ping result.
 *
 * @returns Undefined for an empty line, and for a result of Atlas that is of another type.
 * @throws {UserError} If it is neither.
 */
export function measurementOfLine({ text, fault }: TextLine): TokenMeasurement | undefined {
  if (fault !== undefined) throw new UserError(fault);
  if (text.trim() === "") return undefined;
  const value = objectOf(text);
  const type = resultType(value);
  if (type === undefined) return parseMeasurement(value);
  if (type !== "ping") return undefined;
  const row = convertPing(value, { source: "auto", rtt: "mean" });
  if ("reason" in row) throw new UserError(`found a ping result without use: ${row.reason}, ${row.detail}`);
  return tokenMeasurement({
    source: addressBytes(row.srcAddr),
    destination: addressBytes(row.dstAddr),
    rttMs: row.rttsMs[0],
    eventTimeUs: row.eventTimeUs,
  });
}

/** The files that arguments name. @throws {UserError} If there are none. */
export function listMeasurementFiles(paths: readonly string[]): string[] {
  return listInputs(paths, WANTED);
}

/** What {@link readMeasurementFiles} found. */
export interface FileMeasurements {
  /** The newest, in order of time; those without a time are the oldest, in the order of the files. */
  measurements: TokenMeasurement[];
  /** How many there are in all. */
  numRead: number;
}

/**
 * Reads the newest measurements of files.
 *
 * @param paths Parquet files, JSON lines, folders of them, globs.
 * @param options `most`: how many are kept; `isWanted`: which ones count (all).
 * @throws {UserError} If a file cannot be read or one in twenty rows cannot be used.
 */
export async function readMeasurementFiles(
  paths: readonly string[],
  options: { most: number; isWanted?: (measurement: TokenMeasurement) => boolean },
): Promise<FileMeasurements> {
  const { most, isWanted = () => true } = options;
  const rejects = new RejectLog();
  let newest: TokenMeasurement[] = [];
  let [numRows, numRead] = [0, 0];
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
  rejects.check(numRows, MAX_REJECT_RATIO);
  return { measurements: trim(), numRead };
}

const MAX_REJECT_RATIO = 0.05;

function objectOf(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) {
      return value as Record<string, unknown>;
    }
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new UserError(
    "found no JSON object, a line with src, dst, rtt and perhaps time, or a RIPE Atlas ping result was wanted; turn " +
      "other files into Parquet with deno task import",
  );
}
