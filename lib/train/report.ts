/**
 * `report.html` of a run, a self-contained file: what was trained on which data, and the losses over time.
 *
 * @module
 */
import { placeCredits } from "../data/addresses/place_credits.ts";
import { formatCount, formatLoss } from "../base/text.ts";
import { writeFileAtomic } from "../io/files/atomic.ts";
import { type ChartCurve, type LineChart, lineChart } from "../base/report/charts.ts";
import { type Block, element, pageOf, tableOf } from "../base/report/page.ts";
import { FULL_WIDTH } from "../base/report/theme.ts";
import type { EngineName } from "../tensor/engine.ts";
import { VERSION } from "../base/version.ts";
import { describePlan, flattenConfig, type RunConfig, type RunPlan } from "./run_config.ts";
import type { ResolvedRun } from "./resolved_run.ts";
import type { MetricsRecord } from "./metrics.ts";

type ReportedRun = RunPlan & Pick<ResolvedRun, "runDir" | "dataDir" | "data" | "seed" | "loadedTeacher">;

interface RunState {
  records: readonly MetricsRecord[];
  checkpoint: string | null;
  /** The WebGPU implementation used last. */
  engine: EngineName;
}

/** Maximum number of rows in the table of steps, in addition to the first and the last step. */
const MAX_ROWS = 24;
/** Columns of the table of steps: heading, scalar, formatter. */
const COLUMNS: [string, string, (value: number) => string][] = [
  ["training loss", "train/loss", formatLoss],
  ["validation loss", "eval/loss", formatLoss],
  ["learning rate", "train/lr", (value) => value.toExponential(2)],
  ["gradient norm", "train/grad_norm", (value) => value.toPrecision(3)],
  ["tokens/s", "train/tokens_per_second", (value) => formatCount(Math.round(value))],
  ["padding", "train/padding", (value) => `${(100 * value).toFixed(1)} %`],
];

/** @throws {UserError} If the file cannot be written. */
export async function writeRunReport(path: string, run: ReportedRun, state: RunState): Promise<void> {
  const { records } = state;
  const html = await pageOf(`Training of ${run.runDir}`, [
    tableOf(["", ""], factsOf(run, state)),
    ...(records.length > 0 ? figuresOf(records) : [element("p", "No steps were logged.")]),
    element("h2", "Steps"),
    tableOf(["step", ...COLUMNS.map(([heading]) => heading)], shownSteps(records).map(rowOf), "numbers"),
    element("h2", "Configuration"),
    tableOf(["key", "value"], [...flattenConfig(run.config)]),
  ]);
  writeFileAtomic(path, html);
}

function factsOf(run: ReportedRun, { records, checkpoint, engine }: RunState): [string, string][] {
  const { config, dataDir, data, loadedTeacher, seed } = run;
  const last = records.at(-1);
  const evaluated = records.filter((record) => typeof record["eval/loss"] === "number");
  const lossOf = (record: MetricsRecord | undefined, name: string) =>
    typeof record?.[name] === "number"
      ? `${formatLoss(record[name])} per token after step ${record.step}`
      : "none";
  const best = evaluated.reduce<MetricsRecord | undefined>(
    (least, record) =>
      Number(record["eval/loss"]) < Number(least?.["eval/loss"] ?? Infinity) ? record : least,
    undefined,
  );
  const numSkipped = last?.["train/skipped_steps"] ?? 0;
  return [
    ...describePlan(run).map((line): [string, string] => {
      const colon = line.indexOf(": ");
      return [line.slice(0, colon), line.slice(colon + 2)];
    }),
    ["steps done", `${last?.step ?? 0} of ${config.train.steps}`],
    ["training loss", lossOf(last, "train/loss")],
    ["validation loss", lossOf(evaluated.at(-1), "eval/loss")],
    ["best validation loss", lossOf(best, "eval/loss")],
    ["skipped updates", String(numSkipped)],
    ["data", `${[dataDir].flat().join(", ")} (fingerprint ${data})`],
    ...placesFact(config),
    ["teacher", loadedTeacher?.directory ?? "none"],
    ["seed", String(seed)],
    ["checkpoint", checkpoint ?? "none"],
    ["engine", engine],
    ["software", `ping-llm ${VERSION}`],
  ];
}

/** The files of places, and the attributions that their licences require. */
function placesFact({ model: { places } }: RunConfig): [string, string][] {
  if (!places) return [];
  return [[
    "places",
    [...places.sources, ...placeCredits(places.sources).map(({ text }) => text)].join(", "),
  ]];
}

/** Evenly spaced steps, first and last included: those with an evaluation, or any if none has one. */
function shownSteps(records: readonly MetricsRecord[]): MetricsRecord[] {
  if (records.length === 0) return [];
  const evaluated = records.filter((record) => "eval/loss" in record);
  const candidates = evaluated.length > 1 ? evaluated : records;
  const stride = Math.ceil(candidates.length / MAX_ROWS);
  const rows = candidates.filter((_, i) => (candidates.length - 1 - i) % stride === 0);
  const ends = [records[0], ...rows, records[records.length - 1]];
  return [...new Set(ends)];
}

function rowOf(record: MetricsRecord): string[] {
  const cells = COLUMNS.map(([, name, format]) => {
    const value = record[name];
    if (value === undefined) return "";
    return value === null ? "not finite" : format(value);
  });
  return [String(record.step), ...cells];
}

/** Null if no value was finite. */
interface CurvePoint {
  step: number;
  value: number | null;
}

/** Maximum number of points in a curve: about one per pixel of the widest plot. */
const MAX_POINTS = 700;
/** Scalars with a small plot each: name, title, format. */
const SMALL: readonly [name: string, title: string, format: string][] = [
  ["train/lr", "learning rate", "~g"],
  ["train/grad_norm", "gradient norm", "~g"],
  ["train/tokens_per_second", "tokens per second", "~s"],
  ["train/padding", "padding", ".1~%"],
];

/** The values of a scalar, in order. Neighbouring logged steps are averaged if there are too many. */
function curveOf(records: readonly MetricsRecord[], name: string): CurvePoint[] {
  const logged = records.filter((record) => name in record);
  const perPoint = Math.ceil(logged.length / MAX_POINTS);
  const numPoints = perPoint > 0 ? Math.ceil(logged.length / perPoint) : 0;
  return Array.from({ length: numPoints }, (_, i) => {
    const group = logged.slice(i * perPoint, (i + 1) * perPoint);
    const values = group.map((record) => record[name]).filter((value) => value !== null);
    const sum = values.reduce((total, value) => total + value, 0);
    return { step: group[group.length - 1].step, value: values.length > 0 ? sum / values.length : null };
  });
}

function figuresOf(records: readonly MetricsRecord[]): Block[] {
  const curve = (label: string, scalar: string, unit = 1): ChartCurve => ({
    label,
    points: curveOf(records, scalar).map(({ step, value }) => ({ x: step, y: value && value / unit })),
  });
  const losses: ChartCurve[] = [
    { ...curve("validation", "eval/loss", Math.LN2), rank: 1, style: "marked" },
    { ...curve("training", "train/loss", Math.LN2), rank: 0 },
  ];
  const small = SMALL.map(([name, title, format]) =>
    figureOf(name, { curves: [{ ...curve(title, name), rank: 0 }], y: { title, format }, height: 150 })
  );
  const y = { title: "loss, bits per token", format: "~g" };
  return [
    figureOf("loss", { curves: losses, y, width: FULL_WIDTH, height: 260 }),
    { beside: small.slice(0, 2) },
    { beside: small.slice(2) },
  ];
}

function figureOf(scalar: string, { y, ...chart }: Omit<LineChart, "x">): Block {
  const x = { title: "step", format: "~s", hasZero: false };
  return {
    name: scalar.replace(/\W/g, "-"),
    caption: "",
    chart: lineChart({ ...chart, x, y: { ...y, hasZero: false } }),
  };
}
