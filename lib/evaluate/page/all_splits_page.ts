/**
 * One model on several splits as a page: a table of all splits and numbers of context measurements, then what each
 * split comes to in words, with the way to its own page.
 *
 * @module
 */
import { escapeHtml, pageOf, type TableCell, tableOf } from "../../plot/page.ts";
import type { SplitMode } from "../../preprocess/splits.ts";
import { type AllSplitsReport, SPLIT_METRICS, type SplitResult } from "../all_splits.ts";
import type { EvalReport } from "../report.ts";
import { ADAPTED_HEADING, adaptedTable } from "./adapt_part.ts";
import { headlineOf } from "./headline.ts";
import { coverageCell, metricCell } from "./metric_cells.ts";
import { countText, percentText } from "./quantities.ts";
import { METRIC_NAMES, metricText } from "./rtt_part.ts";

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
 * @param details The report of each split, in their order.
 */
export function allSplitsPage(report: AllSplitsReport, details: readonly EvalReport[]): string {
  const { run, splits, empty } = report;
  const { numTraining, measurements, groupBy } = run;
  return pageOf(`Evaluation of ${run.checkpoint} on all splits`, [
    `<p>One model of ${countText(run.numParameters)} parameters, step ${countText(run.step)}, trained on ` +
    `${countText(numTraining)} measurements of ${escapeHtml(measurements.join(" "))} and asked about what ` +
    `each split holds out (${
      splits.map(({ mode }) => mode).join(", ")
    }). A split divides what the one before left for training, so the ` +
    `model and the baselines have learned from nothing of any of them. Sources are told apart by ${groupBy}.</p>`,
    "<h2>The model beside the best baseline of each measure</h2>",
    "<p>Of the model with its 95 % interval; below it, of the best baseline. Coloured where a difference is shown, as " +
    "on the pages of the splits, which have the intervals of the differences. Baselines know the whole history that is " +
    "allowed, whatever the number of context measurements of the model. What 90 % intervals hold is told also when " +
    "corrected by the validation split, and of the baseline that is the nearest to 90 %.</p>",
    tableOf(HEADINGS, splits.flatMap(rowsOf), "numbers"),
    ...adaptedPart(splits),
    ...splits.map((split, i) => splitPart(split, details[i])),
    ...empty.map((split) =>
      `<p>Nothing could be predicted of ${
        escapeHtml(HELD_OUT[split.mode])
      }: ${split.heldOutPercent} % were to be ` +
      "held out, and none were, so few there are.</p>"
    ),
  ]);
}

/** The same as lines of text: a line for each split. */
export function allSplitsLines({ splits, empty }: AllSplitsReport): string[] {
  return [
    ...splits.map((split) => {
      const [all] = split.rows;
      if (!all) return `${HELD_OUT[split.mode]}: no measurement had a reply`;
      const told = SPLIT_METRICS.map((metric) => {
        const { value, comparison } = all.metrics[metric];
        const verdict = comparison ? ` (${VERDICTS[comparison.verdict]})` : "";
        return `${METRIC_NAMES[metric]} ${metricText(metric, value)}${verdict}`;
      });
      return `${HELD_OUT[split.mode]}: ${told.join(", ")}, 90 % intervals hold ${
        percentText(all.coverage.share)
      }`;
    }),
    ...empty.map(({ mode }) => `${HELD_OUT[mode]}: none`),
  ];
}

const VERDICTS = {
  better: "better than every baseline",
  worse: "worse than the best baseline",
  none: "no difference shown",
};

const HEADINGS = [
  ...["held out", "context"],
  ...SPLIT_METRICS.map((metric) => METRIC_NAMES[metric]),
  "in 90 % intervals",
];

function rowsOf({ mode, rows }: SplitResult): TableCell[][] {
  return rows.map((row, i) => [
    i === 0 ? HELD_OUT[mode] : "",
    row.numContext === null ? "all" : String(row.numContext),
    ...SPLIT_METRICS.map((metric) => metricCell(metric, row.metrics[metric])),
    coverageCell(row.coverage),
  ]);
}

/** The splits whose addresses the model was adapted to. */
function adaptedPart(splits: readonly SplitResult[]): string[] {
  const parts = splits.flatMap(({ mode, adapted = [] }) =>
    adapted.length === 0 ? [] : [{ name: HELD_OUT[mode], rows: adapted }]
  );
  if (parts.length === 0) return [];
  return [
    `<h2>${ADAPTED_HEADING}</h2>`,
    "<p>The model is adapted to K measurements of each address and predicts others, without context; the baselines are " +
    "trained with the same K. The pages of the splits tell more.</p>",
    adaptedTable(parts),
  ];
}

function splitPart({ mode, heldOutPercent, folder, counts, numPredicted }: SplitResult, detail: EvalReport) {
  const { train, val, test } = counts;
  return [
    `<h2>${escapeHtml(capital(HELD_OUT[mode]))}</h2>`,
    `<p>${heldOutPercent} % were held out: ${countText(test)} measurements, of which ${
      countText(numPredicted)
    } were ` +
    `predicted, and ${countText(val)} for validation; ${countText(train)} were left. ` +
    `<a href="${escapeHtml(`${folder}/report.html`)}">All of this split</a></p>`,
    headlineOf(detail),
  ].join("\n");
}

function capital(text: string): string {
  return text[0].toUpperCase() + text.slice(1);
}
