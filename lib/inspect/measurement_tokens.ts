/**
 * A row of measurements as the tokens of a vocabulary, beside what those tokens say once decoded.
 *
 * @module
 */
import type { SourcedBatch } from "../measurement/parquet_reader.ts";
import { formatAddress, parseAddress } from "../addresses/ip.ts";
import { decodeRttCode, encodeRttCode } from "../tokens/rtt_code.ts";
import * as v1 from "../tokens/vocab_v1.ts";
import * as v2 from "../tokens/vocab_v2.ts";
import { describeMeasurement } from "./measurement_text.ts";

/** A row's tokens, and the row that they stand for. */
export interface TokenSample {
  /** Such as `MeasurementStart SrcIpv4 192 0 2 1 …`; bytes as plain numbers. */
  tokens: string;
  decoded: string;
}

const MAX_TOKENS = 69;
const US_PER_S = 1e6;

/**
 * Encodes a row and decodes it again, as a context or sequence of its own.
 *
 * @param batch The rows.
 * @param row Which.
 * @param vocabulary v1 with RTTs as float64, or v2 with its blocks in the order source, destination, result, time.
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
  const common = { source, destination, timeS };
  const out = new Uint16Array(MAX_TOKENS);
  if (vocabulary === "v2") {
    const writer = new v2.TokenWriter(out);
    const measurement = { ...common, rttCode: rttMs === null ? null : encodeRttCode(rttMs) };
    const tokens = out.subarray(0, writer.write(measurement, v2.FIELD_ORDERS[0]));
    const [{ rttCode, ...decoded }] = v2.decodeTokens(tokens);
    return describe(tokens, v2.tokenName, {
      ...decoded,
      rttMs: rttCode === null ? null : decodeRttCode(rttCode),
    });
  }
  const msmId = batch.msmId?.[row];
  const sizeBytes = batch.sizeBytes?.[row];
  const packetErrorCount = batch.packetErrorCount?.[row];
  if (msmId === undefined || !(sizeBytes !== undefined && sizeBytes >= 0 && sizeBytes <= v1.MAX_SIZE_BYTES)) {
    return undefined;
  }
  if (!(packetErrorCount !== undefined && packetErrorCount >= 0 && packetErrorCount <= v1.MAX_ERROR_COUNT)) {
    return undefined;
  }
  if (!Number.isSafeInteger(msmId)) return undefined;
  const measurement = { ...common, rttMs, sizeBytes, packetErrorCount, msmId };
  const writer = new v1.WholeMeasurementWriter(out, v1.FLOAT64_RTT);
  const length = writer.write(measurement, v1.blockOrder(msmId, batch.eventTimeUs[row]));
  const tokens = out.subarray(0, length);
  const [decoded] = v1.decodeWholeMeasurements(tokens, v1.FLOAT64_RTT);
  const further = `  msm_id ${decoded.msmId}, size ${decoded.sizeBytes}, lost ${decoded.packetErrorCount}`;
  return describe(tokens, v1.tokenName, decoded, further);
}

function describe(
  tokens: Uint16Array,
  tokenName: (token: number) => string,
  { source, destination, timeS, rttMs }: {
    source: Uint8Array;
    destination: Uint8Array;
    timeS: number | null;
    rttMs: number | null;
  },
  further = "",
): TokenSample {
  const timeUs = timeS === null ? null : timeS * US_PER_S;
  return {
    tokens: Array.from(tokens, (token) => tokenName(token).replace(/^byte /, "")).join(" "),
    decoded: describeMeasurement(timeUs, formatAddress(source), formatAddress(destination), rttMs ?? -1) +
      further,
  };
}
