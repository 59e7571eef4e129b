/**
 * `bench gpu`: a survey of an adapter that recommends values of constants for it.
 *
 * @module
 */
import { join } from "@std/path";
import { describeFinding, findingsOf, pageOfSurvey, peakOf } from "../lib/cli/bench/gpu_report.ts";
import { SURVEY_SCALES, surveySteps } from "../lib/cli/bench/gpu_steps.ts";
import {
  type DecodedQuery,
  describeAdapter,
  emptyRows,
  runSurvey,
  SurveyDevice,
  type TrainingRow,
} from "../lib/cli/bench/gpu_survey.ts";
import { parseDurationS } from "../lib/cli/options.ts";
import { formatBytes, formatCount } from "../lib/base/text.ts";
import { defineStage, serveStage, type Stage } from "../lib/cli/stage.ts";
import { writeFileAtomic, writeJsonAtomic } from "../lib/io/files/atomic.ts";
import { StagedOutput } from "../lib/io/files/staged_output.ts";
import { MAX_CONTINUATIONS, MAX_ROWS, PROMPT_TOKENS_PER_CONTINUATION } from "../lib/query/model_decoders.ts";
import { FIRST_BYTES } from "../lib/query/rtt/rtt_bytes.ts";
import { loadConfig } from "../lib/train/run_config.ts";
import { VERSION } from "../lib/base/version.ts";
import { STAGES } from "./stages.ts";

const JSON_NAME = "gpu.json";
const PAGE_NAME = "gpu.html";
/** The orders in which the fields of a measurement are written. */
const NUM_ORDERS = 24;
/** The largest number of unmeasured steps in the notes; the page has all. */
const MAX_SHOWN = 5;

const QUERIES: readonly [DecodedQuery, DecodedQuery] = [
  { kind: "one step", promptTokens: 20, rowsPerPrompt: FIRST_BYTES.length, steps: 1 },
  {
    kind: "many steps",
    promptTokens: NUM_ORDERS * PROMPT_TOKENS_PER_CONTINUATION,
    rowsPerPrompt: NUM_ORDERS,
    steps: 16,
  },
];

export const gpuBench: Stage = defineStage(STAGES.bench.kinds.gpu, async (options, context) => {
  const startMs = performance.now();
  const maxS = parseDurationS(options.maxTime, "max-time");
  const elapsedS = () => (performance.now() - startMs) / 1000;
  using device = new SurveyDevice();
  const adapter = await describeAdapter((await device.registry()).gpu);
  const scale = options.scale === "auto" ? adapter.isSoftware ? "small" : "full" : options.scale;
  const preset = options.config ?? (scale === "full" ? "95m" : "demo");
  const config = loadConfig(preset, options.set);
  const settings = { adapter: adapter.name, scale, config, maxS };
  using output = StagedOutput.openFolder(options.output, {
    stage: "bench gpu",
    inputs: [],
    options: settings,
    overwrite: options.overwrite,
  });
  // Speeds are measured again each time.
  if (output.isComplete) output.begin();
  context.log(`adapter: ${adapter.name}; scale ${scale}`);
  const rows = emptyRows();
  const plan = { scale: SURVEY_SCALES[scale], adapter, device, config, queries: QUERIES };
  const steps = surveySteps(plan, rows);
  using progress = context.progress("measuring", { total: steps.length, unit: "steps" });
  const ends = await runSurvey(steps, {
    device,
    signal: context.signal,
    isOver: () => elapsedS() > maxS,
    onStep: (index, name) => progress.update(index, name),
  });
  const findings = findingsOf(rows, adapter, { MAX_ROWS, MAX_CONTINUATIONS });
  const numWrong = rows.checks.filter(({ error, allowedError }) => !(error <= allowedError)).length;
  const unmeasured = ends.filter(({ reason }) => reason !== undefined);
  const peak = peakOf(rows.products);
  const notes = scale === "small"
    ? ["Small sizes only show that the survey works; they do not justify settings."]
    : [];
  notes.push(`${numWrong} of ${rows.checks.length} checks are wrong.`);
  notes.push(`The best matrix product makes ${peak.toPrecision(3)} GFLOP/s.`);
  notes.push(...rows.training.map((row) => describeTraining(preset, row, peak)));
  const numMeasured = steps.length - unmeasured.length;
  notes.push(`${numMeasured} of ${steps.length} steps were measured, in ${elapsedS().toFixed(0)} s.`);
  for (const { name, reason } of unmeasured.slice(0, MAX_SHOWN)) {
    notes.push(`Not measured: ${name}: ${reason}`);
  }
  const json = {
    stage: "bench gpu",
    version: VERSION,
    ...settings,
    adapter,
    seconds: elapsedS(),
    notes,
    findings,
    lines: findings.map(describeFinding),
    ...rows,
    steps: ends,
  };
  writeJsonAtomic(join(output.folder, JSON_NAME), json);
  const page = await pageOfSurvey({ adapter, findings, rows, steps: ends, notes });
  writeFileAtomic(join(output.folder, PAGE_NAME), page);
  for (const name of [JSON_NAME, PAGE_NAME]) await output.record(name);
  output.publish();
  const where = `The numbers are in ${join(options.output, PAGE_NAME)}.`;
  return { text: [...json.lines, "", ...notes, where].join("\n"), json, exitCode: numWrong > 0 ? 1 : 0 };
});

function describeTraining(preset: string, row: TrainingRow, peak: number): string {
  const tokens = `${formatCount(Math.round(row.tokensPerS))} tokens/s`;
  const share = peak > 0
    ? `, ${(100 * row.gigaflopsPerS / peak).toFixed(0)} % of the best product's rate`
    : "";
  const memory = `${formatBytes(row.plannedMemoryBytes)} of memory`;
  const start = `the first step is done after ${row.startS.toFixed(1)} s`;
  return `${preset} in ${row.dtype}: ${tokens}${share}, ${memory}; ${start}.`;
}

if (import.meta.main) serveStage(gpuBench);
