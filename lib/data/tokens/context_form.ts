/**
 * Converts drawn contexts to the vocabulary of a model.
 *
 * Vocabulary v2 writes a context unchanged. In v1 each of its measurements is a separate context that does
 * not see the earlier ones: the model learns the same measurements, with the same times and field orders.
 *
 * @module
 */
import { PACKED_HISTORY, packHistory } from "./rtt_history.ts";
import {
  chosenRttEncoding,
  fieldsLength,
  type RttEncodingChoice,
  WholeMeasurementWriter,
} from "./vocab_v1.ts";
import { RTT_START, TokenWriter } from "./vocab_v2.ts";
import { type Context, MAX_MEASUREMENT_TOKENS } from "./contexts.ts";

export interface ContextForm {
  /** Number of tokens of the longest measurement: IPv6 with an absolute time. */
  readonly maxMeasurementTokens: number;
  /** Divides a drawn context into at least one context. */
  divide(drawn: Context): Context[];
  /**
   * Writes a context returned by `divide`.
   *
   * @param histories (tokens, 2), zeros; receives the history features.
   * @returns The index after the last token.
   */
  write(context: Context, out: Uint16Array, start: number, histories?: Uint32Array): number;
}

/** @param rttEncoding How v1 encodes RTTs; undefined for v2. */
export function contextForm(rttEncoding: RttEncodingChoice | undefined): ContextForm {
  return rttEncoding ? formV1(rttEncoding) : FORM_V2;
}

const FORM_V2: ContextForm = {
  maxMeasurementTokens: MAX_MEASUREMENT_TOKENS,
  divide: (drawn) => [drawn],
  write({ measurements }, out, start, histories) {
    const writer = new TokenWriter(out, start);
    for (const measurement of measurements) {
      const first = writer.at;
      writer.write(measurement, measurement.order);
      if (!histories || measurement.rttCode === null || !measurement.rttHistory) continue;
      packHistory(measurement.rttHistory, histories, out.indexOf(RTT_START, first) * PACKED_HISTORY);
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
