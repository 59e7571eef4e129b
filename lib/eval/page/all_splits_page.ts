/**
 * The page of one model on several splits: a table of all splits and numbers of context measurements, then the findings
 * of each split with a link to its own page.
 *
 * @module
 */
import { type Block, element, pageOf, type TableCell, tableOf } from "../../base/report/page.ts";
import { escapeHtml } from "../../base/text.ts";
import type { SplitMode } from "../../data/probe_rows/splits.ts";
import { type AllSplitsReport, SPLIT_METRICS, type SplitResult } from "../all_splits.ts";
import type { EvalReport } from "../report.ts";
import { ADAPTED_HEADING, adaptedTable } from "./adapt_part.ts";
import { summaryLines, summaryPart } from "./summary.ts";
import { capital, countText, coverageCell, METRIC_NAMES, metricCell } from "./quantities.ts";

/** The held-out measurements of each kind of split, in words. */
const HELD_OUT: Record<SplitMode, string> = {
  probe: "sources never seen in training",
  destination: "destinations never seen in training",
  pair: "pairs never measured",
  node: "addresses never seen in training",
  time: "the end of the time",
  row: "single measurements",
};

/**
 * The page, as HTML.
 *
 * @param report The results on all splits.
 * @param details The report of each split, in their order.
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
  ];
  const parts: Block[] = [
    element(
      "p",
      `One model of ${countText(run.numParameters)} parameters, step ${countText(run.step)}, trained on ` +
        `${countText(run.numTraining)} measurements of ${run.measurements.join(" ")} and asked about what ` +
        `each split holds out (${modes}). A split divides the training measurements of the split before, so ` +
        "the model and the baselines have learned from no held-out measurement. Sources are told apart by " +
        `${run.groupBy}.`,
    ),
    element("h2", "The model beside the best baseline of each measure"),
    element(
      "p",
      "Each cell has the model's number with its 95 % interval, and below it that of the best baseline. It is " +
        "coloured where a difference is shown; the pages of the splits have the intervals of the differences. " +
        "Baselines know the whole history that is allowed, whatever the context of the model. For 90 % " +
        "intervals there is also the share corrected by the validation split, and that of the baseline " +
        "nearest to 90 %.",
    ),
    tableOf(headings, splits.flatMap(rowsOf), "numbers"),
    ...adaptedPart(splits),
    ...splits.flatMap((split, i) => splitPart(split, details[i])),
    ...empty.map(({ mode, heldOutPercent }) =>
      element(
        "p",
        `Nothing could be predicted of ${HELD_OUT[mode]}: there are too few to hold out ${heldOutPercent} %.`,
      )
    ),
  ];
  return await pageOf(`Evaluation of ${run.checkpoint} on all splits`, parts);
}

/**
 * The same as lines of text: for each split what it holds out, and its summary.
 *
 * @param details As those of {@link allSplitsPage}.
 */
export function allSplitsLines({ splits, empty }: AllSplitsReport, details: readonly EvalReport[]): string[] {
  const lines = splits.flatMap(({ mode, rows: [all] }, i) =>
    all
      ? [`${HELD_OUT[mode]}:`, ...summaryLines(details[i]).map((line) => `  ${line}`)]
      : [`${HELD_OUT[mode]}: no measurement had a reply`]
  );
  return [...lines, ...empty.map(({ mode }) => `${HELD_OUT[mode]}: none`)];
}

function rowsOf({ mode, rows }: SplitResult): TableCell[][] {
  return rows.map((row, i) => [
    i === 0 ? HELD_OUT[mode] : "",
    row.numContext === null ? "all" : String(row.numContext),
    ...SPLIT_METRICS.map((metric) => metricCell(metric, row.metrics[metric])),
    coverageCell(row.coverage),
  ]);
}

/** The splits whose addresses the model was adapted to. */
function adaptedPart(splits: readonly SplitResult[]): Block[] {
  const parts = splits.map(({ mode, adapted = [] }) => ({ name: HELD_OUT[mode], rows: adapted }))
    .filter(({ rows }) => rows.length > 0);
  if (parts.length === 0) return [];
  return [
    element("h2", ADAPTED_HEADING),
    element(
      "p",
      "The model is adapted to K measurements of each address and predicts others, without context; the " +
        "baselines are trained with the same K. The pages of the splits have more.",
    ),
    adaptedTable(parts),
  ];
}

function splitPart(split: SplitResult, detail: EvalReport): Block[] {
  const { mode, heldOutPercent, folder, counts, numPredicted } = split;
  return [
    element("h2", capital(HELD_OUT[mode])),
    element(
      "p",
      `${heldOutPercent} % were held out: ${countText(counts.test)} measurements, of which ` +
        `${countText(numPredicted)} were predicted, and ${countText(counts.val)} for validation; ` +
        `${countText(counts.train)} were left.`,
    ),
    `<p><a href="${escapeHtml(`${folder}/report.html`)}">All of this split</a></p>`,
    ...summaryPart(detail),
  ];
}
