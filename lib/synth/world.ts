/**
 * The making of a synthetic Internet: autonomous systems with prefixes and points of presence, hosts in them, and
 * the routes between systems. {@link makeWorld} gives everything that `law.ts` needs, from a seed.
 *
 * Addresses carry information, as real ones do. The first bits tell the registry's region, the first 16 (IPv4) or
 * 32 (IPv6) the system; inside it every point of presence has the next 4 (8) bits, so that neighbouring /24 (/48)
 * are in one city; the hosts of a /24 (/48) share place and kind of access.
 *
 * @module
 */
import { RandomStream } from "../random/philox.ts";
import { formatAddress } from "../addresses/ip.ts";
import { isPublicAddress } from "../addresses/address_scope.ts";
import { CITIES, type City, type Region } from "./cities.ts";
import type { HostLaw, Place } from "./law.ts";

/** How large a world is. */
export interface WorldOptions {
  /** What everything is drawn from. */
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

/** A host of the world. */
export interface WorldHost extends HostLaw {
  /** Its address, written as RFC 5952 says. */
  address: string;
  /** Whether it measures or is measured. */
  role: "probe" | "destination";
  /** Probe id, or the id of the measurement that has this destination. */
  id: number;
  /** Version of its address. */
  ipVersion: 4 | 6;
  /** Index of its autonomous system. */
  system: number;
}

/** An autonomous system. */
export interface WorldSystem {
  /** Its number, one for private use. */
  asn: number;
  /** `access` systems have probes, `hosting` systems destinations. */
  kind: "access" | "hosting";
  /** Whose addresses it has. */
  region: Region;
  /** Its IPv4 prefix, a /16. */
  prefix4: string;
  /** Its IPv6 prefix, a /32. */
  prefix6: string;
}

/** The route between two autonomous systems. */
export interface WorldRoute {
  /** Length of the route by that of the great circles. */
  stretch: number;
  /** Index of the hub, or -1 if the systems meet on the way. */
  hub: number;
  /** Share of the jitter's median, by the propagation delay. */
  jitterFraction: number;
  /** Share of the probability of no reply. */
  loss: number;
  /** From when on the route is another; absent for most. */
  changeTimeS?: number;
  /** Stretch after the change. */
  changedStretch?: number;
  /** Hub after the change. */
  changedHub?: number;
}

/** A whole synthetic Internet. */
export interface World {
  /** What it was made of. */
  options: WorldOptions;
  /** Where traffic is exchanged. */
  hubs: (Place & { name: string })[];
  /** The autonomous systems. */
  systems: WorldSystem[];
  /** The probes, then the destinations. */
  hosts: WorldHost[];
  /** `routes[a][b]` for systems a <= b, at index b - a. */
  routes: WorldRoute[][];
}

/** First octets (IPv4; a pair is a range) and first 16 bits (IPv6) per region, after IANA's allocations. */
const BLOCKS: Record<
  Region,
  { octets: (number | [first: number, last: number])[]; groups: [number, number] }
> = {
  RIPE: { octets: [[77, 95], [193, 195], 212, 213], groups: [0x2a00, 0x2a10] },
  ARIN: { octets: [[63, 76], [96, 99], [204, 209]], groups: [0x2600, 0x2610] },
  APNIC: { octets: [101, 103, 106, [110, 122], 202, 210, 211, 218], groups: [0x2400, 0x2410] },
  LACNIC: { octets: [177, 179, 181, 186, 187, [189, 191], 200, 201], groups: [0x2800, 0x2810] },
  AFRINIC: { octets: [41, 102, 105, 154, 196, 197], groups: [0x2c00, 0x2c10] },
};

const HUBS = CITIES.filter(({ isHub }) => isHub);
const FIRST_ASN = 64512; // private use (RFC 6996): no real network's number
const SUBNETS_PER_POP = 16; // so that a point of presence is a /20
const USED_SUBNETS = 4; // of them have hosts, so that hosts have neighbours
const MAX_POPS = 6;
/** Kinds of access: share of subnets of it and those before, median delay, queueing at the busiest hour. ASSUMPTION: fibre, cable, DSL. */
const ACCESS = [
  { upTo: 0.45, medianMs: 1.5, diurnalMs: 0.3 },
  { upTo: 0.45 + 0.35, medianMs: 7, diurnalMs: 4 },
  { upTo: 1, medianMs: 17, diurnalMs: 9 },
] as const;

/** Makes the world of a seed; the same options give the same world. */
export function makeWorld(options: WorldOptions): World {
  const hubs = HUBS.map(({ name, latitude, longitude }) => ({ name, latitude, longitude }));
  const systems = makeSystems(options);
  const hosts = [...makeHosts(systems, "probe", options), ...makeHosts(systems, "destination", options)];
  const routes = systems.map((_, a) =>
    systems.slice(a).map((_, offset) => makeRoute(a, a + offset, systems, options))
  );
  const publicSystems = systems.map(({ pops: _, bytes4: __, groups6: ___, ...system }) => system);
  return { options, hubs, systems: publicSystems, hosts, routes };
}

interface System extends WorldSystem {
  pops: City[];
  bytes4: [number, number];
  groups6: [number, number];
}

function makeSystems({ seed, probes, destinations }: WorldOptions): System[] {
  const numSystems = Math.min(400, Math.max(8, Math.round(3 * Math.sqrt(probes + destinations))));
  const taken = new Set<string>();
  return Array.from({ length: numSystems }, (_, index) => {
    const random = new RandomStream(seed, "synth/system", index);
    const home = pickWeighted(CITIES, random);
    const neighbours = CITIES.filter(({ region }) => region === home.region);
    const numPops = 1 + random.below(MAX_POPS);
    const pops = [home, ...Array.from({ length: numPops - 1 }, () => pickWeighted(neighbours, random))];
    const bytes4 = takePrefix4(home.region, taken, random);
    const groups6 = takePrefix6(home.region, taken, random);
    return {
      asn: FIRST_ASN + index,
      kind: index % 3 === 0 ? "hosting" as const : "access" as const,
      region: home.region,
      prefix4: `${bytes4.join(".")}.0.0/16`,
      prefix6: `${groups6.map((group) => group.toString(16)).join(":")}::/32`,
      pops,
      bytes4,
      groups6,
    };
  });
}

function takePrefix4(region: Region, taken: Set<string>, random: RandomStream): [number, number] {
  const octets = BLOCKS[region].octets.flatMap((each) => {
    if (typeof each === "number") return [each];
    const [first, last] = each;
    return Array.from({ length: last - first + 1 }, (_, i) => first + i);
  });
  while (true) {
    const prefix: [number, number] = [octets[random.below(octets.length)], random.below(256)];
    const isPublic = [0, 64, 128, 192, 255].every((third) =>
      isPublicAddress(Uint8Array.of(...prefix, third, 1))
    );
    if (!isPublic || taken.has(prefix.join("."))) continue;
    taken.add(prefix.join("."));
    return prefix;
  }
}

function takePrefix6(region: Region, taken: Set<string>, random: RandomStream): [number, number] {
  const [first, end] = BLOCKS[region].groups;
  while (true) {
    const groups: [number, number] = [first + random.below(end - first), 1 + random.below(0xffff)];
    if (taken.has(groups.join(":"))) continue;
    taken.add(groups.join(":"));
    return groups;
  }
}

function makeHosts(systems: readonly System[], role: WorldHost["role"], options: WorldOptions): WorldHost[] {
  const kind = role === "probe" ? "access" : "hosting";
  const homes = systems.flatMap((system, index) => system.kind === kind ? [index] : []);
  const numHosts = role === "probe" ? options.probes : options.destinations;
  const numIpv6 = countIpv6(numHosts, options.ipv6Share);
  const taken = new Set<string>();
  return Array.from({ length: numHosts }, (_, index) => {
    const random = new RandomStream(options.seed, `synth/${role}`, index);
    const isIpv6 = Math.floor((index + 1) * numIpv6 / numHosts) > Math.floor(index * numIpv6 / numHosts);
    const ipVersion = isIpv6 ? 6 : 4;
    for (;;) {
      const system = homes[random.below(homes.length)];
      const subnet = random.below(USED_SUBNETS) * SUBNETS_PER_POP / USED_SUBNETS;
      const pop = random.below(systems[system].pops.length);
      const bytes = makeAddress(systems[system], ipVersion, pop, subnet, random);
      const address = formatAddress(bytes);
      if (taken.has(address)) continue;
      taken.add(address);
      const subnetLaw = makeSubnet(
        systems[system],
        [system, ipVersion, pop * SUBNETS_PER_POP + subnet],
        role,
        options.seed,
      );
      const id = role === "probe" ? 1001 + index : 50_000_001 + index;
      return { address, role, id, ipVersion, system, ...vary(subnetLaw, role, random) };
    }
  });
}

/** How many of the hosts have IPv6 addresses; of each version that is wanted there is at least one. */
function countIpv6(numHosts: number, share: number): number {
  return Math.max(
    share > 0 ? 1 : 0,
    Math.min(share < 1 ? numHosts - 1 : numHosts, Math.round(numHosts * share)),
  );
}

function makeAddress(
  { bytes4, groups6 }: System,
  ipVersion: 4 | 6,
  pop: number,
  subnet: number,
  random: RandomStream,
): Uint8Array {
  if (ipVersion === 4) return Uint8Array.of(...bytes4, pop * SUBNETS_PER_POP + subnet, 1 + random.below(254));
  const bytes = new Uint8Array(16);
  const groups = [...groups6, pop << 8 | subnet, 0, 0, 0, random.below(4), random.uint32() & 0xffff];
  const hasPrivacyAddress = random.below(2) === 1;
  for (let i = 4; i < 8 && hasPrivacyAddress; i++) groups[i] = random.uint32() & 0xffff;
  groups.forEach((group, i) => {
    bytes[2 * i] = group >> 8;
    bytes[2 * i + 1] = group & 255;
  });
  return bytes;
}

/** What the hosts of one /24 or /48 have in common. */
function makeSubnet(
  { pops }: System,
  index: [number, number, number],
  role: WorldHost["role"],
  seed: number,
): HostLaw {
  const random = new RandomStream(seed, "synth/subnet", ...index);
  const city = pops[Math.floor(index[2] / SUBNETS_PER_POP)];
  const place = {
    latitude: city.latitude + 0.3 * random.normal(),
    longitude: city.longitude + 0.3 * random.normal(),
  };
  if (role === "destination") {
    return {
      ...place,
      accessMs: 0.2 + 0.3 * random.exponential(),
      diurnalMs: 0.1,
      jitterFloorMs: 0.02,
      loss: 0,
    };
  }
  const draw = random.float64();
  const access = ACCESS.find(({ upTo }) => draw < upTo) ?? ACCESS[2];
  return {
    ...place,
    accessMs: access.medianMs * Math.exp(0.3 * random.normal()),
    diurnalMs: access.diurnalMs * random.exponential(),
    jitterFloorMs: 0.02 * access.medianMs,
    loss: 0.004 * random.exponential(),
  };
}

/** One host of a subnet: its own share of the delays and, for a few destinations, a filter that answers rarely. */
function vary(subnet: HostLaw, role: WorldHost["role"], random: RandomStream): HostLaw {
  const isFiltered = role === "destination" && random.float64() < 0.03;
  return {
    ...subnet,
    accessMs: subnet.accessMs * Math.exp(0.15 * random.normal()),
    diurnalMs: subnet.diurnalMs * Math.exp(0.15 * random.normal()),
    loss: isFiltered ? 0.5 + 0.4 * random.float64() : subnet.loss,
  };
}

function makeRoute(
  a: number,
  b: number,
  systems: readonly System[],
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

/** A hub that is not far out of the way for the systems' homes; it may be for their other cities. */
function chooseHub(a: System, b: System, random: RandomStream): number {
  const near = [...HUBS.keys()].filter((index) => [a.region, b.region].includes(HUBS[index].region));
  return near.length > 0 ? near[random.below(near.length)] : random.below(HUBS.length);
}

function pickWeighted(cities: readonly City[], random: RandomStream): City {
  const total = cities.reduce((sum, { weight }) => sum + weight, 0);
  let left = total * random.float64();
  for (const city of cities) {
    left -= city.weight;
    if (left < 0) return city;
  }
  return cities[cities.length - 1];
}
