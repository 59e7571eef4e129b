/**
 * `bench changes`: how well the change detector agrees with people who marked changes in RTT series.
 *
 * A series is a text file, possibly compressed. After the header `epoch;rtt;cp`, each row has a time, the RTT
 * in ms with a decimal point or comma (0 or less, or empty, for a loss), and 1 if people saw a change. This
 * is the format of Shao et al. (see `lib/eval/metrics/change_points.ts`). Files without `cp` are searched
 * too.
 *
 * @module
 */
import { basename } from "@std/path";
import { UserError } from "../../base/errors.ts";
import { meanOf, medianOf, quantileOfSorted } from "../../base/sample_statistics.ts";
import { formatTable } from "../../base/text.ts";
import { agreementOf, type ChangeAgreement } from "../../eval/metrics/change_points.ts";
import { openInput } from "../../io/compression/decompress.ts";
import { listInputs } from "../../io/files/inputs.ts";
import { type Change, ChangeDetector, type ChangeOptions } from "../../query/changes/change_detector.ts";
import { linesOf } from "../../query/text_lines.ts";
import { RandomStream } from "../../base/random.ts";

const WANTED = {
  extensions: [".csv", ".csv.gz", ".csv.zst", ".csv.bz2"],
  wanted: "a series as CSV with the columns epoch;rtt;cp",
};

export interface Series {
  file: string;
  /** ms, by row; NaN for a loss. */
  rttsMs: Float64Array;
  /** The rows that people marked; undefined if the file has no column of marks. */
  marks: number[] | undefined;
}

interface SeriesChanges {
  file: string;
  numRows: number;
  /** Rows at which changes were found. */
  detections: number[];
  /** How many further rows were seen before each detection was reported. */
  delays: number[];
  agreement: ChangeAgreement | undefined;
}

export function listSeries(paths: readonly string[]): string[] {
  return listInputs(paths, WANTED);
}

export async function readSeries(path: string): Promise<Series> {
  const rttsMs: number[] = [];
  const marks: number[] = [];
  let columns: string[] | undefined;
  const { chunks } = await openInput(path);
  for await (const { text, fault } of linesOf(chunks)) {
    const cells = text.split(";").map((cell) => cell.trim().replace(/^"(.*)"$/, "$1"));
    if (columns === undefined) {
      columns = cells;
      if (fault === undefined && columns.includes("rtt")) continue;
      throw new UserError(
        `Cannot read ${path}: its first line is "${text.slice(0, 80)}", expected column names including ` +
          "rtt, such as epoch;rtt;cp",
      );
    }
    if (text.trim() === "") continue;
    const cell = cells[columns.indexOf("rtt")] ?? "";
    const rttMs = cell === "" ? 0 : Number(cell.replace(",", "."));
    if (fault !== undefined || Number.isNaN(rttMs)) {
      throw new UserError(
        `Cannot read ${path}: the RTT of row ${rttsMs.length} is "${cell}", expected a number of ms`,
      );
    }
    if (Number(cells[columns.indexOf("cp")]) === 1) marks.push(rttsMs.length);
    rttsMs.push(rttMs > 0 ? rttMs : NaN);
  }
  return {
    file: basename(path),
    rttsMs: Float64Array.from(rttsMs),
    marks: columns?.includes("cp") ? marks : undefined,
  };
}

/** Finds the changes of a series online, then compares them with the marks. */
export function changesOf({ file, rttsMs, marks }: Series, options: Partial<ChangeOptions>): SeriesChanges {
  const detector = new ChangeDetector(options);
  const detections: number[] = [];
  const delays: number[] = [];
  const find = ({ row }: Change) => {
    detections.push(row);
    delays.push(detector.numRows - 1 - row);
  };
  for (const rttMs of rttsMs) {
    const change = detector.add(rttMs);
    if (change) find(change);
  }
  for (const change of detector.finish()) find(change);
  const agreement = marks && agreementOf(marks, detections);
  return { file, numRows: rttsMs.length, detections, delays, agreement };
}

/** A table of the agreement with the marks by file, with medians over the files. */
export function describeChanges(changes: readonly SeriesChanges[]): string {
  const marked = changes.flatMap(({ file, detections, agreement }) =>
    agreement ? [{ file, numDetections: detections.length, ...agreement }] : []
  );
  const delays = Float64Array.from(changes.flatMap(({ delays }) => delays)).sort();
  const [median, most] = [0.5, 0.9].map((quantile) => Math.round(quantileOfSorted(delays, quantile)));
  const head = `${changes.length} series, ${delays.length} changes` +
    (delays.length > 0 ? `, reported ${median} rows later (median; 90 % at most ${most})` : "");
  if (marked.length === 0) return `${head}; no file has labels in a column cp`;
  const shares = (of: ReturnType<typeof medianAgreement>) =>
    [of.precision, of.recall, of.f2].map((share) => share.toFixed(3));
  const rows = marked.map((each) => [each.file, String(each.numDetections), ...shares(each)]);
  return `${head}\n${
    formatTable([
      ["series", "found", "precision", "recall", "F2"],
      ...rows,
      ["median", "", ...shares(medianAgreement(marked))],
    ], { left: [0] })
  }`;
}

export function medianAgreement(
  agreements: readonly ChangeAgreement[],
): Pick<ChangeAgreement, "precision" | "recall" | "f2"> {
  const median = (key: keyof ChangeAgreement) => medianOf(agreements.map((each) => each[key])) ?? NaN;
  return { precision: median("precision"), recall: median("recall"), f2: median("f2") };
}

type Searched = Omit<ChangeOptions, "delay" | "maxDelay" | "clearMargin">;

/** Ranges from which settings are drawn, log-uniformly. */
const RANGES: Record<keyof Searched, readonly [number, number]> = {
  penalty: [7, 16],
  outlierShare: [0.003, 0.03],
  memory: [8, 60],
  spreadMs: [0.2, 1.5],
  minShiftMs: [0.3, 1.5],
  minBriefShiftMs: [0.7, 3],
  minShiftSpreads: [0.7, 3],
};
/** How often the series are divided into folds: one division of some 25 series is not representative. */
const NUM_DIVISIONS = 20;

export function drawSetting(seed: number, number: number): Searched {
  const random = new RandomStream(seed, "bench/changes/setting", number);
  const drawn = Object.entries(RANGES).map(([name, [low, high]]) => [
    name,
    low * (high / low) ** random.float64(),
  ]);
  return Object.fromEntries(drawn);
}

/** The median F2 of held-out series under the setting that is best on the other series. */
export interface CrossValidation {
  /** The mean over the divisions into folds. */
  mean: number;
  /** The extremes over the divisions. */
  range: [number, number];
}

/**
 * Cross-validates the choice of a setting.
 *
 * @param f2 F2 by setting and series. @param numFolds Parts of the series, each held out once.
 */
export function crossValidate(
  f2: readonly (readonly number[])[],
  numFolds: number,
  seed: number,
): CrossValidation {
  const medians = Array.from({ length: NUM_DIVISIONS }, (_, division) => {
    const order = f2[0].map((_, series) => series);
    new RandomStream(seed, "bench/changes/folds", division).shuffle(order);
    const held: number[] = [];
    for (let fold = 0; fold < numFolds; fold++) {
      const isHeld = (place: number) => place % numFolds === fold;
      const chosen = bestOf(f2, order.filter((_, place) => !isHeld(place)));
      held.push(...order.filter((_, place) => isHeld(place)).map((series) => chosen[series]));
    }
    return medianOf(held) ?? NaN;
  });
  return { mean: meanOf(medians) ?? NaN, range: [Math.min(...medians), Math.max(...medians)] };
}

/** The setting with the largest sum of median and mean over some series: the median alone is too coarse. */
function bestOf(f2: readonly (readonly number[])[], series: readonly number[]): readonly number[] {
  const goodness = f2.map((each) => {
    const values = series.map((place) => each[place]);
    return (medianOf(values) ?? 0) + (meanOf(values) ?? 0);
  });
  return f2[goodness.indexOf(Math.max(...goodness))];
}
