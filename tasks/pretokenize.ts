/**
 * `pretokenize`: token sequences as Parquet, for other trainers.
 *
 * @module
 */
import { dataFlags, flag } from "../lib/cli/flags.ts";
import { PhaseProgress } from "../lib/cli/progress.ts";
import { formatBytes, formatCount, formatSeconds } from "../lib/base/text.ts";
import { defineStage, serveStage, type Stage } from "../lib/cli/stage.ts";
import { UsageError } from "../lib/base/errors.ts";
import { exists } from "../lib/io/files/inputs.ts";
import { MAX_MEASUREMENT_TOKENS } from "../lib/data/tokens/contexts.ts";
import {
  pretokenize,
  type PretokenizeSummary,
  type V1Options,
  type V2Options,
} from "../lib/data/loader/pretokenize/pretokenize.ts";
import { RTT_ENCODING_NAMES, type RttEncodingName } from "../lib/data/tokens/vocab_v1.ts";
import { checkInputs, verifyFlag } from "./input_check.ts";

const flags = {
  input: flag.texts(
    "probe rows for v2, measurements Parquet for v1: files, globs or folders; train, val, test are kept",
    { placeholder: "P", required: true },
  ),
  output: flag.requiredText("folder to write", { placeholder: "DIR" }),
  vocab: flag.choice(["v1", "v2"], "v1: a sequence is a measurement; v2: a context of probe rows", {
    default: "v2",
  }),
  sequenceLength: flag.integer("v2: T, inputs of a sequence; a context has up to T + 1 tokens", {
    default: 1024,
    min: MAX_MEASUREMENT_TOKENS,
    max: 0xffff,
  }),
  epoch: flag.integer("v2: epoch of the loader's contexts", { default: 0, min: 0, max: 2 ** 32 - 1 }),
  onCorrupt: flag.choice(["error", "skip"], "v2: effect of a damaged chunk of probe rows", {
    default: "error",
  }),
  rttEncoding: flag.choice<RttEncodingName>(RTT_ENCODING_NAMES, "v1: encoding of RTTs", {
    default: "float64",
  }),
  rttClipQuantile: flag.number("v1, clipped: the quantile of the input's RTTs to clip at", {
    default: 0.99,
    min: 0,
    max: 1,
  }),
  rttClipMs: flag.optionalNumber("v1, clipped: the RTT to clip at in ms, instead of a quantile", {
    min: 0.001,
    max: 1e9,
  }),
  maxRejectRatio: flag.number("v1: fail when a larger share of the rows is rejected", {
    default: 0.05,
    min: 0,
    max: 1,
  }),
  sequencesPerFile: flag.integer("sequences of an output file; a rerun keeps finished files", {
    default: 200_000,
    min: 1,
  }),
  verify: verifyFlag,
  overwrite: flag.boolean("replace what this stage wrote to the output folder with other inputs or options"),
  // A row group of tokens, a batch of rows and addresses: 0.36 GB with 100 M rows, so even the smallest limit is kept.
  memoryLimitGb: flag.number(`${dataFlags.memoryLimitGb.description}; some 0.4 are used for any input`, {
    default: 2,
    min: 0.5,
  }),
};

/** The stage. */
export const pretokenizeStage: Stage = defineStage({
  name: "pretokenize",
  purpose: "write token sequences as Parquet (tokens list<uint16>, length), for other trainers",
  example: "--input data/rows --output data/tokens --vocab v2",
  flags,
  async run(options, context) {
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
      json: { stage: "pretokenize", output: options.output, vocab, ...result },
    };
  },
});

/** Refuses files of the other vocabulary's kind, with advice. */
function checkKind(inputs: readonly string[], vocab: "v1" | "v2"): void {
  const named = (extension: string) =>
    inputs.find((path) => path.endsWith(extension) && !(exists(path) && Deno.statSync(path).isDirectory));
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
  const reasons = Object.entries(rejected).map(([reason, count]) => `${reason} ${count}`).join(", ");
  return [
    wasComplete ? `${output} is already complete` : `wrote ${output}`,
    ...lines,
    ...(reasons ? [`rejected: ${reasons}`] : []),
    `${formatCount(inputRows)} rows read in ${formatSeconds(seconds)}, peak memory ` +
    `${formatBytes(peakMemoryBytes)}`,
  ].join("\n");
}

if (import.meta.main) serveStage(pretokenizeStage);
