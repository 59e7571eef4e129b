/** The measurements of a probe row one by one, as the tokens have them. @module */
import { tokenMeasurement } from "../query/query_tokens.ts";
import { type ProbeRow, probeRowSrcId } from "../data/probe_rows/probe_row.ts";
import { addressBytes, formatAddress } from "../data/addresses/ip.ts";
import type { TokenMeasurement } from "../data/tokens/vocab_v2.ts";
import { getOrMake } from "../base/collections.ts";

/**
 * The name of a probe row's source: its address where rows are grouped by address, else the id of the group, such as a
 * probe's. So a node that is a source and a destination has one name.
 */
export function sourceKeyOf({ srcId, srcAddrs }: Pick<ProbeRow, "srcId" | "srcAddrs">): string {
  const [address] = srcAddrs;
  return address !== undefined && probeRowSrcId(address) === srcId ? address : String(srcId);
}

/** An address in the one spelling that `formatAddress` has for it. */
export function canonicalText(address: string): string {
  return formatAddress(addressBytes(address));
}

/** The measurements of a probe row; each is made once, however many ask for it, and addresses are parsed once. */
export class RowMeasurements {
  readonly #made = new Map<number, TokenMeasurement & { timeS: number }>();
  readonly #addresses = new Map<string, Uint8Array>();
  #byPair: Map<string, Int32Array> | undefined;

  /** @param row The row. */
  constructor(readonly row: ProbeRow) {}

  /** A measurement. @param index Its place in the row. */
  at(index: number): TokenMeasurement & { timeS: number } {
    return getOrMake(this.#made, index, () => {
      const { srcAddrs, srcIndex, dstAddrs, dstIndex, rttMs, eventTimeUs } = this.row;
      const measurement = tokenMeasurement({
        source: this.#bytesOf(srcAddrs[srcIndex[index]]),
        destination: this.#bytesOf(dstAddrs[dstIndex[index]]),
        rttMs: rttMs[index],
        eventTimeUs: eventTimeUs[index],
      });
      return { ...measurement, timeS: Math.floor(eventTimeUs[index] / 1e6) };
    });
  }

  /** The places of the measurements of a pair of addresses, ascending. */
  placesOfPair({ srcAddr, dstAddr }: { srcAddr: string; dstAddr: string }): Int32Array {
    this.#byPair ??= groupByPair(this.row);
    return this.#byPair.get(`${srcAddr} ${dstAddr}`) ?? new Int32Array(0);
  }

  #bytesOf(address: string): Uint8Array {
    return getOrMake(this.#addresses, address, () => addressBytes(address));
  }
}

function groupByPair({ srcAddrs, srcIndex, dstAddrs, dstIndex }: ProbeRow): Map<string, Int32Array> {
  const pairs = new Map<number, number[]>();
  for (let i = 0; i < srcIndex.length; i++) {
    const key = srcIndex[i] * dstAddrs.length + dstIndex[i];
    getOrMake(pairs, key, () => []).push(i);
  }
  return new Map([...pairs].map(([key, places]) => {
    const source = srcAddrs[Math.floor(key / dstAddrs.length)];
    return [`${source} ${dstAddrs[key % dstAddrs.length]}`, Int32Array.from(places)];
  }));
}
