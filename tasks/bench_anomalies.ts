/**
 * `bench anomalies`: how well `score` distinguishes anomalies from unchanged measurements.
 *
 * @module
 */
import { defineStage, serveStage, type Stage } from "../lib/cli/stage.ts";
import { formatTable } from "../lib/base/text.ts";
import { listInputs } from "../lib/io/files/inputs.ts";
import { loadModel } from "../lib/query/files/load_model.ts";
import { studyAnomalies } from "../lib/query/files/anomalies.ts";
import { STAGES } from "./stages.ts";

/** The stage `bench anomalies`. */
export const anomaliesBench: Stage = defineStage(STAGES.bench.kinds.anomalies, async (options, stage) => {
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
});

if (import.meta.main) serveStage(anomaliesBench);
