/**
 * `query destinations`: the most probable destinations given a source and an RTT.
 *
 * @module
 */
import { flag } from "../lib/cli/flags.ts";
import { defineStage } from "../lib/cli/stage.ts";
import { formatTable } from "../lib/base/text.ts";
import { shortened, UsageError } from "../lib/base/errors.ts";
import { codeRangeOf, prefixLengthOf } from "../lib/query/destinations/destination_query.ts";
import {
  destinationsJson,
  type LikelyDestination,
  rankDestinations,
} from "../lib/query/destinations/destination_ranking.ts";
import { readCalibration } from "../lib/query/files/calibration_file.ts";
import { loadModel } from "../lib/query/files/load_model.ts";
import { contextThatFits } from "../lib/query/query_tokens.ts";
import { formatPrefix } from "../lib/data/addresses/ip_prefix.ts";
import { type Measured, measuredBy, times } from "../lib/data/addresses/known_addresses.ts";
import { JsonLinesOutput } from "./json_lines_output.ts";
import {
  addressOf,
  calibrationFlag,
  contextOf,
  logContext,
  queryFlags,
  readBy,
  timeFlag,
  timeOf,
} from "./query_options.ts";

const FLAGS = {
  ...queryFlags,
  src: flag.requiredText("source address; the destinations have the same IP version", {
    placeholder: "ADDRESS",
  }),
  rtt: flag.requiredText("RTT in ms, to the 0.05 % of an RTT code; or the smallest and the largest", {
    placeholder: "MS[..MS]",
  }),
  time: timeFlag,
  top: flag.integer("number of destinations to list", { default: 20, min: 1, max: 100_000 }),
  prefixLength: flag.optionalInteger("list prefixes of this many bits (default: whole addresses)", {
    min: 0,
    max: 128,
  }),
  candidates: flag.integer(
    "rank the destinations that the source is known to measure, and so many likely ones besides",
    { default: 256, min: 1, max: 1024 },
  ),
  maxExpansions: flag.integer("end the search for likely ones after this many prefixes; 2.5 kB for each", {
    default: 512,
    min: 1,
    max: 2 ** 16,
  }),
  calibration: calibrationFlag,
  output: flag.optionalText("write the destinations as JSON lines (default: a table on standard output)", {
    placeholder: "FILE",
  }),
};

/** The stage `query destinations`. */
export const destinationsStage = defineStage({
  name: "query destinations",
  purpose:
    "the most probable destinations given a source and an RTT, by Bayes' rule over what query rtt says",
  example: "--checkpoint runs/demo/train --src 192.0.2.1 --rtt 20..25 --prefix-length 24",
  flags: FLAGS,
  async run(options, stage) {
    const source = addressOf("src", options.src);
    const rttMs = rttRangeOf(options.rtt);
    const timeS = timeOf(options.time);
    const question = { source, rttMs, timeS };
    codeRangeOf(rttMs);
    const prefixLength = prefixLengthOf(question, options.prefixLength);
    const context = await contextOf(options.context, stage, timeS);
    const query = { ...question, context };
    const calibration = options.calibration === undefined ? undefined : readCalibration(options.calibration);
    using model = await loadModel(options.checkpoint, { calibration });
    const whole = { ...query, destination: source };
    const contextMeasurements = contextThatFits(whole, model.config.sequenceLength).length;
    logContext(stage, contextMeasurements, context);
    const { trainingData } = model;
    using progress = stage.progress("searching", { unit: "prefixes" });
    const { top, candidates, maxExpansions } = options;
    const [answer] = await rankDestinations(model, [query], {
      numCandidates: candidates,
      top,
      prefixLength,
      maxExpansions,
      signal: stage.signal,
      onSearch: (numExpanded) => progress.update(numExpanded),
    });
    progress.finish();
    const below = [
      `probabilities among ${answer.candidates} destinations, which had ${
        percent(answer.priorMass)
      } together before the RTT was known; others cannot be listed`,
    ];
    const listed = answer.destinations.map((each) => ({
      ...each,
      measured: trainingData && measuredBy(trainingData, source, each.prefix),
    }));
    if (trainingData?.known.isTruncated || trainingData?.adaptation?.known.isTruncated) {
      below.push(
        "the model lists only the most measured addresses and pairs: others count as never measured",
      );
    }
    const json = destinationsJson(answer, source, model);
    const { src, output } = options;
    if (output !== undefined) {
      using lines = new JsonLinesOutput(output, { stage: "query destinations", inputs: readBy(options) });
      for (const destination of json.destinations) lines.write(destination);
      lines.commit();
    }
    const asked = { src, rttMs, timeS, contextMeasurements, prefixLength };
    return {
      text: [tableOf(listed), ...below].join("\n"),
      json: { stage: "query destinations", ...asked, ...json, output, step: model.step },
    };
  },
});

/** A destination, and how often the source measured it; undefined if the model does not say. */
type ListedDestination = LikelyDestination & { measured: Measured | undefined };

function tableOf(destinations: readonly ListedDestination[]): string {
  const isKnown = destinations.some(({ measured }) => measured);
  const rows = destinations.map(({ prefix, probability, measured }) => [
    formatPrefix(prefix),
    percent(probability),
    ...(measured ? [times(measured)] : []),
  ]);
  const head = [
    "destination",
    "probability",
    ...(isKnown ? ["by this source"] : []),
  ];
  return formatTable([head, ...rows], { left: isKnown ? [0, head.length - 1] : [0] });
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
    `Cannot use --rtt ${
      shortened(text)
    }: expected an RTT in ms of at least 0, or two as in 20..25, the lesser first`,
  );
}
