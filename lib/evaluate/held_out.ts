/**
 * Held-out measurements with the context a predictor may use: what the same source measured before.
 *
 * @module
 */
import { FAILED_RTT_MS } from "../measurement/batch.ts";
import type { ProbeRowSource } from "../loader/row_source.ts";
import { tokenMeasurement } from "../query/context.ts";
import { RandomStream } from "../random/philox.ts";
import type { ProbeRow } from "../records/probe_row.ts";
import { parseAddress } from "../tokens/ip.ts";
import { encodeRttCode } from "../tokens/rtt_code.ts";
import type { TokenMeasurement } from "../tokens/vocab_v2.ts";
import { TrainingRtts } from "./rtt_error.ts";

/** An answered measurement that the model was not trained on. */
export interface HeldOutMeasurement {
  srcAddr: string;
  dstAddr: string;
  rttMs: number;
  measurement: TokenMeasurement & { timeS: number };
  /** The held-out measurements of the same source before it, oldest first. */
  context: TokenMeasurement[];
}

/**
 * Draws answered measurements uniformly from probe rows (reservoir sampling, Vitter's Algorithm R).
 *
 * @param rows The held-out rows.
 * @param options `count`: how many at most; `maxContext`: how many measurements of context each gets at most.
 * @returns Them, in the order of the rows.
 */
export function drawHeldOut(
  rows: ProbeRowSource,
  options: { count: number; maxContext: number; seed: number },
): HeldOutMeasurement[] {
  const random = new RandomStream(options.seed, "evaluate/held-out");
  const chosen: { row: number; index: number }[] = [];
  let seen = 0;
  for (let row = 0; row < rows.numRows; row++) {
    const { rttMs } = rows.row(row);
    for (let index = 0; index < rttMs.length; index++) {
      if (rttMs[index] === FAILED_RTT_MS) continue;
      seen++;
      if (chosen.length < options.count) chosen.push({ row, index });
      else {
        const slot = random.below(seen);
        if (slot < options.count) chosen[slot] = { row, index };
      }
    }
  }
  chosen.sort((a, b) => a.row - b.row || a.index - b.index);
  return chosen.map(({ row, index }) => heldOutOf(rows.row(row), index, options.maxContext));
}

/** Collects the training RTTs that the baselines of the given held-out measurements need. */
export function collectTrainingRtts(
  rows: ProbeRowSource,
  heldOut: readonly HeldOutMeasurement[],
  onProgress: (row: number) => void = () => {},
): TrainingRtts {
  const training = new TrainingRtts(new Set(heldOut.map(({ srcAddr }) => srcAddr)));
  for (let r = 0; r < rows.numRows; r++) {
    const row = rows.row(r);
    for (let i = 0; i < row.rttMs.length; i++) {
      if (row.rttMs[i] === FAILED_RTT_MS) continue;
      training.add(row.srcAddrs[row.srcIndex[i]], row.dstAddrs[row.dstIndex[i]], encodeRttCode(row.rttMs[i]));
    }
    onProgress(r + 1);
  }
  return training;
}

function heldOutOf(row: ProbeRow, index: number, maxContext: number): HeldOutMeasurement {
  const measurementAt = (i: number) =>
    tokenMeasurement({
      source: bytesOf(row.srcAddrs[row.srcIndex[i]]),
      destination: bytesOf(row.dstAddrs[row.dstIndex[i]]),
      rttMs: row.rttMs[i],
      eventTimeUs: row.eventTimeUs[i],
    });
  const start = Math.max(0, index - maxContext);
  return {
    srcAddr: row.srcAddrs[row.srcIndex[index]],
    dstAddr: row.dstAddrs[row.dstIndex[index]],
    rttMs: row.rttMs[index],
    measurement: { ...measurementAt(index), timeS: Math.floor(row.eventTimeUs[index] / 1e6) },
    context: Array.from({ length: index - start }, (_, i) => measurementAt(start + i)),
  };
}

function bytesOf(address: string): Uint8Array {
  const bytes = parseAddress(address);
  if (!bytes) throw new Error(`Internal error: ${address} passed the checks of preprocessing`);
  return bytes;
}
