/** Whether the order of a measurement's fields matters to the model. @module */
import { figureOf, tableOf } from "../../plot/page.ts";
import { specOfStrips } from "../../plot/strip_plot.ts";
import { renderSvg } from "../../plot/svg.ts";
import type { FieldOrderBits, FieldOrderSection } from "../field_order_section.ts";
import { countText, fixedText } from "./quantities.ts";

/** The section as HTML. */
export async function fieldOrderPart({ numMeasurements, settings }: FieldOrderSection): Promise<string> {
  const rows = settings.map((setting) => {
    const values = setting.orders.flatMap(({ meanBits }) => meanBits === null ? [] : [meanBits]);
    const width = Math.max(...values) - Math.min(...values);
    return { label: nameOf(setting), values, text: `${fixedText(width)} bits between the orders` };
  });
  const svg = await renderSvg(specOfStrips({ rows, title: "mean bits per measurement", width: 440 }));
  return [
    "<h2>Whether the order of the fields matters</h2>",
    `<p>${
      countText(numMeasurements)
    } measurements, each with its source, destination, time and result in every order. A ` +
    "consistent model gives all orders the same probability.</p>",
    figureOf(svg, {
      name: "field-orders",
      caption:
        "A point is the mean over measurements in one order of the fields; the closer together, the more " +
        "consistent. The line is the mean over orders.",
    }),
    tableOf(
      ["", "one order, mean bits", "whatever the order", "spread of a measurement, mean", "90 % below"],
      settings.map((setting) => [
        ...[nameOf(setting), fixedText(setting.meanBits), fixedText(setting.totalBits)],
        ...[fixedText(setting.meanSpreadBits), fixedText(setting.p90SpreadBits)],
      ]),
      "numbers",
    ),
  ].join("\n");
}

function nameOf({ hasTimes, contextCount }: FieldOrderBits): string {
  return `${hasTimes ? "with" : "without"} times, ${contextCount === 0 ? "no" : contextCount} context`;
}
