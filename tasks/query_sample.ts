/**
 * `query sample`: whole measurements drawn from the model.
 *
 * @module
 */
import { defineStage, serveStage } from "../lib/cli/stage.ts";
import { loadModel } from "../lib/query/files/load_model.ts";
import { sampleContextThatFits, sampleMeasurements } from "../lib/query/likelihood/sample.ts";
import { formatAddress } from "../lib/data/addresses/ip.ts";
import { decodeRttCode } from "../lib/data/tokens/rtt_code.ts";
import type { DecodedMeasurement } from "../lib/data/tokens/vocab_v2.ts";
import { addressOf, contextOf, logContext, openLines, timeOf } from "./query_options.ts";
import { STAGES } from "./stages.ts";

export const sampleStage = defineStage(STAGES.query.kinds.sample, async (options, stage) => {
  const { output, count } = options;
  const source = options.src === undefined ? undefined : addressOf("src", options.src);
  const destination = options.dst === undefined ? undefined : addressOf("dst", options.dst);
  const timeS = timeOf(options.time);
  using lines = openLines("query sample", options, "measurements");
  const context = await contextOf(options.context, stage, timeS);
  const { geo, names } = options;
  using model = await loadModel(options.checkpoint, { geo, names, onLog: stage.log });
  const query = { source, destination, timeS, context };
  logContext(stage, sampleContextThatFits(query, model.config.sequenceLength).length, context);
  using progress = stage.progress("sampling", { total: count, unit: "measurements" });
  let numDrawn = 0;
  for await (const measurement of sampleMeasurements(model, query, options)) {
    stage.signal.throwIfAborted();
    const { src, dst, ...rest } = lineOf(measurement);
    lines.write({ src, dst, ...model.names.namedEnds({ src, dst }), ...rest });
    progress.update(++numDrawn);
  }
  lines.commit();
  return {
    text: output === undefined ? "" : `${numDrawn} measurements in ${output}`,
    json: { stage: "query sample", output, numMeasurements: numDrawn, step: model.step },
  };
});

/** `rttMs` is null without a reply; `order` is the order in which the fields were drawn. */
function lineOf({ source, destination, timeS, rttCode, order }: DecodedMeasurement) {
  const rttMs = rttCode === null ? null : decodeRttCode(rttCode);
  return { src: formatAddress(source), dst: formatAddress(destination), timeS, rttMs, order: order.join() };
}

if (import.meta.main) serveStage(sampleStage);
