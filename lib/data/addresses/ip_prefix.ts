/**
 * IP prefixes: addresses that begin with the same bits (RFC 4632, RFC 4291 section 2.3), and the possible
 * values of each of their bytes.
 *
 * @module
 */
import { type Fault, UserError } from "../../base/errors.ts";
import { formatAddress, parseAddress } from "./ip.ts";

/** A prefix of any length. At full length it is a single address. */
export interface IpPrefix {
  /** The first address, 4 or 16 bytes: all bits after the prefix are 0. */
  readonly bytes: Uint8Array;
  /** The number of bits that all addresses share, 0 to 32 or 128. */
  readonly length: number;
  /** The prefixes, if there are several, such as those of a city or an AS; `length` is then 0. */
  readonly mixture?: PrefixMixture;
  /** Whether this prefix represents a place and contains all of it. */
  readonly isWholePlace?: boolean;
}

/** Several prefixes that a question treats as one. */
export interface PrefixMixture {
  /** The network or place that the prefixes belong to. */
  readonly name: string;
  /** Number of networks that the prefixes belong to. */
  readonly numNetworks: number;
  /** Whether an address is in the network or place. */
  has(address: Uint8Array): boolean;
  /** Returns at most `maxPrefixes` prefixes that represent all of them, with shares that add up to 1. */
  take(maxPrefixes: number): readonly { readonly prefix: IpPrefix; readonly share: number }[];
}

/** A contiguous range of byte values. */
export interface ByteRange {
  readonly first: number;
  /** The range includes this value, which is at least `first`. */
  readonly last: number;
}

/**
 * Parses a prefix, such as `10.2.0.0/16`, `2001:db8::/33` or an address.
 *
 * Bits after the prefix are cleared, as routers do: `10.2.3.4/16` is `10.2.0.0/16`. {@link hasHostBits}
 * detects such bits.
 *
 * @throws {UserError} If the address is invalid, or the length is invalid or too large for the address.
 */
export function parsePrefix(text: string): IpPrefix {
  const { bytes, length } = splitPrefix(text);
  return prefixOfAddress(bytes, length);
}

/** Explains what is wrong with a prefix as text; undefined if it is valid. */
export function faultOfPrefix(text: string): Fault | undefined {
  const split = trySplitPrefix(text);
  return "fault" in split ? split.fault : undefined;
}

/** Whether a prefix as text has bits after its length. @throws {UserError} As {@link parsePrefix}. */
export function hasHostBits(text: string): boolean {
  const { bytes, length } = splitPrefix(text);
  return bytes.some((byte, i) => (byte & ~maskOf(length, i)) !== 0);
}

/**
 * The prefix of a given length that contains an address.
 *
 * @param bytes 4 or 16 bytes.
 * @param length In bits (default: all bits of the address).
 */
export function prefixOfAddress(bytes: Uint8Array, length: number = bytes.length * 8): IpPrefix {
  return { bytes: bytes.map((byte, i) => byte & maskOf(length, i)), length };
}

/** Whether a prefix represents a place or a network. */
export function isPlace({ mixture, isWholePlace = false }: IpPrefix): boolean {
  return mixture !== undefined || isWholePlace;
}

export function isAddress({ bytes, length }: IpPrefix): boolean {
  return length === bytes.length * 8;
}

/** Formats a prefix as in RFC 5952, a single address without a length, and several prefixes by their name. */
export function formatPrefix(prefix: IpPrefix): string {
  if (prefix.mixture) return prefix.mixture.name;
  const address = formatAddress(prefix.bytes);
  return isAddress(prefix) ? address : `${address}/${prefix.length}`;
}

/** Appends the name of an address or prefix, if there is one: `8.8.8.8 (dns.google)`. */
export function withName(address: string, name: string | undefined): string {
  return name === undefined ? address : `${address} (${name})`;
}

/**
 * The possible values of byte `index` in the addresses of a prefix: one, some of the 256, or all.
 *
 * @param index From 0.
 */
export function byteRange({ bytes, length }: IpPrefix, index: number): ByteRange {
  return { first: bytes[index], last: bytes[index] | (~maskOf(length, index) & 255) };
}

/** Whether a prefix contains an address. False if the IP versions differ. */
export function prefixContains(prefix: IpPrefix, address: Uint8Array): boolean {
  return address.length === prefix.bytes.length && address.every((byte, i) => {
    const { first, last } = byteRange(prefix, i);
    return byte >= first && byte <= last;
  });
}

/** Mask of the bits of byte `index` that belong to the prefix. */
function maskOf(length: number, index: number): number {
  const numBits = Math.min(8, Math.max(0, length - 8 * index));
  return 255 << (8 - numBits) & 255;
}

/** Says that a text is not an address, with advice if it is a host name or an AS number. */
export function addressFault(text: string, wanted = "address"): Fault {
  return { expected: `an IPv4 or IPv6 ${wanted}`, advice: adviceOnName(text) };
}

/** Advice if a host name or an AS number was given instead of an address. */
export function adviceOnName(text: string): string | undefined {
  if (/^AS\d+$/i.test(text)) return "this is an AS number: give one of its prefixes";
  const isName = /^(?=.*[a-z])[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?$/i.test(text);
  return isName ? "this looks like a host name: resolve it and give its address" : undefined;
}

function splitPrefix(text: string): IpPrefix {
  const split = trySplitPrefix(text);
  if ("fault" in split) throw new UserError({ action: `read ${JSON.stringify(text)}`, ...split.fault });
  return split;
}

function trySplitPrefix(text: string): IpPrefix | { fault: Fault } {
  const slash = text.indexOf("/");
  const addressText = slash < 0 ? text : text.slice(0, slash);
  const bytes = parseAddress(addressText);
  if (!bytes) return { fault: addressFault(text, "address or prefix") };
  const numBits = bytes.length * 8;
  if (slash < 0) return { bytes, length: numBits };
  const digits = text.slice(slash + 1);
  // The first bits of an IPv4-mapped address are those of all such addresses.
  const first = addressText.includes(":") && bytes.length === 4 ? 96 : 0;
  const length = /^(0|[1-9]\d{0,2})$/.test(digits) ? Number(digits) - first : NaN;
  if (length >= 0 && length <= numBits) return { bytes, length };
  const expected = `${first} to ${first + numBits}`;
  return { fault: { found: `its length is ${digits || "missing"}`, expected } };
}
