/**
 * The autonomous systems of a synthetic Internet: their cities and their prefixes.
 *
 * @module
 */
import { RandomStream } from "../../base/random.ts";
import { isPublicAddress } from "../addresses/address_scope.ts";

// The locations of hosts in the synthetic Internet: metropolitan areas with weights for the number of hosts.
//
// Coordinates are those of the cities, rounded to 0.1 degrees; weights are an ASSUMPTION after the public map of
// RIPE Atlas probes and anchors, which are mostly in Europe.

/** The regions of the five Internet registries. */
export type Region = "RIPE" | "ARIN" | "APNIC" | "LACNIC" | "AFRINIC";

/** A metropolitan area. */
export interface City {
  name: string;
  region: Region;
  /** Degrees north. */
  latitude: number;
  /** Degrees east. */
  longitude: number;
  /** Relative number of hosts. */
  weight: number;
  /** Whether networks without a nearer exchange point exchange traffic here. */
  isHub: boolean;
}

const HUB = true;

export const CITIES: readonly City[] = ([
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
  ([name, region, latitude, longitude, weight, isHub = false]) => ({
    name,
    region,
    latitude,
    longitude,
    weight,
    isHub,
  }),
);

/** An autonomous system. */
export interface WorldSystem {
  /** Its number, one for private use. */
  asn: number;
  /** `access` systems have probes, `hosting` systems destinations. */
  kind: "access" | "hosting";
  /** The registry of its addresses. */
  region: Region;
  /** Its IPv4 prefix, a /16. */
  prefix4: string;
  /** Its IPv6 prefix, a /32. */
  prefix6: string;
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

const FIRST_ASN = 64512; // private use (RFC 6996): not a real network's number
const MAX_POPS = 6;

/** An autonomous system, and the locations of its hosts. */
export interface PlacedSystem extends WorldSystem {
  /** The cities of its points of presence. */
  pops: City[];
  /** The first bytes of its IPv4 addresses. */
  bytes4: [number, number];
  /** The first 16-bit groups of its IPv6 addresses. */
  groups6: [number, number];
}

export function makeSystems(seed: number, numHosts: number): PlacedSystem[] {
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
