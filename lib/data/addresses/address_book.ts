/**
 * Facts about addresses by their text, computed once per distinct text: ping results repeat the same probes
 * and targets.
 *
 * @module
 */
import { parsePrefix, prefixContains } from "./ip_prefix.ts";
import { formatAddress, parseAddress } from "./ip.ts";

// Whether an address is globally reachable.
//
// Sources: the IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890; state of 2025-10), the multicast
// ranges (RFC 5771, RFC 4291) and, for IPv6, that global unicast is allocated from 2000::/3 only.

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

/** An IPv6 address has 45 characters at most. */
const MAX_ADDRESS_BYTES = 64;
const MAX_ADDRESSES = 1 << 16;

/** The facts about a text that may be an address. */
export interface Address {
  readonly text: string;
  /** 4 or 16 bytes; undefined if the text is not an address. */
  readonly bytes: Uint8Array | undefined;
  /** In the form of RFC 5952; empty if the text is not an address. */
  readonly canonical: string;
  /** Whether it is globally reachable. */
  readonly isPublic: boolean;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The most recently read addresses, at most {@link MAX_ADDRESSES}: about 20 MB. */
const known = new Map<string, Address>();

/** The facts about a text, whether it is an address or not. */
export function readAddress(text: string): Address {
  const found = known.get(text);
  if (found) return found;
  const bytes = parseAddress(text);
  const canonical = bytes ? formatAddress(bytes) : "";
  // The text may be a slice of a far longer one, and would keep all of it in memory.
  const copy = decoder.decode(encoder.encode(text));
  const address = { text: copy, bytes, canonical, isPublic: bytes !== undefined && isPublicAddress(bytes) };
  if (text.length > MAX_ADDRESS_BYTES) return address;
  if (known.size === MAX_ADDRESSES) known.clear();
  known.set(copy, address);
  return address;
}
