/**
 * A measurement campaign in a synthetic Internet, as arrays of numbers from which rows are made. Threads share the
 * arrays, and a row costs little memory and time.
 *
 * A pair of a probe and a destination takes 56 bytes. There are about sqrt(rows x probes) / 2 of them, and at most
 * one per pair of hosts; nothing else grows with the number of rows.
 *
 * @module
 */
import { makeSchedule } from "./schedule.ts";
import { pairLaw } from "./truth.ts";
import type { World } from "./world.ts";

/** A campaign: plain data, which can be posted to another thread; the large arrays are in shared memory. */
export interface Campaign {
  /** Seed of the rows. */
  seed: number;
  /** Total number of rows. */
  numRows: number;
  /** Beginning and end, seconds since 1970. */
  startTimeS: number;
  endTimeS: number;
  /** Addresses of the hosts, in the form of RFC 5952. */
  addresses: string[];
  /** Numbers of the hosts. */
  hosts: {
    /** 4 or 6. */
    ipVersion: Int32Array;
    /** Probe id, or the id of the measurement that has this destination. */
    id: Float64Array;
    /** Degrees east. */
    longitude: Float64Array;
    /** Queueing at the busiest hour. */
    diurnalMs: Float64Array;
  };
  /** Numbers of the pairs, in the order of a round. */
  pairs: {
    /** Indexes of the hosts. */
    src: Int32Array;
    dst: Int32Array;
    /** Time of the route's change, seconds since 1970; Infinity for never. */
    changeTimeS: Float64Array;
    /** The path's parameters before the change (`PathNumbers` of law.ts). */
    baseMs: Float64Array;
    jitterMs: Float64Array;
    /** The parameters after the change. */
    changedBaseMs: Float64Array;
    changedJitterMs: Float64Array;
    /** Parameters that do not change. */
    loss: Float64Array;
  };
}

/**
 * Plans a campaign.
 *
 * @param world The synthetic Internet.
 * @param numRows Total number of measurements.
 */
export function makeCampaign(world: World, numRows: number): Campaign {
  const { hosts, options } = world;
  const { seed, startTimeS, endTimeS } = options;
  return {
    seed,
    numRows,
    startTimeS,
    endTimeS,
    addresses: hosts.map(({ address }) => address),
    hosts: {
      ipVersion: Int32Array.from(hosts, ({ ipVersion }) => ipVersion),
      id: sharedNumbers(hosts.length, (i) => hosts[i].id),
      longitude: sharedNumbers(hosts.length, (i) => hosts[i].longitude),
      diurnalMs: sharedNumbers(hosts.length, (i) => hosts[i].diurnalMs),
    },
    pairs: makePairs(world, numRows),
  };
}

function makePairs(world: World, numRows: number): Campaign["pairs"] {
  const { src, dst } = makeSchedule(world, numRows);
  const numbers = () => sharedNumbers(src.length, () => 0);
  const pairs = {
    src,
    dst,
    changeTimeS: numbers(),
    baseMs: numbers(),
    jitterMs: numbers(),
    changedBaseMs: numbers(),
    changedJitterMs: numbers(),
    loss: numbers(),
  };
  for (let i = 0; i < src.length; i++) {
    const { before, after, changeTimeS } = pairLaw(world, world.hosts[src[i]], world.hosts[dst[i]]);
    pairs.changeTimeS[i] = changeTimeS;
    pairs.baseMs[i] = before.baseMs;
    pairs.jitterMs[i] = before.jitterMs;
    pairs.changedBaseMs[i] = after.baseMs;
    pairs.changedJitterMs[i] = after.jitterMs;
    pairs.loss[i] = before.loss;
  }
  return pairs;
}

function sharedNumbers(length: number, valueOf: (index: number) => number): Float64Array {
  const numbers = new Float64Array(new SharedArrayBuffer(8 * length));
  for (let i = 0; i < length; i++) numbers[i] = valueOf(i);
  return numbers;
}
