/** `pretokenize`: writes token sequences as Parquet, for other trainers. @module */
import { PhaseProgress } from "../lib/cli/progress.ts";
import { formatBytes, formatCount } from "../lib/base/text.ts";
import { describeRejected, totalOf } from "../lib/data/measurement_files/rejects.ts";
import { defineStage, serveStage, snakeKeys } from "../lib/cli/stage.ts";
import { UsageError } from "../lib/base/errors.ts";
import { infoOf } from "../lib/io/files/inputs.ts";
import {
  pretokenize,
  type PretokenizeSummary,
  type V1Options,
  type V2Options,
} from "../lib/data/loader/pretokenize/pretokenize.ts";
import { checkInputs, madeText } from "./stage_files.ts";
import { pretokenizeCommand } from "./pretokenize.command.ts";

export const pretokenizeStage = defineStage(pretokenizeCommand, async (options, context) => {
  const { vocab, rttEncoding, rttClipMs, rttClipQuantile } = options;
  if (vocab === "v2" && rttEncoding !== "float64") {
    throw new UsageError(
      `Cannot use --rtt-encoding ${rttEncoding} with vocabulary v2: it has only one encoding; leave it ` +
        "out, or add --vocab v1",
    );
  }
  checkKind(options.input, vocab);
  const checked = await checkInputs(options.input, options, context);
  const common = { ...options, inputs: options.input, checked };
  const rttClip = rttClipMs === undefined ? { quantile: rttClipQuantile } : { ms: rttClipMs };
  const work: V1Options | V2Options = vocab === "v1"
    ? { ...common, vocabulary: "v1", rttClip }
    : { ...common, vocabulary: "v2" };
  using progress = new PhaseProgress(context, "rows");
  const result = await pretokenize(work, { signal: context.signal, onProgress: progress.update });
  return {
    text: describe(options.output, result),
    json: { stage: "pretokenize", output: options.output, vocab, ...snakeKeys(result) },
  };
});

/** Rejects files for the other vocabulary, with advice. */
function checkKind(inputs: readonly string[], vocab: "v1" | "v2"): void {
  const named = (extension: string) =>
    inputs.find((path) => path.endsWith(extension) && !infoOf(path)?.isDirectory);
  const parquet = named(".parquet");
  const records = named(".arrayrecord");
  if (vocab === "v2" && parquet !== undefined) {
    throw new UsageError(
      `Cannot use --input ${parquet} with vocabulary v2: expected probe rows; ` +
        `make them with probe-rows, or add --vocab v1`,
    );
  }
  if (vocab === "v1" && records !== undefined) {
    throw new UsageError(
      `Cannot use --input ${records} with vocabulary v1: expected measurements Parquet, probe rows ` +
        "have no msm_id; give the Parquet from which they were made, or add --vocab v2",
    );
  }
}

function describe(output: string, result: PretokenizeSummary): string {
  const { splits, inputRows, seconds, peakMemoryBytes, rejected, wasComplete } = result;
  const lines = Object.entries(splits).map(([split, { sequences, tokens, files, bytes }]) =>
    `${split.padEnd(6)}${formatCount(sequences)} sequences, ${formatCount(tokens)} tokens in ${files} ` +
    `files, ${formatBytes(bytes)}`
  );
  return [
    madeText(output, { isDone: wasComplete, seconds }),
    ...lines,
    ...(totalOf(rejected) > 0 ? [describeRejected(rejected)] : []),
    `${formatCount(inputRows)} rows read, peak memory ${formatBytes(peakMemoryBytes)}`,
  ].join("\n");
}

if (import.meta.main) serveStage(pretokenizeStage);
