/** Reads measurements from files of any format as measurements of tokens. @module */
import { shortened, UserError } from "../../base/errors.ts";
import { addressBytes } from "../../data/addresses/ip.ts";
import { FAILED_RTT_MS } from "../../data/formats/batch.ts";
import { type PingRow, type ReadingOptions, USUAL_READING } from "../../data/formats/format.ts";
import type { Found } from "../../data/formats/reader.ts";
import {
  inOrderOfTime,
  listMeasurementFiles,
  readFindings,
} from "../../data/measurement_files/input_files.ts";
import {
  describeRejected,
  KindCounts,
  RejectLog,
  totalOf,
  trueAdvice,
} from "../../data/measurement_files/rejects.ts";
import { RttScale } from "../../data/measurement_files/rtt_scale.ts";
import type { TokenMeasurement } from "../../data/tokens/vocab_v2.ts";
import { tokenMeasurement } from "../query_tokens.ts";

/** More than fit in the sequence of any preset. */
const MAX_CONTEXT_MEASUREMENTS = 4096;

/** A measurement from a file, with its RIPE Atlas IDs if known. */
export interface FileMeasurement extends TokenMeasurement {
  /** Microseconds since 1970; NaN if the file has no time. */
  readonly eventTimeUs: number;
  /** As measured, not rounded to its code; NaN for no reply. */
  readonly rttMs?: number;
  /** RIPE Atlas ID of the measurement. */
  readonly msmId?: number;
  /** RIPE Atlas ID of the probe. */
  readonly prbId?: number;
}

/** The measurements of a result: one, or one per packet. */
export function* measurementsOf(row: PingRow): Generator<FileMeasurement> {
  const { eventTimeUs, msmId, prbId } = row;
  const ends = { source: addressBytes(row.srcAddr), destination: addressBytes(row.dstAddr), eventTimeUs };
  const isTimed = !Number.isNaN(eventTimeUs);
  for (const rttMs of row.rttsMs) {
    const measurement = tokenMeasurement({ ...ends, rttMs });
    yield {
      ...measurement,
      eventTimeUs,
      rttMs: rttMs === FAILED_RTT_MS ? NaN : rttMs,
      timeS: isTimed ? measurement.timeS : null,
      ...(msmId >= 0 && { msmId }),
      ...(prbId >= 0 && { prbId }),
    };
  }
}

/** Reads files and counts what cannot be used. */
export class MeasurementFiles {
  readonly rejects = new RejectLog();
  readonly scale = new RttScale();
  readonly #skipped = new KindCounts();
  /** Rows and results read, including rejected ones. */
  numRead = 0;

  constructor(readonly reading: ReadingOptions) {}

  /** Number of results that say nothing about a path, by kind. */
  get skipped(): Record<string, number> {
    return this.#skipped.counts;
  }

  /** Yields the measurements of a file in file order. @throws {UserError} If it cannot be read. */
  async *read(path: string): AsyncGenerator<FileMeasurement> {
    for await (const { found, path: member } of readFindings(path, this.reading)) {
      for (const each of found) yield* this.take(each, member);
    }
  }

  /** Yields the measurements of a finding; none if it cannot be used. */
  *take({ finding, line }: Found, path: string): Generator<FileMeasurement> {
    if ("skipped" in finding) return this.#skipped.add(finding.skipped);
    this.numRead++;
    if ("reason" in finding) {
      const fault = { ...finding, found: `line ${line}: ${finding.found}` };
      this.rejects.add(finding.reason, path, line - 1, trueAdvice(fault, this.reading));
    } else {
      for (const rttMs of finding.rttsMs) if (rttMs !== FAILED_RTT_MS) this.scale.add(rttMs);
      yield* measurementsOf(finding);
    }
  }
}

/** What was not read. */
export interface LeftOut {
  /** Number of unusable rows by reason, if any may be. */
  rejected?: Record<string, number>;
  /** Number of results that say nothing about a path, by kind. */
  skipped: Record<string, number>;
  /** A warning if the RTTs look like another unit. */
  advice: string | undefined;
}

interface FileMeasurements extends Required<LeftOut> {
  /** The newest measurements in time order; those without a time come first. */
  measurements: TokenMeasurement[];
  numRead: number;
}

/**
 * Reads the newest measurements of files, folders or globs of any format.
 *
 * @param options `most`: number to keep; `isWanted`: whether to use a measurement (default: all), called in
 *   file order; `maxRejectRatio`: the largest tolerated share of unusable rows (0.05).
 * @throws {UserError} If a file cannot be read or too many rows are unusable.
 */
export async function readMeasurementFiles(
  paths: readonly string[],
  options: {
    most: number;
    isWanted?: (measurement: TokenMeasurement) => boolean;
    maxRejectRatio?: number;
    reading?: ReadingOptions;
  },
): Promise<FileMeasurements> {
  const { most, isWanted = () => true, maxRejectRatio = 0.05, reading = USUAL_READING } = options;
  const files = new MeasurementFiles(reading);
  let newest: TokenMeasurement[] = [];
  let numRead = 0;
  const trim = () => newest = newest.sort((a, b) => (a.timeS ?? 0) - (b.timeS ?? 0)).slice(-most);
  for (const path of await inOrderOfTime(listMeasurementFiles(paths, { reading }), reading)) {
    for await (const { source, destination, rttCode, timeS } of files.read(path)) {
      const measurement = { source, destination, rttCode, timeS };
      if (!isWanted(measurement)) continue;
      numRead++;
      newest.push(measurement);
      if (newest.length >= 2 * most + 1024) trim();
    }
  }
  files.rejects.check(files.numRead, maxRejectRatio, "correct or remove them");
  if (files.numRead === 0 && totalOf(files.skipped) > 0) {
    const found = describeRejected(files.skipped, "results that say nothing about a path");
    const advice = reading.columns ? "check the names in --columns" : "name other fields with --columns";
    throw new UserError(
      `Cannot use ${shortened(paths.join(", "))}: found no measurements, only ${found}; ${advice}`,
    );
  }
  const { rejects, skipped, scale: { advice } } = files;
  return { measurements: trim(), numRead, rejected: rejects.counts, skipped, advice };
}

interface FileContext extends LeftOut {
  /** At most 4,096, oldest first. */
  measurements: TokenMeasurement[];
  isSorted: boolean;
  /** Number of measurements skipped because they are later. */
  numLater: number;
}

/**
 * Reads the `--context` of a query: the newest measurements of a file, in any order.
 *
 * @param untilS The last time to read, Unix seconds; null for any time.
 * @throws {UserError} If it cannot be read or a row is unusable.
 */
export async function readContext(
  path: string,
  untilS: number | null = null,
  reading: ReadingOptions = USUAL_READING,
): Promise<FileContext> {
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
  const options = { most: MAX_CONTEXT_MEASUREMENTS, isWanted: isKnown, maxRejectRatio: 0, reading };
  const { measurements, skipped, advice } = await readMeasurementFiles([path], options);
  return { measurements, isSorted, numLater, skipped, advice };
}
