/**
 * The hosts of a synthetic Internet: their addresses, locations and kinds of access.
 *
 * @module
 */
import { RandomStream } from "../../base/random.ts";
import { formatAddress } from "../addresses/ip.ts";
import type { HostLatency } from "./latency_model.ts";
import type { PlacedSystem } from "./systems.ts";

export interface WorldHost extends HostLatency {
  /** Its address, in the form of RFC 5952. */
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

const SUBNETS_PER_POP = 16; // so that a point of presence is a /20
const USED_SUBNETS = 4; // of them have hosts, so that hosts have neighbours
/** Kinds of access: cumulative share of subnets, median delay, queueing at the busiest hour. ASSUMPTION. */
const ACCESS = [
  { upTo: 0.45, medianMs: 1.5, diurnalMs: 0.3 },
  { upTo: 0.45 + 0.35, medianMs: 7, diurnalMs: 4 },
  { upTo: 1, medianMs: 17, diurnalMs: 9 },
] as const;

/** Options of the hosts of one role. */
export interface HostOptions {
  seed: number;
  role: WorldHost["role"];
  numHosts: number;
  /** The share with IPv6 addresses, 0 to 1. */
  ipv6Share: number;
}

export function makeHosts(systems: readonly PlacedSystem[], options: HostOptions): WorldHost[] {
  const { seed, role, numHosts, ipv6Share } = options;
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

/** The number of hosts with IPv6 addresses; each requested version has at least one host. */
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

/** The common properties of the hosts of one /24 or /48. */
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

/** One host of a subnet: its own share of the delays and, for a few destinations, a filter that drops most packets. */
function vary(subnet: HostLatency, role: WorldHost["role"], random: RandomStream): HostLatency {
  const isFiltered = role === "destination" && random.float64() < 0.03;
  return {
    ...subnet,
    accessMs: subnet.accessMs * Math.exp(0.15 * random.normal()),
    diurnalMs: subnet.diurnalMs * Math.exp(0.15 * random.normal()),
    loss: isFiltered ? 0.5 + 0.4 * random.float64() : subnet.loss,
  };
}
