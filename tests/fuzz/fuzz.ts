/**
 * `deno task fuzz`: the long fault tests, a small part of which runs in `deno task test:long`
 * (fuzz_long_test.ts). Damaged files of every format are read under limits on time and memory, checkpoints
 * with forged numbers are asked, every stage is interrupted at random moments and run again, two processes
 * write one output, copies are damaged, and options get senseless numbers.
 *
 * @module
 */
import { AssertionError } from "@std/assert";
import { command } from "../../lib/cli/command.ts";
import { option } from "../../lib/cli/options.ts";
import { defineStage, runStage, type StageContext } from "../../lib/cli/stage.ts";
import { UsageError, UserError } from "../../lib/base/errors.ts";
import {
  canEqualProcessNumbers,
  interruptStage,
  prepareTrials,
  readBrokenCopies,
  runTwoAtOnce,
  TRIAL_STAGES,
  tryHostileOptions,
} from "./trials.ts";
import { FORMATS } from "./formats.ts";
import { BOUNDS, fuzzFormat, type Summary } from "./supervise.ts";

/** Each case takes a second; 500 cases change all tensors to all values. */
const FORGED = "forged-checkpoints";
/** Trials other than damaged files. One stage can be selected, as in `two-at-once/shard`. */
const KINDS = [FORGED, "interruptions", "two-at-once", "broken-copies", "hostile-options"] as const;
const ofStages = (kind: string) => TRIAL_STAGES.map((stage) => `${kind}/${stage}`);
const PARTS: readonly string[] = [
  ...FORMATS.map((format) => `damaged/${format}`),
  FORGED,
  ...ofStages("interruptions"),
  ...ofStages("two-at-once"),
  "broken-copies",
  "hostile-options",
];

const fuzzStage = defineStage(
  command({
    name: "fuzz",
    summary:
      "damages files, interrupts stages, breaks copies, many times; fails at what is neither refused nor counted",
    example: "damaged/parquet two-at-once --files 100 --trials 5 --seed 1",
    positionals: { value: `[damaged|${KINDS.join("|")}…][/FORMAT|/STAGE]`, min: 0 },
    options: {
      files: option.integer("damaged files of each format, and forged checkpoints", { default: 300, min: 1 }),
      from: option.integer("number of the first damaged file, to see one again", { default: 0, min: 0 }),
      trials: option.integer("trials of each stage and kind; six times as many of hostile options", {
        default: 25,
        min: 1,
      }),
      verbose: option.switch("list the error messages of each format"),
    },
  }),
  async (options, context, positionals) => {
    const parts = PARTS.filter((part) =>
      positionals.length === 0 || positionals.some((asked) => part === asked || part.startsWith(`${asked}/`))
    );
    const unknown = positionals.find((asked) => !PARTS.some((part) => `${part}/`.startsWith(`${asked}/`)));
    if (unknown) throw new UsageError(`Cannot fuzz ${unknown}: known are ${PARTS.join(", ")}`);
    const folder = Deno.makeTempDirSync({ prefix: "ping-llm-fuzz-" });
    const json: Record<string, unknown> = { stage: "fuzz", seed: options.seed };
    const failed: string[] = [];
    try {
      if (parts.some((part) => part !== FORGED && !part.startsWith("damaged/"))) await prepareTrials(folder);
      for (const part of parts) {
        try {
          json[part] = await runPart(part, { ...options, folder }, context);
        } catch (error) {
          if (!(error instanceof AssertionError)) throw error;
          context.log(`${part}: ${error.message}`);
          failed.push(part);
        }
      }
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
    if (failed.length > 0) {
      throw new UserError(`Cannot pass ${failed.join(", ")} with --seed ${options.seed}: see above`);
    }
    return { text: `no fault was found with --seed ${options.seed}`, json };
  },
);

interface PartOptions {
  folder: string;
  files: number;
  from: number;
  trials: number;
  seed: number;
  verbose: boolean;
}

async function runPart(part: string, options: PartOptions, context: StageContext): Promise<unknown> {
  const [kind, name] = part.split("/");
  const { folder, seed, trials } = options;
  const isHostile = kind === "hostile-options";
  const isOfFiles = kind === "damaged" || kind === FORGED;
  const count = isOfFiles ? options.files : isHostile ? 6 * trials : trials;
  using progress = context.progress(part, { total: count, unit: isOfFiles ? "files" : "trials" });
  const common = { folder, seed, count, onTrial: (done: number) => progress.update(done) };
  if (isOfFiles) return await damageFiles(name ?? "checkpoint", options, context, common.onTrial);
  const stage = TRIAL_STAGES.find((each) => each === name);
  const summary = stage === undefined
    ? await (isHostile ? tryHostileOptions(common) : readBrokenCopies(common))
    : kind === "interruptions"
    ? await interruptStage(stage, common)
    : await runTwoAtOnce(stage, { ...common, equalNumbers: await canEqualProcessNumbers() });
  context.log(`${part}: ${JSON.stringify(summary)}`);
  return summary;
}

async function damageFiles(
  name: string,
  { files: count, seed, from, folder, verbose }: PartOptions,
  context: StageContext,
  onCase: (done: number) => void,
): Promise<unknown> {
  const format = FORMATS.find((each) => each === name) ?? "checkpoint";
  const summary = await fuzzFormat(format, { seed, from, count, folder, onCase });
  context.log(describe(summary, verbose));
  if (summary.faults.length > 0) throw new AssertionError(`${summary.faults.length} faults`);
  return { ...summary.counts, peakBytes: summary.peakBytes };
}

function describe(
  { format, numCases, counts, faults, messages, peakBytes }: Summary,
  isVerbose: boolean,
): string {
  const ended = format === "checkpoint"
    ? `${numCases} forgeries: ${counts.error} refused, ${counts.read} with possible answers`
    : `${numCases} damaged files: ${counts.error} refused, ${counts.rejected} with rejects counted, ` +
      `${counts.read} read (the damage is not to be seen)`;
  const lines = [
    `${format}: ${ended}, ${counts.fault} faults; at most ${
      (peakBytes / 1e6).toFixed(0)
    } MB resident (bound ${BOUNDS.memoryBytes / 1e6})`,
    ...faults.map(({ index, mutation, message }) => `  fault in case ${index} (${mutation}): ${message}`),
  ];
  if (isVerbose) {
    const sorted = [...messages].sort(([, a], [, b]) => b - a);
    lines.push(...sorted.map(([message, count]) => `  ${count} x ${message}`));
  }
  return lines.join("\n");
}

if (import.meta.main) await runStage(fuzzStage, Deno.args);
