/** `deno task bench:gpu`: the results of a survey as tables. @module */
import { formatBytes, formatCount } from "../../lib/base/text.ts";
import { formatTable } from "../../lib/base/text_table.ts";
import { isRight } from "./gpu_checks.ts";
import { CHOSEN, type GpuPart, type PartResults, type ProductRow } from "./gpu_parts.ts";
import { choicesOf, resultsOf, type StepEnd, type SurveyPlan } from "./gpu_steps.ts";
import { describeComparisons } from "./peers.ts";

/** A constant is changed only if the new value is this much faster. */
const WORTH_A_CHANGE = 1.03;

export function describeSurvey(ends: readonly StepEnd[], plan: SurveyPlan): string {
  const ofEngines = ends.filter(({ name }) => name.startsWith("train in"));
  const comparisons = resultsOf(ends, "peer").map(({ result }) => result);
  return [
    describeSteps(ends),
    ...resultsOf(ends, "checks").flatMap(({ result }) => result.filter((row) => !isRight(row))).map((row) =>
      `WRONG: ${row.name}: found an error of ${
        row.error.toExponential(1)
      }, expected at most ${row.allowedError}`
    ),
    comparisons.length > 0 ? describeComparisons(comparisons) : "",
    sideBySide("training", ends, "training", ({ row }) => [
      ["tokens/s", formatCount(Math.round(row.tokensPerS))],
      ["ms per step", format(1000 * row.stepS)],
      ["TFLOP/s", format(row.gigaflopsPerS / 1000)],
      ["memory", formatBytes(row.plannedMemoryBytes)],
      ["start, s", row.startS.toFixed(1)],
    ]),
    sideBySide(
      "kernel, ms of a step (TFLOP/s)",
      ofEngines,
      "training",
      ({ profile }) =>
        profile.map(({ label, seconds, flops }) => {
          const speed = flops > 0 ? ` (${format(flops / seconds / 1e12)})` : "";
          return [label, `${(1000 * seconds).toFixed(2)}${speed}`];
        }),
    ),
    sideBySide(
      "kernel alone",
      ends,
      "kernels",
      (rows) => rows.map(({ name, unit, median }) => [`${name}, ${unit}`, format(median)]),
    ),
    describeChoices(ends, plan),
    sideBySide(
      "decoding, queries/s",
      ends,
      "decoding",
      (rows) =>
        rows.map((
          row,
        ) => [`${row.kind}, ${row.rows} rows`, format(row.rows / row.rowsPerPrompt / row.seconds)]),
    ),
    sideBySide("product, TFLOP/s", ends, "products", describeWays),
  ].filter((text) => text !== "").join("\n\n");
}

const format = (value: number) => value.toPrecision(3);

/** A row for each key and a column for each step of a kind. Steps of one name share a column. */
function sideBySide<K extends keyof PartResults>(
  title: string,
  ends: readonly StepEnd[],
  kind: K,
  cellsOf: (result: PartResults[K]) => [key: string, cell: string][],
): string {
  const columns = new Map<string, Map<string, string>>();
  for (const { step, result } of resultsOf(ends, kind)) {
    columns.set(step.name, new Map([...columns.get(step.name) ?? [], ...cellsOf(result)]));
  }
  const keys = [...new Set([...columns.values()].flatMap((cells) => [...cells.keys()]))];
  if (keys.length === 0) return "";
  const lines = keys.map((key) => [key, ...[...columns.values()].map((cells) => cells.get(key) ?? "")]);
  return formatTable([[title, ...columns.keys()], ...lines], { left: [0] });
}

function describeSteps(ends: readonly StepEnd[]): string {
  const found = new Map<StepEnd, string>();
  for (const { step, result: { name, subgroupSize, matrix } } of resultsOf(ends, "adapter")) {
    const units = matrix ? `matrices of ${matrix.side} x ${matrix.side}` : "no matrix units";
    found.set(step, `${name}, subgroups of ${subgroupSize ?? "no fixed size"}, ${units}`);
  }
  for (const { step, result } of resultsOf(ends, "checks")) {
    found.set(step, `${result.filter((row) => !isRight(row)).length} of ${result.length} results are wrong`);
  }
  const lines = ends.map((end) => [
    end.name,
    end.seconds.toFixed(1),
    end.reason === undefined ? found.get(end) ?? "measured" : `NOT MEASURED: ${end.reason}`,
  ]);
  return formatTable([["step", "s", "result"], ...lines], { left: [0, 2] });
}

/** Speed of each value of a choice, and the advice. */
function describeChoices(ends: readonly StepEnd[], plan: SurveyPlan): string {
  const lines = choicesOf(plan).map(({ name, ways }) => {
    const speeds = ways.map(([, part]) => speedOf(ends, part));
    const [present] = speeds;
    const best = Math.max(...speeds);
    const advice = Number.isNaN(best)
      ? "not measured"
      : best > WORTH_A_CHANGE * present
      ? `set to ${ways[speeds.indexOf(best)][0]}`
      : "stays";
    const ratioOf = (speed: number) =>
      Number.isNaN(speed / present) ? "?" : `${(speed / present).toFixed(2)} x`;
    const found = ways.map(([value], i) => `${value} ${ratioOf(speeds[i])}`);
    return [name, found.join(", "), advice];
  });
  return formatTable([["choice", "speed", "advice"], ...lines], { left: [0, 1, 2] });
}

/** A figure that is larger if a part is faster; NaN if the part was not measured. */
function speedOf(ends: readonly StepEnd[], part: GpuPart): number {
  const key = JSON.stringify(part);
  const result = ends.find((end) => JSON.stringify(end.part) === key)?.result;
  if (result === undefined) return NaN;
  if (part.kind === "training") return (result as PartResults["training"]).row.tokensPerS;
  const rows = result as PartResults["kernels"];
  return Math.exp(-rows.reduce((sum, { median }) => sum + Math.log(median), 0) / rows.length);
}

/** The chosen and the best way to compute each product. */
function describeWays(rows: readonly ProductRow[]): [key: string, cell: string][] {
  const byShape = Map.groupBy(rows, ({ kind, m, n, k }) => `${kind} ${m} x ${n} x ${k}`);
  return [...byShape].map(([shape, rows]) => {
    const best = rows.reduce((best, row) => row.gigaflopsPerS > best.gigaflopsPerS ? row : best);
    const chosen = rows.find(({ way }) => way === CHOSEN)?.gigaflopsPerS ?? NaN;
    const ratio = (best.gigaflopsPerS / chosen).toFixed(2);
    return [shape, `${format(chosen / 1000)}; ${ratio} x by ${best.way}`];
  });
}
