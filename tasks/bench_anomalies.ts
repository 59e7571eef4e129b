/**
 * `bench anomalies`: how well `score` distinguishes anomalies from unchanged measurements.
 *
 * @module
 */
import { flag } from "../lib/cli/flags.ts";
import { defineStage, type Stage } from "../lib/cli/stage.ts";
import { formatTable } from "../lib/base/text.ts";
import { listInputs } from "../lib/io/files/inputs.ts";
import { loadModel } from "../lib/query/files/load_model.ts";
import { studyAnomalies } from "../lib/query/files/anomalies.ts";

/** The stage `bench anomalies`. */
export const anomaliesBench: Stage = defineStage({
  name: "bench anomalies",
  purpose:
    "the ROC-AUC of score on made-up route changes, halved RTTs and spoofed sources, beside a running median",
  example: "--checkpoint runs/first --input data/synth.parquet",
  flags: {
    checkpoint: flag.requiredText("a run directory or one of its checkpoints", { placeholder: "DIR" }),
    input: flag.texts("measurements Parquet, held in memory", { placeholder: "P", required: true }),
    count: flag.integer("measurements to copy; the copies become anomalies", {
      default: 500,
      min: 1,
      max: 100_000,
    }),
    heldOutShare: flag.number("share of the rows, the newest ones, from which these are drawn", {
      default: 0.1,
      min: 0,
      max: 1,
    }),
    context: flag.integer("largest number of earlier measurements in the context of each", {
      default: 20,
      min: 0,
      max: 1000,
    }),
  },
  async run(options, stage) {
    const { count, heldOutShare, context: maxContext, seed } = options;
    const paths = listInputs(options.input, {
      extensions: [".parquet"],
      wanted: "a measurements Parquet file",
    });
    using model = await loadModel(options.checkpoint);
    using progress = stage.progress("scoring", { unit: "measurements" });
    const kinds = await studyAnomalies(model, paths, {
      count,
      heldOutShare,
      maxContext,
      seed,
      signal: stage.signal,
      onProgress: (done) => progress.update(done),
    });
    const head = ["anomaly", "copies", "p_value", "log_likelihood", "running median"];
    const lines = kinds.map(({ kind, numCopies, pValue, logLikelihood, medianDeviation }) => [
      kind,
      String(numCopies),
      pValue.toFixed(3),
      logLikelihood.toFixed(3),
      medianDeviation.toFixed(3),
    ]);
    return {
      text: `ROC-AUC:\n${formatTable([head, ...lines], { left: [0] })}`,
      json: { stage: "bench anomalies", step: model.step, count, heldOutShare, maxContext, kinds },
    };
  },
});
