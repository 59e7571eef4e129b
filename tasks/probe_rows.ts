/**
 * `probe-rows`: measurements Parquet to ArrayRecord files of probe rows.
 *
 * @module
 */
import { PhaseProgress } from "../lib/cli/progress.ts";
import { formatCount } from "../lib/base/text.ts";
import { defineStage, serveStage, type Stage } from "../lib/cli/stage.ts";
import { neededParts } from "../lib/data/probe_rows/shard_layout.ts";
import { buildProbeRows } from "../lib/data/probe_rows/probe_rows.ts";
import { listSplitInputs, parseRatios } from "../lib/data/probe_rows/splits.ts";
import { checkInputs } from "./input_check.ts";
import { limitsOf, splitStageResult } from "./split_stage.ts";
import { STAGES } from "./stages.ts";

/** Val and test are an eighth of train by default, so they get an eighth of its files. */
const HELD_OUT_SHARE = 1 / 8;

export const probeRowsStage: Stage = defineStage(STAGES["probe-rows"], async (options, context) => {
  const plan = { mode: options.splitBy, ratios: parseRatios(options.ratios), seed: options.seed };
  const numHeldOut = Math.max(1, Math.ceil(options.shards * HELD_OUT_SHARE));
  const numShards = [options.shards, numHeldOut, numHeldOut] as const;
  const limits = limitsOf(options, options.maxRowSizeMb * 1e6);
  const { isRead, manifests } = neededParts(options.input, { ...options, ...limits, numShards }) ?? {};
  await checkInputs(options.input, { verify: options.verify, isRead }, context);
  const { files, splitOfFile } = listSplitInputs(options.input, undefined, isRead);
  using progress = new PhaseProgress(context, "rows");
  const result = await buildProbeRows({
    ...options,
    ...limits,
    inputs: files,
    inputManifests: manifests,
    splits: splitOfFile ? { splitOfFile } : { plan },
    numShards,
    maxRowSizeBytes: Math.floor(options.maxRowSizeMb * 1e6),
  }, { signal: context.signal, onProgress: progress.update });
  return splitStageResult("probe-rows", options, result, ({ records, measurements, sources }) => {
    const what = `${formatCount(measurements)} measurements of ${formatCount(sources)} sources`;
    return `${what} in ${formatCount(records)} records`;
  });
});

if (import.meta.main) serveStage(probeRowsStage);
