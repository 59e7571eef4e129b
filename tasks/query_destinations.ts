/**
 * `query destinations`: the most probable destinations given a source and an RTT.
 *
 * @module
 */
import { defineStage, serveStage } from "../lib/cli/stage.ts";
import { formatTable } from "../lib/base/text.ts";
import { shortened, UsageError } from "../lib/base/errors.ts";
import {
  codeRangeOf,
  destinationsJson,
  type LikelyDestination,
  prefixLengthOf,
  rankDestinationsFrom,
} from "../lib/query/destinations/destination_ranking.ts";
import { contextThatFits } from "../lib/query/query_tokens.ts";
import { parseWithin } from "../lib/query/rtt/rtt_question.ts";
import { formatPrefix, isAddress } from "../lib/data/addresses/ip_prefix.ts";
import { type BasisKind, type Measured, measuredBy, times } from "../lib/data/addresses/known_addresses.ts";
import {
  askedModel,
  contextOf,
  endsOf,
  logContext,
  requireEnd,
  timeOf,
  writeLines,
} from "./query_options.ts";
import { openOwn } from "./own_outputs.ts";
import { STAGES } from "./stages.ts";

export const destinationsStage = defineStage(STAGES.query.kinds.destinations, async (options, stage) => {
  const { src, within, output, overwrite } = options;
  requireEnd("src", src);
  const rttMs = rttRangeOf(options.rtt);
  const timeS = timeOf(options.time);
  codeRangeOf(rttMs);
  using file = openOwn("query destinations --output", output, overwrite);
  const context = await contextOf(options, stage, timeS);
  using model = await askedModel(options, stage);
  const { source, notes: [note] } = endsOf({ src, dst: src }, model);
  if (note !== undefined) stage.log(note);
  const prefixLength = prefixLengthOf({ source: source.bytes }, options.prefixLength);
  const isWithin = within === undefined ? undefined : parseWithin(within, model.places);
  const query = { source, rttMs, timeS, context };
  const whole = { ...query, source: source.bytes, destination: source.bytes };
  const contextMeasurements = contextThatFits(whole, model.config.sequenceLength).length;
  logContext(stage, contextMeasurements, context);
  const { trainingData } = model;
  using progress = stage.progress("searching", { unit: "prefixes" });
  const { top, candidates, maxExpansions, draws: numDraws, seed } = options;
  const answer = await rankDestinationsFrom(model, query, {
    numCandidates: candidates,
    top,
    prefixLength,
    maxExpansions,
    isWithin,
    numDraws,
    seed,
    signal: stage.signal,
    onSearch: (numExpanded) => progress.update(numExpanded),
  });
  progress.finish();
  const below = [
    `probabilities among ${answer.candidates} destinations, which had ${percent(answer.priorMass)} ` +
    "together before the RTT was known; others cannot be listed",
  ];
  const listed = answer.destinations.map((each) => ({
    ...each,
    text: model.names.shown(formatPrefix(each.prefix)),
    basis: model.basisKindOf({ source, destination: each.prefix }),
    measured: trainingData && isAddress(source)
      ? measuredBy(trainingData, source.bytes, each.prefix)
      : undefined,
  }));
  if (trainingData?.known.isTruncated || trainingData?.adaptation?.known.isTruncated) {
    below.push("the model lists only the most measured addresses and pairs: others count as never measured");
  }
  const json = destinationsJson(answer, source, model);
  writeLines(file, json.destinations);
  const named = model.names.namedEnds({ src });
  const asked = { src, ...named, within, rttMs, timeS, contextMeasurements, prefixLength };
  return {
    text: [tableOf(listed), ...below].join("\n"),
    json: { stage: "query destinations", ...asked, ...json, output, step: model.step },
  };
});

/** A destination as it is shown, and how often the source measured it; undefined if the model does not say. */
type ListedDestination = LikelyDestination & {
  text: string;
  basis: BasisKind;
  measured: Measured | undefined;
};

function tableOf(destinations: readonly ListedDestination[]): string {
  const isKnown = destinations.some(({ measured }) => measured);
  const rows = destinations.map(({ text, probability, basis, measured }) => [
    text,
    percent(probability),
    basis,
    ...(measured ? [times(measured)] : []),
  ]);
  const head = ["destination", "probability", "basis", ...(isKnown ? ["by this source"] : [])];
  return formatTable([head, ...rows], { left: [0, 2, 3] });
}

function percent(share: number): string {
  const digits = share >= 0.01 || share === 0 ? (100 * share).toFixed(2) : (100 * share).toPrecision(3);
  return `${digits} %`;
}

/** `20` or `20..25`. @throws {UsageError} If it is neither. */
function rttRangeOf(text: string): readonly [number, number] {
  const ends = text.split("..").map((end) => /^\s*\d+(\.\d+)?\s*$/.test(end) ? Number(end) : NaN);
  const [lowMs, highMs = lowMs] = ends;
  if (ends.length <= 2 && lowMs <= highMs) return [lowMs, highMs];
  throw new UsageError(
    `Cannot use --rtt ${shortened(text)}: expected an RTT in ms of at least 0, or two as in 20..25, the ` +
      "lesser first",
  );
}

if (import.meta.main) serveStage(destinationsStage);
