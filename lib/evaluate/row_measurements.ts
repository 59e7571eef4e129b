/** A probe row whose measurements are wanted one by one, as tokens see them. @module */
import { tokenMeasurement } from "../query/context.ts";
import { type ProbeRow, probeRowSrcId } from "../probe_rows/probe_row.ts";
import { addressBytes, formatAddress } from "../addresses/ip.ts";
import type { TokenMeasurement } from "../tokens/vocab_v2.ts";

/**
 * What an evaluation calls the source of a probe row: the address where rows are grouped by address, else the id of the
 * group, such as a probe's. A node that is a source and a destination then has one name.
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
    let made = this.#made.get(index);
    if (!made) {
      const { srcAddrs, srcIndex, dstAddrs, dstIndex, rttMs, eventTimeUs } = this.row;
      made = {
        ...tokenMeasurement({
          source: this.#bytesOf(srcAddrs[srcIndex[index]]),
          destination: this.#bytesOf(dstAddrs[dstIndex[index]]),
          rttMs: rttMs[index],
          eventTimeUs: eventTimeUs[index],
        }),
        timeS: Math.floor(eventTimeUs[index] / 1e6),
      };
      this.#made.set(index, made);
    }
    return made;
  }

  /** The places of the measurements of a pair of addresses, ascending. */
  placesOfPair({ srcAddr, dstAddr }: { srcAddr: string; dstAddr: string }): Int32Array {
    this.#byPair ??= groupByPair(this.row);
    return this.#byPair.get(`${srcAddr} ${dstAddr}`) ?? new Int32Array(0);
  }

  #bytesOf(address: string): Uint8Array {
    let bytes = this.#addresses.get(address);
    if (!bytes) {
      bytes = addressBytes(address);
      this.#addresses.set(address, bytes);
    }
    return bytes;
  }
}

function groupByPair({ srcAddrs, srcIndex, dstAddrs, dstIndex }: ProbeRow): Map<string, Int32Array> {
  const pairs = new Map<number, number[]>();
  for (let i = 0; i < srcIndex.length; i++) {
    const key = srcIndex[i] * dstAddrs.length + dstIndex[i];
    const places = pairs.get(key);
    if (places) places.push(i);
    else pairs.set(key, [i]);
  }
  return new Map([...pairs].map(([key, places]) => {
    const source = srcAddrs[Math.floor(key / dstAddrs.length)];
    return [`${source} ${dstAddrs[key % dstAddrs.length]}`, Int32Array.from(places)];
  }));
}
