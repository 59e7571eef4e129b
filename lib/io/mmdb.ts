/**
 * MaxMind DB files (MMDB, version 2.0: https://maxmind.github.io/MaxMind-DB/): a binary search tree over the
 * bits of addresses whose leaves point to records. In addition to looking up addresses, this reader visits
 * all networks in order.
 *
 * @module
 */
import { FormatError } from "../base/errors.ts";

export type MmdbValue = string | number | bigint | boolean | Uint8Array | MmdbValue[] | MmdbMap;
export interface MmdbMap {
  [key: string]: MmdbValue;
}

const METADATA_MARKER = Uint8Array.from("\xab\xcd\xefMaxMind.com", (char) => char.charCodeAt(0));
/** The metadata are in the last 128 KiB of a file. */
const MAX_METADATA_BYTES = 128 * 1024;
/** Zero bytes between the tree and the records. */
const SEPARATOR_BYTES = 16;
/** Deeper values are an error, as maps that contain themselves would be. */
const MAX_DEPTH = 32;

const TYPE = {
  pointer: 1,
  text: 2,
  double: 3,
  bytes: 4,
  uint16: 5,
  uint32: 6,
  map: 7,
  int32: 8,
  uint64: 9,
  uint128: 10,
  array: 11,
  boolean: 14,
  float: 15,
};
/** The minimum and maximum size of numbers, by type. */
const SIZES_BYTES: Record<number, [number, number]> = {
  [TYPE.double]: [8, 8],
  [TYPE.float]: [4, 4],
  [TYPE.uint16]: [0, 2],
  [TYPE.uint32]: [0, 4],
  [TYPE.int32]: [0, 4],
  [TYPE.uint64]: [0, 8],
  [TYPE.uint128]: [0, 16],
};

/** Whether a file has the metadata of a database. @param bytes The whole file. */
export function isMmdb(bytes: Uint8Array): boolean {
  return metadataStart(bytes) !== undefined;
}

function metadataStart(bytes: Uint8Array): number | undefined {
  const last = bytes.length - METADATA_MARKER.length;
  for (let at = last; at >= Math.max(0, last - MAX_METADATA_BYTES); at--) {
    if (METADATA_MARKER.every((byte, i) => bytes[at + i] === byte)) return at + METADATA_MARKER.length;
  }
  return undefined;
}

/** A database in memory. */
export class Mmdb {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #path: string;
  readonly #numNodes: number;
  readonly #recordBits: number;
  readonly #ipVersion: number;
  readonly #dataStart: number;
  /** The node or leaf at which the IPv4 addresses start. */
  readonly #ipv4Root: number;
  readonly #text = new TextDecoder();

  /**
   * @param bytes The whole file. @param path Its path, for errors.
   * @throws {FormatError} If it is damaged or not a database of this format.
   */
  constructor(bytes: Uint8Array, path: string) {
    this.#bytes = bytes;
    this.#path = path;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const start = metadataStart(bytes);
    if (start === undefined) throw this.#invalid(0, "it has no MaxMind DB metadata");
    this.#dataStart = start;
    const metadata = this.#decode(start).value;
    const numbers = ["node_count", "record_size", "ip_version"].map((name) => (metadata as MmdbMap)[name]);
    const [numNodes, recordBits, ipVersion] = numbers;
    if (
      !Number.isSafeInteger(numNodes) || ![24, 28, 32].includes(recordBits as number) ||
      ![4, 6].includes(ipVersion as number)
    ) {
      throw this.#invalid(start, `its node_count, record_size, ip_version are ${numbers.join(", ")}`);
    }
    this.#numNodes = numNodes as number;
    this.#recordBits = recordBits as number;
    this.#ipVersion = ipVersion as number;
    this.#dataStart = this.#numNodes * this.#recordBits / 4 + SEPARATOR_BYTES;
    if (this.#numNodes < 0 || this.#dataStart > start) {
      throw this.#invalid(0, `its search tree of ${numNodes} nodes does not fit into the file`);
    }
    this.#ipv4Root = 0;
    if (ipVersion === 6) {
      for (let bit = 0; bit < 96 && this.#ipv4Root < this.#numNodes; bit++) {
        this.#ipv4Root = this.#child(this.#ipv4Root, 0);
      }
    }
  }

  /** An address's record number for {@link record}; undefined for none. @param address 4 or 16 bytes. */
  find(address: Uint8Array): number | undefined {
    if (address.length === 16 && this.#ipVersion === 4) return undefined;
    let node = address.length === 4 ? this.#ipv4Root : 0;
    for (let bit = 0; bit < 8 * address.length && node < this.#numNodes; bit++) {
      node = this.#child(node, address[bit >> 3] >> (7 - (bit & 7)) & 1);
    }
    return node > this.#numNodes ? node : undefined;
  }

  /**
   * Visits all networks of an IP version that have a record, in ascending order.
   *
   * @param visit Receives the first 32 and the next 32 bits of a network's first address, its prefix length
   *   in bits (for IPv6 at most 64: only the first network in a /64 is visited), and the number of its
   *   record. Equal numbers are equal records.
   */
  walk(
    version: 4 | 6,
    visit: (upper: number, lower: number, lengthBits: number, record: number) => void,
  ): void {
    if (version === 6 && this.#ipVersion === 4) return;
    const numNodes = this.#numNodes;
    const maxBits = version === 4 ? 32 : 64;
    let numLeft = numNodes;
    const go = (node: number, bits: number, upper: number, lower: number): boolean => {
      if (node === numNodes) return false;
      if (node > numNodes) {
        visit(upper >>> 0, lower >>> 0, Math.min(bits, maxBits), node);
        return true;
      }
      // In a tree of both versions, other IPv6 networks may refer to the IPv4 tree.
      if (version === 6 && bits > 0 && node === this.#ipv4Root) return false;
      // Only in a damaged tree can a node be reached in two ways.
      if (--numLeft < 0 || bits >= 128) throw this.#invalid(0, "its search tree has loops");
      const left = this.#child(node, 0);
      const right = this.#child(node, 1);
      if (bits >= maxBits) return go(left, bits + 1, upper, lower) || go(right, bits + 1, upper, lower);
      const first = go(left, bits + 1, upper, lower);
      const second = bits < 32
        ? go(right, bits + 1, upper | 1 << (31 - bits), lower)
        : go(right, bits + 1, upper, lower | 1 << (63 - bits));
      return first || second;
    };
    go(version === 4 ? this.#ipv4Root : 0, 0, 0, 0);
  }

  record(number: number): MmdbValue {
    return this.#decode(this.#dataStart + number - this.#numNodes - SEPARATOR_BYTES).value;
  }

  #child(node: number, side: number): number {
    const view = this.#view;
    const size = this.#recordBits / 4;
    const at = node * size;
    if (this.#recordBits === 32) return view.getUint32(at + 4 * side);
    if (this.#recordBits === 24) return view.getUint32(at + 3 * side - (side && 1)) << (side ? 8 : 0) >>> 8;
    const middle = view.getUint8(at + 3);
    return side === 0
      ? (middle >> 4) * 2 ** 24 + (view.getUint32(at) >>> 8)
      : (middle & 15) * 2 ** 24 + (view.getUint32(at + 3) & 0xffffff);
  }

  /** Decodes the value at an offset. @param at The offset. @returns The value, and the offset after it. */
  #decode(at: number, depth = 0): { value: MmdbValue; end: number } {
    if (at < 0 || at >= this.#bytes.length || depth > MAX_DEPTH) {
      throw this.#invalid(at, "a value is damaged");
    }
    const bytes = this.#bytes;
    const control = bytes[at++];
    let type = control >> 5;
    if (type === TYPE.pointer) {
      const size = (control >> 3 & 3) + 1;
      const high = size === 4 ? 0 : control & 7;
      const target = this.#uint(at, size) + high * 2 ** (8 * size) + [0, 2048, 526_336, 0][size - 1];
      return { value: this.#decode(this.#dataStart + target, depth + 1).value, end: at + size };
    }
    if (type === 0) type = 7 + bytes[at++];
    let size = control & 31;
    if (size >= 29) {
      const extra = size - 28;
      size = [29, 285, 65_821][extra - 1] + this.#uint(at, extra);
      at += extra;
    }
    if (type === TYPE.map || type === TYPE.array) {
      const map: MmdbMap = {};
      const array: MmdbValue[] = [];
      for (let i = 0; i < size; i++) {
        const first = this.#decode(at, depth + 1);
        at = first.end;
        if (type === TYPE.array) {
          array.push(first.value);
          continue;
        }
        const second = this.#decode(at, depth + 1);
        at = second.end;
        map[String(first.value)] = second.value;
      }
      return { value: type === TYPE.map ? map : array, end: at };
    }
    if (type === TYPE.boolean) return { value: size === 1, end: at };
    const end = at + size;
    if (end > bytes.length) throw this.#invalid(at, "a value is longer than the file");
    const [min, max] = SIZES_BYTES[type] ?? [0, Infinity];
    if (size < min || size > max) throw this.#invalid(at, `a number of type ${type} has ${size} bytes`);
    switch (type) {
      case TYPE.text:
        return { value: this.#text.decode(bytes.subarray(at, end)), end };
      case TYPE.bytes:
        return { value: bytes.slice(at, end), end };
      case TYPE.double:
        return { value: this.#view.getFloat64(at), end };
      case TYPE.float:
        return { value: this.#view.getFloat32(at), end };
      case TYPE.int32:
        return { value: this.#uint(at, size) | 0, end };
      case TYPE.uint16:
      case TYPE.uint32:
        return { value: this.#uint(at, size), end };
      case TYPE.uint64:
      case TYPE.uint128:
        return { value: bytes.subarray(at, end).reduce((sum, byte) => sum * 256n + BigInt(byte), 0n), end };
    }
    throw this.#invalid(at, `a value has the unknown type ${type}`);
  }

  #uint(at: number, size: number): number {
    if (at + size > this.#bytes.length) throw this.#invalid(at, "a value is longer than the file");
    let value = 0;
    for (let i = 0; i < size; i++) value = value * 256 + this.#bytes[at + i];
    return value;
  }

  #invalid(offsetBytes: number, found: string): FormatError {
    return new FormatError(`${found}; expected a MaxMind DB file (.mmdb)`, { path: this.#path, offsetBytes });
  }
}
