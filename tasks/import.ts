/**
 * `import`: RIPE Atlas ping results (JSON) to a measurements Parquet file.
 *
 * @module
 */
import { dataFlags, flag } from "../lib/cli/flags.ts";
import { formatSeconds } from "../lib/cli/progress.ts";
import { defineStage, serveStage, type Stage, type StageResult } from "../lib/cli/stage.ts";
import { fingerprint, listInputs, type OnLink } from "../lib/files/inputs.ts";
import { ATLAS_EXTENSIONS, importAtlas, inputFingerprint } from "../lib/measurement/atlas_import.ts";
import { RTT_CHOICES, SOURCE_CHOICES } from "../lib/measurement/atlas_result.ts";
import { STANDARD_INPUT } from "../lib/measurement/decompress.ts";
import { rejectsPathBeside } from "../lib/measurement/rejects.ts";
import { type FileRun, makeOutputFile, outputPaths } from "./one_file_stage.ts";

/** The stage `import`. */
export const importStage: Stage = defineStage({
  name: "import",
  purpose: "reads RIPE Atlas ping results (JSON, also .gz .bz2 .zst) and writes a measurements Parquet file.",
  example: "--input results/ --output pings.parquet",
  flags: {
    input: flag.texts("files, directories, globs, or - for standard input", {
      placeholder: "P",
      required: true,
    }),
    output: flag.requiredText("the Parquet file to write; an import that was stopped begins anew", {
      placeholder: "F.parquet",
    }),
    source: flag.choice(SOURCE_CHOICES, "source address: auto is `from` where it is public, else src_addr", {
      default: "auto",
    }),
    rtt: flag.choice(RTT_CHOICES, "RTT of the replies to one result; each makes a row of every packet", {
      default: "mean",
    }),
    maxRejectRatio: flag.number("largest share of the results that may be rejected", {
      default: 0.05,
      min: 0,
      max: 1,
    }),
    overwrite: flag.boolean("replace an output file that this stage wrote with other inputs or options"),
    ...dataFlags,
  },
  async run(options, context): Promise<StageResult> {
    const paths = listAtlasInputs(options.input, context.log);
    const { source, rtt, maxRejectRatio, output, overwrite } = options;
    const inputs = paths.map((path) => inputFingerprint(path, fingerprint));
    const besides = (path: string) => [rejectsPathBeside(path)];
    const start = { stage: "import", inputs, options: { source, rtt, maxRejectRatio }, overwrite, besides };
    const run = await makeOutputFile(output, start, async ({ path }) => {
      const totalBytes = inputs.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
      using progress = context.progress("importing", { total: totalBytes, unit: "B" });
      const { rejected, ...counts } = await importAtlas(paths, path, {
        source,
        rtt,
        maxRejectRatio,
        memoryLimitBytes: options.memoryLimitGb * 1e9,
        rejectsPath: rejectsPathBeside(path),
        signal: context.signal,
        onProgress: ({ bytes, rows }) => progress.update(bytes, `${rows} rows`),
      });
      return { counts: { ...counts }, rows: counts.rows, rejected };
    });
    return describe(output, run);
  },
});

function listAtlasInputs(inputs: readonly string[], onLink: OnLink): string[] {
  const files = inputs.filter((input) => input !== STANDARD_INPUT);
  const listed = files.length === 0
    ? []
    : listInputs(files, { extensions: ATLAS_EXTENSIONS, wanted: "a file of RIPE Atlas results", onLink });
  return files.length < inputs.length ? [STANDARD_INPUT, ...listed] : listed;
}

function describe(output: string, { manifest, seconds, isDone }: FileRun): StageResult {
  const { rejected } = manifest;
  const { skippedByType, firstTimeS, lastTimeS, ...counts } = manifest.counts as unknown as Counts;
  const skipped = sum(skippedByType);
  const toIso = (timeS: number | undefined) =>
    timeS === undefined ? undefined : new Date(timeS * 1000).toISOString();
  const json = {
    stage: "import",
    ...counts,
    skipped,
    skippedByType,
    rejected,
    firstTime: toIso(firstTimeS),
    lastTime: toIso(lastTimeS),
    seconds,
    doneAlready: isDone,
    outputs: outputPaths(output, manifest),
  };
  const failedPercent = counts.rows > 0 ? (100 * counts.failed / counts.rows).toFixed(2) : "0";
  const reasons = Object.entries(rejected).map(([reason, count]) => `, ${reason} ${count}`).join("");
  const text = [
    isDone
      ? `${output} is there already, made of the same inputs with the same options:`
      : `Wrote ${output}:`,
    `  ${counts.rows} rows, ${failedPercent} % without reply, ${counts.sources} sources, ${counts.destinations} destinations`,
    `  ${counts.duplicates} duplicates and ${skipped} other results left out, ${
      sum(rejected)
    } rejected${reasons}`,
    ...(json.firstTime ? [`  ${json.firstTime} to ${json.lastTime}`] : []),
    ...(isDone ? [] : [`  in ${formatSeconds(seconds)}`]),
  ].join("\n");
  return { text, json };
}

interface Counts {
  rows: number;
  failed: number;
  duplicates: number;
  skippedByType: Record<string, number>;
  sources: number;
  destinations: number;
  firstTimeS?: number;
  lastTimeS?: number;
}

function sum(counts: Record<string, number>): number {
  return Object.values(counts).reduce((total, count) => total + count, 0);
}

if (import.meta.main) serveStage(importStage);
