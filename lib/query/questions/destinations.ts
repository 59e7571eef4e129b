/** `destinations`: the most probable destinations for a source and an RTT. @module */
import { percentText } from "../../base/text.ts";
import * as z from "zod";
import { formatTable } from "../../base/text_table.ts";
import { formatPrefix, type IpPrefix, isAddress, withName } from "../../data/addresses/ip_prefix.ts";
import { basisKindSchema, measuredBy, seenJson, seenSchema } from "../../data/addresses/known_addresses.ts";
import { times } from "../../data/addresses/measured_text.ts";
import { placeText } from "../../data/addresses/place_index.ts";
import { parseWithin } from "../rtt/rtt_question.ts";
import {
  answeredTime,
  context,
  draws,
  endNames,
  fields,
  notes,
  question,
  readSource,
  seed,
  src,
  step,
  time,
  timeLine,
} from "./question.ts";

/** Cost of a search, in distributions. */
export const SEARCH_COST = 4096;

const top = (most: number) =>
  z.int().min(1).max(most).optional().describe("number of destinations to list (20)").meta({
    examples: [20],
  });

export const destinations = question({
  name: "destinations",
  summary: "the most probable destinations for a source and an RTT, by Bayes' rule from the answers of rtt",
  question: fields({
    src,
    within: z.string().optional().describe("only destinations in this prefix, place or network (anywhere)")
      .meta({ examples: ["198.51.100.0/24"] }),
    rtt: z.tuple([z.number().min(0), z.number().min(0)])
      .refine(([low, high]) => low <= high, { error: "the smaller one first" })
      .describe("the smallest and largest RTT in ms, to the precision of RTT codes (0.05 %)").meta({
        examples: [[20, 25]],
      }),
    time,
    context,
    top: top(100_000),
    prefix_length: z.int().min(0).max(128).optional()
      .describe("list prefixes of this length, summing over their addresses (single addresses)")
      .meta({ examples: [24] }),
    candidates: z.int().min(1).max(1024).optional()
      .describe(
        "number of likely destinations to rank in addition to those that the source is known to measure (256)",
      )
      .meta({ examples: [256] }),
    max_expansions: z.int().min(1).max(2 ** 16).optional()
      .describe("stop the search for likely destinations after this many prefixes of 2.5 kB each (512)")
      .meta({ examples: [512] }),
    draws: draws(1024, 8),
    seed,
  }),
  served: { top: top(1000), draws: draws(64, 8) },
  answer: z.object({
    src: z.string(),
    src_name: endNames.src_name,
    rtt: z.tuple([z.number(), z.number()]),
    time: answeredTime,
    prefix_length: z.int(),
    context_measurements: z.int(),
    destinations: z.array(z.object({
      prefix: z.string(),
      name: z.string().optional().describe("the name of the prefix, if any"),
      place: z.string().optional().describe("where the address is, if known"),
      probability: z.number(),
      basis: basisKindSchema,
      measured: seenSchema.nullable().describe(
        "measurements by the source in the training data; null for prefixes",
      ),
    })).describe("most probable first"),
    unlisted_probability: z.number().describe("the probability of candidates that are not listed"),
    candidates: z.int().describe("number of destinations ranked"),
    prior_mass: z.number()
      .describe("the prior probability of all candidates; other destinations cannot be listed"),
    notes,
    step,
  }),
  async ask(
    asking,
    { src, rtt, within, prefix_length, top, candidates, max_expansions, draws, seed, ...asked },
  ) {
    const { model, signal } = asking;
    const { codeRangeOf, prefixLengthOf, rankDestinationsFrom } = await import(
      "../destinations/destination_ranking.ts"
    );
    const { contextThatFits } = await import("../query_tokens.ts");
    const { notes: onSource, ...from } = readSource({ src, ...asked }, model.places);
    const query = { ...from, rttMs: rtt };
    const isWithin = within === undefined ? undefined : parseWithin(within, model.places);
    codeRangeOf(rtt);
    const { bytes } = query.source;
    const prefixLength = prefixLengthOf({ source: bytes }, prefix_length);
    const whole = { ...query, source: bytes, destination: bytes };
    const numUsed = contextThatFits(whole, model.config.sequenceLength).length;
    const { destinations, ...ranked } = await asking.inTurn(
      SEARCH_COST,
      () =>
        rankDestinationsFrom(model, query, {
          ...(top !== undefined && { top }),
          ...(candidates !== undefined && { numCandidates: candidates }),
          ...(max_expansions !== undefined && { maxExpansions: max_expansions }),
          ...(draws !== undefined && { numDraws: draws }),
          ...(seed !== undefined && { seed }),
          isWithin,
          prefixLength,
          signal,
          onSearch: (numExpanded) => asking.onProgress(numExpanded),
        }),
    );
    const { trainingData, names, places } = model;
    const placeOf = (prefix: IpPrefix) =>
      places && isAddress(prefix) ? placeText(places.describe(prefix.bytes)) : undefined;
    const listed = destinations.map(({ prefix, probability }) => ({
      prefix: formatPrefix(prefix),
      ...names.named(formatPrefix(prefix)),
      ...(placeOf(prefix) !== undefined && { place: placeOf(prefix) }),
      probability,
      basis: model.basisKindOf({ source: query.source, destination: prefix }),
      measured: isAddress(query.source)
        ? seenJson(measuredBy(trainingData, query.source.bytes, prefix))
        : null,
    }));
    const notes = [...onSource];
    if (trainingData.known.isTruncated || trainingData.adaptation?.known.isTruncated) {
      notes.push(
        "the model records only the most measured addresses and pairs: others count as never measured",
      );
    }
    return {
      src,
      ...model.names.namedEnds({ src }),
      rtt,
      time: query.timeS,
      prefix_length: prefixLength,
      context_measurements: numUsed,
      destinations: listed,
      unlisted_probability: ranked.unlistedProbability,
      candidates: ranked.candidates,
      prior_mass: ranked.priorMass,
      ...(notes.length > 0 && { notes }),
      step: model.step,
    };
  },
  text({ time, destinations, candidates, prior_mass }) {
    const isKnown = destinations.some(({ measured }) => measured);
    const rows = destinations.map(({ prefix, name, probability, basis, measured }) => [
      withName(prefix, name),
      shareText(probability),
      basis,
      ...(measured ? [times(measured)] : []),
    ]);
    const head = ["destination", "probability", "basis", ...(isKnown ? ["by this source"] : [])];
    return [
      formatTable([head, ...rows], { left: [0, 2, 3] }),
      `probabilities among ${candidates} destinations, whose total probability before the RTT was known was ` +
      `${percentText(prior_mass)}; others cannot be listed`,
      timeLine(time),
    ].join("\n");
  },
});

function shareText(share: number): string {
  const digits = share >= 0.01 || share === 0 ? (100 * share).toFixed(2) : (100 * share).toPrecision(3);
  return `${digits} %`;
}
