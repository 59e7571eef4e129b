/**
 * The measurements of a synthetic Internet, in order of time: like Atlas' built-in measurements, every probe
 * measures the same destinations repeatedly.
 *
 * The rounds of a campaign repeat. Row i depends only on i, so any thread can make any rows.
 *
 * @module
 */
import { RandomStream } from "../random/philox.ts";
import { FAILED_RTT_MS } from "../measurement/batch.ts";
import type { Campaign } from "./campaign.ts";
import { busyness, lawUnderLoad, type RttLaw } from "./law.ts";

const PACKETS = 3; // of one measurement, as Atlas sends them

/** Rows, one array per column; only the first `numRows` values are valid. */
export interface SynthRows {
  numRows: number;
  /** Indexes of the hosts. */
  src: Int32Array;
  dst: Int32Array;
  /** 4 or 6. */
  ipVersion: Int32Array;
  /** Microseconds since 1970. */
  eventTimeUs: Float64Array;
  /** Milliseconds, or {@link FAILED_RTT_MS}. */
  rttMs: Float64Array;
  /** Lost packets. */
  packetErrorCount: Int32Array;
}

/** Makes rows of a campaign, at most `maxRows` at a time. */
export class RowGenerator {
  readonly #campaign: Campaign;
  readonly #random: RandomStream;
  readonly #rows: SynthRows;

  constructor(campaign: Campaign, maxRows: number) {
    this.#campaign = campaign;
    this.#random = new RandomStream(campaign.seed, "synth/row");
    this.#rows = {
      numRows: 0,
      src: new Int32Array(maxRows),
      dst: new Int32Array(maxRows),
      ipVersion: new Int32Array(maxRows),
      eventTimeUs: new Float64Array(maxRows),
      rttMs: new Float64Array(maxRows),
      packetErrorCount: new Int32Array(maxRows),
    };
  }

  /** Rows `from` to `end - 1`, sorted by time; they are overwritten by the next call. */
  rows(from: number, end: number): SynthRows {
    const { numRows, startTimeS, endTimeS, pairs, hosts } = this.#campaign;
    const rows = this.#rows;
    const random = this.#random;
    const numPairs = pairs.src.length;
    let pair = from % numPairs;
    for (let row = from; row < end; row++) {
      const at = row - from;
      random.restart(row >>> 0, Math.floor(row / 2 ** 32));
      const timeS = Math.floor(startTimeS + (endTimeS - startTimeS) * (row + random.float64()) / numRows);
      const law = this.#law(pair, timeS);
      const rttMs = law.sample(random);
      const src = pairs.src[pair];
      rows.src[at] = src;
      rows.dst[at] = pairs.dst[pair];
      rows.ipVersion[at] = hosts.ipVersion[src];
      rows.eventTimeUs[at] = timeS * 1e6;
      rows.rttMs[at] = rttMs ?? FAILED_RTT_MS;
      rows.packetErrorCount[at] = rttMs === undefined ? PACKETS : random.float64() < 2 * law.pFailed ? 1 : 0;
      if (++pair === numPairs) pair = 0;
    }
    rows.numRows = end - from;
    return rows;
  }

  #law(pair: number, timeS: number): RttLaw {
    const { pairs, hosts: { longitude, diurnalMs } } = this.#campaign;
    const [src, dst] = [pairs.src[pair], pairs.dst[pair]];
    const busySrc = busyness(timeS, longitude[src]);
    const queueMs = diurnalMs[src] * busySrc + diurnalMs[dst] * busyness(timeS, longitude[dst]);
    const isChanged = timeS >= pairs.changeTimeS[pair];
    const path = {
      baseMs: isChanged ? pairs.changedBaseMs[pair] : pairs.baseMs[pair],
      jitterMs: isChanged ? pairs.changedJitterMs[pair] : pairs.jitterMs[pair],
      loss: pairs.loss[pair],
    };
    return lawUnderLoad(path, { busySrc, queueMs });
  }
}
