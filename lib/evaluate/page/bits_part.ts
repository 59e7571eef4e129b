/** How many bits measurements take: by token type, and by position in their context. @module */
import { specOfBars } from "../../plot/bar_plot.ts";
import { type PlotCurve, specOfLines } from "../../plot/line_plot.ts";
import { besideOf, figureOf, tableOf } from "../../plot/page.ts";
import { renderSvg } from "../../plot/svg.ts";
import { FIELD_ORDERS } from "../../tokens/vocab_v2.ts";
import type { ContextBits, TokenTypeBits } from "../bit_totals.ts";
import type { BitsSection } from "../bits_section.ts";
import { countText, fixedText } from "./quantities.ts";

const FIELDS = FIELD_ORDERS[0];
/** Positions with fewer measurements than this share of the first one's say little and are not drawn. */
const MIN_SHARE = 0.1;

/** The section as HTML. */
export async function bitsPart({ withTimes, withoutTimes }: BitsSection): Promise<string> {
  const isIpv6 = ({ tokenType }: TokenTypeBits) => tokenType.includes("Ipv6");
  const [ipv6, others] = [
    withTimes.byTokenType.filter(isIpv6),
    withTimes.byTokenType.filter((type) => !isIpv6(type)),
  ];
  return [
    "<h2>How many bits a measurement takes</h2>",
    `<p>-log2 of the probability of each token given all before, in ${
      countText(withTimes.numContexts)
    } contexts of ` +
    "held-out measurements that are drawn as those of the training.</p>",
    totalsTable(withTimes, withoutTimes),
    besideOf([
      await typeFigure(others, "bits-by-token-type", "Mean bits of each type of token; contexts with times."),
      ...(ipv6.length === 0
        ? []
        : [await typeFigure(ipv6, "bits-by-ipv6-token-type", "The same for IPv6 addresses.")]),
    ]),
    ...(withTimes.byPosition.length > 1 ? [await positionFigure(withTimes)] : []),
  ].join("\n");
}

function totalsTable(withTimes: ContextBits, withoutTimes: ContextBits): string {
  const row = (name: string, bits: ContextBits) => [
    ...[name, fixedText(bits.bitsPerMeasurement), fixedText(bits.bitsPerToken, 3)],
    ...FIELDS.map((field) => fixedText(bits.fieldBits[field])),
    countText(bits.numMeasurements),
  ];
  return tableOf(["contexts", "bits per measurement", "per token", ...FIELDS, "measurements"], [
    row("with times", withTimes),
    row("without times", withoutTimes),
  ], "numbers");
}

async function typeFigure(types: readonly TokenTypeBits[], name: string, caption: string): Promise<string> {
  const bars = types.map(({ tokenType, meanBits }) => ({
    label: tokenType,
    value: Math.max(0, meanBits),
    text: fixedText(meanBits),
  }));
  return figureOf(await renderSvg(specOfBars({ bars, title: "bits per token", width: 220 })), {
    name,
    caption,
  });
}

async function positionFigure({ byPosition }: ContextBits): Promise<string> {
  const shown = byPosition.filter(({ numMeasurements }) =>
    numMeasurements >= MIN_SHARE * byPosition[0].numMeasurements
  );
  const curve = (label: string, valueOf: (at: typeof shown[number]) => number | null) => ({
    label,
    points: shown.flatMap((at) => {
      const y = valueOf(at);
      return y === null ? [] : [{ x: at.position, y }];
    }),
  });
  const fields = FIELDS.map((field) => curve(field, ({ fieldBits }) => fieldBits[field]));
  const curves: PlotCurve[] = [
    { ...curve("whole measurement", ({ meanBits }) => meanBits), rank: 0 },
    ...fields.map((each, i): PlotCurve => ({ ...each, rank: ([1, 2, 3] as const)[i] })),
  ];
  const svg = await renderSvg(specOfLines({
    curves,
    x: { title: "measurements before it in the context", scale: "linear", format: "~r" },
    y: { title: "bits per measurement", scale: "linear", format: "~r" },
    ...{ width: 640, height: 300, labels: "end" },
  }));
  return figureOf(svg, {
    name: "bits-by-position",
    caption:
      "Mean bits of a measurement and of its parts by how many measurements stand before it: what the model " +
      "learns from its context.",
  });
}
