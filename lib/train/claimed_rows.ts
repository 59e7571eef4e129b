/**
 * The rows of addresses and pairs that a run's training data claim.
 *
 * @module
 */
import type { ProbeRowSource } from "../loader/row_source.ts";
import { AddressRows } from "../model/address_rows.ts";
import { type ModelConfig, numAddressRows, ROW_KEYS } from "../model/config.ts";
import { parseAddress } from "../tokens/ip.ts";

/**
 * Gives rows to all addresses and pairs of the data, in their order, until there are none left.
 *
 * @param weights Its keys are replaced; where it has any, as of another run, they keep their rows.
 */
export function claimRows(
  config: ModelConfig,
  weights: Map<string, Float32Array>,
  source: ProbeRowSource,
): void {
  const keys = weights.get(ROW_KEYS);
  if (numAddressRows(config) === 0 || !keys) return;
  const rows = new AddressRows(config);
  rows.load(keys);
  for (let index = 0; index < source.numRows; index++) {
    const { srcAddrs, dstAddrs, srcIndex, dstIndex } = source.row(index);
    const pairs = new Set(Array.from(srcIndex, (src, i) => src * dstAddrs.length + dstIndex[i]));
    const [sources, destinations] = [srcAddrs, dstAddrs].map((texts) => texts.map(parseAddress));
    for (const pair of pairs) {
      const source = sources[Math.floor(pair / dstAddrs.length)];
      const destination = destinations[pair % dstAddrs.length];
      if (source && destination) rows.claim(source, destination);
    }
  }
  weights.set(ROW_KEYS, rows.save());
}
