/**
 * Facts about addresses by their text, found once per distinct text: results of ping measurements name the same probes
 * and targets again and again.
 *
 * @module
 */
import { formatAddress, parseAddress } from "../addresses/ip.ts";
import { isPublicAddress } from "../addresses/address_scope.ts";

/** An IPv6 address has 45 characters at most. */
const MAX_ADDRESS_BYTES = 64;
const MAX_ADDRESSES = 1 << 16;

/** An address as text, which may be no address. */
export interface Address {
  /** As it was found. */
  readonly text: string;
  /** 4 or 16 bytes; undefined if the text is no address. */
  readonly bytes: Uint8Array | undefined;
  /** As RFC 5952 writes it; empty if the text is no address. */
  readonly canonical: string;
  /** Whether it is reachable from the whole Internet. */
  readonly isPublic: boolean;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The addresses read last, at most {@link MAX_ADDRESSES}: about 20 MB. */
const known = new Map<string, Address>();

/** The facts about an address, or about a text that is none. */
export function readAddress(text: string): Address {
  const found = known.get(text);
  if (found) return found;
  const bytes = parseAddress(text);
  const canonical = bytes ? formatAddress(bytes) : "";
  // The text may be a slice of one that is far longer, and would hold all of it.
  const copy = decoder.decode(encoder.encode(text));
  const address = { text: copy, bytes, canonical, isPublic: bytes !== undefined && isPublicAddress(bytes) };
  if (text.length > MAX_ADDRESS_BYTES) return address;
  if (known.size === MAX_ADDRESSES) known.clear();
  known.set(copy, address);
  return address;
}
