/**
 * Makes a synthetic Internet: autonomous systems with prefixes and points of presence, hosts in them, and the
 * routes between systems. {@link makeWorld} makes everything that the latency model (`latency_model.ts`)
 * needs from a seed.
 *
 * Addresses carry information, like real ones. The first bits identify the registry's region, the first 16
 * (IPv4) or 32 (IPv6) the system. Within a system every point of presence has the next 4 (8) bits, so that
 * neighbouring /24 (/48) are in one city. The hosts of a /24 (/48) share location and kind of access.
 *
 * @module
 */
import * as z from "zod";
import { RandomStream } from "../../base/random.ts";
import { isPublicAddress } from "../addresses/address_book.ts";
import { formatAddress } from "../addresses/ip.ts";
import {
  type HostLatency,
  hostLatencySchema,
  type PathNumbers,
  pathNumbers,
  pointSchema,
} from "./latency_model.ts";

const regionSchema = z.enum(["RIPE", "ARIN", "APNIC", "LACNIC", "AFRINIC"]);
/** The regions of the five Internet registries. */
type Region = z.infer<typeof regionSchema>;

type WorldSystem = z.infer<typeof systemSchema>;
const systemSchema = z.object({
  /** A private-use number. */
  asn: z.number(),
  /** `access` systems contain probes, `hosting` systems destinations. */
  kind: z.enum(["access", "hosting"]),
  /** The registry of its addresses. */
  region: regionSchema,
  /** A /16. */
  prefix4: z.string(),
  /** A /32. */
  prefix6: z.string(),
});

export type WorldHost = z.infer<typeof hostSchema>;
const hostSchema = hostLatencySchema.extend({
  /** As in RFC 5952. */
  address: z.string(),
  /** Whether the host measures or is measured. */
  role: z.enum(["probe", "destination"]),
  /** Probe id, or the id of the measurement that has this destination. */
  id: z.number(),
  ipVersion: z.literal([4, 6]),
  /** Index of its autonomous system. */
  system: z.number(),
});

type WorldRoute = z.infer<typeof routeSchema>;
const routeSchema = z.object({
  /** Ratio of the route's length to the great circles. */
  stretch: z.number(),
  /** Index of the hub; -1 if the systems meet on the way. */
  hub: z.number(),
  /** The route's part of the median jitter, as a fraction of the propagation delay. */
  jitterFraction: z.number(),
  loss: z.number(),
  /** When the route changes; absent for most routes. */
  changeTimeS: z.number().optional(),
  changedStretch: z.number().optional(),
  changedHub: z.number().optional(),
});

/** @internal Options of a world. */
export type WorldOptions = World["options"];
export type World = z.infer<typeof worldSchema>;
export const worldSchema = z.object({
  options: z.object({
    seed: z.number(),
    /** Number of sources. */
    probes: z.number(),
    destinations: z.number(),
    /** Share of probes (and thus of rows) and of destinations that have IPv6 addresses, 0 to 1. */
    ipv6Share: z.number(),
    /** Start of the measurements, seconds since 1970. */
    startTimeS: z.number(),
    /** End of the measurements, seconds since 1970. */
    endTimeS: z.number(),
  }),
  /** Where traffic is exchanged. */
  hubs: z.array(pointSchema.extend({ name: z.string() })),
  systems: z.array(systemSchema),
  /** The probes, followed by the destinations. */
  hosts: z.array(hostSchema),
  /** `routes[a][b]` for systems a <= b, at index b - a. */
  routes: z.array(z.array(routeSchema)),
});

const HUB = true;

/**
 * The metropolitan areas of hosts: region, coordinates rounded to 0.1 degrees, relative number of hosts
 * (ASSUMPTION, based on the public map of RIPE Atlas probes and anchors, which are mostly in Europe), and
 * whether networks without a nearer exchange point exchange traffic here.
 */
const CITIES = ([
  ["Amsterdam", "RIPE", 52.4, 4.9, 9, HUB],
  ["Frankfurt", "RIPE", 50.1, 8.7, 10, HUB],
  ["London", "RIPE", 51.5, -0.1, 9, HUB],
  ["Paris", "RIPE", 48.9, 2.4, 8],
  ["Berlin", "RIPE", 52.5, 13.4, 6],
  ["Munich", "RIPE", 48.1, 11.6, 5],
  ["Zurich", "RIPE", 47.4, 8.5, 5],
  ["Vienna", "RIPE", 48.2, 16.4, 4],
  ["Prague", "RIPE", 50.1, 14.4, 4],
  ["Warsaw", "RIPE", 52.2, 21.0, 3],
  ["Stockholm", "RIPE", 59.3, 18.1, 4, HUB],
  ["Oslo", "RIPE", 59.9, 10.8, 2],
  ["Helsinki", "RIPE", 60.2, 24.9, 3],
  ["Copenhagen", "RIPE", 55.7, 12.6, 3],
  ["Brussels", "RIPE", 50.9, 4.4, 4],
  ["Dublin", "RIPE", 53.3, -6.3, 2],
  ["Madrid", "RIPE", 40.4, -3.7, 3],
  ["Lisbon", "RIPE", 38.7, -9.1, 2],
  ["Milan", "RIPE", 45.5, 9.2, 4, HUB],
  ["Rome", "RIPE", 41.9, 12.5, 2],
  ["Athens", "RIPE", 38.0, 23.7, 2],
  ["Bucharest", "RIPE", 44.4, 26.1, 2],
  ["Sofia", "RIPE", 42.7, 23.3, 2],
  ["Kyiv", "RIPE", 50.5, 30.5, 3],
  ["Moscow", "RIPE", 55.8, 37.6, 5, HUB],
  ["Novosibirsk", "RIPE", 55.0, 82.9, 1],
  ["Istanbul", "RIPE", 41.0, 29.0, 2],
  ["Tel Aviv", "RIPE", 32.1, 34.8, 1],
  ["Dubai", "RIPE", 25.2, 55.3, 1],
  ["Tehran", "RIPE", 35.7, 51.4, 1],
  ["New York", "ARIN", 40.7, -74.0, 5, HUB],
  ["Ashburn", "ARIN", 39.0, -77.5, 5, HUB],
  ["Toronto", "ARIN", 43.7, -79.4, 2],
  ["Montreal", "ARIN", 45.5, -73.6, 1],
  ["Chicago", "ARIN", 41.9, -87.6, 3, HUB],
  ["Atlanta", "ARIN", 33.7, -84.4, 2],
  ["Miami", "ARIN", 25.8, -80.2, 2, HUB],
  ["Dallas", "ARIN", 32.8, -96.8, 3],
  ["Denver", "ARIN", 39.7, -105.0, 2],
  ["Seattle", "ARIN", 47.6, -122.3, 3],
  ["San Jose", "ARIN", 37.3, -121.9, 4, HUB],
  ["Los Angeles", "ARIN", 34.1, -118.2, 3, HUB],
  ["Mexico City", "LACNIC", 19.4, -99.1, 1],
  ["Bogota", "LACNIC", 4.7, -74.1, 1],
  ["Lima", "LACNIC", -12.0, -77.0, 1],
  ["Santiago", "LACNIC", -33.4, -70.7, 1],
  ["Buenos Aires", "LACNIC", -34.6, -58.4, 1],
  ["Sao Paulo", "LACNIC", -23.5, -46.6, 3, HUB],
  ["Tokyo", "APNIC", 35.7, 139.7, 3, HUB],
  ["Seoul", "APNIC", 37.6, 127.0, 1],
  ["Hong Kong", "APNIC", 22.3, 114.2, 2, HUB],
  ["Taipei", "APNIC", 25.0, 121.6, 1],
  ["Singapore", "APNIC", 1.4, 103.8, 3, HUB],
  ["Jakarta", "APNIC", -6.2, 106.8, 2],
  ["Manila", "APNIC", 14.6, 121.0, 1],
  ["Bangkok", "APNIC", 13.8, 100.5, 1],
  ["Mumbai", "APNIC", 19.1, 72.9, 2],
  ["Delhi", "APNIC", 28.6, 77.2, 1],
  ["Sydney", "APNIC", -33.9, 151.2, 3, HUB],
  ["Perth", "APNIC", -32.0, 115.9, 1],
  ["Auckland", "APNIC", -36.8, 174.8, 2],
  ["Johannesburg", "AFRINIC", -26.2, 28.0, 2, HUB],
  ["Nairobi", "AFRINIC", -1.3, 36.8, 1],
  ["Lagos", "AFRINIC", 6.5, 3.4, 1],
  ["Cairo", "AFRINIC", 30.0, 31.2, 1],
  ["Tunis", "AFRINIC", 36.8, 10.2, 1],
] as [string, Region, number, number, number, boolean?][]).map(
  ([name, region, latitude, longitude, weight, isHub = false]) => {
    return { name, region, latitude, longitude, weight, isHub };
  },
);
type City = typeof CITIES[number];

/** First octets (IPv4; a pair is a range) and first 16 bits (IPv6) per region, by IANA's allocations. */
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

const FIRST_ASN = 64512; // private use (RFC 6996)
const MAX_POPS = 6;

/** An autonomous system and the locations of its hosts. */
interface PlacedSystem extends WorldSystem {
  pops: City[];
  /** The first bytes of its IPv4 addresses. */
  bytes4: [number, number];
  /** The first 16-bit groups of its IPv6 addresses. */
  groups6: [number, number];
}

function makeSystems(seed: number, numHosts: number): PlacedSystem[] {
  const numSystems = Math.min(400, Math.max(8, Math.round(3 * Math.sqrt(numHosts))));
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

function pickWeighted(cities: readonly City[], random: RandomStream): City {
  const total = cities.reduce((sum, { weight }) => sum + weight, 0);
  let left = total * random.float64();
  for (const city of cities) {
    left -= city.weight;
    if (left < 0) return city;
  }
  return cities[cities.length - 1];
}

const SUBNETS_PER_POP = 16; // so that a point of presence is a /20
const USED_SUBNETS = 4; // subnets with hosts, so that hosts have neighbours
/** ASSUMPTION: kinds of access, with cumulative share of subnets, median delay, queue at the busiest hour. */
const ACCESS = [
  { upTo: 0.45, medianMs: 1.5, diurnalMs: 0.3 },
  { upTo: 0.45 + 0.35, medianMs: 7, diurnalMs: 4 },
  { upTo: 1, medianMs: 17, diurnalMs: 9 },
] as const;

function makeHosts(
  systems: readonly PlacedSystem[],
  role: WorldHost["role"],
  { seed, ipv6Share, probes, destinations }: WorldOptions,
): WorldHost[] {
  const numHosts = role === "probe" ? probes : destinations;
  const kind = role === "probe" ? "access" : "hosting";
  const homes = systems.flatMap((system, index) => system.kind === kind ? [index] : []);
  const numIpv6 = countIpv6(numHosts, ipv6Share);
  const taken = new Set<string>();
  return Array.from({ length: numHosts }, (_, index) => {
    const random = new RandomStream(seed, `synth/${role}`, index);
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
      const subnetLatency = makeSubnet(
        systems[system],
        [system, ipVersion, pop * SUBNETS_PER_POP + subnet],
        role,
        seed,
      );
      const id = role === "probe" ? 1001 + index : 50_000_001 + index;
      return { address, role, id, ipVersion, system, ...vary(subnetLatency, role, random) };
    }
  });
}

/** The number of hosts with IPv6 addresses. Each requested version has at least one host. */
function countIpv6(numHosts: number, share: number): number {
  return Math.max(
    share > 0 ? 1 : 0,
    Math.min(share < 1 ? numHosts - 1 : numHosts, Math.round(numHosts * share)),
  );
}

function makeAddress(
  { bytes4, groups6 }: PlacedSystem,
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

/** Draws the properties that the hosts of a /24 or /48 have in common. */
function makeSubnet(
  { pops }: PlacedSystem,
  index: [number, number, number],
  role: WorldHost["role"],
  seed: number,
): HostLatency {
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

/** Draws a host of a subnet: its own delays and, for a few destinations, a filter that drops most packets. */
function vary(subnet: HostLatency, role: WorldHost["role"], random: RandomStream): HostLatency {
  const isFiltered = role === "destination" && random.float64() < 0.03;
  return {
    ...subnet,
    accessMs: subnet.accessMs * Math.exp(0.15 * random.normal()),
    diurnalMs: subnet.diurnalMs * Math.exp(0.15 * random.normal()),
    loss: isFiltered ? 0.5 + 0.4 * random.float64() : subnet.loss,
  };
}

const HUBS = CITIES.filter(({ isHub }) => isHub);

/** Makes a world from a seed. The same options make the same world. */
export function makeWorld(options: WorldOptions): World {
  const hubs = HUBS.map(({ name, latitude, longitude }) => ({ name, latitude, longitude }));
  const systems = makeSystems(options.seed, options.probes + options.destinations);
  const hosts = [...makeHosts(systems, "probe", options), ...makeHosts(systems, "destination", options)];
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

/** Chooses a hub without a long detour between the systems' home cities. Other cities may need a detour. */
function chooseHub(a: PlacedSystem, b: PlacedSystem, random: RandomStream): number {
  const near = [...HUBS.keys()].filter((index) => [a.region, b.region].includes(HUBS[index].region));
  return near.length > 0 ? near[random.below(near.length)] : random.below(HUBS.length);
}

/** The paths of a pair of hosts before and after its route changes. */
export interface PairPaths {
  before: PathNumbers;
  after: PathNumbers;
  /** Seconds since 1970; Infinity for never. */
  changeTimeS: number;
}

export function pathsOf({ routes, hubs }: World, src: WorldHost, dst: WorldHost): PairPaths {
  const a = Math.min(src.system, dst.system);
  const route = routes[a][Math.max(src.system, dst.system) - a];
  const { stretch, hub, changedStretch = stretch, changedHub = hub, changeTimeS = Infinity } = route;
  const pathOf = (stretch: number, hub: number) =>
    pathNumbers(src, dst, { ...route, stretch, hub: hubs[hub] });
  return { before: pathOf(stretch, hub), after: pathOf(changedStretch, changedHub), changeTimeS };
}
