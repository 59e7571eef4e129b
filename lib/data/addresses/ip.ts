/**
 * IP addresses as text and as bytes.
 *
 * Parsing is as strict as `inet_pton` (RFC 4291, section 2.2; no leading zeros in IPv4), because a lenient
 * parser could silently read another host's address: `ipaddr.js` 2.2.0 reads 010.0.0.1 as 8.0.0.1. Formatting
 * follows RFC 5952.
 *
 * @module
 */
import { ensure } from "../../base/errors.ts";

const DOT = 46;
const COLON = 58;
const NUM_GROUPS = 8;

/**
 * Parses an IPv4 or IPv6 address. An IPv4-mapped address (RFC 4291, section 2.5.5.2) is its IPv4 address.
 *
 * @param text Such as `192.0.2.1`, `2001:db8::1` or `::ffff:192.0.2.1`; zone ids are rejected.
 * @returns 4 or 16 bytes in network order, or undefined if the text is not an address.
 */
export function parseAddress(text: string): Uint8Array | undefined {
  if (!text.includes(":")) return parseIpv4(text, 0);
  const bytes = parseIpv6(text);
  return bytes && isIpv4Mapped(bytes) ? bytes.slice(12) : bytes;
}

/** Parses an address that an earlier stage has checked. Any other text is a bug. */
export function addressBytes(text: string): Uint8Array {
  const bytes = parseAddress(text);
  ensure(bytes, `${text} is an address`);
  return bytes;
}

/**
 * Formats an address as in RFC 5952: in lower case, with the longest run of zero groups as `::`.
 *
 * @param bytes 4 or 16 bytes in network order.
 * @throws {RangeError} If there are not 4 or 16 bytes.
 */
export function formatAddress(bytes: Uint8Array): string {
  if (bytes.length === 4) return bytes.join(".");
  if (bytes.length !== 16) {
    throw new RangeError(`Cannot write an address: found ${bytes.length} bytes, expected 4 or 16`);
  }
  const groups = Array.from({ length: NUM_GROUPS }, (_, i) => bytes[2 * i] << 8 | bytes[2 * i + 1]);
  const [start, length] = longestZeroRun(groups);
  const hex = groups.map((group) => group.toString(16));
  if (length < 2) return hex.join(":");
  return `${hex.slice(0, start).join(":")}::${hex.slice(start + length).join(":")}`;
}

function parseIpv4(text: string, start: number): Uint8Array | undefined {
  const bytes = new Uint8Array(4);
  let at = start;
  for (let part = 0; part < 4; part++) {
    if (part > 0 && text.charCodeAt(at++) !== DOT) return undefined;
    const first = at;
    let value = 0;
    for (; at - first < 3; at++) {
      const digit = text.charCodeAt(at) - 48;
      if (!(digit >= 0 && digit <= 9)) break;
      value = value * 10 + digit;
    }
    const numDigits = at - first;
    if (numDigits === 0 || value > 255 || (numDigits > 1 && text.charCodeAt(first) === 48)) return undefined;
    bytes[part] = value;
  }
  return at === text.length ? bytes : undefined;
}

function parseIpv6(text: string): Uint8Array | undefined {
  const bytes = new Uint8Array(16);
  let at = 0;
  let numGroups = 0;
  let gap = -1;
  if (text.startsWith("::")) [at, gap] = [2, 0];
  while (at < text.length) {
    if (numGroups === NUM_GROUPS) return undefined;
    const end = endOfGroup(text, at);
    if (text.charCodeAt(end) === DOT) {
      const last = parseIpv4(text, at);
      if (!last || numGroups > NUM_GROUPS - 2) return undefined;
      bytes.set(last, 2 * numGroups);
      numGroups += 2;
      break;
    }
    if (end === at || end - at > 4) return undefined;
    const group = parseInt(text.slice(at, end), 16);
    bytes[2 * numGroups] = group >> 8;
    bytes[2 * numGroups + 1] = group & 255;
    numGroups++;
    if (end === text.length) break;
    if (text.charCodeAt(end) !== COLON || end + 1 === text.length) return undefined;
    at = end + 1;
    if (text.charCodeAt(at) === COLON) {
      if (gap >= 0) return undefined;
      gap = numGroups;
      at++;
    }
  }
  return expandGap(bytes, numGroups, gap);
}

/** Index of the first character at or after `start` that is not a hexadecimal digit. */
function endOfGroup(text: string, start: number): number {
  let at = start;
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at);
    const isDigit = code >= 48 && code <= 57;
    const letter = code | 32;
    if (!isDigit && !(letter >= 97 && letter <= 102)) break;
  }
  return at;
}

/** Moves the groups after `::` to the end. `gap` is the number of groups before it, or -1. */
function expandGap(bytes: Uint8Array, numGroups: number, gap: number): Uint8Array | undefined {
  if (gap < 0) return numGroups === NUM_GROUPS ? bytes : undefined;
  if (numGroups === NUM_GROUPS) return undefined;
  const numAfter = 2 * (numGroups - gap);
  bytes.copyWithin(16 - numAfter, 2 * gap, 2 * numGroups);
  bytes.fill(0, 2 * gap, 16 - numAfter);
  return bytes;
}

function isIpv4Mapped(bytes: Uint8Array): boolean {
  return bytes[10] === 255 && bytes[11] === 255 && bytes.subarray(0, 10).every((byte) => byte === 0);
}

/** Start and length of the first longest run of zero groups. */
function longestZeroRun(groups: number[]): [number, number] {
  let bestStart = 0;
  let bestLength = 0;
  let length = 0;
  groups.forEach((group, i) => {
    length = group === 0 ? length + 1 : 0;
    if (length > bestLength) [bestStart, bestLength] = [i - length + 1, length];
  });
  return [bestStart, bestLength];
}
