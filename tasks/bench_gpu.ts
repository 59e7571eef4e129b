/**
 * `bench gpu`: a survey of an adapter that answers which constants to set otherwise on it.
 *
 * @module
 */
import { join } from "@std/path";
import { describeFinding, findingsOf, peakOf } from "../lib/bench/gpu_findings.ts";
import { pageOfSurvey } from "../lib/bench/gpu_page.ts";
import { SURVEY_SCALES, surveySteps } from "../lib/bench/gpu_steps.ts";
import { describeAdapter, runSurvey, SurveyDevice, type SurveyRows } from "../lib/bench/gpu_survey.ts";
import { parseDurationS } from "../lib/cli/duration.ts";
import { configFlags, flag } from "../lib/cli/flags.ts";
import { defineStage, type Stage } from "../lib/cli/stage.ts";
import { writeFileAtomic, writeJsonAtomic } from "../lib/files/atomic.ts";
import { StagedOutput } from "../lib/files/staged_output.ts";
import { MAX_CONTINUATIONS, MAX_ROWS, PROMPT_TOKENS_PER_CONTINUATION } from "../lib/query/decoder_extent.ts";
import { FIRST_BYTES } from "../lib/query/rtt_bytes.ts";
import { loadConfig } from "../lib/train/config.ts";
import { VERSION } from "../lib/version.ts";

const [JSON_NAME, PAGE_NAME] = ["gpu.json", "gpu.html"];
/** What is decoded: after prompts of 20 tokens all first bytes of an RTT; 24 orders of a measurement after 20 others. */
const QUERIES = {
  oneStep: { promptTokens: 20, rowsPerPrompt: FIRST_BYTES.length },
  manySteps: { promptTokens: 24 * PROMPT_TOKENS_PER_CONTINUATION, rowsPerPrompt: 24 },
};

/** The stage `bench gpu`. */
export const gpuBench: Stage = defineStage({
  name: "bench gpu",
  purpose:
    "which constants to set otherwise on this GPU: products, training, decoding and start-up, measured",
  example: "--output runs/gpu",
  flags: {
    output: flag.requiredText(`folder of ${JSON_NAME} and ${PAGE_NAME}`, { placeholder: "DIR" }),
    scale: flag.choice(["auto", "full", "small"], "sizes; auto: full on a GPU, small on a software adapter", {
      default: "auto",
    }),
    config: flag.optionalText("what is trained: a preset or a JSON file (default small-95m, demo if small)", {
      placeholder: "NAME|FILE",
    }),
    set: configFlags.set,
    maxTime: flag.text("leaves out what is not begun after this long, such as 90s or 20m", {
      default: "20m",
    }),
    overwrite: flag.boolean("replace what another survey wrote to the output folder"),
  },
  async run(options, { signal, progress: startProgress, log }) {
    const startMs = performance.now();
    const maxS = parseDurationS(options.maxTime, "max-time");
    const isOver = () => performance.now() - startMs > 1000 * maxS;
    using device = new SurveyDevice();
    const { gpu } = await device.registry();
    const adapter = await describeAdapter(gpu);
    const scaleName = options.scale === "auto" ? adapter.isSoftware ? "small" : "full" : options.scale;
    const preset = options.config ?? (scaleName === "full" ? "small-95m" : "demo");
    const config = loadConfig(preset, options.set);
    const settings = { adapter: adapter.name, scale: scaleName, config: preset, set: options.set, maxS };
    using output = StagedOutput.openFolder(options.output, {
      ...{ stage: "bench gpu", inputs: [], options: settings, overwrite: options.overwrite },
    });
    // Every run measures anew.
    if (output.isComplete) output.begin();
    log(`adapter: ${adapter.name}, scale ${scaleName}, at most ${options.maxTime}`);
    const rows: SurveyRows = {
      ...{ checks: [], submits: [], products: [], kernels: [], training: [], decoding: [] },
    };
    let done = 0;
    const plan = {
      scale: SURVEY_SCALES[scaleName],
      ...{ config, queries: QUERIES, isOver },
      onNote: (note: string) => progress.update(done, note),
    };
    const steps = surveySteps(plan, { device, info: adapter, rows });
    using progress = startProgress("measuring", { total: steps.length, unit: "steps" });
    const onStep = (index: number, name: string) => progress.update(done = index, name);
    const unmeasured = await runSurvey(steps, { device, signal, isOver, onStep });
    const seconds = (performance.now() - startMs) / 1000;
    const query = { maxRows: MAX_ROWS, maxContinuations: MAX_CONTINUATIONS };
    const findings = findingsOf(rows, adapter, query);
    const numWrong = rows.checks.filter(({ isRight }) => !isRight).length;
    const notes = [
      ...(scaleName === "small" ? ["Small sizes show that the survey works, not what to set."] : []),
      `${rows.checks.length - numWrong} of ${rows.checks.length} checks are right; ` +
      `the best matrix product makes ${peakOf(rows.products).toPrecision(3)} GFLOP/s.`,
      `${steps.length - unmeasured.length} of ${steps.length} steps were measured in ${
        seconds.toFixed(0)
      } s.`,
    ];
    const json = {
      ...{ stage: "bench gpu", version: VERSION, ...settings, adapter, seconds, notes },
      ...{ findings: findings.map((finding) => ({ ...finding, line: describeFinding(finding) })) },
      ...{ ...rows, unmeasured },
    };
    writeJsonAtomic(join(output.folder, JSON_NAME), json);
    const page = await pageOfSurvey({ adapter, findings, rows, unmeasured, notes });
    writeFileAtomic(join(output.folder, PAGE_NAME), page);
    for (const name of [JSON_NAME, PAGE_NAME]) await output.record(name);
    output.publish();
    const missing = unmeasured.slice(0, 5).map(({ name, reason }) => `not measured: ${name}: ${reason}`);
    const text = [
      ...findings.map(describeFinding),
      "",
      ...notes,
      ...missing,
      `the numbers are in ${join(options.output, PAGE_NAME)}`,
    ].join("\n");
    return { text, json, exitCode: numWrong > 0 ? 1 : 0 };
  },
});
