/** Whether the order of a measurement's fields matters to the model. @module */
import { rowChart } from "../../plot/charts.ts";
import { type Block, element, tableOf } from "../../plot/page.ts";
import type { FieldOrderBits, FieldOrderSection } from "../field_order_section.ts";
import { countText, fixedText } from "./quantities.ts";

/** The section. */
export function fieldOrderPart({ numMeasurements, settings }: FieldOrderSection): Block[] {
  const rows = settings.map((setting) => {
    const values = setting.orders.flatMap(({ meanBits }) => meanBits === null ? [] : [meanBits]);
    const width = Math.max(...values) - Math.min(...values);
    return { label: nameOf(setting), values, text: `${fixedText(width)} bits between the orders` };
  });
  return [
    element("h2", "Whether the order of the fields matters"),
    element(
      "p",
      `${countText(numMeasurements)} measurements, each with its source, destination, time and result in ` +
        "every order. A consistent model gives all orders the same probability.",
    ),
    {
      name: "field-orders",
      caption:
        "A point is the mean over measurements in one order of the fields; the closer together, the more " +
        "consistent. The line is the mean over orders.",
      chart: rowChart({ rows, title: "mean bits per measurement", width: 400, kind: "points" }),
    },
    tableOf(
      ["", "one order, mean bits", "whatever the order", "spread of a measurement, mean", "90 % below"],
      settings.map((setting) => {
        const { meanBits, totalBits, meanSpreadBits, p90SpreadBits } = setting;
        return [
          nameOf(setting),
          fixedText(meanBits),
          fixedText(totalBits),
          fixedText(meanSpreadBits),
          fixedText(p90SpreadBits),
        ];
      }),
      "numbers",
    ),
  ];
}

function nameOf({ hasTimes, contextCount }: FieldOrderBits): string {
  return `${hasTimes ? "with" : "without"} times, ${contextCount === 0 ? "no" : contextCount} context`;
}
