/**
 * One model on several splits as a page: a table of all splits and numbers of context measurements, then what each
 * split comes to in words, with the way to its own page.
 *
 * @module
 */
import {
  type Block,
  element,
  escapeHtml,
  listOf,
  pageOf,
  type TableCell,
  tableOf,
} from "../../report/page.ts";
import type { SplitMode } from "../../preprocess/splits.ts";
import { type AllSplitsReport, SPLIT_METRICS, type SplitResult } from "../all_splits.ts";
import type { EvalReport } from "../report.ts";
import { ADAPTED_HEADING, adaptedTable } from "./adapt_part.ts";
import { findingsOf } from "./headline.ts";
import {
  capital,
  countText,
  coverageCell,
  METRIC_NAMES,
  metricCell,
  metricText,
  percentText,
} from "./quantities.ts";

/** What the measurements that a split holds out have in common. */
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
 * @param report What the model comes to on all splits.
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
  return await pageOf(`Evaluation of ${run.checkpoint} on all splits`, [
    element(
      "p",
      `One model of ${countText(run.numParameters)} parameters, step ${countText(run.step)}, trained on ` +
        `${countText(run.numTraining)} measurements of ${run.measurements.join(" ")} and asked about what ` +
        `each split holds out (${modes}). A split divides what the one before left for training, so the ` +
        "model and the baselines have learned from nothing of any of them. Sources are told apart by " +
        `${run.groupBy}.`,
    ),
    element("h2", "The model beside the best baseline of each measure"),
    element(
      "p",
      "Of the model with its 95 % interval; below it, of the best baseline. Coloured where a difference is " +
        "shown, as on the pages of the splits, which have the intervals of the differences. Baselines know " +
        "the whole history that is allowed, whatever the number of context measurements of the model. What " +
        "90 % intervals hold is told also when corrected by the validation split, and of the baseline that " +
        "is the nearest to 90 %.",
    ),
    tableOf(headings, splits.flatMap(rowsOf), "numbers"),
    ...adaptedPart(splits),
    ...splits.flatMap((split, i) => splitPart(split, details[i])),
    ...empty.map(({ mode, heldOutPercent }) =>
      element(
        "p",
        `Nothing could be predicted of ${HELD_OUT[mode]}: ${heldOutPercent} % were to be held out, and ` +
          "none were, so few there are.",
      )
    ),
  ]);
}

/** The same as lines of text: a line for each split. */
export function allSplitsLines({ splits, empty }: AllSplitsReport): string[] {
  return [
    ...splits.map(({ mode, rows: [all] }) => {
      if (!all) return `${HELD_OUT[mode]}: no measurement had a reply`;
      const metrics = SPLIT_METRICS.map((metric) => {
        const { value, comparison } = all.metrics[metric];
        const verdict = comparison ? ` (${SHOWN[comparison.verdict]})` : "";
        return `${METRIC_NAMES[metric]} ${metricText(metric, value)}${verdict}`;
      });
      return `${HELD_OUT[mode]}: ${metrics.join(", ")}, 90 % intervals hold ${
        percentText(all.coverage.share)
      }`;
    }),
    ...empty.map(({ mode }) => `${HELD_OUT[mode]}: none`),
  ];
}

const SHOWN = {
  better: "better than every baseline",
  worse: "worse than the best baseline",
  none: "no difference shown",
};

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
        "baselines are trained with the same K. The pages of the splits tell more.",
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
    listOf(findingsOf(detail)),
  ];
}
