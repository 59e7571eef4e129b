/**
 * `query nearest`: the nearest of some candidates to a source.
 *
 * @module
 */
import { withName } from "../lib/data/addresses/ip_prefix.ts";
import { UserError } from "../lib/base/errors.ts";
import { formatMs, formatTable } from "../lib/base/text.ts";
import { defineStage, serveStage } from "../lib/cli/stage.ts";
import { readLines } from "../lib/query/files/read_lines.ts";
import { type Nearest, nearestOf } from "../lib/query/nearest/nearest.ts";
import { readQueries } from "../lib/query/rtt/query_file.ts";
import {
  askedModel,
  contextOf,
  endsOf,
  JsonLinesOutput,
  percent,
  readBy,
  requireEnd,
  timeOf,
} from "./query_options.ts";
import { STAGES } from "./stages.ts";

export const nearestStage = defineStage(STAGES.query.kinds.nearest, async (options, stage) => {
  const { src, candidates: path, time, output, by, top, maxCandidates, draws: numDraws, seed } = options;
  requireEnd("src", src);
  const timeS = timeOf(time);
  const context = await contextOf(options.context, stage, timeS);
  using model = await askedModel(options, stage);
  using progress = stage.progress("comparing", { unit: "candidates" });
  const onDraws = () => stage.signal.throwIfAborted();
  const onProgress = (done: number) => {
    stage.signal.throwIfAborted();
    progress.update(done);
  };
  for (const note of endsOf({ src, dst: src }, model).notes.slice(0, 1)) stage.log(note);
  const queries = readQueries(readLines(path), path, { src, time }, model.places);
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
  if (output !== undefined) {
    using lines = new JsonLinesOutput(output, {
      stage: "query nearest",
      inputs: readBy({ ...options, queries: path }),
    });
    for (const candidate of answer.nearest) lines.write(candidate);
    lines.commit();
  }
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
  const rows = nearest.map(({ candidate, name, medianMs, pFailed, pNearest, regretMs }) => [
    withName(candidate, name),
    `${formatMs(medianMs)} ms`,
    percent(pNearest),
    `${formatMs(regretMs)} ms`,
    percent(pFailed),
  ]);
  const head = ["candidate", "median", "P(nearest)", "regret", "no reply"];
  return [
    formatTable([head, ...rows], { left: [0] }),
    `of ${candidates} candidates; the shortest of their RTTs is ${formatMs(minMs)} ms on average, ` +
    `P(none replies) ${percent(pNoReply)}; the regret of a choice is how much longer its RTT is on average`,
  ].join("\n");
}

if (import.meta.main) serveStage(nearestStage);
