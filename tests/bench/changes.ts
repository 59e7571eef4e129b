/**
 * `deno task bench:changes`: how well the change detector agrees with people's marks in RTT series.
 *
 * A series is a text file, possibly compressed. After the header `epoch;rtt;cp`, each row has a time, the RTT
 * in ms with a decimal point or comma (0 or less, or empty, for a loss), and 1 if people saw a change. This
 * is the format of Shao, Rougier, Paris, Devienne, Viste, "One-to-One Matching of RTT and Path Changes", ITC
 * 29, 2017: a detection is right if it can be paired with a mark at most two rows away, each used once.
 *
 * @module
 */
import { basename } from "@std/path";
import { UserError } from "../../lib/base/errors.ts";
import { RandomStream } from "../../lib/base/random.ts";
import { meanOf, medianOf, quantileOfSorted } from "../../lib/base/sample_statistics.ts";
import { formatCount } from "../../lib/base/text.ts";
import { formatTable } from "../../lib/base/text_table.ts";
import { command } from "../../lib/cli/command.ts";
import { option } from "../../lib/cli/options.ts";
import * as uses from "../../lib/cli/path_uses.ts";
import { defineStage, runStage, type StageContext } from "../../lib/cli/stage.ts";
import { openInput } from "../../lib/io/compression/decompress.ts";
import { listInputs } from "../../lib/io/files/inputs.ts";
import { OutputFile } from "../../lib/io/files/output_file.ts";
import { type Change, ChangeDetector, type ChangeOptions } from "../../lib/query/changes/change_detector.ts";
import { linesOf } from "../../lib/query/text_lines.ts";
import { overwriteOther } from "../../tasks/shared_options.ts";

const changesBench = defineStage(
  command({
    name: "bench:changes",
    summary: "how well the change detector of watch agrees with people who labelled series of RTTs",
    details:
      "A series is a CSV file with the columns epoch;rtt;cp (ms; cp is 1 where people saw a change). A " +
      "detection is right if it can be paired with a label at most two rows away.",
    example: "--input data/changes --output changes.jsonl",
    options: {
      input: option.paths(uses.inputs, "series: files, folders, globs", { required: true }),
      output: option.path(
        uses.outputFile(),
        "also write the rows of the changes, a line for each series",
        { value: "F.jsonl" },
      ),
      overwrite: overwriteOther,
      delay: option.integer(
        "how many later rows are seen before a clear change is reported (default: 5); others need up to 20",
        { min: 0, max: 10_000 },
      ),
      settings: option.integer(
        "also cross-validate: pick the best of N random settings, scoring each on series held out from the choice",
        { min: 2, max: 100_000 },
      ),
      folds: option.integer("with --settings: parts of the series, each held out once", {
        default: 5,
        min: 2,
        max: 1000,
      }),
    },
  }),
  async (options, stage) => {
    const { input, output, overwrite, delay } = options;
    const paths = listSeries(input);
    const own = { stage: "bench:changes", own: /^\{"file":.*"detections":/, overwrite };
    using file = output === undefined ? undefined : new OutputFile(output, own);
    const series: Series[] = [];
    for (const path of paths) series.push(await readSeries(path));
    const startMs = performance.now();
    const changes = series.map((each) => changesOf(each, delay === undefined ? {} : { delay }));
    const seconds = (performance.now() - startMs) / 1000;
    file?.finish(
      changes.map(({ file, detections }) => `${JSON.stringify({ file, detections })}\n`).join(""),
    );
    const rowsPerSecond = changes.reduce((sum, { numRows }) => sum + numRows, 0) / seconds;
    const texts = [describeChanges(changes), `${formatCount(Math.round(rowsPerSecond))} rows/s`];
    const medians = medianAgreement(changes);
    const { settings } = options;
    if (settings === undefined) {
      return { text: texts.join("\n"), json: { series: changes, medians, rowsPerSecond } };
    }
    const crossValidation = await validate(series, { ...options, settings }, stage);
    const [mean, least, most] = [crossValidation.mean, ...crossValidation.range].map((f2) => f2.toFixed(3));
    texts.push(
      `${options.folds}-fold cross-validation, best of ${settings} settings: median F2 ${mean} on series held ` +
        `out (${least} to ${most} by the division)`,
    );
    return { text: texts.join("\n"), json: { series: changes, medians, rowsPerSecond, crossValidation } };
  },
);

const WANTED = {
  extensions: [".csv", ".csv.gz", ".csv.zst", ".csv.bz2"],
  wanted: "a series as CSV with the columns epoch;rtt;cp",
};

interface Series {
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
  /** How many more rows were read before each detection was reported. */
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
  for await (const { text } of linesOf(chunks)) {
    const cells = text.split(";").map((cell) => cell.trim().replace(/^"(.*)"$/, "$1"));
    if (columns === undefined) {
      columns = cells;
      if (columns.includes("rtt")) continue;
      throw new UserError(
        `Cannot read ${path}: its first line is "${text.slice(0, 80)}", expected column names including ` +
          "rtt, such as epoch;rtt;cp",
      );
    }
    if (text.trim() === "") continue;
    const cell = cells[columns.indexOf("rtt")] ?? "";
    const rttMs = cell === "" ? 0 : Number(cell.replace(",", "."));
    if (Number.isNaN(rttMs)) {
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

/** The largest distance between a detection and its mark, rows. */
const MATCHING_WINDOW = 2;

interface ChangeAgreement {
  /** Matched pairs. */
  numMatched: number;
  /** The sum of the distances within pairs, rows. */
  distance: number;
  /** The share of detections that are right; 0 without any. */
  precision: number;
  /** The share of marks that were found; 1 without any. */
  recall: number;
  /** (1 + 2^2) precision recall / (2^2 precision + recall): recall weighs twice as much. 0 if both are 0. */
  f2: number;
}

/**
 * Pairs as many detections with marks as possible, with the smallest sum of distances.
 *
 * Some optimal pairing on a line has no crossing pairs, so it is found like an alignment of two sequences
 * (Needleman and Wunsch, Journal of Molecular Biology 48, 1970).
 *
 * @param marks Rows, ascending.
 * @param detections Rows, ascending.
 */
function agreementOf(marks: readonly number[], detections: readonly number[]): ChangeAgreement {
  // pairs[j], distances[j]: the best pairing of the marks so far with the first j detections.
  let pairs = detections.map(() => 0).concat(0);
  let distances = [...pairs];
  for (const mark of marks) {
    const [nextPairs, nextDistances] = [[0], [0]];
    detections.forEach((detection, j) => {
      const distance = Math.abs(mark - detection);
      const choices = [[pairs[j + 1], distances[j + 1]], [nextPairs[j], nextDistances[j]]];
      if (distance <= MATCHING_WINDOW) choices.push([pairs[j] + 1, distances[j] + distance]);
      const [best] = choices.sort(([a, x], [b, y]) => b - a || x - y);
      nextPairs.push(best[0]);
      nextDistances.push(best[1]);
    });
    pairs = nextPairs;
    distances = nextDistances;
  }
  const numMatched = pairs[detections.length];
  const precision = detections.length === 0 ? 0 : numMatched / detections.length;
  const recall = marks.length === 0 ? 1 : numMatched / marks.length;
  const f2 = numMatched === 0 ? 0 : 5 * precision * recall / (4 * precision + recall);
  return { numMatched, distance: distances[detections.length], precision, recall, f2 };
}

/** A table of the agreement with the marks by file, with medians over the files. */
function describeChanges(changes: readonly SeriesChanges[]): string {
  const delays = Float64Array.from(changes.flatMap(({ delays }) => delays)).sort();
  const [median, most] = [0.5, 0.9].map((quantile) => Math.round(quantileOfSorted(delays, quantile)));
  const head = `${changes.length} series, ${delays.length} changes` +
    (delays.length > 0 ? `, reported ${median} rows later (median; 90 % at most ${most})` : "");
  const medians = medianAgreement(changes);
  if (medians === null) return `${head}; no file has labels in a column cp`;
  const shares = (of: Shares) => [of.precision, of.recall, of.f2].map((share) => share.toFixed(3));
  const rows = changes.flatMap(({ file, detections, agreement }) =>
    agreement ? [[file, String(detections.length), ...shares(agreement)]] : []
  );
  const titles = ["series", "found", "precision", "recall", "F2"];
  return `${head}\n${formatTable([titles, ...rows, ["median", "", ...shares(medians)]], { left: [0] })}`;
}

type Shares = Pick<ChangeAgreement, "precision" | "recall" | "f2">;

/** Medians over the series with marks; null if there are none. */
export function medianAgreement(changes: readonly SeriesChanges[]): Shares | null {
  const agreements = changes.flatMap(({ agreement }) => agreement ?? []);
  if (agreements.length === 0) return null;
  const median = (key: keyof Shares) => medianOf(agreements.map((each) => each[key])) ?? NaN;
  return { precision: median("precision"), recall: median("recall"), f2: median("f2") };
}

/** Ranges from which settings are drawn log-uniformly. */
const RANGES = {
  penalty: [7, 16],
  outlierShare: [0.003, 0.03],
  memory: [8, 60],
  spreadMs: [0.2, 1.5],
  minShiftMs: [0.3, 1.5],
  minBriefShiftMs: [0.7, 3],
  minShiftSpreads: [0.7, 3],
} satisfies Partial<Record<keyof ChangeOptions, [number, number]>>;

function drawSetting(seed: number, number: number): Partial<ChangeOptions> {
  const random = new RandomStream(seed, "bench/changes/setting", number);
  const drawn = Object.entries(RANGES).map(([name, [low, high]]) => [
    name,
    low * (high / low) ** random.float64(),
  ]);
  return Object.fromEntries(drawn);
}

/** How often the series are divided into folds: one division of about 25 series is not representative. */
const NUM_DIVISIONS = 20;

/**
 * Cross-validates the choice of a setting.
 *
 * @returns The median F2 of held-out series under the setting that is best on the other series: the mean and
 *   the extremes over the divisions into folds.
 */
async function validate(
  all: readonly Series[],
  { settings, folds, seed, delay }: {
    settings: number;
    folds: number;
    seed: number;
    delay: number | undefined;
  },
  stage: StageContext,
): Promise<{ mean: number; range: [number, number] }> {
  const marked = all.filter(({ marks }) => marks !== undefined);
  if (marked.length < folds) {
    throw new UserError(
      `Cannot cross-validate: found ${marked.length} labelled series, expected one for each of ${folds} folds; ` +
        "give more or lower --folds",
    );
  }
  using progress = stage.progress("cross-validating", { total: settings, unit: "settings" });
  /** By setting and series. */
  const f2: number[][] = [];
  for (let number = 0; number < settings; number++) {
    progress.update(number);
    // Lets signals be handled.
    await new Promise((resolve) => setTimeout(resolve, 0));
    stage.signal.throwIfAborted();
    const setting = { ...drawSetting(seed, number), ...(delay !== undefined && { delay }) };
    f2.push(marked.map((series) => changesOf(series, setting).agreement?.f2 ?? 0));
  }
  const medians = Array.from({ length: NUM_DIVISIONS }, (_, division) => {
    const order = marked.map((_, series) => series);
    new RandomStream(seed, "bench/changes/folds", division).shuffle(order);
    const held = order.map((series, place) =>
      bestOf(f2, order.filter((_, other) => other % folds !== place % folds))[series]
    );
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

if (import.meta.main) await runStage(changesBench, Deno.args);
