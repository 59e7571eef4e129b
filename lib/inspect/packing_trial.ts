/**
 * Packs probe rows as the trainer would, to show what it will see: tokens, and the share of padding.
 *
 * @module
 */
import { UserError } from "../errors.ts";
import { BatchLoader } from "../loader/batches.ts";
import { ArrayRecordRowSource } from "../loader/row_source.ts";
import { Breather } from "../threads/stage_hooks.ts";
import type { ArrayRecordReader } from "../array_record/reader.ts";
import { formatAddress } from "../addresses/ip.ts";
import { decodeRttCode } from "../tokens/rtt_code.ts";
import {
  type DecodedMeasurement,
  decodeTokens,
  MEASUREMENT_START,
  TokenError,
  tokenName,
} from "../tokens/vocab_v2.ts";
import { describeMeasurement } from "./measurement_text.ts";
import type { InspectOptions } from "./report.ts";

/** How many sequences are packed at most; enough to know the padding within a tenth of a percent. */
const MAX_SEQUENCES = 256;

/** What the packing gave. */
export interface PackingTrial {
  numSequences: number;
  /** Share of positions that are padding, 0 to 1. */
  paddingShare: number;
  /** The first measurements of the first sequence, token by token. */
  tokenSamples: string[];
  /** What those tokens say, measurement by measurement, as far as they are whole. */
  decodedSamples: string[];
}

/**
 * Packs up to {@link MAX_SEQUENCES} sequences of the first epoch.
 *
 * @param path The folder, for error messages.
 * @param readers The files, open; they stay open.
 * @returns What was seen, or why the rows cannot be packed.
 */
export async function tryPacking(
  path: string,
  readers: readonly ArrayRecordReader[],
  options: InspectOptions,
): Promise<PackingTrial | { problem: string }> {
  const { sequenceLength, seed, samples, onCorrupt } = options;
  const breather = new Breather(options);
  try {
    const source = new ArrayRecordRowSource(path, readers, { onCorrupt });
    const loader = BatchLoader.open(source, { seed, batchSize: 1, sequenceLength });
    let numSequences = 0;
    let numPadding = 0;
    let sampled = new Uint16Array(0);
    while (numSequences < MAX_SEQUENCES && loader.position.epoch === 0) {
      await breather.breathe();
      const { tokens, numPaddingTokens } = await loader.next();
      if (numSequences === 0) {
        sampled = tokens.slice(0, sequenceLength - numPaddingTokens);
      }
      numSequences++;
      numPadding += numPaddingTokens;
    }
    return {
      numSequences,
      paddingShare: numPadding / (numSequences * sequenceLength),
      tokenSamples: describeTokens(sampled, samples),
      decodedSamples: decodeWhole(sampled, samples),
    };
  } catch (error) {
    // Rows that cannot be packed are a finding, not a failure of the inspection.
    if (error instanceof UserError && !options.signal?.aborted) return { problem: error.message };
    throw error;
  }
}

/** The first measurements in words; fewer if the tokens end inside one or another context begins. */
function decodeWhole(tokens: Uint16Array, numSamples: number): string[] {
  const starts = [...tokens.keys()].filter((at) => tokens[at] === MEASUREMENT_START);
  const ends = [...starts.slice(1), tokens.length].slice(0, numSamples);
  let decoded: DecodedMeasurement[] = [];
  for (const end of ends) {
    try {
      decoded = decodeTokens(tokens.subarray(0, end));
    } catch (error) {
      if (!(error instanceof TokenError)) throw error;
      break;
    }
  }
  return decoded.map(({ source, destination, rttCode, timeS }) =>
    describeMeasurement(
      timeS === null ? null : timeS * 1e6,
      formatAddress(source),
      formatAddress(destination),
      rttCode === null ? -1 : decodeRttCode(rttCode),
    )
  );
}

/** The first measurements as `MeasurementStart SrcIpv4 192 0 2 1 …`; bytes as plain numbers. */
function describeTokens(tokens: Uint16Array, numSamples: number): string[] {
  const lines: string[] = [];
  let words: string[] = [];
  for (const token of tokens) {
    if (token === MEASUREMENT_START && words.length > 0) {
      lines.push(words.join(" "));
      words = [];
      if (lines.length >= numSamples) return lines;
    }
    words.push(tokenName(token).replace(/^byte /, ""));
  }
  return [...lines, ...(words.length > 0 && numSamples > 0 ? [words.join(" ")] : [])];
}
