/**
 * The autonomous systems of a synthetic Internet: their cities and their prefixes.
 *
 * @module
 */
import { RandomStream } from "../../base/random.ts";
import { isPublicAddress } from "../addresses/address_scope.ts";
import { CITIES, type City, type Region } from "./cities.ts";

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

/** Makes the systems for a number of hosts. */
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
