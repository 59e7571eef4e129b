/**
 * Facts about addresses, computed once per distinct text, because ping results repeat the same probes and
 * targets.
 *
 * @module
 */
import { formatAddress, parseAddress } from "./ip.ts";
import { parsePrefix, prefixContains } from "./ip_prefix.ts";

export interface Address {
  readonly text: string;
  /** 4 or 16 bytes; undefined if the text is not an address. */
  readonly bytes: Uint8Array | undefined;
  /** In the form of RFC 5952; empty if the text is not an address. */
  readonly canonical: string;
  /** Whether the address is globally reachable. */
  readonly isPublic: boolean;
}

/** An IPv6 address has at most 45 characters. */
const MAX_ADDRESS_BYTES = 64;
const MAX_ADDRESSES = 1 << 16;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The most recently used addresses, at most {@link MAX_ADDRESSES} (about 20 MB). */
const known = new Map<string, Address>();

export function readAddress(text: string): Address {
  const found = known.get(text);
  if (found) return found;
  const bytes = parseAddress(text);
  const canonical = bytes ? formatAddress(bytes) : "";
  // The text may be a slice of a far longer one, and would keep all of that in memory.
  const copy = decoder.decode(encoder.encode(text));
  const address = { text: copy, bytes, canonical, isPublic: bytes !== undefined && isPublicAddress(bytes) };
  if (text.length > MAX_ADDRESS_BYTES) return address;
  if (known.size === MAX_ADDRESSES) known.clear();
  known.set(copy, address);
  return address;
}

/**
 * Prefixes that are not globally reachable: the IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC
 * 6890; as of 2025-10), multicast (RFC 5771, RFC 4291), and IPv6 outside of 2000::/3, the only prefix
 * allocated for global unicast.
 */
const SPECIAL = [
  "0.0.0.0/8", // this network
  "10.0.0.0/8", // private use
  "100.64.0.0/10", // shared address space (CGNAT)
  "127.0.0.0/8", // loopback
  "169.254.0.0/16", // link local
  "172.16.0.0/12", // private use
  "192.0.0.0/24", // IETF protocol assignments
  "192.0.2.0/24", // documentation
  "192.168.0.0/16", // private use
  "198.18.0.0/15", // benchmarking
  "198.51.100.0/24", // documentation
  "203.0.113.0/24", // documentation
  "224.0.0.0/3", // multicast, reserved, limited broadcast
  "::/3", // unspecified, loopback, discard-only, unallocated
  "2001::/23", // IETF protocol assignments
  "2001:db8::/32", // documentation
  "2002::/16", // 6to4
  "3fff::/20", // documentation
  "4000::/2", // unallocated; segment routing (5f00::/16)
  "8000::/1", // unallocated, unique local, link local, multicast
].map(parsePrefix);

/** Globally reachable prefixes inside {@link SPECIAL}. */
const REACHABLE = [
  ...["192.0.0.9/32", "192.0.0.10/32", "64:ff9b::/96", "2001:1::1/128", "2001:1::2/128", "2001:1::3/128"],
  ...["2001:3::/32", "2001:4:112::/48", "2001:20::/28", "2001:30::/28"],
].map(parsePrefix);

/**
 * Whether an address is globally reachable unicast, that is, not private, CGNAT, documentation, loopback,
 * link-local, multicast or unallocated.
 *
 * @param address 4 or 16 bytes in network order.
 */
export function isPublicAddress(address: Uint8Array): boolean {
  const isIn = (prefixes: typeof SPECIAL) => prefixes.some((prefix) => prefixContains(prefix, address));
  return !isIn(SPECIAL) || isIn(REACHABLE);
}
