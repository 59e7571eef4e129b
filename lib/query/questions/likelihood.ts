/** `likelihood`: how probable a measurement is, in every order of its fields. @module */
import * as z from "zod";
import type { Field } from "../../data/tokens/vocab_v2.ts";
import type { MeasurementBits } from "../score/likelihood.ts";
import { parseMeasurement } from "../rtt/rtt_question.ts";
import {
  answeredTime,
  context,
  endNames,
  fields,
  measurementSchema,
  question,
  readSource,
  step,
} from "./question.ts";

const FIELDS = ["source", "destination", "time", "result"] as const satisfies readonly Field[];

const bitsByField = z.record(z.string(), z.number());
const bits = z.object({
  mean_bits: z.number().describe("mean bits over the orders"),
  spread_bits: z.number().describe("standard deviation over the orders; 0 for a consistent model"),
  total_bits: z.number().describe("-log2 P(measurement), summed over the computed orders"),
  orders: z.array(z.object({
    order: z.string().describe("the fields, separated by commas"),
    bits: z.number().describe("-log2 P(measurement, order)"),
    block_bits: bitsByField.describe("bits by field"),
    token_bits: z.record(z.string(), z.array(z.number())).optional().describe("bits of every token by field"),
  })),
});

export const likelihood = question({
  name: "likelihood",
  summary: "how probable a measurement is, in every order of its fields",
  question: fields({
    ...measurementSchema.shape,
    context,
    order: z.array(z.enum(FIELDS)).length(FIELDS.length)
      .refine((order) => new Set(order).size === FIELDS.length, {
        error: `${FIELDS.join()} in any order`,
      }).optional()
      .describe("one order of source, destination, time and result (all: 24 with a time, 6 without)")
      .meta({ examples: [FIELDS] }),
    tokens: z.boolean().optional().describe("also report the bits of every token (false)").meta({
      examples: [true],
    }),
  }),
  answer: z.object({
    src: z.string(),
    dst: z.string(),
    ...endNames,
    time: answeredTime,
    rtt: z.number().nullable(),
    ...bits.shape,
    step,
  }),
  async ask(asking, { src, dst, time, rtt, context, order, tokens = false }) {
    const { model } = asking;
    const { measurementBits } = await import("../score/likelihood.ts");
    const { encodeQuery } = await import("../query_tokens.ts");
    const measurement = parseMeasurement({ src, dst, time, rtt });
    const { context: earlier } = readSource({ src, time, context });
    encodeQuery({ ...measurement, context: earlier }, model.config.sequenceLength);
    const measured = { measurement, rttMs: rtt, context: earlier };
    const [found] = await asking.inTurn(1, () => measurementBits(model, [measured], { order }));
    const asked = { src, dst, ...model.names.namedEnds({ src, dst }), time: measurement.timeS, rtt };
    return { ...asked, ...bitsOf(found, tokens), step: model.step };
  },
  text({ mean_bits, spread_bits, total_bits, orders }) {
    const blocks = Object.keys(orders[0].block_bits).map((field) => {
      const mean = orders.reduce((sum, { block_bits }) => sum + block_bits[field] / orders.length, 0);
      return `  ${field.padEnd(12)}${mean.toFixed(2)} bits`;
    });
    return [
      `  ${mean_bits.toFixed(2)} bits in one order of the fields`,
      `  ${spread_bits.toFixed(2)} bits standard deviation over the orders`,
      `  ${total_bits.toFixed(2)} bits over all computed orders together`,
      ...blocks,
    ].join("\n");
  },
});

/** Converts the bits of a measurement for an answer. @param withTokens Whether to include every token. */
export function bitsOf(
  { meanBits, spreadBits, totalBits, orders }: MeasurementBits,
  withTokens: boolean,
): z.infer<typeof bits> {
  const listed = orders.map(({ blocks, bits }) => ({
    order: blocks.map(({ field }) => field).join(),
    bits,
    block_bits: Object.fromEntries(blocks.map(({ field, bits }) => [field, bits])),
    ...(withTokens && {
      token_bits: Object.fromEntries(blocks.map(({ field, tokenBits }) => [field, [...tokenBits]])),
    }),
  }));
  return { mean_bits: meanBits, spread_bits: spreadBits, total_bits: totalBits, orders: listed };
}
