/**
 * Makes a synthetic Internet: autonomous systems with prefixes and points of presence, hosts in them, and
 * the routes between systems. {@link makeWorld} gives everything that the latency model (`latency_model.ts`) needs, from a seed.
 *
 * Addresses carry information, like real ones. The first bits tell the registry's region, the first 16 (IPv4) or
 * 32 (IPv6) the system; inside it every point of presence has the next 4 (8) bits, so that neighbouring /24 (/48)
 * are in one city; the hosts of a /24 (/48) share place and kind of access.
 *
 * @module
 */
import { RandomStream } from "../../base/random.ts";
import { CITIES, makeSystems, type PlacedSystem, type WorldSystem } from "./systems.ts";
import { makeHosts, type WorldHost } from "./hosts.ts";
import type { GeoPoint } from "./latency_model.ts";

/** Options of a world. */
export interface WorldOptions {
  /** Seed of all random choices. */
  seed: number;
  /** Number of sources. */
  probes: number;
  /** Number of destinations. */
  destinations: number;
  /** The share of probes (and so of rows) and destinations that have IPv6 addresses, 0 to 1. */
  ipv6Share: number;
  /** Start of the measurements, seconds since 1970. */
  startTimeS: number;
  /** Their end, likewise. */
  endTimeS: number;
}

/** The route between two autonomous systems. */
export interface WorldRoute {
  /** Ratio of the route's length to that of the great circles. */
  stretch: number;
  /** Index of the hub, or -1 if the systems meet on the way. */
  hub: number;
  /** Share of the jitter's median, as a fraction of the propagation delay. */
  jitterFraction: number;
  /** Share of the probability of no reply. */
  loss: number;
  /** Time of the route's change; absent for most. */
  changeTimeS?: number;
  /** Stretch after the change. */
  changedStretch?: number;
  /** Hub after the change. */
  changedHub?: number;
}

/** A whole synthetic Internet. */
export interface World {
  options: WorldOptions;
  /** The locations where traffic is exchanged. */
  hubs: (GeoPoint & { name: string })[];
  /** The autonomous systems. */
  systems: WorldSystem[];
  /** The probes, then the destinations. */
  hosts: WorldHost[];
  /** `routes[a][b]` for systems a <= b, at index b - a. */
  routes: WorldRoute[][];
}

const HUBS = CITIES.filter(({ isHub }) => isHub);
/** Makes the world of a seed; the same options give the same world. */
export function makeWorld(options: WorldOptions): World {
  const hubs = HUBS.map(({ name, latitude, longitude }) => ({ name, latitude, longitude }));
  const { seed, probes, destinations, ipv6Share } = options;
  const systems = makeSystems(seed, probes + destinations);
  const hosts = [
    ...makeHosts(systems, { seed, role: "probe", numHosts: probes, ipv6Share }),
    ...makeHosts(systems, { seed, role: "destination", numHosts: destinations, ipv6Share }),
  ];
  const routes = systems.map((_, a) =>
    systems.slice(a).map((_, offset) => makeRoute(a, a + offset, systems, options))
  );
  const publicSystems = systems.map(({ pops: _, bytes4: __, groups6: ___, ...system }) => system);
  return { options, hubs, systems: publicSystems, hosts, routes };
}

function makeRoute(
  a: number,
  b: number,
  systems: readonly PlacedSystem[],
  { seed, startTimeS, endTimeS }: WorldOptions,
): WorldRoute {
  const random = new RandomStream(seed, "synth/route", a, b);
  const drawStretch = () => 1.2 + 0.6 * random.exponential();
  const drawHub = () => chooseHub(systems[a], systems[b], random);
  const route: WorldRoute = {
    stretch: drawStretch(),
    hub: a === b || random.float64() < 0.55 ? -1 : drawHub(),
    jitterFraction: 0.002 + 0.008 * random.exponential(),
    loss: 0.003 * random.exponential() + (random.float64() < 0.03 ? 0.1 * random.float64() : 0),
  };
  if (a === b || random.float64() >= 0.1) return route;
  const changeTimeS = Math.floor(startTimeS + (endTimeS - startTimeS) * random.float64());
  return { ...route, changeTimeS, changedStretch: drawStretch(), changedHub: drawHub() };
}

/** A hub without a long detour for the systems' home cities; for their other cities there may be one. */
function chooseHub(a: PlacedSystem, b: PlacedSystem, random: RandomStream): number {
  const near = [...HUBS.keys()].filter((index) => [a.region, b.region].includes(HUBS[index].region));
  return near.length > 0 ? near[random.below(near.length)] : random.below(HUBS.length);
}
