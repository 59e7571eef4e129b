/** The bits of measurements by token type and by position in the context. @module */
import { lineChart, rankOf, rowChart } from "../../report/charts.ts";
import { type Block, element, tableOf } from "../../report/page.ts";
import { FIELD_ORDERS } from "../../tokens/vocab_v2.ts";
import type { ContextBits, PositionBits, TokenTypeBits } from "../sections/bit_totals.ts";
import type { BitsSection } from "../sections/bits_section.ts";
import { countText, fixedText } from "./quantities.ts";

const FIELDS = FIELD_ORDERS[0];
/** Positions with fewer measurements than this share of the first one's are not drawn. */
const MIN_SHARE = 0.1;

/** The section. */
export function bitsPart({ withTimes, withoutTimes }: BitsSection): Block[] {
  const types = withTimes.byTokenType.filter(({ tokenType }) => !tokenType.includes("Ipv6"));
  return [
    element("h2", "How many bits a measurement takes"),
    element(
      "p",
      `-log2 of the probability of each token given all before, in ${countText(withTimes.numContexts)} ` +
        "contexts of held-out measurements that are drawn as those of the training. It is the training's loss: among " +
        "all tokens, while other probabilities are among what can stand in a place.",
    ),
    tableOf(["contexts", "bits per measurement", "per token", ...FIELDS, "measurements"], [
      totalsRow("with times", withTimes),
      totalsRow("without times", withoutTimes),
    ], "numbers"),
    typeFigure(types),
    ...(withTimes.byPosition.length > 1 ? [positionFigure(withTimes)] : []),
  ];
}

function totalsRow(name: string, bits: ContextBits): string[] {
  const fields = FIELDS.map((field) => fixedText(bits.fieldBits[field]));
  const perToken = fixedText(bits.bitsPerToken, 3);
  return [name, fixedText(bits.bitsPerMeasurement), perToken, ...fields, countText(bits.numMeasurements)];
}

function typeFigure(types: readonly TokenTypeBits[]): Block {
  const rows = types.map(({ tokenType, meanBits }) => ({
    label: tokenType,
    values: [Math.max(0, meanBits)],
    text: fixedText(meanBits),
  }));
  return {
    name: "bits-by-token-type",
    caption: "Mean bits of each type of token but those of IPv6 addresses; contexts with times.",
    chart: rowChart({ rows, title: "bits per token", width: 220, kind: "bars" }),
  };
}

function positionFigure({ byPosition }: ContextBits): Block {
  const shown = byPosition.filter(({ numMeasurements }) =>
    numMeasurements >= MIN_SHARE * byPosition[0].numMeasurements
  );
  const lines: [label: string, valueOf: (at: PositionBits) => number | null][] = [
    ["whole measurement", ({ meanBits }) => meanBits],
    ...FIELDS.map((field): typeof lines[number] => [field, ({ fieldBits }) => fieldBits[field]]),
  ];
  return {
    name: "bits-by-position",
    caption:
      "Mean bits of a measurement and of its parts, by how many measurements are before it. They fall where " +
      "the model learns from its context.",
    chart: lineChart({
      curves: lines.map(([label, valueOf], i) => ({
        label,
        points: shown.map((at) => ({ x: at.position, y: valueOf(at) })),
        rank: rankOf(i),
      })),
      x: { title: "measurements before it in the context" },
      y: { title: "bits per measurement" },
      width: 640,
      height: 300,
    }),
  };
}
