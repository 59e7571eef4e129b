/** Candidates ranked by `query nearest` as CSV and as a picture. @module */
import { type Chart, lineChart, renderPicture, rowChart } from "../../base/report/charts.ts";
import { csvField, formatMs, threeDigits } from "../../base/text.ts";
import { withName } from "../../data/addresses/ip_prefix.ts";
import { NEAREST_COLUMNS, nearestRows, worstText } from "./nearest_texts.ts";
import type { AnswerOf } from "../questions/questions.ts";

type Nearest = AnswerOf<"nearest">;

function csv(answer: Nearest): string {
  return [NEAREST_COLUMNS, ...nearestRows(answer)].map((cells) =>
    `${cells.map((cell) => typeof cell === "string" ? csvField(cell) : cell ?? "").join()}\n`
  ).join("");
}

const WIDTH = 420;

function svg({ src, sources, nearest, best = [] }: Nearest): Promise<string> {
  const from = src ?? `${sources} sources`;
  const rows = nearest.map(({ candidate, name, median_ms, high_ms, ...worst }) => ({
    label: withName(candidate, name),
    value: median_ms,
    text: [
      formatMs(median_ms),
      ...(high_ms === undefined ? [] : [`95 % ${formatMs(high_ms)}`, `worst median ${worstText(worst)}`]),
    ].join(", "),
  }));
  const parts: Chart[] = [
    { title: `RTTs from ${from}`, ...rowChart({ rows, title: "median RTT, ms", width: WIDTH }) },
  ];
  if (best.length > 0) {
    const curve = (label: string, rank: 0 | 1 | 2, of: (each: typeof best[0]) => number) => ({
      label,
      rank,
      style: "marked" as const,
      points: best.map((each, k) => ({ x: k + 1, y: of(each) })),
    });
    const last = best[best.length - 1];
    parts.push({
      title: {
        text: "Candidates together, each source using the nearest of them",
        subtitle: last.candidates.map((each, k) =>
          `${k + 1}: ${each}, mean ${threeDigits(best[k].mean_ms)} ms`
        ),
      },
      ...lineChart({
        curves: [
          curve("worst source", 2, ({ worst_ms }) => worst_ms),
          curve("95 % of the sources", 1, ({ high_ms }) => high_ms),
          curve("mean of the sources", 0, ({ mean_ms }) => mean_ms),
        ],
        x: { title: "number of candidates", scale: "ordinal" },
        y: { title: "median RTT, ms" },
        width: WIDTH,
      }),
    });
  }
  return renderPicture({
    vconcat: parts,
    resolve: { legend: { color: "independent" }, scale: { color: "independent" } },
  });
}

/** By ending of the file. */
export const NEAREST_FORMATS: ReadonlyMap<string, (answer: Nearest) => string | Promise<string>> = new Map<
  string,
  (answer: Nearest) => string | Promise<string>
>([["csv", csv], ["svg", svg]]);
