/**
 * The schedule of measurements in a synthetic Internet: each probe has its destinations, and each (probe, destination)
 * pair its position in a round. Rounds repeat like Atlas' built-in measurements.
 *
 * @module
 */
import { RandomStream } from "../random/philox.ts";
import type { World } from "./world.ts";

/** The weight of a destination in the probe's own region; set so that the median RTT is about 50 ms. */
const SAME_REGION_WEIGHT = 6;

/**
 * Chooses the destinations of every probe.
 *
 * @param world The world.
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
