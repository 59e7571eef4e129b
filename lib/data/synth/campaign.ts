/**
 * A measurement campaign in a synthetic Internet, as arrays of numbers from which rows are made. Threads share the
 * arrays, and a row costs little memory and time.
 *
 * A pair of a probe and a destination takes 56 bytes. There are about sqrt(rows x probes) / 2 of them, and at most
 * one per pair of hosts; nothing else grows with the number of rows.
 *
 * @module
 */
import { RandomStream } from "../../base/random.ts";
import type { World } from "./world.ts";
import { pairLatency } from "./truth.ts";

// The schedule of measurements in a synthetic Internet: each probe has its destinations, and each (probe, destination)
// pair its position in a round. Rounds repeat like Atlas' built-in measurements.

/** The weight of a destination in the probe's own region; set so that the median RTT is about 50 ms. */
const SAME_REGION_WEIGHT = 6;

/**
 * Chooses the destinations of every probe.
 *
 * @param numRows The number of rows: the more there are, the more destinations a probe has.
 * @returns The host indexes of the probe and the destination per position of a round, in shared memory.
 */
export function makeSchedule(world: World, numRows: number): { src: Int32Array; dst: Int32Array } {
  const { hosts, options } = world;
  const probes = hosts.flatMap(({ role }, index) => role === "probe" ? [index] : []);
  const numWanted = Math.max(1, Math.round(Math.sqrt(numRows / probes.length) / 2));
  const candidates = { 4: candidatesOf(world, 4), 6: candidatesOf(world, 6) };
  const chosen = probes.map((probe) =>
    chooseDestinations(world, probe, { numWanted, from: candidates[hosts[probe].ipVersion] })
  );
  const numPairs = chosen.reduce((sum, destinations) => sum + destinations.length, 0);
  const indexes = () => new Int32Array(new SharedArrayBuffer(4 * numPairs));
  const schedule = { src: indexes(), dst: indexes() };
  const places = Int32Array.from({ length: numPairs }, (_, i) => i);
  new RandomStream(options.seed, "synth/round").shuffle(places);
  const placeOf = new Int32Array(numPairs);
  places.forEach((pair, place) => placeOf[pair] = place);
  let pair = 0;
  chosen.forEach((destinations, i) => {
    for (const destination of destinations) {
      const place = placeOf[pair++];
      schedule.src[place] = probes[i];
      schedule.dst[place] = destination;
    }
  });
  return schedule;
}

/** The destinations of an IP version: indexes of their hosts, ascending, and their regions. */
function candidatesOf({ hosts, systems }: World, ipVersion: 4 | 6): { hosts: number[]; regions: string[] } {
  const indexes = hosts.flatMap((host, index) =>
    host.role === "destination" && host.ipVersion === ipVersion ? [index] : []
  );
  return { hosts: indexes, regions: indexes.map((index) => systems[hosts[index].system].region) };
}

/** Draws the destinations of a probe; those of its own region are likelier. */
function chooseDestinations(
  { hosts, systems, options }: World,
  probe: number,
  { numWanted, from }: { numWanted: number; from: ReturnType<typeof candidatesOf> },
): number[] {
  const random = new RandomStream(options.seed, "synth/schedule", probe);
  const { region } = systems[hosts[probe].system];
  // Sampling without replacement in proportion to weights: Efraimidis and Spirakis, Inf. Process. Lett. 97, 2006.
  const keys = new Float64Array(from.hosts.length);
  for (let i = 0; i < keys.length; i++) {
    keys[i] = random.exponential() / (from.regions[i] === region ? SAME_REGION_WEIGHT : 1);
  }
  const largest = keys.toSorted()[Math.min(numWanted, keys.length) - 1];
  const chosen: number[] = [];
  for (let i = 0; i < keys.length; i++) if (keys[i] <= largest) chosen.push(i);
  return chosen.sort((a, b) => keys[a] - keys[b]).slice(0, numWanted).map((i) => from.hosts[i]);
}

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
    /** The path's parameters before the change (`PathNumbers` of latency_model.ts). */
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
    const { before, after, changeTimeS } = pairLatency(world, world.hosts[src[i]], world.hosts[dst[i]]);
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
