/**
 * Whether an address is globally reachable.
 *
 * Sources: the IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890; state of 2025-10), the multicast
 * ranges (RFC 5771, RFC 4291) and, for IPv6, that global unicast is allocated from 2000::/3 only.
 *
 * @module
 */
import { parsePrefix, prefixContains } from "./ip_prefix.ts";

/** IETF protocol assignments that are globally reachable. */
const REACHABLE_PROTOCOL_ASSIGNMENTS: readonly string[] = [
  "2001:1::1/128",
  "2001:1::2/128",
  "2001:1::3/128",
  "2001:3::/32",
  "2001:4:112::/48",
  "2001:20::/28",
  "2001:30::/28",
];

/** Prefixes that are not globally reachable, each with the reachable prefixes inside it. */
const SPECIAL: readonly { prefix: string; except?: readonly string[] }[] = [
  { prefix: "0.0.0.0/8" }, // this network
  { prefix: "10.0.0.0/8" }, // private use
  { prefix: "100.64.0.0/10" }, // shared address space (CGNAT)
  { prefix: "127.0.0.0/8" }, // loopback
  { prefix: "169.254.0.0/16" }, // link local
  { prefix: "172.16.0.0/12" }, // private use
  { prefix: "192.0.0.0/24", except: ["192.0.0.9/32", "192.0.0.10/32"] }, // IETF protocol assignments
  { prefix: "192.0.2.0/24" }, // documentation
  { prefix: "192.168.0.0/16" }, // private use
  { prefix: "198.18.0.0/15" }, // benchmarking
  { prefix: "198.51.100.0/24" }, // documentation
  { prefix: "203.0.113.0/24" }, // documentation
  { prefix: "224.0.0.0/3" }, // multicast, reserved, limited broadcast
  { prefix: "::/3", except: ["64:ff9b::/96"] }, // unspecified, loopback, IPv4-mapped, discard-only, unallocated
  { prefix: "2001::/23", except: REACHABLE_PROTOCOL_ASSIGNMENTS }, // IETF protocol assignments
  { prefix: "2001:db8::/32" }, // documentation
  { prefix: "2002::/16" }, // 6to4
  { prefix: "3fff::/20" }, // documentation
  { prefix: "4000::/2" }, // unallocated; segment routing (5f00::/16)
  { prefix: "8000::/1" }, // unallocated, unique local, link local, multicast
];

const PARSED = SPECIAL.map(({ prefix, except }) => ({
  prefix: parsePrefix(prefix),
  except: (except ?? []).map(parsePrefix),
}));

/**
 * Whether the address is a unicast address that is globally reachable: not private, CGNAT, documentation,
 * loopback, link-local, multicast or unallocated.
 *
 * @param address 4 or 16 bytes in network order.
 */
export function isPublicAddress(address: Uint8Array): boolean {
  return !PARSED.some(({ prefix, except }) =>
    prefixContains(prefix, address) && !except.some((reachable) => prefixContains(reachable, address))
  );
}
