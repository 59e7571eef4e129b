/**
 * Held-out measurements that models of all encodings predict from the same context.
 *
 * A case is a context as training draws them, with all its times, of a row drawn in proportion to its measurements;
 * its last measurement is the one to be predicted. The context fits the longest encoding, so that all of them see it.
 *
 * @module
 */
import { type ContextMeasurement, MAX_MEASUREMENT_TOKENS, sampleContext } from "../../loader/contexts.ts";
import type { ProbeRowSource } from "../../loader/row_source.ts";
import { heldOutSampling, type SamplingConfig } from "../../loader/sampling_config.ts";
import { RandomStream } from "../../random/philox.ts";
import { QUERY_ORDER, TokenWriter } from "../../tokens/vocab_v2.ts";
import type { RttScheme } from "./rtt_scheme.ts";
import { SchemeRows } from "./scheme_batches.ts";
import { replaceResults, resultLength } from "./scheme_tokens.ts";

/** A measurement to be predicted from those before it. */
export interface SchemeCase {
  /** Milliseconds, or null for no reply. */
  readonly rttMs: number | null;
  /** In the order of time; the last is the one to be predicted. */
  readonly measurements: readonly ContextMeasurement[];
}

/**
 * Draws cases, each on its own: the first are the same however many are drawn.
 *
 * @param source The held-out rows.
 * @param options `count`; `longest`: the encoding with the longest results; `sequenceLength`: the models'.
 * @throws {UserError} If there are no measurements.
 */
export function drawSchemeCases(
  source: ProbeRowSource,
  options: {
    count: number;
    seed: number;
    sequenceLength: number;
    sampling: SamplingConfig;
    longest: RttScheme;
  },
): SchemeCase[] {
  const { count, seed, sequenceLength, longest } = options;
  const rows = new SchemeRows(source, longest, (numMeasurements) => numMeasurements);
  const timestampModes = { full: 1, partial: 0, none: 0 };
  const sampling = { ...heldOutSampling(options.sampling), timestampModes };
  return Array.from({ length: count }, (_, i) => {
    const random = new RandomStream(seed, "evaluate/encodings/case", i);
    const { measurements } = sampleContext(rows.draw(random), sequenceLength + 1, random, sampling);
    return { rttMs: measurements[measurements.length - 1].rttMs, measurements };
  });
}

/** The tokens of a case up to `RttStart` of the measurement to be predicted. */
export function promptOf({ measurements }: SchemeCase, scheme: RttScheme): Uint16Array {
  const plain = new Uint16Array(MAX_MEASUREMENT_TOKENS * measurements.length);
  const writer = new TokenWriter(plain);
  for (const measurement of measurements) writer.write(measurement, QUERY_ORDER);
  const rttsMs = measurements.map(({ rttMs }) => rttMs);
  const asked = rttsMs.length - 1;
  const out = new Uint16Array(plain.length + measurements.length * scheme.numBytes);
  // As answered, so that the prompt ends with `RttStart` in any case.
  const end = replaceResults(plain.subarray(0, writer.at), rttsMs.with(asked, rttsMs[asked] ?? 0), {
    scheme,
    out,
    start: 0,
  });
  return out.subarray(0, end - resultLength(false, scheme) + 1);
}
