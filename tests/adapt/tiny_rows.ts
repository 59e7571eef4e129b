/** A tiny model with rows of a few addresses, and measurements of one that it does not know. @module */
import { AddressRows } from "../../lib/model/address_rows.ts";
import { type ModelConfig, numAddressRows, ROW_KEYS } from "../../lib/model/config.ts";
import { initialParameters } from "../../lib/model/parameters.ts";
import { ROW_VALUES } from "../../lib/model/row_delta.ts";
import { RandomStream } from "../../lib/random/philox.ts";
import { addressBytes } from "../../lib/tokens/ip.ts";
import { encodeRttCode } from "../../lib/tokens/rtt_code.ts";
import type { TokenMeasurement } from "../../lib/tokens/vocab_v2.ts";
import { TINY_CONFIG } from "../query/tiny_model.ts";

/** Addresses that have rows, and so have all their pairs. */
export const KNOWN = ["192.0.2.1", "192.0.2.9", "198.51.100.7", "203.0.113.5"];
/** One that shares three bytes with the first two of {@link KNOWN}. */
export const NEW_ADDRESS = "192.0.2.77";

/** A model of {@link TINY_CONFIG} with rows. @param rows Of prefixes, and of pairs. */
export function tinyRowModel(rows = 64): { config: ModelConfig; weights: Map<string, Float32Array> } {
  const table = { rows, seed: 1, dropShare: 0 };
  const config = { ...TINY_CONFIG, prefixVectors: table, pairVectors: { ...table, history: true } };
  const weights = initialParameters(config, 7);
  for (const values of weights.values()) values.forEach((value, i) => values[i] = value * 12);
  const random = new RandomStream(3, "rows");
  const addressRows = new AddressRows(config);
  const known = KNOWN.map(addressBytes);
  for (const source of known) for (const destination of known) addressRows.claim(source, destination);
  addressRows.save(weights);
  const keys = weights.get(ROW_KEYS) ?? [];
  const values = new Float32Array(numAddressRows(config) * config.width);
  for (let i = 0; i < values.length; i++) {
    const row = Math.floor(i / config.width);
    if (keys[2 * row] !== 0 || keys[2 * row + 1] !== 0) values[i] = random.normal();
  }
  return { config, weights: weights.set(ROW_VALUES, values) };
}

/** A measurement; no reply where `rttMs` is null. */
export function measured(
  src: string,
  dst: string,
  rttMs: number | null = 20,
  timeS: number | null = 1.7e9,
): TokenMeasurement {
  const rttCode = rttMs === null ? null : encodeRttCode(rttMs);
  return { source: addressBytes(src), destination: addressBytes(dst), rttCode, timeS };
}

/** Some of {@link NEW_ADDRESS} by known ones, both ways, with and without a time or reply. */
export function newMeasurements(): TokenMeasurement[] {
  return [
    measured(KNOWN[0], NEW_ADDRESS, 12),
    measured(NEW_ADDRESS, KNOWN[2], 35, null),
    measured(KNOWN[3], NEW_ADDRESS, 80),
    measured(KNOWN[1], NEW_ADDRESS, null),
    measured(KNOWN[1], NEW_ADDRESS, 9),
  ];
}
