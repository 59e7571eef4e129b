/**
 * `query nearest`: the nearest of some candidates to a source. `query advise`: which measurements would make a model
 * surest of others.
 *
 * @module
 */
import { withName } from "../lib/data/addresses/ip_prefix.ts";
import { UserError } from "../lib/base/errors.ts";
import { formatMs, formatTable } from "../lib/base/text.ts";
import { defineStage, serveStage } from "../lib/cli/stage.ts";
import { readLines } from "../lib/query/files/read_lines.ts";
import { type Nearest, nearestOf } from "../lib/query/nearest/nearest.ts";
import { type FileQuery, readQueries } from "../lib/query/rtt/query_file.ts";
import { askedModel, contextOf, endsOf, percent, requireEnd, timeOf, writeLines } from "./query_options.ts";
import { openOwn } from "./own_outputs.ts";
import { STAGES } from "./stages.ts";
import { loadModel } from "../lib/query/files/load_model.ts";
import { adviseOn } from "../lib/query/nearest/advise.ts";

export const nearestStage = defineStage(STAGES.query.kinds.nearest, async (options, stage) => {
  const { src, candidates: path, time, output, by, top, maxCandidates, draws: numDraws, seed } = options;
  requireEnd("src", src);
  const timeS = timeOf(time);
  using file = openOwn("query nearest --output", output, options.overwrite);
  const context = await contextOf(options, stage, timeS);
  using model = await askedModel(options, stage);
  using progress = stage.progress("comparing", { unit: "candidates" });
  const onDraws = () => stage.signal.throwIfAborted();
  const onProgress = (done: number) => {
    stage.signal.throwIfAborted();
    progress.update(done);
  };
  for (const note of endsOf({ src, dst: src }, model).notes.slice(0, 1)) stage.log(note);
  const queries = readQueries(readLines(path, stage.signal), path, { src, time }, model.places);
  const asked = {
    context,
    numDraws,
    seed,
    by,
    top,
    maxCandidates,
    counted: "line",
    onDraws,
    onProgress,
  } as const;
  const answer = await nearestOf(model, queries, asked).catch((error) => {
    if (!(error instanceof UserError) || error.message.includes(path)) throw error;
    throw new UserError(`Cannot compare the candidates of ${path}: ${error.message}`);
  });
  progress.finish();
  writeLines(file, answer.nearest);
  return {
    text: describe(answer),
    json: {
      stage: "query nearest",
      src,
      ...model.names.namedEnds({ src }),
      timeS,
      by,
      ...answer,
      output,
      step: model.step,
    },
  };
});

function describe({ nearest, candidates, pNoReply, minMs }: Nearest): string {
  const rows = nearest.map(({ candidate, name, medianMs, pFailed, pNearest, regretMs, basis }) => [
    withName(candidate, name),
    `${formatMs(medianMs)} ms`,
    percent(pNearest),
    `${formatMs(regretMs)} ms`,
    percent(pFailed),
    basis.kind,
  ]);
  const head = ["candidate", "median", "P(nearest)", "regret", "no reply", "basis"];
  return [
    formatTable([head, ...rows], { left: [0, 5] }),
    `of ${candidates} candidates; the shortest of their RTTs is ${formatMs(minMs)} ms on average, ` +
    `P(none replies) ${percent(pNoReply)}; the regret of a choice is how much longer its RTT is on average`,
  ].join("\n");
}

// `query advise`

export const adviseStage = defineStage(STAGES.query.kinds.advise, async (options, stage) => {
  const { src, candidates, targets, time, output, budget, maxPairs, draws: numDraws, seed } = options;
  if (src !== undefined) requireEnd("src", src);
  const timeS = timeOf(time);
  using file = openOwn("query advise --output", output, options.overwrite);
  const context = await contextOf(options, stage, timeS);
  const { geo, names } = options;
  using model = await loadModel(options.checkpoint, { geo, names, onLog: stage.log });
  const pairsIn = async (path: string) => {
    const shared = src === undefined ? undefined : { src, time };
    const pairs: FileQuery[] = [];
    for await (const line of readQueries(readLines(path, stage.signal), path, shared, model.places)) {
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
  writeLines(file, advice);
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

if (import.meta.main) serveStage(nearestStage, adviseStage);
