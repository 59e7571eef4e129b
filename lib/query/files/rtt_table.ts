/** The whole distribution of an answer as Parquet: a row per RTT code and one for no reply. @module */
import { CANONICAL_RTT_CODES, rttCodeBounds } from "../../data/tokens/rtt_code.ts";
import { encodeChunks, ParquetOutput } from "../../io/parquet/writer.ts";
import { type RttDistribution, RTTS_MS } from "../rtt/rtt_distribution.ts";

type RttTable = Record<"rtt_ms" | "low_ms" | "high_ms" | "probability", Float64Array>;

/**
 * The probabilities of all outcomes: RTTs in ascending order, each covering `low_ms` (inclusive) to `high_ms`
 * (exclusive), then no reply as NaN.
 */
export function rttTable({ pFailed, probabilities }: RttDistribution): RttTable {
  const bounds = Array.from(CANONICAL_RTT_CODES, rttCodeBounds);
  return {
    rtt_ms: Float64Array.of(...RTTS_MS, NaN),
    low_ms: Float64Array.of(...bounds.map(({ lowMs }) => lowMs), NaN),
    high_ms: Float64Array.of(...bounds.map(({ highMs }) => highMs), NaN),
    probability: Float64Array.of(...probabilities.map((p) => p * (1 - pFailed)), pFailed),
  };
}

/** @throws {UserError} If the disk is full. */
export function writeRttTable(path: string, table: RttTable): void {
  const columns = Object.entries(table).map(([name, data]) => ({ name, data, type: "DOUBLE" as const }));
  const output = new ParquetOutput(path);
  output.write(encodeChunks(columns.map((each) => ({ ...each, isOptional: false })), table.rtt_ms.length));
  const schema = columns.map(({ name, type }) => ({ name, type, repetition_type: "REQUIRED" as const }));
  output.close([{ name: "schema", num_children: schema.length }, ...schema]);
}
