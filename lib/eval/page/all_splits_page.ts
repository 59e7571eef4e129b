/**
 * The page of one model on several splits: a table over splits and context sizes, then the summary of each
 * split with a link to its own page.
 *
 * @module
 */
import { type Block, element, pageOf, type TableCell, tableOf } from "../../base/report/page.ts";
import { escapeHtml, formatShare } from "../../base/text.ts";
import type { SplitMode } from "../../data/probe_rows/splits.ts";
import type { AllSplitsReport, SplitResult } from "../all_splits.ts";
import type { ErrorMetrics } from "../metrics/forecast_errors.ts";
import type { ComparedMetric } from "../metrics/rtt_comparison.ts";
import type { EvalReport } from "../report.ts";
import { ADAPTED_HEADING, adaptedTable } from "./adapt_part.ts";
import { overviewLines, summaryLines, summaryPart } from "./summary.ts";
import { capital, comparedCell, countText, insideCell, METRIC_NAMES, msText, NONE } from "./quantities.ts";

const SPLIT_METRICS: readonly ComparedMetric[] = [
  "medianAbsoluteMs",
  "likeliestAbsoluteMs",
  "nmae",
  "crpsMs",
];

const HELD_OUT: Record<SplitMode, string> = {
  probe: "sources never seen in training",
  destination: "destinations never seen in training",
  pair: "pairs never measured",
  node: "addresses never seen in training",
  time: "the end of the period",
  row: "single measurements",
};

/**
 * Renders the page as HTML.
 *
 * @param details The report of each split, in the same order.
 */
export async function allSplitsPage(
  report: AllSplitsReport,
  details: readonly EvalReport[],
): Promise<string> {
  const { run, splits, empty } = report;
  const modes = splits.map(({ mode }) => mode).join(", ");
  const headings = [
    "held out",
    "context",
    ...SPLIT_METRICS.map((metric) => METRIC_NAMES[metric]),
    "in 90 % intervals",
    "noise within pairs",
  ];
  const parts: Block[] = [
    element(
      "p",
      `One model of ${countText(run.numParameters)} parameters, step ${countText(run.step)}, trained on ` +
        `${countText(run.numTraining)} measurements of ${run.measurements.join(" ")} and evaluated on what ` +
        `each split holds out (${modes}). Each split divides the training measurements of the previous one, so ` +
        "neither the model nor the baselines have learned from a held-out measurement. Sources are identified by " +
        `${run.groupBy}.`,
    ),
    element("h2", "The model and the best baseline by each metric"),
    element(
      "p",
      "Each cell shows the model's number with its 95 % interval, and the best baseline's below it. It is " +
        "coloured if the difference is significant. " +
        "Baselines know the whole allowed history, regardless of the model's context. For 90 % " +
        "intervals it also shows the share after correction with the validation split, and that of the baseline " +
        "nearest to 90 %. Noise within pairs is the error that is left if the pair's other replies in the split are " +
        "known, but not their times.",
    ),
    tableOf(headings, splits.flatMap(({ mode }, i) => rowsOf(HELD_OUT[mode], details[i])), "numbers"),
    ...adaptedPart(splits, details),
    ...splits.flatMap((split, i) => splitPart(split, details[i])),
    ...empty.map(({ mode, heldOutPercent }) =>
      element(
        "p",
        `No predictions for ${HELD_OUT[mode]}: there are too few to hold out ${heldOutPercent} %.`,
      )
    ),
  ];
  return await pageOf(`Evaluation of ${run.checkpoint} on all splits`, parts);
}

/** The errors of RTTs of all splits as one table of text. */
export function allSplitsTable({ splits }: AllSplitsReport): string[] {
  return overviewLines(splits.map(({ mode, answers }) => ({ heldOut: HELD_OUT[mode], answers })));
}

/**
 * The report as lines of text: what each split holds out, its summary, and a table of all splits.
 *
 * @param details See {@link allSplitsPage}.
 */
export function allSplitsLines(report: AllSplitsReport, details: readonly EvalReport[]): string[] {
  const { splits, empty } = report;
  const lines = splits.flatMap(({ mode }, i) =>
    hasReplies(details[i])
      ? [`${HELD_OUT[mode]}:`, ...summaryLines(details[i]).map((line) => `  ${line}`)]
      : [`${HELD_OUT[mode]}: no measurement had a reply`]
  );
  return [...lines, ...empty.map(({ mode }) => `${HELD_OUT[mode]}: none`), ...allSplitsTable(report)];
}

function hasReplies({ rtt }: EvalReport): boolean {
  return rtt !== undefined && rtt.model.overall.numMeasurements > 0;
}

/** One row for all context sizes together, and one for each. */
function rowsOf(name: string, report: EvalReport): TableCell[][] {
  const { rtt, calibration } = report;
  if (!rtt || !hasReplies(report)) return [];
  const { model, likeliest, noise, comparisons, baselines } = rtt;
  return [null, ...rtt.contexts].map((numContext, i) => {
    const [ofModel, ofLikeliest, ofNoise] = [model, likeliest, noise].map((each) =>
      i === 0 ? each.overall : each.byContext[i - 1]
    );
    const compared = comparisons.filter((each) => each.numContext === numContext);
    const inside = i === 0
      ? insideCell(model.overall.coverage, { corrected: calibration?.coverage, baselines })
      : insideCell(model.byContext[i - 1].coverage, { corrected: calibration?.byContext[i - 1]?.coverage });
    return [
      i === 0 ? name : "",
      numContext === null ? "all" : String(numContext),
      ...SPLIT_METRICS.map((metric) =>
        comparedCell(metric, metric === "likeliestAbsoluteMs" ? ofLikeliest : ofModel, compared)
      ),
      inside,
      noiseCell(ofNoise, ofModel.numMeasurements),
    ];
  });
}

/** The median error and CRPS that are left if a pair's other replies are known. */
function noiseCell({ numMeasurements, medianAbsoluteMs, crpsMs }: ErrorMetrics, numAll: number): TableCell {
  if (numMeasurements === 0) return NONE;
  const known = `known for ${formatShare(numMeasurements / numAll, 0)}`;
  return { text: `${msText(medianAbsoluteMs)}; CRPS ${msText(crpsMs)}`, note: known };
}

function adaptedPart(splits: readonly SplitResult[], details: readonly EvalReport[]): Block[] {
  const parts = splits.flatMap(({ mode }, i) => {
    const section = details[i].adapted;
    return section && section.byCount.length > 0 ? [{ name: HELD_OUT[mode], section }] : [];
  });
  if (parts.length === 0) return [];
  return [
    element("h2", ADAPTED_HEADING),
    element(
      "p",
      "The model is adapted to K measurements of each address and predicts others, without context; the " +
        "baselines are trained with the same K. The pages of the splits have more details.",
    ),
    adaptedTable(parts),
  ];
}

function splitPart(split: SplitResult, detail: EvalReport): Block[] {
  const { mode, heldOutPercent, folder, counts } = split;
  return [
    element("h2", capital(HELD_OUT[mode])),
    element(
      "p",
      `${heldOutPercent} % were held out: ${countText(counts.test)} measurements, of which ` +
        `${countText(detail.run.numMeasurements)} were predicted, and ` +
        `${countText(counts.val)} for validation; ${countText(counts.train)} remained for training.`,
    ),
    `<p><a href="${escapeHtml(`${folder}/report.html`)}">Full report on this split</a></p>`,
    ...summaryPart(detail),
  ];
}
