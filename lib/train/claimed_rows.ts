/**
 * The rows of addresses and pairs that a run's training data claim.
 *
 * @module
 */
import type { ProbeRowSource } from "../loader/row_source.ts";
import { AddressRows } from "../model/address_rows.ts";
import { type ModelConfig, numAddressRows } from "../model/config.ts";
import { parseAddress } from "../tokens/ip.ts";
import { encodeRttCode } from "../tokens/rtt_code.ts";

/**
 * Gives rows to all addresses and pairs of the data, in their order, until there are none left, and remembers the newest
 * RTTs of the pairs.
 *
 * @param weights Keys and histories are replaced; where there are any, as of another run, they are added to.
 */
export function claimRows(
  config: ModelConfig,
  weights: Map<string, Float32Array>,
  source: ProbeRowSource,
): void {
  if (numAddressRows(config) === 0) return;
  const rows = new AddressRows(config);
  rows.load(weights);
  for (let index = 0; index < source.numRows; index++) {
    const { srcAddrs, dstAddrs, srcIndex, dstIndex, rttMs } = source.row(index);
    const [sources, destinations] = [srcAddrs, dstAddrs].map((texts) => texts.map(parseAddress));
    const claimed = new Map<number, number>();
    srcIndex.forEach((src, i) => {
      const key = src * dstAddrs.length + dstIndex[i];
      const [from, to] = [sources[src], destinations[dstIndex[i]]];
      if (!from || !to) return;
      const pair = claimed.get(key) ?? rows.claim(from, to);
      claimed.set(key, pair);
      if (rttMs[i] >= 0) rows.remember(pair, encodeRttCode(rttMs[i]));
    });
  }
  rows.save(weights);
}
