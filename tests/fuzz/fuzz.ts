/**
 * `deno task fuzz`: the long fault tests, which `deno task test` runs a small part of (fuzz_test.ts). Damaged
 * files of every format go through the real readers under bounds on time and memory; every stage is killed at
 * random moments and run again.
 *
 * @module
 */
import { AssertionError } from "@std/assert";
import { flag } from "../../lib/cli/flags.ts";
import { defineStage, runStage, type StageContext } from "../../lib/cli/stage.ts";
import { UsageError, UserError } from "../../lib/errors.ts";
import { FORMATS } from "./formats.ts";
import { KILLED_STAGES, type KilledStage, killStage, type KillSummary, prepareKills } from "./kills.ts";
import { BOUNDS, fuzzFormat, type Summary } from "./supervise.ts";

const PARTS: readonly string[] = [...FORMATS, ...KILLED_STAGES];

/** The long fault tests as a command. */
const fuzzStage = defineStage({
  name: "fuzz",
  purpose: "reads damaged files and kills stages, many times; fails at what is neither refused nor counted",
  example: "parquet train --files 100 --kills 5 --seed 1",
  positionals: { placeholder: `[${PARTS.join("|")}…]`, min: 0 },
  flags: {
    files: flag.integer("damaged files of each format", { default: 1000, min: 1 }),
    from: flag.integer("number of the first damaged file, to see one again", { default: 0, min: 0 }),
    kills: flag.integer("times each stage is killed", { default: 20, min: 1 }),
    verbose: flag.boolean("list the error messages of each format"),
  },
  async run(options, context, positionals) {
    const unknown = positionals.find((part) => !PARTS.includes(part));
    if (unknown) throw new UsageError(`Cannot fuzz ${unknown}: known are ${PARTS.join(", ")}`);
    const isAsked = (part: string) => positionals.length === 0 || positionals.includes(part);
    const folder = Deno.makeTempDirSync({ prefix: "ping-llm-fuzz-" });
    const json: Record<string, unknown> = { stage: "fuzz", seed: options.seed };
    let [numFaults, numFailedStages] = [0, 0];
    try {
      for (const format of FORMATS.filter(isAsked)) {
        const { files: count, seed, from } = options;
        using progress = context.progress(`damaging ${format}`, { total: count, unit: "files" });
        const onCase = (done: number) => progress.update(done);
        const summary = await fuzzFormat(format, { seed, from, count, folder, onCase });
        context.log(describe(summary, options.verbose));
        numFaults += summary.faults.length;
        json[format] = { ...summary.counts, peakBytes: summary.peakBytes };
      }
      const stages = KILLED_STAGES.filter(isAsked);
      if (stages.length > 0) await prepareKills(folder);
      for (const stage of stages) {
        try {
          json[stage] = await killMany(stage, folder, options, context);
        } catch (error) {
          if (!(error instanceof AssertionError)) throw error;
          context.log(`${stage}: ${error.message}`);
          numFailedStages++;
        }
      }
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
    if (numFaults + numFailedStages > 0) {
      throw new UserError(
        `Cannot pass: ${numFaults} damaged files were neither refused nor counted, ` +
          `${numFailedStages} stages failed after kill -9; see above`,
      );
    }
    return { text: "no fault was found", json };
  },
});

/** Kills a stage many times, and says how that went. */
async function killMany(
  stage: KilledStage,
  folder: string,
  { kills: count, seed }: { kills: number; seed: number },
  context: StageContext,
): Promise<KillSummary> {
  using progress = context.progress(`killing ${stage}`, { total: count, unit: "kills" });
  const killed = await killStage(stage, { folder, count, seed, onTrial: (done) => progress.update(done) });
  const { numKilled, numKills, seconds } = killed;
  context.log(
    `${stage}: killed in ${numKilled} trials, ${numKills} times in all, within ` +
      `${seconds.toFixed(1)} s; every rerun ended with the same files`,
  );
  return killed;
}

function describe(
  { format, numCases, counts, faults, messages, peakBytes }: Summary,
  isVerbose: boolean,
): string {
  const lines = [
    `${format}: ${numCases} damaged files: ${counts.error} refused, ${counts.rejected} with rejects counted, ` +
    `${counts.read} read (the damage is not to be seen), ${counts.fault} faults; at most ` +
    `${(peakBytes / 1e6).toFixed(0)} MB resident (bound ${BOUNDS.memoryBytes / 1e6})`,
    ...faults.map(({ index, mutation, message }) => `  fault in case ${index} (${mutation}): ${message}`),
  ];
  if (isVerbose) {
    const sorted = [...messages].sort(([, a], [, b]) => b - a);
    lines.push(...sorted.map(([message, count]) => `  ${count} x ${message}`));
  }
  return lines.join("\n");
}

if (import.meta.main) await runStage(fuzzStage, Deno.args);
