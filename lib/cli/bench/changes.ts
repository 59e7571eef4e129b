/**
 * `bench changes`: how well the change detector agrees with people who marked the changes of series of RTTs.
 *
 * A series is a text file, perhaps compressed: a line `epoch;rtt;cp`, then a row a line: a time, the RTT in ms with a
 * point or a comma (0 or less, or nothing, for a loss), and 1 where people saw a change. This is the format of Shao et al. (see
 * `lib/eval/metrics/change_points.ts`). A file without `cp` is searched too.
 *
 * @module
 */
import { basename } from "@std/path";
import { UserError } from "../../base/errors.ts";
import { medianOf } from "../../base/sample_statistics.ts";
import { formatTable } from "../../base/text.ts";
import { agreementOf, type ChangeAgreement } from "../../eval/metrics/change_points.ts";
import { openInput } from "../../io/compression/decompress.ts";
import { listInputs } from "../../io/files/inputs.ts";
import { ChangeDetector, type ChangeOptions } from "../../query/changes/change_detector.ts";
import { linesOf } from "../../query/text_lines.ts";

const WANTED = {
  extensions: [".csv", ".csv.gz", ".csv.zst", ".csv.bz2"],
  wanted: "a series as CSV with the columns epoch;rtt;cp",
};

/** A series of RTTs. */
export interface Series {
  /** Its name without its folder. */
  file: string;
  /** ms, by row; NaN for a loss. */
  rttsMs: Float64Array;
  /** The rows that people marked; undefined if the file has no column of marks. */
  marks: number[] | undefined;
}

/** The changes found in a file. */
export interface SeriesChanges {
  file: string;
  numRows: number;
  /** The rows at which changes were found. */
  detections: number[];
  /** How that agrees with the marks; undefined without any column of marks. */
  agreement: ChangeAgreement | undefined;
}

/** The files of series that paths name. @throws {UserError} If there are none. */
export function listSeries(paths: readonly string[]): string[] {
  return listInputs(paths, WANTED);
}

/** Reads a series. @throws {UserError} If a row cannot be read. */
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
        `Cannot read ${path}: found "${
          text.slice(0, 80)
        }" as its first line, expected column names with rtt, such as ` +
          "epoch;rtt;cp",
      );
    }
    if (text.trim() === "") continue;
    const cell = cells[columns.indexOf("rtt")] ?? "";
    const rttMs = cell === "" ? 0 : Number(cell.replace(",", "."));
    if (fault !== undefined || Number.isNaN(rttMs)) {
      throw new UserError(
        `Cannot read ${path}: found "${cell}" as the RTT of row ${rttsMs.length}, expected a number of ms`,
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

/** Finds the changes of a series. It sees a row only after those before it. */
function detectChanges(rttsMs: Iterable<number>, options: Partial<ChangeOptions>): number[] {
  const detector = new ChangeDetector(options);
  const detections: number[] = [];
  for (const rttMs of rttsMs) {
    const change = detector.add(rttMs);
    if (change) detections.push(change.row);
  }
  return [...detections, ...detector.finish().map(({ row }) => row)];
}

/** Finds the changes of a series, and compares them with its marks afterwards. */
export function changesOf({ file, rttsMs, marks }: Series, options: Partial<ChangeOptions>): SeriesChanges {
  const detections = detectChanges(rttsMs, options);
  return { file, numRows: rttsMs.length, detections, agreement: marks && agreementOf(marks, detections) };
}

/** The agreement with the marks as a table, by file, and the medians over the files. */
export function describeChanges(changes: readonly SeriesChanges[]): string {
  const marked = changes.flatMap(({ file, detections, agreement }) =>
    agreement ? [{ file, numDetections: detections.length, ...agreement }] : []
  );
  const numDetections = changes.reduce((sum, { detections }) => sum + detections.length, 0);
  const head = `${changes.length} series, ${numDetections} changes`;
  if (marked.length === 0) return `${head}; no file has a column cp of marks`;
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

/** The medians over series. */
export function medianAgreement(
  agreements: readonly ChangeAgreement[],
): Pick<ChangeAgreement, "precision" | "recall" | "f2"> {
  const median = (key: keyof ChangeAgreement) => medianOf(agreements.map((each) => each[key])) ?? NaN;
  return { precision: median("precision"), recall: median("recall"), f2: median("f2") };
}
