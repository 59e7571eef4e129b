/** Measurements as lines of text, and their tokens next to the decoded measurements. @module */
import { isoTime } from "../../base/text.ts";
import type { SourcedBatch } from "../../data/measurement_files/parquet_reader.ts";
import { formatAddress, parseAddress } from "../../data/addresses/ip.ts";
import { decodeRttCode, encodeRttCode } from "../../data/tokens/rtt_code.ts";
import * as v1 from "../../data/tokens/vocab_v1.ts";
import * as v2 from "../../data/tokens/vocab_v2.ts";
import type { Section } from "./report.ts";

/** Tokens and the decoded measurement, which is empty if they are incomplete. */
export interface TokenSample {
  tokens: string;
  decoded: string;
}

const MAX_TOKENS = 69;
const US_PER_S = 1e6;

/** Formats a measurement as a line. @param timeUs Null for none. @param rttMs Below 0 for no reply. */
export function describeMeasurement(timeUs: number | null, src: string, dst: string, rttMs: number): string {
  const result = rttMs < 0 ? "no reply" : `${Number(rttMs.toPrecision(6))} ms`;
  const time = timeUs === null ? "no time" : isoTime(timeUs / US_PER_S);
  return `${time}  ${src} -> ${dst}  ${result}`;
}

/** Tokens as words such as `MeasurementStart SrcIpv4 192 0 2 1 …`, bytes as plain numbers. */
export function wordsOf(tokens: ArrayLike<number>, vocabulary: string): string {
  const { tokenName } = vocabulary === "v1" ? v1 : v2;
  return Array.from(tokens, (token) => tokenName(token).replace(/^byte /, "")).join(" ");
}

/** @param ifNone The lines if there are no samples. */
export function tokenSection(
  heading: string,
  samples: readonly TokenSample[],
  ifNone: string[] = [],
): Section {
  const width = Math.max(0, ...samples.map(({ decoded }) => decoded.length));
  const lines = samples.map(({ decoded, tokens }) => `${decoded.padEnd(width)}  ${tokens}`);
  return [heading, lines.length > 0 ? lines : ifNone, {
    tokenSamples: samples.map(({ tokens }) => tokens),
    decodedSamples: samples.map(({ decoded }) => decoded).filter((decoded) => decoded !== ""),
  }];
}

/**
 * Encodes a row and decodes it again, as a separate context or sequence.
 *
 * @param vocabulary v1 with RTTs as float64, or v2 in the order source, destination, result, time.
 * @returns Undefined if the row has no tokens of v1: a column is missing or a value too large.
 */
export function sampleTokens(
  batch: SourcedBatch,
  row: number,
  vocabulary: "v1" | "v2",
): TokenSample | undefined {
  const source = parseAddress(batch.srcAddr[row]);
  const destination = parseAddress(batch.dstAddr[row]);
  if (!source || !destination) return undefined;
  const timeS = Math.floor(batch.eventTimeUs[row] / US_PER_S);
  const rttMs = batch.rttMs[row] < 0 ? null : batch.rttMs[row];
  const out = new Uint16Array(MAX_TOKENS);
  if (vocabulary === "v2") {
    const rttCode = rttMs === null ? null : encodeRttCode(rttMs);
    const writer = new v2.TokenWriter(out);
    return decodeV2(
      out.subarray(0, writer.write({ source, destination, timeS, rttCode }, v2.FIELD_ORDERS[0])),
    );
  }
  const sizeBytes = batch.sizeBytes?.[row] ?? NaN;
  const packetErrorCount = batch.packetErrorCount?.[row] ?? NaN;
  const msmId = batch.msmId?.[row] ?? NaN;
  if (!Number.isSafeInteger(msmId)) return undefined;
  const measurement = { source, destination, timeS, rttMs, sizeBytes, packetErrorCount, msmId };
  const writer = new v1.WholeMeasurementWriter(out, v1.FLOAT64_RTT);
  try {
    writer.write(measurement, v1.blockOrder(msmId, batch.eventTimeUs[row]));
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
  return decodeV1(out.subarray(0, writer.at));
}

function decodeV1(tokens: Uint16Array): TokenSample {
  const [decoded] = v1.decodeWholeMeasurements(tokens, v1.FLOAT64_RTT);
  const { source, destination, timeS, rttMs, msmId, sizeBytes, packetErrorCount } = decoded;
  const line = describeMeasurement(
    timeS * US_PER_S,
    formatAddress(source),
    formatAddress(destination),
    rttMs ?? -1,
  );
  return {
    tokens: wordsOf(tokens, "v1"),
    decoded: `${line}  msm_id ${msmId}, size ${sizeBytes}, lost ${packetErrorCount}`,
  };
}

/** @param before The tokens before the measurement in the same context. */
export function decodeV2(tokens: Uint16Array, before: Uint16Array = new Uint16Array()): TokenSample {
  const words = wordsOf(tokens, "v2");
  try {
    const [decoded] = v2.decodeTokens(Uint16Array.of(...before, ...tokens)).slice(-1);
    const { source, destination, rttCode, timeS } = decoded;
    const line = describeMeasurement(
      timeS === null ? null : timeS * US_PER_S,
      formatAddress(source),
      formatAddress(destination),
      rttCode === null ? -1 : decodeRttCode(rttCode),
    );
    return { tokens: words, decoded: line };
  } catch (error) {
    if (!(error instanceof v2.TokenError)) throw error;
    return { tokens: words, decoded: "" };
  }
}
