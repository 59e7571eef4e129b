/**
 * `query sample`: whole measurements drawn from the model.
 *
 * @module
 */
import { defineStage, serveStage } from "../lib/cli/stage.ts";
import { type Sample, sampleContextThatFits, sampleMeasurements } from "../lib/query/likelihood/sample.ts";
import { formatAddress } from "../lib/data/addresses/ip.ts";
import { decodeRttCode } from "../lib/data/tokens/rtt_code.ts";
import { askedModel, contextOf, endsOf, logContext, openLines, requireEnd, timeOf } from "./query_options.ts";
import { STAGES } from "./stages.ts";

export const sampleStage = defineStage(STAGES.query.kinds.sample, async (options, stage) => {
  const { output, count } = options;
  const { src, dst } = options;
  if (src !== undefined) requireEnd("src", src);
  if (dst !== undefined) requireEnd("dst", dst);
  const timeS = timeOf(options.time);
  using lines = openLines("query sample", options, "measurements");
  const context = await contextOf(options.context, stage, timeS);
  using model = await askedModel(options, stage);
  const known = src ?? dst;
  const ends = known === undefined ? undefined : endsOf({ src: src ?? known, dst: dst ?? known }, model);
  const source = src === undefined ? undefined : ends?.source;
  const destination = dst === undefined ? undefined : ends?.destination;
  for (const note of new Set(ends?.notes)) stage.log(note);
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
function lineOf({ source, destination, timeS, rttCode, order }: Sample) {
  const rttMs = rttCode === null ? null : decodeRttCode(rttCode);
  return { src: formatAddress(source), dst: formatAddress(destination), timeS, rttMs, order: order.join() };
}

if (import.meta.main) serveStage(sampleStage);
