/**
 * The part of a report on the encodings of RTTs: models of the same size, one for each, beside one another.
 *
 * @module
 */
import { z } from "zod";
import { formatTable } from "../cli/table.ts";
import { FormatError } from "../errors.ts";
import { readText } from "../files/inputs.ts";

/** A model of one encoding: what it was trained on, what it costs and how well it predicts. */
export interface EncodingRow {
  /** The encoding, and how the run differs from the others where it does. */
  name: string;
  encoding: "float64" | "fixed" | "log" | "clipped" | "v2";
  /** Optimizer steps. */
  steps: number;
  /** Tokens, and measurements, in these steps; without padding. */
  tokensSeen: number;
  measurementsSeen: number;
  tokensPerMeasurement: number;
  /** Tokens of the block of an RTT: its role and its bytes. */
  tokensPerRtt: number;
  /** Mean of -log2 P(RTT code of v2 that holds the measured RTT | a reply), and the standard error of the mean. */
  bitsPerRtt: number;
  bitsPerRttError: number;
  /** Mean of -log2 P(that RTT code and a reply, or no reply), over all cases. */
  bitsPerResult: number;
  /** Mean of -log2 P(the encoding's own code, or its mark for no reply): not on one scale, what training lowers. */
  bitsPerOwnCode: number;
  /** Of the median RTT given a reply, milliseconds. */
  meanAbsoluteErrorMs: number;
  medianAbsoluteErrorMs: number;
}

/** The study; plain JSON. */
export interface EncodingSection {
  /** Fingerprint of the data; the models predict its test split. */
  dataFingerprint: string;
  seed: number;
  /** Of each model; sequences have `sequenceLength` tokens, steps `batchSize` of them. */
  numParameters: number;
  sequenceLength: number;
  batchSize: number;
  /** Measurements predicted, and those of them with a reply. */
  numCases: number;
  numAnswered: number;
  /** Mean number of measurements that each prediction was given. */
  meanContext: number;
  /** Where `clipped` clips, milliseconds. */
  clipMs: number;
  rows: EncodingRow[];
}

const finite = z.number();

const sectionSchema: z.ZodType<EncodingSection> = z.object({
  dataFingerprint: z.string(),
  seed: finite,
  numParameters: finite,
  sequenceLength: finite,
  batchSize: finite,
  numCases: finite,
  numAnswered: finite,
  meanContext: finite,
  clipMs: finite,
  rows: z.array(z.object({
    name: z.string(),
    encoding: z.enum(["float64", "fixed", "log", "clipped", "v2"]),
    steps: finite,
    tokensSeen: finite,
    measurementsSeen: finite,
    tokensPerMeasurement: finite,
    tokensPerRtt: finite,
    bitsPerRtt: finite,
    bitsPerRttError: finite,
    bitsPerResult: finite,
    bitsPerOwnCode: finite,
    meanAbsoluteErrorMs: finite,
    medianAbsoluteErrorMs: finite,
  })),
});

/**
 * Reads the study that `bench encodings` wrote.
 *
 * @param path Its `encodings.json`.
 * @throws {UserError} If the file cannot be read.
 * @throws {FormatError} If it is something else.
 */
export function readEncodingSection(path: string): EncodingSection {
  const text = readText(path);
  try {
    return sectionSchema.parse(JSON.parse(text));
  } catch (cause) {
    throw new FormatError("it is no study of encodings; make one with bench encodings", { path, cause });
  }
}

/** The study for people: what was compared, a table, what its columns are. */
export interface EncodingTable {
  /** In a sentence. */
  setup: string;
  headings: string[];
  lines: string[][];
  notes: string;
}

/** The study as a table. */
export function encodingTable(section: EncodingSection): EncodingTable {
  const { numParameters, sequenceLength, batchSize, numCases, numAnswered, meanContext, clipMs } = section;
  return {
    setup:
      `models of ${numParameters} parameters, ${batchSize} sequences of ${sequenceLength} tokens a step; ` +
      `${numCases} held-out measurements (${numAnswered} answered) with ${
        meanContext.toFixed(1)
      } before each ` +
      `on average; clipped at ${clipMs} ms`,
    headings: [
      ...["encoding", "steps", "measurements", "tokens/measurement", "tokens/RTT", "bits/RTT", "+-"],
      ...["bits/result", "own bits", "MAE ms", "median AE ms"],
    ],
    lines: section.rows.map((row) => [
      ...[row.name, String(row.steps), String(row.measurementsSeen), row.tokensPerMeasurement.toFixed(1)],
      ...[String(row.tokensPerRtt), row.bitsPerRtt.toFixed(2), row.bitsPerRttError.toFixed(2)],
      ...[row.bitsPerResult.toFixed(2), row.bitsPerOwnCode.toFixed(2)],
      ...[row.meanAbsoluteErrorMs.toFixed(2), row.medianAbsoluteErrorMs.toFixed(2)],
    ]),
    notes:
      "bits/RTT: -log2 of the mass of the 0.1 % wide RTT code of v2 that holds the measured RTT, given a " +
      "reply, and its standard error; bits/result: with failures; own bits: of the encoding's own code, not comparable",
  };
}

/** The study as text. */
export function describeEncodings(section: EncodingSection): string {
  const { setup, headings, lines, notes } = encodingTable(section);
  return [setup, formatTable([headings, ...lines], { left: [0] }), notes].join("\n");
}
