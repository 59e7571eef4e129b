/**
 * Probe rows prepared for sampling, and a bounded cache of them.
 *
 * Addresses are parsed once per dictionary entry and token lengths are counted once per row, so that drawing
 * a context only touches typed arrays.
 *
 * @module
 */
import { getOrMake } from "../../base/collections.ts";
import { FormatError } from "../../base/errors.ts";
import { parseAddress } from "../addresses/ip.ts";
import type { ProbeRow } from "../probe_rows/probe_row.ts";
import { encodeRttCode } from "../tokens/rtt_code.ts";
import { untimedLength } from "../tokens/vocab_v2.ts";
import type { ProbeRowSource } from "./row_source.ts";

const US_PER_S = 1e6;

// Memory of a prepared row: the typed arrays' contents per measurement, and the overhead in V8 15 of a short
// Uint8Array and of a row's objects and cache entry. Measured with rows of 1 to 100 measurements.
const BYTES_PER_MEASUREMENT = 27;
const BYTES_PER_ADDRESS = 210;
const BYTES_PER_ROW = 1300;

/** Parsed destinations by text, since most rows share them. About 5 MB. */
const knownDestinations = new Map<string, Uint8Array>();
const MAX_KNOWN_DESTINATIONS = 2 ** 14;

/** A probe row ready for sampling. Per-measurement arrays have the same length and are in time order. */
export interface PreparedRow {
  /** Source addresses, 4 or 16 bytes, by `srcIndex`. */
  sources: Uint8Array[];
  srcIndex: Int32Array;
  /** Destination addresses, 4 or 16 bytes, by `dstIndex`. */
  destinations: Uint8Array[];
  dstIndex: Int32Array;
  /** Milliseconds; -1 for no reply. */
  rttMs: Float32Array;
  /** RTT codes; 0 for no reply. */
  rttCode: Uint16Array;
  /** Whole seconds since 1970, ascending. */
  timeS: Float64Array;
  /** Number of tokens of each measurement without its time. */
  untimedLength: Uint8Array;
  /** Index of the previous measurement with an RTT of the same source and destination, or -1. */
  previous: Int32Array;
}

/**
 * Checks a row and prepares it for sampling.
 *
 * @throws {FormatError} If an address, an RTT or a time is invalid, or if times are not ascending.
 */
export function prepareRow(row: ProbeRow, where: { path: string; index: number }): PreparedRow {
  const fail = (message: string) =>
    new FormatError(`${message}; run probe-rows again`, {
      path: where.path,
      place: `row ${where.index}`,
    });
  const parse = (text: string) => {
    const bytes = parseAddress(text);
    if (!bytes) throw fail(`found the address ${JSON.stringify(text)}, expected IPv4 or IPv6`);
    return bytes;
  };
  const prepared: PreparedRow = {
    sources: row.srcAddrs.map(parse),
    srcIndex: alone(row.srcIndex),
    destinations: row.dstAddrs.map((text) => {
      if (knownDestinations.size === MAX_KNOWN_DESTINATIONS) knownDestinations.clear();
      return getOrMake(knownDestinations, text, () => parse(text));
    }),
    dstIndex: alone(row.dstIndex),
    rttMs: alone(row.rttMs),
    rttCode: new Uint16Array(row.rttMs.length),
    timeS: row.eventTimeUs.map((timeUs) => Math.floor(timeUs / US_PER_S)),
    untimedLength: new Uint8Array(row.rttMs.length),
    previous: new Int32Array(row.rttMs.length),
  };
  const { timeS, rttMs, srcIndex, dstIndex } = prepared;
  const newest: number[] = [];
  let previousTimeS = 0;
  for (let i = 0; i < rttMs.length; i++) {
    if (!(timeS[i] >= previousTimeS)) {
      throw fail(`found the time ${timeS[i]} s after ${previousTimeS} s, expected ascending times`);
    }
    previousTimeS = timeS[i];
    if (!(rttMs[i] >= 0 && rttMs[i] < Infinity) && rttMs[i] !== -1) {
      throw fail(`found the RTT ${rttMs[i]}, expected 0 or more or -1`);
    }
    prepared.untimedLength[i] = untimedLength(
      prepared.sources[srcIndex[i]].length,
      prepared.destinations[dstIndex[i]].length,
      rttMs[i] < 0,
    );
    const pair = srcIndex[i] * prepared.destinations.length + dstIndex[i];
    prepared.previous[i] = newest[pair] ?? -1;
    if (rttMs[i] < 0) continue;
    newest[pair] = i;
    prepared.rttCode[i] = encodeRttCode(rttMs[i]);
  }
  return prepared;
}

/** Returns the array if it fills its buffer, else a copy: a cached row must not keep its record in memory. */
function alone<A extends Int32Array | Float32Array>(array: A): A {
  return array.byteLength === array.buffer.byteLength ? array : array.slice() as A;
}

function preparedRowBytes({ timeS, sources, destinations }: PreparedRow): number {
  return BYTES_PER_ROW + BYTES_PER_ADDRESS * (sources.length + destinations.length) +
    BYTES_PER_MEASUREMENT * timeS.length;
}

/** A cache of the most recently used prepared rows, with bounded memory. */
export class PreparedRowCache {
  sizeBytes = 0;
  readonly #rows = new Map<number, PreparedRow>();

  /** @param maxBytes The bound on the sum of {@link preparedRowBytes}. */
  constructor(readonly source: ProbeRowSource, readonly maxBytes: number) {}

  get(index: number): PreparedRow {
    const known = this.#rows.get(index);
    if (known) {
      this.#rows.delete(index);
      this.#rows.set(index, known);
      return known;
    }
    const row = prepareRow(this.source.row(index), { path: this.source.path, index });
    const sizeBytes = preparedRowBytes(row);
    if (sizeBytes <= this.maxBytes) {
      this.#evict(this.maxBytes - sizeBytes);
      this.#rows.set(index, row);
      this.sizeBytes += sizeBytes;
    }
    return row;
  }

  /** Drops the least recently used rows (a Map keeps insertion order) until at most `maxBytes` are left. */
  #evict(maxBytes: number): void {
    for (const [index, row] of this.#rows) {
      if (this.sizeBytes <= maxBytes) return;
      this.#rows.delete(index);
      this.sizeBytes -= preparedRowBytes(row);
    }
  }
}
