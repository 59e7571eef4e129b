/**
 * The nested splits of an evaluation of several splits. Each split divides the training rows of the split before. One
 * model, trained on the rows that the last split leaves, has seen no measurement that any of them holds out.
 *
 * By default a tenth of the sources is held out, then a tenth of the destinations of the rest, then a tenth of the pairs,
 * then the latest tenth of the rows. A fifth of each tenth is the validation split, which chooses the settings of baselines and
 * corrects distributions; that of the latest rows also validates the training. Sources are told apart by `prb_id` where every row
 * has one, else by `src_addr`. In a mesh most sources are destinations too: there 70 % of the pairs are held out, and the
 * latest tenth of the rows if pairs were measured again and again. Where more than 10 % are held out, two percent are the
 * validation split.
 *
 * @module
 */
import { shortened, UsageError } from "../base/errors.ts";
import { readMeasurements, surveyInputs } from "../data/measurement_files/parquet_reader.ts";
import { RejectLog } from "../data/measurement_files/rejects.ts";
import type { GroupKey } from "../data/probe_rows/external_sort/probe_columns.ts";
import { EventLoopPacer, type StageHooks } from "../io/threads/stage_hooks.ts";
import { SPLIT_MODES, type SplitMode } from "../data/probe_rows/splits.ts";

/** A split, and the percent of its rows, sources, pairs, … that it holds out of the training. */
export interface PlannedSplit {
  mode: SplitMode;
  heldOutPercent: number;
}

/** The facts that decide how measurements are split. */
export interface MeasurementSurvey {
  numRows: number;
  /** Distinct addresses; of very many some of them. */
  numSources: number;
  numDestinations: number;
  numBoth: number;
  /** Whether there is more than one time. */
  hasTimeSpan: boolean;
  /** `prb_id` where every row has one. */
  groupBy: GroupKey;
}

/** Percent of the rows for the validation split. They are taken from the held-out rows. */
const VALIDATION_PERCENT = 2;
/** The largest share of the held-out rows for the validation split. */
const MAX_VALIDATION_SHARE = 0.2;
/** The share of addresses that are sources and destinations from which on measurements are those of a mesh. */
const MESH_SHARE = 0.5;
/** A mesh that was measured more often per pair than this has a time to divide; once or twice is one matrix. */
const MAX_ONE_MATRIX = 2;
/** Distinct addresses that are remembered of either kind, about 100 bytes each. */
const MAX_ADDRESSES = 1 << 18;

/**
 * Reads all measurements once.
 *
 * @param paths Parquet files.
 * @throws {FormatError} If a file is no Parquet, is damaged or lacks a needed column.
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
    onProgress?.("looking at the measurements", numRows, total);
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
 * The splits that fit measurements: sources, destinations, pairs and the end of the time, a tenth of each. In a mesh a
 * source that is held out stays known as a destination, so there are pairs only, most of them held out, as in matrix
 * completion; and the end of the time, where the matrix was measured again and again.
 */
export function splitsFor(survey: MeasurementSurvey): PlannedSplit[] {
  const { numRows, numSources, numDestinations, numBoth, hasTimeSpan } = survey;
  const isMesh = 2 * numBoth >= MESH_SHARE * (numSources + numDestinations);
  const isRepeated = numRows > MAX_ONE_MATRIX * numSources * numDestinations;
  const time: PlannedSplit[] = hasTimeSpan && (!isMesh || isRepeated)
    ? [{ mode: "time", heldOutPercent: 10 }]
    : [];
  if (isMesh) return [{ mode: "pair", heldOutPercent: 70 }, ...time];
  const modes = ["probe", "destination", "pair"] as const;
  return [...modes.map((mode) => ({ mode, heldOutPercent: 10 })), ...time];
}

/**
 * Parses splits such as `probe=10,pair=10,time=10`.
 *
 * @throws {UsageError} If it is anything else, or has a mode twice.
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
    `Cannot use --splits ${shortened(text)}: MODE=PERCENT,… with modes ${
      SPLIT_MODES.join(" | ")
    }, each once, and ` +
      "expected percentages above 0 and below 100, such as probe=10,destination=10,pair=10,time=10",
  );
}

/** The shares of train, val and test of a split, for `--ratios`. */
export function ratiosOf({ heldOutPercent }: PlannedSplit): [train: number, val: number, test: number] {
  const val = Math.min(VALIDATION_PERCENT, MAX_VALIDATION_SHARE * heldOutPercent);
  return [100 - heldOutPercent, val, heldOutPercent - val];
}
