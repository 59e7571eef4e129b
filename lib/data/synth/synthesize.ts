/**
 * Makes a synthetic Internet, simulates measurements in it, and writes the Parquet file and its truth.
 *
 * @module
 */
import { UserError } from "../../base/errors.ts";
import { MeasurementParquetWriter } from "../measurement_files/parquet_writer.ts";
import { makeCampaign, makeRowGroups, SYNTH_COLUMNS } from "./campaign.ts";
import { SyntheticTruth, truthPathBeside } from "./truth.ts";
import { makeWorld, type WorldOptions } from "./world.ts";

const DAY_S = 86_400;

/** Start of the measurements in s since 1970: 2025-06-24T00:00:00Z, like the reference data set. */
const SYNTH_START_S = Date.UTC(2025, 5, 24) / 1000;

/** Options of {@link synthesize}. */
export interface SynthOptions extends Omit<WorldOptions, "startTimeS" | "endTimeS"> {
  /** Number of measurements. */
  rows: number;
  /** Length of the campaign in days. */
  days: number;
  /** Number of threads, 1 by default. The bytes do not depend on it. */
  workers?: number;
  /** Stops the work when aborted. */
  signal?: AbortSignal;
  /** Called from time to time with the number of rows written. */
  onProgress?: (rows: number) => void;
}

/**
 * Writes `output` (measurements Parquet) and its truth next to it.
 *
 * @returns The number of rows, and how many of them have no reply.
 * @throws {UserError} If there are too few hosts for both IP versions, or a file cannot be written.
 */
export async function synthesize(
  output: string,
  options: SynthOptions,
): Promise<{ rows: number; failed: number }> {
  const { seed, probes, destinations, ipv6Share, rows, days } = options;
  if (ipv6Share > 0 && ipv6Share < 1 && Math.min(probes, destinations) < 2) {
    throw new UserError(
      `Cannot make a synthetic Internet: found ${probes} probes and ${destinations} destinations, expected at ` +
        `least 2 of each for both IP versions; raise them or use --ipv6-share 0`,
    );
  }
  const endTimeS = SYNTH_START_S + Math.round(days * DAY_S);
  const world = makeWorld({ seed, probes, destinations, ipv6Share, startTimeS: SYNTH_START_S, endTimeS });
  using writer = MeasurementParquetWriter.create(output, { optionalColumns: SYNTH_COLUMNS });
  let failed = 0;
  const threads = { numThreads: options.workers ?? 1, signal: options.signal };
  for await (const { group, numFailed } of makeRowGroups(makeCampaign(world, rows), threads)) {
    writer.appendRowGroup(group);
    failed += numFailed;
    options.onProgress?.(writer.numRows);
  }
  new SyntheticTruth(world).save(truthPathBeside(output));
  writer.close();
  return { rows, failed };
}
