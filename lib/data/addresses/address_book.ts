/**
 * Facts about addresses by their text, computed once per distinct text: ping results repeat the same probes
 * and targets.
 *
 * @module
 */
import { formatAddress, parseAddress } from "./ip.ts";
import { isPublicAddress } from "./address_scope.ts";

/** An IPv6 address has 45 characters at most. */
const MAX_ADDRESS_BYTES = 64;
const MAX_ADDRESSES = 1 << 16;

/** The facts about a text that may be an address. */
export interface Address {
  /** The text as it was found. */
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
