/**
 * The nested splits of an evaluation on several splits. Each split divides the training rows of the previous
 * one, so a model trained on the rows that the last split leaves has seen no measurement that any split holds
 * out.
 *
 * By default a tenth of the sources is held out, then a tenth of the destinations of the rest, then a tenth
 * of the pairs, then the latest tenth of the rows. A fifth of each tenth is the validation split, which
 * chooses the settings of baselines and corrects distributions; the last one also validates the training.
 * Sources are identified by `prb_id` if every row has one, else by `src_addr`. In a mesh, where most sources
 * are also destinations, 70 % of the pairs are held out, and the latest tenth of the rows if pairs were
 * measured repeatedly. If more than 10 % are held out, two percent are the validation split.
 *
 * @module
 */
import { shortened, UsageError } from "../base/errors.ts";
import { readMeasurements, surveyInputs } from "../data/measurement_files/parquet_reader.ts";
import { RejectLog } from "../data/measurement_files/rejects.ts";
import type { GroupKey } from "../data/probe_rows/external_sort/probe_columns.ts";
import { EventLoopPacer, type StageHooks } from "../io/threads/stage_hooks.ts";
import { SPLIT_MODES, type SplitMode } from "../data/probe_rows/splits.ts";

/** A split, and the percentage of its rows, sources, pairs, … to hold out. */
export interface PlannedSplit {
  mode: SplitMode;
  heldOutPercent: number;
}

/** Properties of measurements that decide how they are split. */
export interface MeasurementSurvey {
  numRows: number;
  /** Distinct addresses; a lower bound if there are very many. */
  numSources: number;
  numDestinations: number;
  numBoth: number;
  hasTimeSpan: boolean;
  /** `prb_id` if every row has one. */
  groupBy: GroupKey;
}

/** Percentage of the rows in the validation split. They are taken from the held-out rows. */
const VALIDATION_PERCENT = 2;
/** The largest share of the held-out rows in the validation split. */
const MAX_VALIDATION_SHARE = 0.2;
/** With a larger share of addresses that are both sources and destinations, measurements form a mesh. */
const MESH_SHARE = 0.5;
/** A mesh with more measurements per pair can be split by time; once or twice is one matrix. */
const MAX_ONE_MATRIX = 2;
/** With fewer sources, destinations or pairs, a split by hash could hold out all of them. */
const MIN_ADDRESSES = 5;
/** Distinct addresses of either kind to remember, about 100 bytes each. */
const MAX_ADDRESSES = 1 << 18;

/**
 * Reads all measurements once.
 *
 * @param paths Parquet files.
 * @throws {FormatError} If a file is not Parquet, is damaged or lacks a required column.
 */
export async function surveyMeasurements(
  paths: readonly string[],
  { signal, onProgress }: StageHooks = {},
): Promise<MeasurementSurvey> {
  const pacer = new EventLoopPacer({ signal });
  const total = (await surveyInputs(paths)).numRows;
  const [sources, destinations] = [new Set<string>(), new Set<string>()];
  const remember = (known: Set<string>, addresses: readonly string[]) => {
    for (const address of addresses) if (known.size < MAX_ADDRESSES) known.add(address);
  };
  let numRows = 0;
  let firstUs = Infinity;
  let lastUs = -Infinity;
  let hasProbes = total > 0;
  for await (
    const batch of readMeasurements(paths, { rejects: new RejectLog(), columns: ["prbId"] })
  ) {
    remember(sources, batch.srcAddr);
    remember(destinations, batch.dstAddr);
    for (const timeUs of batch.eventTimeUs) {
      if (timeUs < firstUs) firstUs = timeUs;
      if (timeUs > lastUs) lastUs = timeUs;
    }
    if (!batch.prbId || batch.prbId.includes(NaN)) hasProbes = false;
    numRows += batch.numRows;
    onProgress?.("scanning the measurements", numRows, total);
    await pacer.yieldToEventLoop();
  }
  return {
    numRows,
    numSources: sources.size,
    numDestinations: destinations.size,
    numBoth: sources.intersection(destinations).size,
    hasTimeSpan: firstUs < lastUs,
    groupBy: hasProbes ? "prb_id" : "src_addr",
  };
}

/**
 * Returns the splits for the measurements: a tenth each of sources, destinations, pairs, and the end of the
 * time; without those of which there are too few. In a mesh a held-out source would still be known as a destination, so only pairs are held out, most
 * of them, as in matrix completion; and the end of the time if the matrix was measured repeatedly.
 */
export function splitsFor(survey: MeasurementSurvey): PlannedSplit[] {
  const { numRows, numSources, numDestinations, numBoth, hasTimeSpan } = survey;
  const isMesh = 2 * numBoth >= MESH_SHARE * (numSources + numDestinations);
  const isRepeated = numRows > MAX_ONE_MATRIX * numSources * numDestinations;
  const time: PlannedSplit[] = hasTimeSpan && (!isMesh || isRepeated)
    ? [{ mode: "time", heldOutPercent: 10 }]
    : [];
  if (isMesh) return [{ mode: "pair", heldOutPercent: 70 }, ...time];
  const modes = [
    ...(numSources < MIN_ADDRESSES ? [] : ["probe"] as const),
    ...(numDestinations < MIN_ADDRESSES ? [] : ["destination"] as const),
    ...(numSources * numDestinations < MIN_ADDRESSES ? [] : ["pair"] as const),
  ];
  const splits = [...modes.map((mode): PlannedSplit => ({ mode, heldOutPercent: 10 })), ...time];
  return splits.length > 0 ? splits : [{ mode: "row", heldOutPercent: 10 }];
}

/**
 * Parses splits such as `probe=10,pair=10,time=10`.
 *
 * @throws {UsageError} If the text is anything else, or has a mode twice.
 */
export function parseSplits(text: string): PlannedSplit[] {
  const splits = text.split(",").map((part) => {
    const [name, percent, ...more] = part.split("=").map((word) => word.trim());
    const mode = SPLIT_MODES.find((mode) => mode === name);
    const heldOutPercent = /^\d+(\.\d+)?$/.test(percent ?? "") ? Number(percent) : NaN;
    return mode && heldOutPercent > 0 && heldOutPercent < 100 && more.length === 0
      ? [{ mode, heldOutPercent }]
      : [];
  });
  const modes = new Set(splits.flat().map(({ mode }) => mode));
  if (modes.size === splits.length) return splits.flat();
  throw new UsageError(
    `Cannot use --splits ${shortened(text)}: expected MODE=PERCENT,… with each mode at most once ` +
      `(${SPLIT_MODES.join(" | ")}) and percentages above 0 and below 100, such as ` +
      "probe=10,destination=10,pair=10,time=10",
  );
}

/** The shares of train, val and test, for `--ratios`. */
export function ratiosOf({ mode, heldOutPercent }: PlannedSplit): [train: number, val: number, test: number] {
  // Small files are split by row, so that every pair is known; they have too few rows for a small share.
  const val = mode === "row"
    ? heldOutPercent / 2
    : Math.min(VALIDATION_PERCENT, MAX_VALIDATION_SHARE * heldOutPercent);
  return [100 - heldOutPercent, val, heldOutPercent - val];
}
