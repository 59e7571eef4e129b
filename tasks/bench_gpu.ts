/**
 * `bench gpu`: a survey of an adapter that answers which constants to set otherwise on it.
 *
 * @module
 */
import { join } from "@std/path";
import { describeFinding, findingsOf, peakOf } from "../lib/bench/gpu_findings.ts";
import type { TrainingRow } from "../lib/bench/gpu_models.ts";
import { pageOfSurvey } from "../lib/bench/gpu_page.ts";
import { SURVEY_SCALES, surveySteps } from "../lib/bench/gpu_steps.ts";
import { describeAdapter, runSurvey, SurveyDevice, type SurveyRows } from "../lib/bench/gpu_survey.ts";
import { parseDurationS } from "../lib/cli/duration.ts";
import { configFlags, flag } from "../lib/cli/flags.ts";
import { formatBytes, formatCount } from "../lib/text/quantities.ts";
import { defineStage, type Stage } from "../lib/cli/stage.ts";
import { writeFileAtomic, writeJsonAtomic } from "../lib/files/atomic.ts";
import { StagedOutput } from "../lib/files/staged_output.ts";
import { MAX_CONTINUATIONS, MAX_ROWS, PROMPT_TOKENS_PER_CONTINUATION } from "../lib/query/decoder_extent.ts";
import { FIRST_BYTES } from "../lib/query/rtt_bytes.ts";
import { loadConfig } from "../lib/train/run_config.ts";
import { VERSION } from "../lib/version.ts";

const [JSON_NAME, PAGE_NAME] = ["gpu.json", "gpu.html"];
/** The orders in which the fields of a measurement are written. */
const NUM_ORDERS = 24;

/** Steps that were not measured of which the notes tell; the page tells of all. */
const MAX_SHOWN = 5;
/** Each of the two trainings takes at most this share of the time. */
const TRAIN_SHARE = 0.15;

/** The stage `bench gpu`. */
export const gpuBench: Stage = defineStage({
  name: "bench gpu",
  purpose: "which constants to set otherwise on this GPU: its products, training, decoding and start-up",
  example: "--output runs/gpu",
  flags: {
    output: flag.requiredText(`folder of ${JSON_NAME} and ${PAGE_NAME}`, { placeholder: "DIR" }),
    scale: flag.choice(["auto", "full", "small"], "sizes; auto: small on a software adapter, else full", {
      default: "auto",
    }),
    config: flag.optionalText("what is trained: a preset or a JSON file (small-95m; of scale small: demo)", {
      placeholder: "NAME|FILE",
    }),
    set: configFlags.set,
    maxTime: flag.text("leaves out what has not begun after this long", {
      default: "20m",
      placeholder: "TIME",
    }),
    overwrite: flag.boolean("replace what a survey with other options wrote to the output folder"),
  },
  async run(options, context) {
    const startMs = performance.now();
    const maxS = parseDurationS(options.maxTime, "max-time");
    const elapsedS = () => (performance.now() - startMs) / 1000;
    using device = new SurveyDevice();
    const adapter = await describeAdapter((await device.registry()).gpu);
    const scale = options.scale === "auto" ? adapter.isSoftware ? "small" : "full" : options.scale;
    const preset = options.config ?? (scale === "full" ? "small-95m" : "demo");
    const config = loadConfig(preset, options.set);
    const settings = { adapter: adapter.name, scale, config, maxS };
    using output = StagedOutput.openFolder(options.output, {
      ...{ stage: "bench gpu", inputs: [], options: settings, overwrite: options.overwrite },
    });
    // Speeds are measured anew each time.
    if (output.isComplete) output.begin();
    context.log(`adapter: ${adapter.name}; scale ${scale}`);
    const rows: SurveyRows = {
      ...{ checks: [], submits: [], products: [], kernels: [], training: [], decoding: [] },
    };
    const isOver = () => context.signal.aborted || elapsedS() > maxS;
    let done = 0;
    const steps = surveySteps({
      ...{ scale: SURVEY_SCALES[scale], adapter, device, config, isOver, trainS: TRAIN_SHARE * maxS },
      queries: [
        { kind: "one step", promptTokens: 20, rowsPerPrompt: FIRST_BYTES.length, steps: 1 },
        {
          ...{ kind: "many steps", promptTokens: NUM_ORDERS * PROMPT_TOKENS_PER_CONTINUATION },
          ...{ rowsPerPrompt: NUM_ORDERS, steps: 16 },
        },
      ],
      onNote: (note) => progress.update(done, note),
    }, rows);
    using progress = context.progress("measuring", { total: steps.length, unit: "steps" });
    const onStep = (index: number, name: string) => progress.update(done = index, name);
    const ends = await runSurvey(steps, { device, signal: context.signal, isOver, onStep });
    const findings = findingsOf(rows, adapter, { MAX_ROWS, MAX_CONTINUATIONS });
    const numWrong = rows.checks.filter(({ error, allowedError }) => !(error <= allowedError)).length;
    const unmeasured = ends.filter(({ reason }) => reason !== undefined);
    const peak = peakOf(rows.products);
    const notes = [
      ...(scale === "small" ? ["Small sizes show that the survey works, not what to set."] : []),
      `${numWrong} of ${rows.checks.length} checks are wrong.`,
      `The best matrix product makes ${peak.toPrecision(3)} GFLOP/s.`,
      ...rows.training.map((row) => describeTraining(preset, row, peak)),
      `${steps.length - unmeasured.length} of ${steps.length} steps were measured, in ${
        elapsedS().toFixed(0)
      } s.`,
      ...unmeasured.slice(0, MAX_SHOWN).map(({ name, reason }) => `Not measured: ${name}: ${reason}`),
    ];
    const json = {
      ...{ stage: "bench gpu", version: VERSION, ...settings, adapter, seconds: elapsedS(), notes },
      ...{ findings, lines: findings.map(describeFinding), ...rows, steps: ends },
    };
    writeJsonAtomic(join(output.folder, JSON_NAME), json);
    const page = await pageOfSurvey({ adapter, findings, rows, steps: ends, notes });
    writeFileAtomic(join(output.folder, PAGE_NAME), page);
    for (const name of [JSON_NAME, PAGE_NAME]) await output.record(name);
    output.publish();
    const where = `The numbers are in ${join(options.output, PAGE_NAME)}.`;
    return { text: [...json.lines, "", ...notes, where].join("\n"), json, exitCode: numWrong > 0 ? 1 : 0 };
  },
});

function describeTraining(preset: string, row: TrainingRow, peak: number): string {
  const { dtype, tokensPerS, gigaflopsPerS, plannedMemoryBytes, openS, compileS, tuneS, firstStepS } = row;
  const share = peak > 0 ? `, ${(100 * gigaflopsPerS / peak).toFixed(0)} % of the best product's rate` : "";
  const startS = openS + compileS + tuneS + firstStepS;
  return `${preset} in ${dtype}: ${formatCount(Math.round(tokensPerS))} tokens/s${share}, ${
    formatBytes(plannedMemoryBytes)
  } of memory; the first step is done after ${startS.toFixed(1)} s.`;
}
