/** Numbers of the model beside those of the best baseline, as cells of a table. @module */
import type { TableCell } from "../../plot/page.ts";
import type { CoverageOfModel, MetricOfModel } from "../all_splits.ts";
import type { ComparedMetric } from "../rtt_comparison.ts";
import { percentIntervalText, percentText } from "./quantities.ts";
import { KIND_OF, metricIntervalText, metricText } from "./rtt_part.ts";

/** A number with its interval; below it that of the best baseline. */
export function metricCell(
  metric: ComparedMetric,
  { value, interval, comparison }: MetricOfModel,
): TableCell {
  const text = `${metricText(metric, value)}${metricIntervalText(metric, interval)}`;
  if (!comparison) return text;
  const { bestBaseline, baseline, verdict } = comparison;
  return { text, note: `${bestBaseline}: ${metricText(metric, baseline)}`, kind: KIND_OF[verdict] };
}

/** What intervals hold; below it what they hold when corrected, and those of a baseline. */
export function coverageCell({ share, interval, correctedShare, baseline }: CoverageOfModel): TableCell {
  const notes = [
    ...(typeof correctedShare === "number" ? [`corrected: ${percentText(correctedShare)}`] : []),
    ...(baseline ? [`${baseline.name}: ${percentText(baseline.share)}`] : []),
  ];
  return { text: `${percentText(share)}${percentIntervalText(interval)}`, note: notes.join("; ") };
}
