/**
 * The contexts that were drawn, in the vocabulary of a model.
 *
 * Vocabulary v2 writes a context as it is. In v1 each of its measurements is a context of its own, which nothing before
 * it is seen from: the same measurements are learned, with the same times and orders of their fields.
 *
 * @module
 */
import { PACKED_RECALL, packRecall } from "../tokens/rtt_recall.ts";
import { chosenRttEncoding, type RttEncodingChoice } from "../tokens/rtt_encoding.ts";
import { fieldsLength, WholeMeasurementWriter } from "../tokens/vocab_v1.ts";
import { RTT_START, TokenWriter } from "../tokens/vocab_v2.ts";
import type { ContextWriter } from "./batch.ts";
import { type Context, MAX_MEASUREMENT_TOKENS } from "./contexts.ts";

/** How contexts are divided and written. */
export interface ContextForm {
  /** Tokens of the longest measurement: IPv6 with an absolute time. */
  readonly maxMeasurementTokens: number;
  /** The contexts that one which was drawn becomes, at least one. */
  divide(drawn: Context): Context[];
  /** Writes one of them. */
  readonly write: ContextWriter;
}

/** The form of a vocabulary. @param rttEncoding How v1 writes RTTs; undefined for v2. */
export function contextForm(rttEncoding: RttEncodingChoice | undefined): ContextForm {
  return rttEncoding ? formV1(rttEncoding) : FORM_V2;
}

const FORM_V2: ContextForm = {
  maxMeasurementTokens: MAX_MEASUREMENT_TOKENS,
  divide: (drawn) => [drawn],
  write({ measurements }, out, start, recalls) {
    const writer = new TokenWriter(out, start);
    for (const measurement of measurements) {
      const first = writer.at;
      writer.write(measurement, measurement.order);
      if (!recalls || measurement.rttCode === null || !measurement.recall) continue;
      packRecall(measurement.recall, recalls, out.indexOf(RTT_START, first) * PACKED_RECALL);
    }
    return writer.at;
  },
};

function formV1(choice: RttEncodingChoice): ContextForm {
  const rttEncoding = chosenRttEncoding(choice);
  return {
    maxMeasurementTokens: 55,
    divide: ({ mode, measurements }) =>
      measurements.map((measurement) => ({
        mode,
        measurements: [measurement],
        numTokens: fieldsLength(measurement),
      })),
    write({ measurements }, out, start) {
      const writer = new WholeMeasurementWriter(out, rttEncoding);
      writer.at = start;
      for (const measurement of measurements) writer.writeFields(measurement, measurement.order);
      return writer.at;
    },
  };
}
