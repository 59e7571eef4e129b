/** `sample`: whole measurements drawn from the model. @module */
import * as z from "zod";
import { formatAddress } from "../../data/addresses/ip.ts";
import { decodeRttCode } from "../../data/tokens/rtt_code.ts";
import { parseEnds, timeOf } from "../rtt/rtt_question.ts";
import { SEARCH_COST } from "./destinations.ts";
import {
  answeredTime,
  context,
  dst,
  endNames,
  fields,
  notes,
  question,
  readSource,
  seed,
  src,
  step,
  time,
} from "./question.ts";

const count = (most: number) =>
  z.int().min(1).max(most).optional().describe("number of measurements (10)").meta({ examples: [10] });

export const sample = question({
  name: "sample",
  summary: "whole measurements drawn from the model",
  question: fields({
    src: src.optional().describe("source: an address, prefix, place or network (drawn)"),
    dst: dst.optional().describe(
      "destination: same forms (drawn; from a source address as the question `destinations` weighs them)",
    ),
    time: time.describe(
      "when, from 1990 to 2099: ISO 8601 (UTC unless it has a zone) or Unix seconds (drawn, or none)",
    ),
    context,
    count: count(1_000_000),
    temperature: z.number().min(1e-6).optional()
      .describe("divisor of log-probabilities; values below 1 favour likelier measurements (1)").meta({
        examples: [0.5],
      }),
    top_k: z.int().min(1).optional().describe("draw each token from the N most probable (all)")
      .meta({ examples: [10] }),
    seed,
  }),
  served: { count: count(1000) },
  answer: z.object({
    context_measurements: z.int().describe("number of context measurements used"),
    measurements: z.array(z.object({
      src: z.string(),
      dst: z.string(),
      ...endNames,
      time: answeredTime.describe("Unix seconds; null for none"),
      rtt: z.number().nullable().describe("ms; null: no reply"),
      order: z.string().describe("the order in which the fields were drawn"),
    })),
    notes,
    step,
  }),
  async ask(asking, { src, dst, time, context, count = 10, temperature = 1, top_k: topK, seed = 0 }) {
    const { model } = asking;
    const { sampleContextThatFits, sampleMeasurements } = await import("../score/sample.ts");
    const known = src ?? dst;
    const ends = known === undefined ? undefined : parseEnds(src ?? known, dst ?? known, model.places);
    const query = {
      source: src === undefined ? undefined : ends?.source,
      destination: dst === undefined ? undefined : ends?.destination,
      timeS: timeOf(time),
      context: readSource({ src: "0.0.0.0", time, context }).context,
    };
    const numUsed = sampleContextThatFits(query, model.config.sequenceLength).length;
    const isSearching = src !== undefined && dst === undefined;
    const measurements = await asking.inTurn(count + (isSearching ? SEARCH_COST : 0), async () => {
      const drawn = [];
      for await (
        const { source, destination, timeS, rttCode, order } of sampleMeasurements(model, query, {
          count,
          temperature,
          topK,
          seed,
          onSearch: (done) => asking.onProgress(done),
          signal: asking.signal,
        })
      ) {
        const ends = { src: formatAddress(source), dst: formatAddress(destination) };
        const rtt = rttCode === null ? null : decodeRttCode(rttCode);
        drawn.push({ ...ends, ...model.names.namedEnds(ends), time: timeS, rtt, order: order.join() });
        asking.onProgress(drawn.length);
      }
      return drawn;
    });
    const notes = [...new Set(ends?.notes)];
    return {
      context_measurements: numUsed,
      measurements,
      ...(notes.length > 0 && { notes }),
      step: model.step,
    };
  },
  text: ({ measurements }) => measurements.map((each) => JSON.stringify(each)).join("\n"),
});
