/**
 * `query advise`: which measurements would make a model surest of others.
 *
 * @module
 */
import { UserError } from "../lib/base/errors.ts";
import { formatMs, formatTable } from "../lib/base/text.ts";
import { defineStage, serveStage } from "../lib/cli/stage.ts";
import { withName } from "../lib/data/addresses/ip_prefix.ts";
import { loadModel } from "../lib/query/files/load_model.ts";
import { readLines } from "../lib/query/files/read_lines.ts";
import { adviseOn } from "../lib/query/nearest/advise.ts";
import { type FileQuery, readQueries } from "../lib/query/rtt/query_file.ts";
import { contextOf, JsonLinesOutput, readBy, requireEnd, timeOf } from "./query_options.ts";
import { STAGES } from "./stages.ts";

export const adviseStage = defineStage(STAGES.query.kinds.advise, async (options, stage) => {
  const { src, candidates, targets, time, output, budget, maxPairs, draws: numDraws, seed } = options;
  if (src !== undefined) requireEnd("src", src);
  const timeS = timeOf(time);
  const context = await contextOf(options.context, stage, timeS);
  const { geo, names } = options;
  using model = await loadModel(options.checkpoint, { geo, names, onLog: stage.log });
  const pairsIn = async (path: string) => {
    const shared = src === undefined ? undefined : { src, time };
    const pairs: FileQuery[] = [];
    for await (const line of readQueries(readLines(path), path, shared, model.places)) {
      if ("error" in line) throw new UserError(`Cannot read ${path}: line ${line.line}: ${line.error}`);
      if (pairs.push(line) <= maxPairs) continue;
      throw new UserError(
        `Cannot use ${path}: found more than ${maxPairs} pairs; leave some out, or raise --max-pairs`,
      );
    }
    if (pairs.length > 0) return pairs;
    throw new UserError(`Cannot read ${path}: found no pairs, expected one a line`);
  };
  const pairs = {
    candidates: await pairsIn(candidates),
    targets: targets === undefined ? undefined : await pairsIn(targets),
  };
  using progress = stage.progress("asking the model", { unit: "pairs" });
  const onDraws = () => stage.signal.throwIfAborted();
  const onProgress = (done: number) => {
    onDraws();
    progress.update(done);
  };
  const asked = { budget, context, numDraws, seed, onDraws, onProgress };
  const advice = (await adviseOn(model, pairs, asked)).map((each) => (
    { ...each, ...model.names.namedEnds(each) }
  ));
  progress.finish();
  if (output !== undefined) {
    const input = [candidates, ...targets === undefined ? [] : [targets]];
    using lines = new JsonLinesOutput(output, {
      stage: "query advise",
      inputs: readBy({ ...options, input }),
    });
    for (const each of advice) lines.write(each);
    lines.commit();
  }
  const rows = advice.map((
    { src, srcName, dst, dstName, medianMs, reductionMs, spreadBeforeMs, spreadAfterMs },
  ) => [
    withName(src, srcName),
    withName(dst, dstName),
    `${formatMs(medianMs)} ms`,
    `${formatMs(reductionMs)} ms`,
    `${formatMs(spreadBeforeMs)} -> ${formatMs(spreadAfterMs)} ms`,
  ]);
  return {
    text: formatTable([["src", "dst", "median", "reduction", "spread"], ...rows], { left: [0, 1] }),
    json: { stage: "query advise", advice, timeS, output, step: model.step },
  };
});

if (import.meta.main) serveStage(adviseStage);
